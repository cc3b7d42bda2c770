"""A model as a system: its work on a corpus, whose answers come from the store or the model."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from formlab import benchmarks, files
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.folders import Corpus
from formlab.systems.chat.ask import Row, prompt_of
from formlab.systems.chat.benchmarks import tasks_of
from formlab.systems.chat.client import Client
from formlab.systems.chat.questions import TaskResult, questions, results
from formlab.systems.chat.settings import RUNNING, SHAPING, client_of
from formlab.systems.chat.store import AnswerStore, Asker
from formlab.systems.chat.view import OcrLines, PageView, Shots, drawn
from formlab.systems.prompts import read as read_prompt
from formlab.systems.prompts import version_of
from formlab.systems.runs import Reading
from formlab.systems.system import System

PREFIX = "chat:"
STORE = "answers.sqlite"
# A bound that is not set is not named: runs of before there was one go on.
_UNNAMED = ("shots", "shots_seed", "logprobs", "samples")
_TAKEN = ("text", "attempts", "tokens_in", "tokens_out", "cost", "seconds")


@dataclass(frozen=True)
class ChatSystem(System):
    """A model at any endpoint that speaks OpenAI's protocol; `settings.SETTINGS` are its settings.

    ``max_calls=0`` asks nothing and takes what the store has. A document's pages are all in one
    question, the first `max_pages` of them; `notes` say what was sent. Before it come `shots`
    examples of the documents to learn from, as text; the settings of a run name them under
    ``shots documents``. With `logprobs` records have the probability of their value's tokens as
    `confidence`, where the server gives them; with several `samples` the share of so many answers
    to the question that agree with the first, which is the answer.
    """

    model: str = ""

    def client(self, settings: Row) -> Client:
        """What asks the model."""
        return client_of(self.model, settings)

    def run_name(self, settings: Row) -> str:
        """The model's name, with the settings that shape answers and are not at their default."""
        return super().run_name({k: v for k, v in settings.items() if k in SHAPING})

    def work(self, corpus: Corpus, settings: Row) -> ChatWork:
        """How the model works on a corpus."""
        return ChatWork(self, corpus, settings)


def system(name: str) -> ChatSystem:
    """The system of a name such as ``chat:gpt-4o``; `UnknownName` if it has no model in it.

    Examples
    --------
    >>> system("chat:my-model").run_name({"temperature": 0.5, "concurrency": 4})
    'chat:my-model(temperature=0.5)'
    """
    model = name.removeprefix(PREFIX).strip()
    if not name.startswith(PREFIX) or not model:
        raise UnknownName(f"no model in {name!r}", remedy="chat:MODEL, as the server names it")
    title = f"{model} at an OpenAI-compatible endpoint"
    names = {"name": f"{PREFIX}{model}", "title": title, "model": model}
    return ChatSystem(start=None, defaults=SHAPING | RUNNING, extra="chat", **names)


class ChatWork:
    """How a model works on a corpus: attributes as of `formlab.systems.runs.PageWork`."""

    def __init__(self, model: ChatSystem, corpus: Corpus, settings: Row) -> None:
        self.corpus, self.chosen, self.client = corpus, settings, model.client(settings)
        self.images = settings["image_limit"] > 0
        self.texts = benchmarks.get(corpus.benchmark).schema is not None
        self.notes = Counter[str]()
        tasks, prompt = tasks_of(corpus.benchmark, settings["tasks"]), settings["prompt"]
        if prompt and len(tasks) > 1:
            what = f"one prompt for several tasks: {', '.join(task.name for task in tasks)}"
            raise DataBroken(what, where=prompt, remedy=f"--set tasks={tasks[0].name}")
        self.examples = drawn(corpus, settings["shots"], settings["shots_seed"])
        shown = {name: settings[name] for name in ("prompt", "boxes", "pages")}
        shown["shots"] = self.examples is not None
        self.prompts = {task.name: (task, prompt_of(task, **shown)) for task in tasks}
        shaping = {n: v for n in SHAPING if (v := settings[n]) != SHAPING[n] or n not in _UNNAMED}
        if self.examples is not None:
            shaping["shots_seed"] = settings["shots_seed"]
            shaping["shots documents"] = self.examples.documents["doc_id"].to_list()
        shaping |= {"model": self.client.model, "address": self.client.address}
        shaping |= {f"prompt {name}": version_of(text) for name, (_, text) in self.prompts.items()}
        if prompt:
            shaping["prompt"] = read_prompt(prompt).version
        self.head: Row = {"settings": shaping}
        self.settings = shaping | {"openai": metadata.version("openai"), "formlab": files.version()}
        if settings["pages"] == "text":
            self.settings["rapidocr"] = metadata.version("rapidocr")
        if self.client.price:
            self.settings["price"] = str(self.client.price)

    def read(
        self, documents: pl.DataFrame, *, out: Path, workers: int | str = 1, **_: Any
    ) -> list[Reading]:
        """What came of each question, from answers that are there and new ones.

        `NotAvailable` if `workers` are those of a cluster.
        """
        if isinstance(workers, str):
            what = "models are asked from one machine, which keeps their answers and limits"
            raise NotAvailable(what, remedy="--workers N")
        chosen, lines = self.chosen, OcrLines(unit=self.chosen["boxes"])
        view = PageView(
            chosen["image_limit"],
            chosen["max_pages"],
            chosen["boxes"],
            lines if chosen["pages"] == "text" else None,
        )
        shots = {}
        if self.examples is not None:
            shots = {n: Shots(self.examples, t, view, lines) for n, (t, _) in self.prompts.items()}
        todo = list(questions(self.corpus, self.prompts, documents=documents, shots=shots))
        with AnswerStore(chosen["store"] or out / STORE) as store:
            asker = Asker(self.client, store, form=chosen["form"], retry=chosen["retry"])
            run = {"workers": chosen["concurrency"], "samples": chosen["samples"]}
            outcomes = results(todo, asker, root=self.corpus.root, view=view, **run)
        sent = [page.sent for outcome in outcomes for page in outcome.shown]
        if sent:
            across, down = (max(sides) for sides in zip(*sent, strict=True))
            self.notes[f"pages sent, of up to {across} x {down} pixels"] = len(sent)
        if chosen["prices"] and not self.client.price:
            what = f"answers of unknown cost: no price of {self.client.model}"
            self.notes[what] = len(outcomes)
        return [self._reading(outcome, store.path.name) for outcome in outcomes]

    def _reading(self, outcome: TaskResult, store: str) -> Reading:
        question, answer, origin = outcome.question, outcome.answer, None
        response: Row = {"task": question.task.kind, "error": "; ".join(outcome.changes) or None}
        if answer is not None:
            origin = f"{store}#{answer.key[:16]}"
            if self.client.price:
                # Whatever it cost when it was asked for.
                cost = self.client.price.of(answer.tokens_in, answer.tokens_out)
                answer = dataclasses.replace(answer, cost=cost)
            response |= {name: getattr(answer, name) for name in _TAKEN} | {"request": answer.key}
        notes, doc_id = self._notes(outcome), question.document["doc_id"]
        return Reading(doc_id, outcome.status, origin, outcome.rows, response, notes)

    def _notes(self, outcome: TaskResult) -> Counter[str]:
        """What is counted of an outcome."""
        ask, answer = outcome.question.ask, outcome.answer
        notes = Counter({f"answers {outcome.status}": 1})
        notes["pages not sent: beyond max_pages"] = outcome.left_out
        if answer is None:
            for reason in outcome.changes:
                is_said = reason.startswith("not asked") or reason == ask.lacking
                notes[reason if is_said else "documents without a page to show"] += 1
        else:
            is_bare = self.chosen["logprobs"] and answer.text and not answer.logprobs
            notes["answers without log-probabilities"] = int(bool(is_bare))
            notes["documents sent as text"] = int(bool(ask.text) and not outcome.shown)
        return notes
