"""A model as a system: questions about a corpus, and the rows of the answers to them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from formlab import benchmarks, files
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.folders import Corpus
from formlab.show import progress
from formlab.systems import System
from formlab.systems.chat.answers import Answer, agreement, content, taken, with_confidence
from formlab.systems.chat.ask import (
    Ask,
    PageView,
    Row,
    Task,
    WrongShape,
    example_turns,
    messages,
    prompt_of,
)
from formlab.systems.chat.benchmarks import tasks_of
from formlab.systems.chat.client import Client, Stopped
from formlab.systems.chat.settings import RUNNING, SHAPING
from formlab.systems.chat.store import AnswerStore, Asker, Prompt
from formlab.systems.pages import Page
from formlab.systems.prompts import read as read_prompt
from formlab.systems.prompts import version_of
from formlab.systems.runs import Reading, told
from formlab.tables import USABLE
from formlab.workers import threads

PREFIX, STORE = "chat:", "answers.sqlite"
# A bound that is not set is not named: runs of before there was one go on.
_UNNAMED = ("shots", "shots_seed", "logprobs", "samples")
_SUMS = ("attempts", "tokens_in", "tokens_out", "cost", "seconds")


@dataclass(frozen=True)
class ChatSystem(System):
    """A model at any endpoint that speaks OpenAI's protocol; `settings.SETTINGS` are its settings.

    ``max_calls=0`` asks nothing and takes what the store has. A document's pages are all in one
    question, the first `max_pages` of them; `notes` say what was sent. Before it come up to `shots`
    examples of the documents to learn from, as text; the settings of a run name them under
    ``shots documents``. With `logprobs` records have the probability of their value's tokens as
    `confidence`, where the server gives them; with several `samples` the share of so many answers
    to the question that agree with the first, which is the answer.
    """

    model: str = ""

    def client(self, settings: Row) -> Client:
        """What asks the model."""
        return Client(self.model, settings)

    def run_name(self, settings: Row) -> str:
        """The model's name, with the settings that shape answers and are not at their default."""
        return super().run_name({k: v for k, v in settings.items() if k in SHAPING})

    def work(self, corpus: Corpus, settings: Row) -> ChatWork:
        """How the model works on a corpus."""
        return ChatWork(self, corpus, settings)


def system(name: str) -> ChatSystem:
    """The system of a name such as ``chat:gpt-4o``; `UnknownName` if it has no model in it.

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
        self.images, self.notes = settings["image_limit"] > 0, Counter[str]()
        self.texts = benchmarks.get(corpus.benchmark).schema is not None
        tasks, prompt = tasks_of(corpus.benchmark, settings["tasks"]), settings["prompt"]
        if prompt and len(tasks) > 1:
            what = f"one prompt for several tasks: {', '.join(task.name for task in tasks)}"
            raise DataBroken(what, where=prompt, remedy=f"--set tasks={tasks[0].name}")
        self.examples, shots = None, settings["shots"]
        if shots:
            seed = settings["shots_seed"]
            self.examples = benchmarks.training(corpus, limit=shots, seed=seed)
        shown = {name: settings[name] for name in ("prompt", "boxes", "pages")}
        shown["shots"] = self.examples is not None
        self.prompts = [(task, prompt_of(task, **shown)) for task in tasks]
        named = {n: v for n in SHAPING if (v := settings[n]) != SHAPING[n] or n not in _UNNAMED}
        if self.examples is not None:
            named["shots_seed"] = settings["shots_seed"]
            named["shots documents"] = self.examples.documents["doc_id"].to_list()
        named |= {"model": self.client.model, "address": self.client.address}
        named |= {f"prompt {task.name}": version_of(text) for task, text in self.prompts}
        named |= {"prompt": read_prompt(prompt).version} if prompt else {}
        self.head: Row = {"settings": named}
        self.settings = named | {"openai": metadata.version("openai"), "formlab": files.version()}
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
        view = PageView(self.chosen)
        todo = list(self._questions(documents, view))
        with AnswerStore(self.chosen["store"] or out / STORE) as store:
            outcomes = results(todo, Asker(self.client, store), view, root=self.corpus.root)
        if sent := [page.sent for outcome in outcomes for page in outcome.shown]:
            across, down = (max(sides) for sides in zip(*sent, strict=True))
            self.notes[f"pages sent, of up to {across} x {down} pixels"] = len(sent)
        if self.chosen["prices"] and not self.client.price:
            what = f"answers of unknown cost: no price of {self.client.model}"
            self.notes[what] = len(outcomes)
        return [self._reading(outcome, store.path.name) for outcome in outcomes]

    def _questions(self, documents: pl.DataFrame, view: PageView) -> Iterator[TaskQuestion]:
        """Every question about `documents`, document by document."""
        turns: dict[str, list[Row]] = {}
        if self.examples is not None:
            turns = {t.name: example_turns(t, self.examples, view) for t, _ in self.prompts}
        columns = self.corpus.records.select("doc_id", "task", "path", "kind", "meta")
        gold = columns.rows_by_key("doc_id", named=True, include_key=True)
        for document in documents.iter_rows(named=True):
            for task, prompt in self.prompts:
                ask = task.make(document, gold.get(document["doc_id"], []))
                if ask is not None:
                    yield TaskQuestion(task, prompt, document, ask, turns.get(task.name, ()))

    def _reading(self, outcome: TaskResult, store: str) -> Reading:
        question, answer, price = outcome.question, outcome.answer, self.client.price
        response: Row = {"task": question.task.kind, "error": "; ".join(outcome.changes) or None}
        notes, origin = Counter({f"answers {outcome.status}": 1}), None
        notes["pages not sent: beyond max_pages"] = outcome.left_out
        if answer is None:
            for reason in outcome.changes:
                is_said = reason.startswith("not asked") or reason == question.ask.lacking
                notes[reason if is_said else "documents without a page to show"] += 1
        else:
            origin = f"{store}#{answer.key[:16]}"
            response |= {name: getattr(answer, name) for name in ("text", *_SUMS)}
            response["request"] = answer.key
            if price:  # Whatever it cost when it was asked for.
                response["cost"] = price.of(answer.tokens_in, answer.tokens_out)
            is_bare = self.chosen["logprobs"] and answer.text and not answer.logprobs
            notes["answers without log-probabilities"] = int(bool(is_bare))
            notes["documents sent as text"] = int(bool(question.ask.text) and not outcome.shown)
        doc_id = question.document["doc_id"]
        return Reading(doc_id, outcome.status, origin, outcome.rows, response, notes)


@dataclass(frozen=True)
class TaskQuestion:
    """One task about one document; `turns` are the messages of examples before it."""

    task: Task
    prompt: str
    document: Row
    ask: Ask
    turns: Sequence[Row] = ()

    def failed(self, status: str, *why: str, answer: Answer | None = None) -> TaskResult:
        """The outcome without a usable answer: blank rows, with a status and the reasons."""
        return TaskResult(self, status, [dict(row) for row in self.ask.blank], why, answer)


@dataclass(frozen=True)
class TaskResult:
    """The outcome of a question: status, rows, repairs or reasons, and the answer if any.

    `shown` are the pages that it was put with, `left_out` how many further ones there are.
    """

    question: TaskQuestion
    status: str
    rows: list[Row]
    changes: tuple[str, ...] = ()
    answer: Answer | None = None
    shown: Sequence[Page] = ()
    left_out: int = 0


def results(
    todo: list[TaskQuestion], asker: Asker, view: PageView, *, root: Path | None
) -> list[TaskResult]:
    """The outcome of each question, in their order, put as often as the setting `samples` says.

    `NotAvailable` if no call can succeed; what was answered before is in the store.
    """
    done: dict[int, TaskResult] = {}
    client, limits, bad = asker.client, asker.client.limits, 0

    def answered(number: int) -> TaskResult:
        try:
            return _result(todo[number], asker, view, root)
        except Stopped as stop:
            return todo[number].failed("missing", f"not asked: {stop}")
        except NotAvailable:
            raise
        except Exception as error:  # An error on one page must not lose the others.
            return todo[number].failed("missing", told(error))

    # After an error or Ctrl-C no call is begun; those in flight are waited for.
    run = {"workers": client.settings["concurrency"], "name": "chat"}
    run["ended"] = lambda: limits.stop("the run ended")
    answers = threads(answered, range(len(todo)), **run)
    text = "answers, {task.fields[bad]} unusable{task.fields[cost]}"
    with closing(answers), progress(text) as bars:
        bar = bars.add_task(client.model, total=len(todo), cost="", bad=0)
        for number, result in answers:
            done[number] = result
            bad += result.status not in USABLE
            cost = f", {limits.cost:.4f} {client.price.currency}" if client.price else ""
            bars.update(bar, advance=1, cost=cost, bad=bad)
    return [done[number] for number in range(len(todo))]


def _result(question: TaskQuestion, asker: Asker, view: PageView, root: Path | None) -> TaskResult:
    ask, document = question.ask, question.document
    if ask.lacking:
        return question.failed("missing", ask.lacking)
    text = None if view.limit and document["image"] else ask.text
    pages = [] if text else view.pages(document, root)
    shown = pages[: view.most]

    def sent(show: Callable[[Page], Row]) -> list[Row]:
        options = {"show": show, "schema": ask.schema, "text": text}
        system, user = messages(question.prompt, ask.asked, shown, **options)
        return [system, *question.turns, user]

    prompt = Prompt(
        sent(view.in_key),
        lambda: sent(view.in_call),
        ask.schema,
        lambda answer: _read(question, answer, shown, view).status,
        question.task.name,
        document["doc_id"],
    )
    answers, stops, samples = [], [], asker.client.settings["samples"]
    for number in range(samples):
        # The first is the question that is put once.
        shape = [*prompt.shape, {"sample": number}] if number else prompt.shape
        try:
            answers.append(asker.answer(dataclasses.replace(prompt, shape=shape)))
        except Stopped as stop:
            stops.append(stop)
    if not answers:
        raise stops[0]
    found = [_read(question, answer, shown, view) for answer in answers]
    result = found[0] if samples == 1 else _sampled(found, samples)
    return dataclasses.replace(result, shown=shown, left_out=len(pages) - len(shown))


def _sampled(results: list[TaskResult], samples: int) -> TaskResult:
    """The first usable sample, with what all of them cost, and its values' share of agreement."""
    usable = [result for result in results if result.status in USABLE]
    first, changes = (usable or results)[0], ()
    costs = {name: [getattr(result.answer, name) for result in results] for name in _SUMS}
    sums = {name: None if None in values else sum(values) for name, values in costs.items()}
    if len(results) < samples:
        changes = (f"{samples - len(results)} of {samples} samples not asked: no confidence",)
    elif usable:
        fixed = {row.get("path") for row in first.question.ask.blank}
        shares = agreement([result.rows for result in usable], fixed, samples)
        for row, share in zip(first.rows, shares, strict=True):
            row["confidence"] = share
    answer = dataclasses.replace(first.answer, **sums)
    return dataclasses.replace(first, answer=answer, changes=first.changes + changes)


def _read(question: TaskQuestion, answer: Answer, shown: list[Page], view: PageView) -> TaskResult:
    """The rows of an answer, or the blank ones where it is not usable."""
    parsed = content(answer, json=question.ask.schema is not None)
    if parsed.status not in USABLE:
        return question.failed(parsed.status, *parsed.changes, answer=answer)
    pages = {page.number: page for page in shown}

    def locate(number: Any, box: Any) -> Row:
        try:
            place = int(number) if number is not None else 1
        except (TypeError, ValueError, OverflowError):
            return {}
        if place in pages and box is not None:
            return {"page": place} | pages[place].located(box, unit=view.boxes)
        return {"page": place} if 0 < place < 1_000_000 else {}

    value = parsed.value
    if answer.logprobs and question.ask.schema is not None:
        value = with_confidence(value, answer.text or "", answer.logprobs)
    try:
        rows = taken(question.ask.read(value, locate))
    except WrongShape as error:
        return question.failed("bad_json", str(error), answer=answer)
    return TaskResult(question, parsed.status, rows, parsed.changes, answer)
