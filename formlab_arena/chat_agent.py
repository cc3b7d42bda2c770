"""The systems `chat:MODEL` as agents: a model at any OpenAI-compatible endpoint fills in forms."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from formlab import pictures
from formlab.errors import DataBroken, NotAvailable
from formlab.systems import chat
from formlab.systems.chat.ask import Task, messages
from formlab.systems.pages import Page, pages
from formlab.systems.prompts import version_of
from formlab.tables import USABLE
from formlab_arena import marks
from formlab_arena.actions import Action, Done, mapped
from formlab_arena.agents import Halted, Unusable
from formlab_arena.observation import Observation, Observe
from formlab_arena.replies import ELEMENTS, PIXELS, read

TASK = "arena_actions"
# The settings of a model that shape its answers here. Points are in pixels, which is what a ruler
# shows, unless thousandths are asked for.
SHAPING = ("temperature", "max_tokens", "extra", "form", "pages", "image_limit", "boxes")
DEFAULTS = {name: chat.SHAPING[name] for name in SHAPING} | {"boxes": "pixels"}
# How much of its earlier actions a prompt repeats.
_REMEMBERED, _SHOWN = 80, 120


@dataclasses.dataclass(frozen=True)
class Instructions:
    """The prompt of a model: by its settings, the policy, the ruler, and what it is shown."""

    settings: Mapping[str, Any]
    policy: str = "page"
    ruler: bool = False
    from_pages: bool = False
    observe: Observe = "pixels"

    @property
    def text(self) -> str:
        """The prompt.

        Raises
        ------
        DataBroken, DataMissing, UnknownName
            If the ruler's pixels do not suit the unit of points, or a setting is wrong.
        """
        if self.ruler and self.settings["boxes"] != "pixels":
            raise DataBroken("a ruler shows pixels", remedy="boxes=pixels, or no --ruler")
        shown = {key: self.settings[key] for key in ("boxes", "pages")}
        main = TASK if self.observe == "pixels" else "arena_elements"
        prompts = [chat.prompt_of(Task(main, "click", places="points"), **shown)]
        more = [] if main == TASK else [f"arena_{self.observe}"]
        more += ["arena_ruler"] * self.ruler + ["arena_pages"] * self.from_pages
        for name in (f"arena_policy_{self.policy}", *more):
            prompts.append(chat.prompt_of(Task(name, "click", places="")))
        return "\n\n".join(prompts)


def settings(changes: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a model, from those that are not at their default here."""
    return chat.SHAPING | chat.RUNNING | DEFAULTS | dict(changes)


def shaping_settings(
    name: str, changes: Mapping[str, Any], *, policy: str, ruler: bool, from_pages: bool = False,
    observe: Observe = "pixels",
) -> dict[str, Any]:  # fmt: skip
    """The settings, address and prompt version that shape a model's answers.

    `NotAvailable`, `DataBroken` or `UnknownName` if there is no key, or a setting is wrong.
    """
    full = settings(changes)
    client = chat.Client(chat.system(name).model, full)
    version = version_of(Instructions(full, policy, ruler, from_pages, observe).text)
    shaping = {key: full[key] for key in SHAPING}
    return shaping | {"address": client.address, "prompt": version}


@contextmanager
def asking(
    name: str,
    out: Path,
    changes: Mapping[str, Any],
    *,
    policy: str,
    ruler: bool,
    from_pages: bool = False,
    observe: Observe = "pixels",
) -> Iterator[Callable[..., ChatAgent]]:
    """A function that makes the agent of an episode by its name; all share one store of answers.

    It also takes the files of the pages that a task is filled in from.

    `observe` says what the model is shown besides the screenshot: nothing, frames with the ids of
    elements drawn on it, or the elements as text.

    The answers are kept in `out`, unless a setting names another store. `changes` are settings of
    `formlab.systems.chat` that are not at their default.
    """
    full = settings(changes)
    instructions = Instructions(full, policy, ruler, from_pages, observe)
    client = chat.Client(chat.system(name).model, full)
    with chat.AnswerStore(full["store"] or out / "answers.sqlite") as store:
        asker = chat.Asker(client, store)
        shown = chat.PageView(full | {"max_pages": 1})
        yield lambda doc_id, sources=(): ChatAgent(
            name, asker, instructions, shown, doc_id, sources
        )


class ChatAgent:
    """A model that sees the screenshot and the text, and remembers what it did.

    `note` is what the log says of the last answer: its status and key in the store, the size of
    the image as it was sent, the factor from its pixels to those of the screenshot, and what the
    answer took, as in *responses*: `attempts`, `tokens_in`, `tokens_out`, `cost`, `seconds`.
    """

    def __init__(
        self, name: str, asker: chat.Asker, instructions: Instructions, shown: chat.PageView,
        doc_id: str, sources: Sequence[Path] = (),
    ) -> None:  # fmt: skip
        self.name, self._asker, self._instructions, self._shown = name, asker, instructions, shown
        self.observes: Observe = instructions.observe
        self._doc_id, self._done, self._is_done = doc_id, list[str](), False
        self._prompt, self._sources = instructions.text, list[Page]()
        if sources:
            read = pages(list(sources), limit=shown.limit)
            self._sources = [dataclasses.replace(page, number=page.number + 1) for page in read]
        self.note: dict[str, Any] = {}

    def act(self, observation: Observation) -> list[Action]:
        """The model's actions in pixels of the screenshot.

        Raises
        ------
        Unusable
            If the answer holds no action that can be read, was refused, or none came.
        Halted
            If a limit of calls or money is reached, or the server refuses every call, which is
            its cause then.
        """
        if self._is_done:
            return []
        shown, image = self._shown, observation.image
        if self._instructions.observe == "boxes":
            image = observation.image.with_suffix(".marks.png")
            picture = pictures.read_image(observation.image)
            marks.draw(picture, observation.elements, scale=observation.scale).save(image)
        (page,) = pages([image], limit=shown.limit)
        try:
            answer = self._answer(observation, page)
        except chat.Stopped as stop:
            raise Halted(f"not asked: {stop}") from stop
        except NotAvailable as refused:
            raise Halted(str(refused)) from refused
        replied = read(answer)
        self.note = {
            "status": replied.status, "key": answer.key, "changes": list(replied.changes),
            "sent": list(page.sent), "factor": self._factor(page),
            "unit": self._shown.boxes,
        } | self._taken(answer)  # fmt: skip
        if replied.status not in USABLE:
            why = "; ".join(replied.changes) or replied.status
            self._done.append(f"look {observation.step}: no usable answer ({replied.status})")
            raise Unusable(replied.status, why)
        kept = replied.actions if self._instructions.policy == "page" else replied.actions[:1]
        self._is_done = any(isinstance(action, Done) for action in kept)
        kept = tuple(itertools.takewhile(lambda action: not isinstance(action, Done), kept))
        self._done += [f"look {observation.step}: {_short(action)}" for action in kept]
        return [self._placed(action, page) for action in kept]

    def _taken(self, answer: chat.Answer) -> dict[str, Any]:
        """What an answer took, at the prices of this run."""
        price, tokens = self._asker.client.price, (answer.tokens_in, answer.tokens_out)
        cost = price.of(*tokens) if price else answer.cost
        return {"attempts": answer.attempts, "tokens_in": tokens[0], "tokens_out": tokens[1],
                "cost": cost, "seconds": answer.seconds}  # fmt: skip

    def _answer(self, observation: Observation, page: Page) -> chat.Answer:
        asked = {
            "TEXT": observation.text, "FILES": list(observation.files),
            "DONE": self._done[-_REMEMBERED:], "REFUSED": list(observation.refused),
        }  # fmt: skip
        schema = PIXELS
        if self._instructions.observe != "pixels":
            asked, schema = asked | _page(observation), ELEMENTS

        shown = [page, *self._sources] if self._shown.limit else []
        sent = messages(self._prompt, asked, self._shown.parts(shown), schema=schema)
        return self._asker.answer(
            sent, schema, status=lambda answer: read(answer).status, task=TASK, doc_id=self._doc_id
        )

    def _factor(self, page: Page) -> float:
        """Pixels of the screenshot for one of the model's: a ruler shows the screenshot's own."""
        return 1.0 if self._instructions.ruler else page.size[0] / page.sent[0]

    def _placed(self, action: Action, page: Page) -> Action:
        """The action in pixels of the screenshot."""
        action = mapped(action, self._factor(page))
        if self._shown.boxes == "pixels":
            return action
        # In thousandths of each side, and mapped by the factor already.
        sides = {"x": 0, "y": 1, "to_x": 0, "to_y": 1}
        points = {
            name: getattr(action, name) / self._factor(page) * page.size[side] / 1000
            for name, side in sides.items()
            if getattr(action, name, None) is not None
        }
        return dataclasses.replace(action, **points) if points else action


def _page(observation: Observation) -> dict[str, Any]:
    """What a model is told of a page that it acts on by element."""
    dialog = observation.dialog
    return {
        "MESSAGES": list(observation.messages), "ADDRESS": observation.address,
        "TABS": [dataclasses.asdict(tab) for tab in observation.tabs],
        "DIALOG": dialog and dataclasses.asdict(dialog), "ELEMENTS": observation.tree,
    }  # fmt: skip


def _short(action: Action) -> str:
    text = repr(action)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
