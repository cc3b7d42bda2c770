"""A model as a system: it answers many questions at once, so it runs itself."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.folders import Corpus, Predictions
from formlab.systems._runs import HEAD, SKIPPED, begin, check_head, first
from formlab.systems._spec import Reader, System
from formlab.systems.chat.asker import Asker
from formlab.systems.chat.client import Client
from formlab.systems.chat.limits import PRICES, Limits, price_of
from formlab.systems.chat.ocr_cache import OcrCache
from formlab.systems.chat.run import PageView, predictions, questions, results
from formlab.systems.chat.store import AnswerStore
from formlab.systems.chat.tasks import Task, check_prompts, prompt_of, tasks_of, version_of

PREFIX = "chat:"
STORE, OCR_CACHE = "answers.sqlite", "pages"
# What shapes an answer, and therefore stands in a run's settings.
SHAPING: dict[str, Any] = {
    "temperature": 0.0, "max_tokens": 8192, "extra": "{}", "form": "auto", "pages": "image",
    "image_limit": 2048, "max_pages": 10, "boxes": "thousandths", "tasks": "",
}  # fmt: skip
# How the answers are got, which leaves them as they are.
RUNNING: dict[str, Any] = {
    "base_url": "", "prompts": "", "retry": "", "max_cost": math.inf, "max_calls": sys.maxsize,
    "concurrency": 16, "timeout": 120.0, "attempts": 6, "store": "", "prices": str(PRICES),
}  # fmt: skip


def client_of(model: str, settings: dict[str, Any]) -> Client:
    """A client of `model` with these settings.

    `NotAvailable` or `DataBroken` if `max_cost` is given and the model has no price, or `extra` is
    no JSON object.
    """
    price = price_of(model, prices=settings["prices"])
    if math.isfinite(settings["max_cost"]) and price is None:
        raise NotAvailable(
            f"max_cost needs a price, and {model!r} has none", where=settings["prices"],
            remedy="a line for it in a file of your own, prices=FILE",
        )  # fmt: skip
    extra = files.parse_json(settings["extra"], where="extra")
    if not isinstance(extra, dict):
        raise DataBroken("extra is not a JSON object", remedy='extra={"seed": 1}')
    limits = Limits(
        settings["concurrency"], max_cost=settings["max_cost"], max_calls=settings["max_calls"]
    )
    return Client(
        model, base_url=settings["base_url"] or None, attempts=settings["attempts"],
        options={name: settings[name] for name in ("temperature", "max_tokens")} | extra,
        timeout=settings["timeout"], limits=limits, price=price,
    )  # fmt: skip


@dataclass(frozen=True)
class ChatSystem(System):
    """A model at any endpoint that speaks OpenAI's protocol.

    Settings: those of `SHAPING` and `RUNNING`. `extra` is JSON put into the body of each call, and
    null in it takes a member out (``{"temperature": null}``); `store` is a file of answers that
    runs may share; `max_calls=0` asks nothing and takes what the store has. With ``pages=text``
    a model that sees no images gets what an OCR engine reads on them.
    """

    model: str = ""

    def run_name(self, settings: dict[str, Any]) -> str:
        """The model's name, with the settings that shape answers and are not at their default."""
        return super().run_name({k: v for k, v in settings.items() if k in SHAPING})

    def run(
        self,
        corpus: Corpus,
        *,
        out: str | Path,
        settings: dict[str, Any] | None = None,
        limit: int | None = None,
        name: str | None = None,
    ) -> Predictions:
        """Ask the model about the documents of `corpus` and save the predictions in `out`.

        Every answer is on disk before it counts, and the same call after a crash asks nothing
        again that was answered. A document without a usable answer has records with the reason as
        their status, one that was not asked for a limit of money or calls the status `missing`.

        Raises
        ------
        NotAvailable
            If no call can succeed, or `max_cost` is given and the model has no price.
        DataBroken
            If `out` holds a run of another benchmark, split, model or of other settings.
        """
        chosen = self.defaults | (settings or {})
        out = Path(out)
        plan = _Plan.of(self.model, chosen, corpus)
        head = {
            "benchmark": corpus.benchmark, "split": corpus.split, "system": self.name,
            "settings": plan.settings, "name": name or self.run_name(chosen),
        }  # fmt: skip
        # Needed to read the run before it is finished; they may change from run to run.
        paths = {n: chosen[n] and str(Path(chosen[n]).resolve()) for n in ("store", "prompts")}
        begin(out, head, **paths, limit=limit)
        made = plan.made(corpus, chosen, out=out, name=head["name"], limit=limit)
        made.save(out)
        return made


def unfinished(folder: Path, corpus: Corpus) -> Predictions | None:
    """The predictions of a run under way (or killed) so far; None if `folder` is no such run.

    Nothing is asked. Documents of the run that have no answer yet are `missing`.

    Raises
    ------
    DataBroken
        If the run was made with another benchmark, split, prompts or pages than there are now.
    """
    file = folder / HEAD
    head = files.read_json(file) if file.is_file() else None
    if not isinstance(head, dict) or not str(head.get("system")).startswith(PREFIX):
        return None
    try:
        kept = head["settings"]
        chosen = SHAPING | RUNNING | {name: kept[name] for name in SHAPING}
        chosen |= {"base_url": kept["address"]} | {n: head[n] for n in ("store", "prompts")}
        limit, name, model = head["limit"], head["name"], kept["model"]
    except (KeyError, TypeError) as error:
        raise DataBroken(f"the head of this run lacks {error}", where=file) from error
    if not Path(chosen["store"] or folder / STORE).is_file():
        return None
    check_head(folder, {"benchmark": corpus.benchmark, "split": corpus.split})
    plan = _Plan.of(model, chosen, corpus)
    check_head(folder, {"settings": plan.settings})
    return plan.made(corpus, chosen, out=folder, name=name, limit=limit, ask=False)


def system(name: str) -> ChatSystem:
    """The system of a name such as ``chat:gpt-4o``.

    Raises
    ------
    UnknownName
        If the name has no model in it.

    Examples
    --------
    >>> system("chat:my-model").run_name({"temperature": 0.5, "concurrency": 4})
    'chat:my-model(temperature=0.5)'
    """
    model = name.removeprefix(PREFIX).strip()
    if not name.startswith(PREFIX) or not model:
        raise UnknownName(f"no model in {name!r}", remedy="chat:MODEL, as the server names it")
    return ChatSystem(
        name=f"{PREFIX}{model}", title=f"{model} at an OpenAI-compatible endpoint",
        start=_no_pages, defaults=SHAPING | RUNNING, versions=("openai",), extra="chat",
        model=model,
    )  # fmt: skip


@dataclass(frozen=True)
class _Plan:
    """The client and prompts of a run; `settings` are those that shape its answers."""

    client: Client
    prompts: dict[str, tuple[Task, str]]
    settings: dict[str, Any]

    @classmethod
    def of(cls, model: str, chosen: dict[str, Any], corpus: Corpus) -> _Plan:
        tasks = tasks_of(corpus.benchmark, chosen["tasks"])
        if chosen["prompts"]:
            check_prompts(chosen["prompts"], corpus.benchmark)
        shown = {key: chosen[key] for key in ("prompts", "boxes", "pages")}
        prompts = {task.name: (task, prompt_of(task, **shown)) for task in tasks}
        client = client_of(model, chosen)
        settings = {name: chosen[name] for name in SHAPING}
        settings |= {"model": model, "address": client.address}
        settings |= {f"prompt {name}": version_of(text) for name, (_, text) in prompts.items()}
        return cls(client, prompts, settings)

    def made(
        self,
        corpus: Corpus,
        chosen: dict[str, Any],
        *,
        out: Path,
        name: str,
        limit: int | None,
        ask: bool = True,
    ) -> Predictions:
        """The predictions from the answers that are there and, if it may `ask`, from new ones."""
        versions = {"openai": metadata.version("openai"), "formlab": files.version()}
        ocr = None
        if chosen["pages"] == "text":
            ocr = OcrCache(out / OCR_CACHE, unit=chosen["boxes"])
            versions["rapidocr"] = metadata.version("rapidocr")
        view = PageView(chosen["image_limit"], chosen["max_pages"], chosen["boxes"], ocr)
        documents, skipped = first(corpus, limit, images=view.limit > 0)
        todo = list(questions(corpus, self.prompts, documents=documents))
        with AnswerStore(chosen["store"] or out / STORE) as store:
            asker = Asker(
                self.client, store, form=chosen["form"], retry=chosen["retry"], may_ask=ask
            )
            workers = chosen["concurrency"]
            outcomes = results(todo, asker, root=corpus.root, view=view, workers=workers)
        settings = self.settings | versions
        made = predictions(corpus, outcomes, name=name, settings=settings, store=store.path.name)
        if skipped:
            made.notes[SKIPPED] = skipped
        return made


def _no_pages(_settings: dict[str, Any], _threads: int) -> Reader:
    raise NotAvailable("a model is not run page by page", remedy="ChatSystem.run")
