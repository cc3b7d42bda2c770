"""A Gymnasium environment of forms: an agent acts, the reward is what the server got right."""

import contextlib
import dataclasses
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from formlab import pictures, resources
from formlab.errors import DataBroken
from formlab_arena import actions, miniwob, notation, register_env, spec
from formlab_arena.driver import TimeLimit
from formlab_arena.episode import RunSettings, open_session, prepare
from formlab_arena.form_url import right_answers
from formlab_arena.instances import PER_FORM, Instance, make
from formlab_arena.observation import Observation
from formlab_arena.process import Server, serving
from formlab_arena.run import sent_result
from formlab_arena.session import Session
from formlab_arena.store import SubmissionStore
from formlab_arena.web_tasks import WebTask

gymnasium: Any = resources.optional("gymnasium", extra="arena")

# The longest text of each kind in an observation, and the longest action, in characters.
LENGTHS = {
    "text": 100_000, "tree": 200_000, "address": 2_000, "tabs": 10_000, "messages": 20_000,
    "dialog": 5_000, "files": 10_000,
}  # fmt: skip
LONGEST_ACTION = 20_000


class Words(gymnasium.spaces.Text):
    """Texts of any characters up to a length."""

    def contains(self, x: Any) -> bool:
        """Whether it is a text that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length


class FormEnv(gymnasium.Env):
    """Forms to fill in, one action a step.

    An action is a text: one action or several lines of them, as `notation.parse` reads them; the
    empty text says that the agent is done. An observation is a dict of `screenshot` (uint8, shape
    (height, width, 3)), and the texts `text` (the instructions), `tree` (the elements, one a line,
    with the ids that actions name), `address`, `tabs`, `messages`, `dialog` and `files`, one item
    a line, cut off at `LENGTHS`.

    The reward is 0 until the episode ends. Then it is the share of the right answers that the
    server got: 0 to 1. MiniWoB++ gives its own, -1 to 1. An episode is `terminated` by the empty
    action, by a crash (see `info["error"]`), and on formlab's forms and in MiniWoB++ by what sends
    the form; it is `truncated` after so many steps or at the deadline. `info` has the `account` of
    what was sent and answered so far, and `error`.

    Parameters
    ----------
    task
        The code of one of formlab's forms, ``miniwob:<task>``, a `WebTask`, or an `Instance`.
        For the first two each `reset` draws another instance, the same for the same seed; its
        option ``instance`` names one.
    observe
        Whether `tree` is empty (``pixels``), has the elements' places or all about them.
    steps
        The most actions of an episode.
    folder
        Where each episode is logged, in a folder ``<task>``; nowhere if left out.
    allow, storage
        As in `form_url.fill_tasks`.
    settings
        Others of `RunSettings`: `scale`, `ruler`, `viewport`, `deadline`, `headed`.

    Raises
    ------
    NotAvailable, UnknownName, DataBroken
        Without Gymnasium (the extra ``arena``) or MiniWoB++, for unknown tasks, and for a
        `device`, whose window is not known before it is open.

    Examples
    --------
    >>> env = FormEnv("A11", viewport=(390, 844))
    >>> env.observation_space["screenshot"].shape
    (844, 390, 3)
    >>> env.close()
    """

    metadata: Mapping[str, Any] = {"render_modes": ["rgb_array"]}

    def __init__(
        self, task: str | WebTask | Instance = "A11", *, observe: str = "tree", steps: int = 50,
        folder: Path | None = None, allow: tuple[str, ...] = (), storage: Path | None = None,
        render_mode: str | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        self.settings = RunSettings("env", observe=observe, steps=steps, **settings)
        if self.settings.device:
            raise DataBroken("a device has a window of its own", remedy="viewport=(390, 844)")
        if isinstance(task, str) and not task.startswith(miniwob.PREFIX):
            spec.form(task)
        self.task, self.render_mode, self._options = task, render_mode, (allow, storage)
        width, height = (round(side * self.settings.scale) for side in self.settings.viewport)
        texts = {name: Words(length, min_length=0) for name, length in LENGTHS.items()}
        shape = (height, width, 3)
        pixels = gymnasium.spaces.Box(0, 255, shape, dtype=np.uint8)
        self.observation_space = gymnasium.spaces.Dict({"screenshot": pixels} | texts)
        self.action_space = Words(LONGEST_ACTION, min_length=0)
        self._always, self._episode = contextlib.ExitStack(), contextlib.ExitStack()
        self._folder = folder and Path(folder)
        self._server: Server | None = None
        self._session: Session | None = None
        self._shot = np.zeros(shape, np.uint8)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Open the form anew; the first observation, and what is known of the episode."""
        super().reset(seed=seed)
        self._episode.close()
        self._steps = 0
        task, uploads = self._drawn(dict(options or {}))
        folder = self._home() / task.name
        prepare(folder, task.text, uploads)
        allow, storage = self._options
        opened = open_session(
            task.address, folder, task.text, self.settings, allow=allow, state=storage
        )
        self._session = self._episode.enter_context(opened)
        if task.judge:
            task.judge.begin(self._session)
        self._task, seen = task, self._seen()
        self._acted = time.monotonic()
        return seen, self._known()

    def _drawn(self, options: dict[str, Any]) -> tuple[WebTask, Mapping[str, bytes]]:
        """The task of an episode, and the files of it."""
        task = self.task
        number = int(options.get("instance") or self.np_random.integers(1, PER_FORM + 1))
        if isinstance(task, str) and task.startswith(miniwob.PREFIX):
            task = miniwob.task(task.removeprefix(miniwob.PREFIX), number)
        if isinstance(task, WebTask):
            return task, {file.name: file.read_bytes() for file in task.files}
        if isinstance(task, str):
            task = make(spec.form(task), number)
        if self._server is None:
            self._server = self._always.enter_context(serving(self._home() / "submissions.sqlite"))
        address = f"{self._server.ensure()}/forms/{task.code}?episode={task.name}"
        judge = _Received(task, SubmissionStore(self._server.database))
        return WebTask(task.name, address, task.text, gold=task.values, judge=judge), task.files

    def _home(self) -> Path:
        if self._folder is None:
            self._folder = Path(self._always.enter_context(tempfile.TemporaryDirectory()))
        return self._folder

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out one action; observation, reward, terminated, truncated and info."""
        self._steps += 1
        # The time that the agent took is not the pages'.
        self._session.extend(time.monotonic() - self._acted)
        asked, other = notation.parse(action[:LONGEST_ACTION])
        done = not action.strip() or any(isinstance(each, actions.Done) for each in asked)
        error, reward, late = None, None, self._steps >= self.settings.steps
        try:
            for each in asked:
                if not isinstance(each, actions.Done):
                    self._session.do(each)
            if done:
                self._session.finish()
            reward = self._task.judge.reward(self._session) if self._task.judge else None
            seen = self._seen([f"not an action: {line[:200]}" for line in other])
        # A browser that died, or a page that does not answer any more.
        except Exception as problem:
            error = f"{type(problem).__name__}: {str(problem).partition(chr(10))[0][:300]}"
            late = late or isinstance(problem, TimeLimit)
            seen = self._last | {"messages": error, "screenshot": self._shot.copy()}
        ended = done or reward is not None or (error is not None and not late)
        info = self._known(error)
        if (ended or late) and not self._task.judge:
            reward = self._share(info["account"])
        self._acted = time.monotonic()
        return seen, float(reward or 0.0), ended, late and not ended, info

    def _seen(self, more: list[str] | None = None) -> dict[str, Any]:
        """What the session shows, as the space has it."""
        see: Observation = self._session.look(self.settings.observe)
        self._shot = np.array(pictures.read_image(see.image).convert("RGB"))
        texts = {
            "text": [see.text], "tree": [see.tree], "address": [see.address],
            "tabs": [f"{'*' * t.active}{t.number} {t.title} {t.address}" for t in see.tabs],
            "messages": [*see.refused, *see.messages, *(more or ())],
            "dialog": [f"{see.dialog.kind}: {see.dialog.text}"] if see.dialog else [],
            "files": see.files,
        }  # fmt: skip
        self._last = {name: "\n".join(lines)[: LENGTHS[name]] for name, lines in texts.items()}
        return {"screenshot": self._shot.copy(), **self._last}

    def _share(self, account: Mapping[str, Any]) -> float:
        """The share of the right answers that a server which is not formlab's got."""
        right, fields = right_answers(self._session.folder, account, self._task)
        return (right or 0) / (fields or 1)

    def _known(self, error: str | None = None) -> dict[str, Any]:
        # A copy: what a user keeps must not change with the next step.
        account = json.loads(json.dumps(self._session.account.summary(self._session.contents)))
        return {"account": account, "error": error}

    def render(self) -> np.ndarray:
        """The last screenshot."""
        return self._shot.copy()

    def close(self) -> None:
        """Close the browser and end the server."""
        self._episode.close()
        self._always.close()
        self._server = self._session = None


@dataclasses.dataclass(frozen=True)
class _Received:
    """Judges by what the server has stored since the form was opened."""

    instance: Instance
    store: SubmissionStore
    before: list[str] = dataclasses.field(default_factory=list)

    @property
    def key(self) -> str:
        return self.instance.name

    def begin(self, _: Session) -> None:
        self.before.extend(self._ids())

    def reward(self, _: Session) -> float | None:
        latest = self.store.latest(self.instance.name)
        if latest is None or latest["id"] in self.before:
            return None
        right = sent_result(self.instance, latest["answers"])["right"]
        return right / max(1, len(self.instance.values))

    def _ids(self) -> list[str]:
        latest = self.store.latest(self.instance.name)
        return [latest["id"]] if latest else []


register_env()
