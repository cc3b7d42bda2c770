"""Ask a model about every document of a corpus: many calls at once, none made twice."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from formlab import tables
from formlab.benchmarks.meta import page_images
from formlab.errors import DataBroken, DataMissing
from formlab.systems.chat._ask import Ask, Row, WrongShape
from formlab.systems.chat._gate import Stopped
from formlab.systems.chat.answers import content
from formlab.systems.chat.asker import Asker, Prompt
from formlab.systems.chat.images import Page, pages
from formlab.systems.chat.readings import Readings
from formlab.systems.chat.store import Answer
from formlab.systems.chat.tasks import Task, messages, with_schema
from formlab.tables import USABLE, Corpus, Predictions


@dataclasses.dataclass(frozen=True)
class Question:
    """One task about one document."""

    task: Task
    prompt: str
    document: Row
    ask: Ask


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a question: its rows, and the answer if there is one."""

    question: Question
    status: str
    rows: list[Row]
    changes: tuple[str, ...] = ()
    answer: Answer | None = None


@dataclasses.dataclass(frozen=True)
class Looks:
    """How pages are shown: longest side in pixels, pages at most, and the unit of boxes.

    With ``limit=0`` no page is shown; with `readings`, what an OCR engine reads stands for it.
    """

    limit: int = 2048
    most: int = 10
    boxes: str = "thousandths"
    readings: Readings | None = None

    def in_key(self, page: Page) -> Row:
        """What stands for a page in the key of an answer."""
        return self._text(page) or _image(page.shape)

    def in_call(self, page: Page) -> Row:
        """What stands for a page in the message to the model."""
        return self._text(page) or _image(page.url())

    def _text(self, page: Page) -> Row | None:
        return {"type": "text", "text": self.readings.text(page)} if self.readings else None


def _image(url: Any) -> Row:
    return {"type": "image_url", "image_url": {"url": url}}


def questions(
    corpus: Corpus,
    prompts: dict[str, tuple[Task, str]],
    *,
    documents: pl.DataFrame | None = None,
) -> Iterator[Question]:
    """Every question about `documents` (all of the corpus if left out), document by document."""
    gold: dict[str, list[Row]] = {}
    for row in corpus.records.select("doc_id", "task", "path", "kind", "meta").iter_rows(
        named=True
    ):
        gold.setdefault(row["doc_id"], []).append(row)
    shown = corpus.documents if documents is None else documents
    for document in shown.iter_rows(named=True):
        for task, prompt in prompts.values():
            ask = task.make(document, gold.get(document["doc_id"], []))
            if ask is not None:
                yield Question(task, prompt, document, ask)


def results(
    todo: list[Question], asker: Asker, *, root: Path | None, looks: Looks, workers: int
) -> list[Result]:
    """What became of each question, in their order.

    Raises
    ------
    NotAvailable
        If no call can succeed; what was answered before is in the store.
    """
    found: dict[int, Result] = {}
    pool = ThreadPoolExecutor(max_workers=max(1, workers), thread_name_prefix="chat")
    try:
        with _progress(shown=asker.may_ask) as progress:
            bar = progress.add_task(asker.client.model, total=len(todo), cost="", bad=0)
            running: dict[Future[Result], int] = {
                pool.submit(_result, question, asker, root, looks): place
                for place, question in enumerate(todo)
            }
            bad = 0
            for future in as_completed(running):
                place = running[future]
                try:
                    found[place] = future.result()
                except Stopped as stop:
                    found[place] = _failed(todo[place], "missing", f"not asked: {stop}")
                bad += found[place].status not in USABLE
                progress.update(bar, advance=1, cost=_spent(asker), bad=bad)
    finally:
        # After an error or Ctrl-C: calls in flight are let go, none is begun.
        asker.client.gate.stop("the run ended")
        pool.shutdown(cancel_futures=True)
    return [found[place] for place in range(len(todo))]


def _progress(*, shown: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TextColumn("answers, {task.fields[bad]} unusable{task.fields[cost]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        # A report is no place for a bar that moves.
        disable=not shown or os.environ.get("FORMLAB_REPORT") == "1",
    )  # fmt: skip


def _spent(asker: Asker) -> str:
    return f", ${asker.client.budget.cost:.4f}" if asker.client.price else ""


def _result(question: Question, asker: Asker, root: Path | None, looks: Looks) -> Result:
    if question.ask.lacking:
        return _failed(question, "missing", question.ask.lacking)

    def said(show: Callable[[Page], Row]) -> list:
        both = messages(question.prompt, question.ask.asked, shown, show=show)
        return with_schema(both, question.ask.schema) if question.ask.schema else both

    def status(answer: Answer) -> str:
        return _read(question, answer, shown, looks).status

    try:
        shown = _pages(question.document, root, looks)
        prompt = Prompt(
            said(looks.in_key), lambda: said(looks.in_call), question.ask.schema, status,
            question.task.name,
            question.document["doc_id"], json.dumps([_kept(page, root) for page in shown]),
        )  # fmt: skip
        return _read(question, asker.answer(prompt), shown, looks)
    except (DataMissing, DataBroken) as error:
        # A page whose header is sound and whose picture is not.
        return _failed(question, "missing", str(error))


def _kept(page: Page, root: Path | None) -> Row:
    name = page.path.relative_to(root) if root else page.path.name
    return {"image": str(name)} | page.shape


def _pages(document: Row, root: Path | None, looks: Looks) -> list[Page]:
    if not looks.limit:
        return []
    if root is None or document["image"] is None:
        raise DataMissing("this document has no image", where=document["doc_id"])
    paths = [root / name for name in page_images(document)]
    return pages(paths, limit=looks.limit, most=looks.most, width=document["width"])


def _read(question: Question, answer: Answer, shown: list[Page], looks: Looks) -> Result:
    """The rows of an answer, or those that stand for it where it is of no use."""
    found = content(answer, json=question.ask.schema is not None)
    if found.status not in USABLE:
        return _failed(question, found.status, *found.changes, answer=answer)

    def place(number: Any, box: Any) -> Row:
        try:
            page = int(number) if number is not None else 1
        except (TypeError, ValueError, OverflowError):
            return {}
        here = next((p for p in shown if p.number == page), None)
        if here is None or box is None:
            return {"page": page} if 0 < page < 1_000_000 else {}
        return {"page": page} | here.place(box, unit=looks.boxes)

    try:
        rows = question.ask.read(found.value, place)
    except WrongShape as error:
        return _failed(question, "bad_json", str(error), answer=answer)
    return Result(question, found.status, rows, found.changes, answer)


def _failed(
    question: Question, status: str, *why: str, answer: Answer | None = None
) -> Result:  # fmt: skip
    return Result(question, status, [dict(row) for row in question.ask.blank], why, answer)


def _reason(why: str, question: Question) -> str:
    told = why.startswith("not asked") or why == question.ask.lacking
    return why if told else "documents without a page to show"


def predictions(
    corpus: Corpus, found: list[Result], *, name: str, settings: Row, store: str
) -> Predictions:
    """The tables of a run: records of every answer, and a response per question."""
    records, responses = [], []
    notes: Counter[str] = Counter()
    for result in found:
        answer = result.answer
        base = {
            "benchmark": corpus.benchmark, "split": corpus.split, "system": name,
            "doc_id": result.question.document["doc_id"], "status": result.status,
        }  # fmt: skip
        origin = f"{store}#{answer.key[:16]}" if answer else None
        mark = base | {"role": "prediction", "origin": origin}
        records += [mark | row for row in result.rows]
        row = base | {"task": result.question.task.kind, "error": "; ".join(result.changes) or None}
        if answer:
            names = ("text", "attempts", "tokens_in", "tokens_out", "cost", "seconds")
            row |= {"request": answer.key} | {n: getattr(answer, n) for n in names}
        responses.append(row)
        notes[f"answers {result.status}"] += 1
        for why in result.changes if answer is None else ():
            notes[_reason(why, result.question)] += 1
    return Predictions(
        records=tables.table("records", records),
        responses=tables.table("responses", responses),
        system=name,
        settings=settings,
        notes={what: count for what, count in sorted(notes.items()) if count},
    )
