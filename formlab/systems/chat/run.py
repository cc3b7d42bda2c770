"""Ask a model about every document of a corpus: many calls at once, none twice."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from formlab import tables
from formlab.errors import DataBroken, DataMissing, FormlabError
from formlab.folders import Corpus, Predictions
from formlab.show import progress
from formlab.systems._runs import page_files
from formlab.systems.chat._ask import Ask, Row, WrongShape
from formlab.systems.chat.answers import Answer, content
from formlab.systems.chat.asker import Asker, Prompt
from formlab.systems.chat.confidence import agreement, taken, with_confidence
from formlab.systems.chat.images import PageImage, pages
from formlab.systems.chat.limits import Stopped
from formlab.systems.chat.ocr_lines import OcrLines
from formlab.systems.chat.tasks import Task, messages, with_schema
from formlab.tables import USABLE
from formlab.workers import threads

if TYPE_CHECKING:
    from formlab.systems.chat.shots import Shots

# What is noted of pages that were not sent.
LEFT_OUT = "pages not sent: beyond max_pages"


@dataclasses.dataclass(frozen=True)
class TaskQuestion:
    """One task about one document."""

    task: Task
    prompt: str
    document: Row
    ask: Ask
    shots: Shots | None = None


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
    shown: tuple[PageImage, ...] = ()
    left_out: int = 0


@dataclasses.dataclass(frozen=True)
class PageView:
    """How pages are shown: longest side in pixels, number of pages at most, and the unit of boxes.

    With ``limit=0`` no page is shown; with `ocr`, the lines that it reads stand for the image.
    """

    limit: int = 2048
    most: int = 10
    boxes: str = "thousandths"
    ocr: OcrLines | None = None

    def pages(self, document: Row, root: Path | None) -> list[PageImage]:
        """All pages of a document; none where no page is shown, or its own text stands for them."""
        if not self.limit:
            return []
        paths, width = page_files(document, root), document["width"]
        with _readable(paths[0]):
            return pages(paths, limit=self.limit, width=width)

    def in_key(self, page: PageImage) -> Row:
        """What stands for a page in the key of an answer."""
        with _readable(page.path):
            return self._text(page) or _image(page.shape)

    def in_call(self, page: PageImage) -> Row:
        """What stands for a page in the message to the model."""
        with _readable(page.path):
            return self._text(page) or _image(page.url())

    def _text(self, page: PageImage) -> Row | None:
        return {"type": "text", "text": self.ocr.text(page)} if self.ocr else None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """`DataBroken` for whatever a library says of a page: it must not end the run of the others."""
    try:
        yield
    except FormlabError:
        raise
    except Exception as error:
        raise DataBroken(
            f"not a readable page: {type(error).__name__}: {error}", where=path
        ) from error


def _image(url: Any) -> Row:
    return {"type": "image_url", "image_url": {"url": url}}


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
    shown = corpus.documents if documents is None else documents
    for document in shown.iter_rows(named=True):
        for task, prompt in prompts.values():
            ask = task.make(document, gold.get(document["doc_id"], []))
            if ask is not None:
                yield TaskQuestion(task, prompt, document, ask, (shots or {}).get(task.name))


def results(
    todo: list[TaskQuestion], asker: Asker, *, root: Path | None, view: PageView, workers: int,
    samples: int = 1,
) -> list[TaskResult]:  # fmt: skip
    """The outcome of each question, put `samples` times, in their order.

    `NotAvailable` if no call can succeed; what was answered before is in the store.
    """
    done: dict[int, TaskResult] = {}
    limits, bad = asker.client.limits, 0
    text = "answers, {task.fields[bad]} unusable{task.fields[cost]}"

    def answered(number: int) -> TaskResult:
        try:
            return _result(todo[number], asker, root, view, samples)
        except Stopped as stop:
            return _failed(todo[number], "missing", f"not asked: {stop}")

    # After an error or Ctrl-C no call is begun; those in flight are waited for.
    answers = threads(
        answered, range(len(todo)), workers=workers, name="chat",
        ended=lambda: limits.stop("the run ended"),
    )  # fmt: skip
    with closing(answers), progress(text, shown=asker.may_ask) as bars:
        bar = bars.add_task(asker.client.model, total=len(todo), cost="", bad=0)
        for number, result in answers:
            done[number] = result
            bad += result.status not in USABLE
            price = asker.client.price
            cost = f", {limits.cost:.4f} {price.currency}" if price else ""
            bars.update(bar, advance=1, cost=cost, bad=bad)
    return [done[number] for number in range(len(todo))]


def _result(
    question: TaskQuestion, asker: Asker, root: Path | None, view: PageView, samples: int
) -> TaskResult:
    ask = question.ask
    if ask.lacking:
        return _failed(question, "missing", ask.lacking)
    try:
        document, text = question.document, ask.text
        if text and view.limit and document["image"]:
            text = None
        every = [] if text else view.pages(document, root)
        shown = every[: view.most]

        def asked(show: Callable[[PageImage], Row]) -> list:
            both = messages(question.prompt, ask.asked, shown, show=show, text=text)
            both[1:1] = question.shots.turns(show) if question.shots else []
            return with_schema(both, ask.schema) if ask.schema else both

        files = [page.path.relative_to(root) if root else page.path.name for page in shown]
        images = [{"image": str(f)} | page.shape for f, page in zip(files, shown, strict=True)]
        prompt = Prompt(
            asked(view.in_key), lambda: asked(view.in_call), ask.schema,
            lambda answer: _read(question, answer, shown, view).status,
            question.task.name, document["doc_id"], json.dumps(images),
        )  # fmt: skip
        answers = _answers(prompt, asker, samples)
        result = _sampled([_read(question, a, shown, view) for a in answers], samples)
        further = len(every) - len(shown)
        return dataclasses.replace(result, shown=tuple(shown), left_out=further)
    except (DataMissing, DataBroken) as error:
        # A page with a sound header and a broken picture.
        return _failed(question, "missing", str(error))


def _answers(prompt: Prompt, asker: Asker, samples: int) -> list[Answer]:
    """The answers to a question that is put so many times; `Stopped` if there is none."""
    answers, stops = [], []
    for number in range(max(1, samples)):
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
    first = (usable or results)[0]
    if samples <= 1 or first.answer is None:
        return first
    sums = {}
    for name in ("attempts", "tokens_in", "tokens_out", "cost", "seconds"):
        values = [getattr(result.answer, name) for result in results]
        sums[name] = None if None in values else sum(values)
    changes = first.changes
    if len(results) < samples:
        changes += (f"{samples - len(results)} of {samples} samples not asked: no confidence",)
    elif usable:
        fixed = {row.get("path") for row in first.question.ask.blank}
        empty: list[list[Row]] = [[]] * (samples - len(usable))
        shares = agreement([first.rows, *(r.rows for r in usable[1:]), *empty], fixed)
        for row, share in zip(first.rows, shares, strict=True):
            row["confidence"] = share
    answer = dataclasses.replace(first.answer, **sums)
    return dataclasses.replace(first, answer=answer, changes=changes)


def _read(
    question: TaskQuestion, answer: Answer, shown: list[PageImage], view: PageView
) -> TaskResult:
    """The rows of an answer, or the blank ones where it is not usable."""
    parsed = content(answer, json=question.ask.schema is not None)
    if parsed.status not in USABLE:
        return _failed(question, parsed.status, *parsed.changes, answer=answer)

    def locate(number: Any, box: Any) -> Row:
        try:
            page = int(number) if number is not None else 1
        except (TypeError, ValueError, OverflowError):
            return {}
        here = next((p for p in shown if p.number == page), None)
        if here is None or box is None:
            return {"page": page} if 0 < page < 1_000_000 else {}
        return {"page": page} | here.located(box, unit=view.boxes)

    value = parsed.value
    if answer.logprobs and question.ask.schema is not None:
        value = with_confidence(value, answer.text or "", answer.logprobs)
    try:
        rows = taken(question.ask.read(value, locate))
    except WrongShape as error:
        return _failed(question, "bad_json", str(error), answer=answer)
    return TaskResult(question, parsed.status, rows, parsed.changes, answer)


def _failed(
    question: TaskQuestion, status: str, *why: str, answer: Answer | None = None
) -> TaskResult:
    return TaskResult(question, status, [dict(row) for row in question.ask.blank], why, answer)


def predictions(
    corpus: Corpus, outcomes: list[TaskResult], *, name: str, settings: Row, store: str
) -> Predictions:
    """The tables of a run: records of every answer, and a response per question."""
    records, responses = [], []
    notes: Counter[str] = Counter()
    sent: list[PageImage] = []
    for result in outcomes:
        answer, question = result.answer, result.question
        base = {
            "benchmark": corpus.benchmark, "split": corpus.split, "system": name,
            "doc_id": question.document["doc_id"], "status": result.status,
        }  # fmt: skip
        origin = f"{store}#{answer.key[:16]}" if answer else None
        mark = base | {"role": "prediction", "origin": origin}
        records += [mark | row for row in result.rows]
        row = base | {"task": question.task.kind, "error": "; ".join(result.changes) or None}
        if answer:
            names = ("text", "attempts", "tokens_in", "tokens_out", "cost", "seconds")
            row |= {"request": answer.key} | {n: getattr(answer, n) for n in names}
        responses.append(row)
        notes[f"answers {result.status}"] += 1
        if settings.get("logprobs") and answer and answer.text and not answer.logprobs:
            notes["answers without log-probabilities"] += 1
        notes[LEFT_OUT] += result.left_out
        if result.answer and question.ask.text and not result.shown:
            notes["documents sent as text"] += 1
        sent += result.shown
        for why in result.changes if answer is None else ():
            known = why.startswith("not asked") or why == question.ask.lacking
            notes[why if known else "documents without a page to show"] += 1
    if sent:
        across, down = (max(sides) for sides in zip(*(page.sent for page in sent), strict=True))
        notes[f"pages sent, of up to {across} x {down} pixels"] = len(sent)
    return Predictions(
        records=tables.table("records", records),
        responses=tables.table("responses", responses),
        system=name,
        settings=settings,
        notes={note: count for note, count in sorted(notes.items()) if count},
    )
