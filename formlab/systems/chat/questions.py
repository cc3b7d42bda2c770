"""Questions to a model about documents, many at once and none twice, and their answers' rows."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus
from formlab.show import progress
from formlab.systems.chat.answers import Answer, agreement, content, taken, with_confidence
from formlab.systems.chat.ask import Ask, Row, Task, WrongShape, messages, with_schema
from formlab.systems.chat.limits import Stopped
from formlab.systems.chat.store import Asker, Prompt
from formlab.systems.chat.view import PageView
from formlab.systems.pages import Page
from formlab.tables import USABLE
from formlab.workers import threads

if TYPE_CHECKING:
    from formlab.systems.chat.view import Shots


@dataclasses.dataclass(frozen=True)
class TaskQuestion:
    """One task about one document."""

    task: Task
    prompt: str
    document: Row
    ask: Ask
    shots: Shots | None = None

    def failed(self, status: str, *why: str, answer: Answer | None = None) -> TaskResult:
        """The outcome without a usable answer: blank rows, with a status and the reasons."""
        return TaskResult(self, status, [dict(row) for row in self.ask.blank], why, answer)


@dataclasses.dataclass(frozen=True)
class TaskResult:
    """The outcome of a question: status, rows, repairs or reasons, and the answer if any.

    `shown` are the pages that it was put with, `left_out` how many further ones there are.
    """

    question: TaskQuestion
    status: str
    rows: list[Row]
    changes: tuple[str, ...] = ()
    answer: Answer | None = None
    shown: tuple[Page, ...] = ()
    left_out: int = 0


def questions(
    corpus: Corpus,
    prompts: dict[str, tuple[Task, str]],
    *,
    documents: pl.DataFrame | None = None,
    shots: Mapping[str, Shots] | None = None,
) -> Iterator[TaskQuestion]:
    """Every question about `documents` (all of the corpus if left out), document by document.

    `shots` are the examples of each task, by its name.
    """
    gold: dict[str, list[Row]] = {}
    columns = corpus.records.select("doc_id", "task", "path", "kind", "meta")
    for row in columns.iter_rows(named=True):
        gold.setdefault(row["doc_id"], []).append(row)
    chosen = corpus.documents if documents is None else documents
    for document in chosen.iter_rows(named=True):
        for task, prompt in prompts.values():
            ask = task.make(document, gold.get(document["doc_id"], []))
            if ask is not None:
                yield TaskQuestion(task, prompt, document, ask, (shots or {}).get(task.name))


def results(
    todo: list[TaskQuestion],
    asker: Asker,
    *,
    root: Path | None,
    view: PageView,
    workers: int,
    samples: int = 1,
) -> list[TaskResult]:
    """The outcome of each question, put `samples` times, in their order.

    `NotAvailable` if no call can succeed; what was answered before is in the store.
    """
    done: dict[int, TaskResult] = {}
    limits, price, bad = asker.client.limits, asker.client.price, 0

    def answered(number: int) -> TaskResult:
        try:
            return _result(todo[number], asker, root, view, samples)
        except Stopped as stop:
            return todo[number].failed("missing", f"not asked: {stop}")

    # After an error or Ctrl-C no call is begun; those in flight are waited for.
    end = lambda: limits.stop("the run ended")  # noqa: E731
    answers = threads(answered, range(len(todo)), workers=workers, name="chat", ended=end)
    text = "answers, {task.fields[bad]} unusable{task.fields[cost]}"
    with closing(answers), progress(text) as bars:
        bar = bars.add_task(asker.client.model, total=len(todo), cost="", bad=0)
        for number, result in answers:
            done[number] = result
            bad += result.status not in USABLE
            cost = f", {limits.cost:.4f} {price.currency}" if price else ""
            bars.update(bar, advance=1, cost=cost, bad=bad)
    return [done[number] for number in range(len(todo))]


def _result(
    question: TaskQuestion, asker: Asker, root: Path | None, view: PageView, samples: int
) -> TaskResult:
    ask, document = question.ask, question.document
    if ask.lacking:
        return question.failed("missing", ask.lacking)
    text = None if view.limit and document["image"] else ask.text
    try:
        pages = [] if text else view.pages(document, root)
        shown = pages[: view.most]

        def sent(show: Callable[[Page], Row]) -> list:
            both = messages(question.prompt, ask.asked, shown, show=show, text=text)
            both[1:1] = question.shots.turns() if question.shots else []
            return with_schema(both, ask.schema) if ask.schema else both

        names = [str(page.path.relative_to(root) if root else page.path.name) for page in shown]
        images = [{"image": n} | page.shape for n, page in zip(names, shown, strict=True)]
        prompt = Prompt(
            sent(view.in_key),
            lambda: sent(view.in_call),
            ask.schema,
            lambda answer: _read(question, answer, shown, view).status,
            question.task.name,
            document["doc_id"],
            json.dumps(images),
        )
        found = [_read(question, a, shown, view) for a in _answers(prompt, asker, samples)]
    except (DataMissing, DataBroken) as error:
        # A page with a sound header and a broken picture.
        return question.failed("missing", str(error))
    result = found[0] if samples == 1 else _sampled(found, samples)
    return dataclasses.replace(result, shown=tuple(shown), left_out=len(pages) - len(shown))


def _answers(prompt: Prompt, asker: Asker, samples: int) -> list[Answer]:
    """The answers to a question that is put so many times; `Stopped` if there is none."""
    answers, stops = [], []
    for number in range(samples):
        # The first is the question that is put once.
        shape = [*prompt.shape, {"sample": number}] if number else prompt.shape
        try:
            answers.append(asker.answer(dataclasses.replace(prompt, shape=shape)))
        except Stopped as stop:
            stops.append(stop)
    if not answers:
        raise stops[0]
    return answers


def _sampled(results: list[TaskResult], samples: int) -> TaskResult:
    """The first usable sample, with what all of them cost, and its values' share of agreement."""
    usable = [result for result in results if result.status in USABLE]
    first, changes = (usable or results)[0], ()
    sums = {}
    for name in ("attempts", "tokens_in", "tokens_out", "cost", "seconds"):
        values = [getattr(result.answer, name) for result in results]
        sums[name] = None if None in values else sum(values)
    if len(results) < samples:
        changes = (f"{samples - len(results)} of {samples} samples not asked: no confidence",)
    elif usable:
        fixed = {row.get("path") for row in first.question.ask.blank}
        empty: list[list[Row]] = [[]] * (samples - len(usable))
        shares = agreement([first.rows, *(r.rows for r in usable[1:]), *empty], fixed)
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
