"""A model as a system: it answers many questions at once, so it runs itself."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from formlab import benchmarks, files
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.folders import Corpus, Predictions
from formlab.systems._runs import HEAD, PREDICTIONS, SKIPPED, begin, check_head, first
from formlab.systems._spec import Reader, System
from formlab.systems.chat.asker import Asker
from formlab.systems.chat.client import Client
from formlab.systems.chat.limits import Price
from formlab.systems.chat.ocr_lines import OcrLines
from formlab.systems.chat.run import PageView, TaskResult, predictions, questions, results
from formlab.systems.chat.settings import RUNNING, SHAPING, client_of
from formlab.systems.chat.shots import Shots, drawn
from formlab.systems.chat.store import AnswerStore
from formlab.systems.chat.tasks import Task, prompt_of, tasks_of
from formlab.systems.prompts import read as read_prompt
from formlab.systems.prompts import version_of

PREFIX = "chat:"
STORE = "answers.sqlite"
# Settings that are needed to read a run before it is finished.
_PATHS = ("store", "prices")


@dataclass(frozen=True)
class ChatSystem(System):
    """A model at any endpoint that speaks OpenAI's protocol.

    Settings: those of `SHAPING` and `RUNNING`. `extra` is JSON put into the body of each
    call, and null in it takes a member out (``{"temperature": null}``); `store` is a file of
    answers that runs may share; `max_calls=0` asks nothing and takes what the store has. With
    ``pages=text`` a model that sees no images gets what an OCR engine reads on them. `prompt`, the
    name of one of formlab's prompts or a file, replaces the instructions of the only task asked.

    A document's pages are all in one question, the first `max_pages` of them, with `image_limit`
    as their longest side; `notes` say what was sent. `prices` is a file, see `limits.price_of`.

    Before a question come `shots` examples of the documents to learn from, drawn by `shots_seed`,
    as text or image (`shots_as`); the settings of a run name them under ``shots documents``.

    With `logprobs` records have the probability of their value's tokens as `confidence`, where the
    server gives them; with several `samples` the share of so many answers to the question that
    agree with the first, which is the answer.
    """

    model: str = ""

    def client(self, settings: dict[str, Any]) -> Client:
        """What asks the model."""
        return client_of(self.model, settings)

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
        plan = _Plan.of(self.client(chosen), chosen, corpus)
        head = {
            "benchmark": corpus.benchmark, "split": corpus.split, "system": self.name,
            "settings": plan.settings, "name": name or self.run_name(chosen),
        }  # fmt: skip
        # Needed to read the run before it is finished; they may change from run to run.
        paths = {n: chosen[n] and str(Path(chosen[n]).resolve()) for n in _PATHS}
        source = chosen["prompt"] and read_prompt(chosen["prompt"]).source
        begin(out, head, **paths, prompt=source, limit=limit)
        made = plan.made(corpus, chosen, out=out, name=head["name"], limit=limit)
        made.save(out / PREDICTIONS)
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
        chosen = SHAPING | RUNNING | {n: kept[n] for n in SHAPING if n in kept}
        chosen |= {"base_url": kept["address"]} | {
            n: head[n] for n in (*_PATHS, "prompt") if n in head
        }
        limit, name, model = head["limit"], head["name"], kept["model"]
    except (KeyError, TypeError) as error:
        raise DataBroken(f"the head of this run lacks {error}", where=file) from error
    if chosen["prices"] and not Path(chosen["prices"]).is_file():
        chosen["prices"] = ""
    if not Path(chosen["store"] or folder / STORE).is_file():
        return None
    check_head(folder, {"benchmark": corpus.benchmark, "split": corpus.split})
    plan = _Plan.of(client_of(model, chosen), chosen, corpus)
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
    examples: Corpus | None = None

    @classmethod
    def of(cls, client: Client, chosen: dict[str, Any], corpus: Corpus) -> _Plan:
        tasks = tasks_of(corpus.benchmark, chosen["tasks"])
        if chosen["prompt"] and len(tasks) > 1:
            listed = ", ".join(task.name for task in tasks)
            what = f"one prompt for several tasks: {listed}"
            raise DataBroken(what, where=chosen["prompt"], remedy=f"--set tasks={tasks[0].name}")
        shown = {key: chosen[key] for key in ("prompt", "boxes", "pages")}
        examples = drawn(corpus, chosen)
        shown["shots"] = chosen["shots_as"] if examples is not None else ""
        prompts = {task.name: (task, prompt_of(task, **shown)) for task in tasks}
        # A bound that is not set is not named: runs of before there was one go on.
        unset = ("shots", "shots_seed", "logprobs", "samples")
        settings = {n: v for n in SHAPING if (v := chosen[n]) != SHAPING[n] or n not in unset}
        if examples is None:
            settings.pop("shots_as")
        else:
            settings["shots_seed"] = chosen["shots_seed"]
            settings["shots documents"] = examples.documents["doc_id"].to_list()
        settings |= {"model": client.model, "address": client.address}
        settings |= {f"prompt {name}": version_of(text) for name, (_, text) in prompts.items()}
        if chosen["prompt"]:
            settings["prompt"] = read_prompt(chosen["prompt"]).version
        return cls(client, prompts, settings, examples)

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
            ocr = OcrLines(unit=chosen["boxes"])
            versions["rapidocr"] = metadata.version("rapidocr")
        view = PageView(chosen["image_limit"], chosen["max_pages"], chosen["boxes"], ocr)
        texts = benchmarks.get(corpus.benchmark).schema is not None
        documents, skipped = first(corpus, limit, images=view.limit > 0, texts=texts)
        shots = {}
        if self.examples is not None:
            words = OcrLines(unit=chosen["boxes"])
            read = words if chosen["shots_as"] == "text" else None
            tasks = [task for task, _ in self.prompts.values()]
            shots = {task.name: Shots(self.examples, task, view, read) for task in tasks}
        todo = list(questions(corpus, self.prompts, documents=documents, shots=shots))
        notes = {SKIPPED: skipped}
        with AnswerStore(chosen["store"] or out / STORE) as store:
            asker = Asker(
                self.client, store, form=chosen["form"], retry=chosen["retry"], may_ask=ask
            )
            outcomes = results(
                todo,
                asker,
                root=corpus.root,
                view=view,
                workers=chosen["concurrency"],
                samples=chosen["samples"],
            )
        price, settings = self.client.price, self.settings | versions
        if price:
            settings["price"] = str(price)
            outcomes = [_priced(outcome, price) for outcome in outcomes]
        elif chosen["prices"]:
            notes[f"answers of unknown cost: no price of {self.client.model}"] = len(outcomes)
        made = predictions(corpus, outcomes, name=name, settings=settings, store=store.path.name)
        made.notes.update({note: count for note, count in notes.items() if count})
        return made


def _priced(outcome: TaskResult, price: Price) -> TaskResult:
    """An outcome at these prices, whatever its answer cost when it was asked for."""
    if outcome.answer is None:
        return outcome
    cost = price.of(outcome.answer.tokens_in, outcome.answer.tokens_out)
    return dataclasses.replace(outcome, answer=dataclasses.replace(outcome.answer, cost=cost))


def _no_pages(_settings: dict[str, Any], _threads: int) -> Reader:
    raise NotAvailable("a model is not run page by page", remedy="ChatSystem.run")
