"""What is shown to a model: pages as images or as lines that OCR reads, and examples as text."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from formlab import benchmarks
from formlab.benchmarks import vrdu
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataBroken, DataMissing, FormlabError, NotAvailable
from formlab.folders import Corpus
from formlab.systems import ocr
from formlab.systems.chat.ask import Row, Task, messages
from formlab.systems.pages import Page, page_files, pages
from formlab.tables import BOX
from formlab.text.layout import rows as reading_order


@dataclasses.dataclass(frozen=True)
class PageView:
    """How pages are shown: longest side in pixels, number of pages at most, and the unit of boxes.

    With ``limit=0`` no page is shown; with `ocr`, the lines that it reads stand for the image.
    """

    limit: int = 2048
    most: int = 10
    boxes: str = "thousandths"
    ocr: OcrLines | None = None

    def pages(self, document: Row, root: Path | None) -> list[Page]:
        """All pages of a document; none where no page is shown."""
        if not self.limit:
            return []
        paths = page_files(document, root)
        with _readable(paths[0]):
            return pages(paths, limit=self.limit, width=document["width"])

    def in_key(self, page: Page) -> Row:
        """What stands for a page in the key of an answer."""
        return self._part(page, lambda: page.shape)

    def in_call(self, page: Page) -> Row:
        """What stands for a page in the message to the model."""
        return self._part(page, page.url)

    def _part(self, page: Page, url: Callable[[], Any]) -> Row:
        with _readable(page.path):
            if self.ocr:
                return {"type": "text", "text": self.ocr.text(page)}
            return {"type": "image_url", "image_url": {"url": url()}}


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """`DataBroken` for whatever a library says of a page: it must not end the run of the others."""
    try:
        yield
    except FormlabError:
        raise
    except Exception as error:
        what = f"not a readable page: {type(error).__name__}: {error}"
        raise DataBroken(what, where=path) from error


class OcrLines:
    """The lines of text that OCR reads on pages, each page once (`ocr.Engine`). Threads may share.

    `unit` is that of the lines' sides: ``thousandths`` of the page or ``pixels`` of it as it would
    be sent; ``none`` for texts alone.
    """

    def __init__(self, *, unit: str) -> None:
        self.unit = unit
        self._engine = ocr.Engine()

    def text(self, page: Page) -> str:
        """The page as the JSON that a model gets, its lines from top to bottom."""
        lines = self._engine(page.image, of=page.drawn, words=True)
        boxes = np.array([ocr.box_of(line.corners) for line in lines]).reshape(-1, 4)
        sides = 1000 * boxes / (page.sent * 2) if self.unit == "thousandths" else boxes
        shown: list[Any] = []
        for number in (number for row in reading_order(boxes) for number in row):
            text, place = lines[number].text, [round(side) for side in sides[number].tolist()]
            shown.append(text if self.unit == "none" else [text, *place])
        return json.dumps({"PAGE": page.number, "LINES": shown})


def drawn(corpus: Corpus, count: int, seed: int) -> Corpus | None:
    """Of the documents of a corpus to learn from so many by chance; None for none.

    None of them is a document of `corpus`, and all have words or a page to show; with fewer shots
    the same draw gives the first of them. `DataMissing` if there are fewer such documents.
    """
    if not count:
        return None
    known = benchmarks.training(corpus)
    rows = known.documents.iter_rows(named=True)
    usable = sorted(row["doc_id"] for row in rows if _is_shown(row, known.root))
    if len(usable) < count:
        what = f"{count} examples are asked for, and of {known.documents.height} documents to "
        what += f"learn from {len(usable)} can be shown"
        where = f"{corpus.benchmark}:{corpus.split}"
        raise DataMissing(what, where=where, remedy=f"--set shots={len(usable)}, or a larger split")
    random.Random(seed).shuffle(usable)
    return known.filtered(pl.col("doc_id").is_in(usable[:count]))


def _is_shown(document: Row, root: Path | None) -> bool:
    """Whether a document has words or all of its pages."""
    with suppress(DataMissing):
        supplied = meta_of(document).get("ocr")
        return bool(supplied) or all(path.is_file() for path in page_files(document, root))
    return False


def example_turns(task: Task, examples: Corpus, view: PageView, lines: OcrLines) -> list[Row]:
    """A message and its answer for each example of a task: turns of a conversation.

    A page is shown as the words that come with its document, else as those that `lines` reads.
    `NotAvailable` if the task has no examples, `DataMissing` or `DataBroken` if one cannot be read.
    """
    if task.answer is None:
        what = f"no examples can be shown for {task.name}"
        raise NotAvailable(what, remedy="--set shots=0")
    turns = []
    for document in examples.documents.iter_rows(named=True):
        gold = examples.records.filter(pl.col("doc_id") == document["doc_id"]).to_dicts()
        turns += _turns(document, gold, examples.root, task, view, lines)
    return turns


def _turns(
    document: Row, gold: list[Row], root: Path | None, task: Task, view: PageView, lines: OcrLines
) -> list[Row]:
    if task.answer is None or (ask := task.make(document, gold)) is None:
        return []
    supplied = vrdu.words(document, root) if meta_of(document).get("ocr") else None
    words = supplied or [row for row in gold if row["kind"] == "word"]
    shown: dict[int, Page] = {}
    try:
        shown |= {page.number: page for page in view.pages(document, root)[: view.most]}
    except DataMissing:
        if not words:
            raise

    def box_of(row: Row) -> list[int] | None:
        page, box = shown.get(row["page"]), [row.get(side) for side in BOX]
        if page is None or view.boxes == "none" or None in box:
            return None
        return page.stated(box, unit=view.boxes)

    texts = list(_page_texts(words, box_of))[: view.most] or map(lines.text, shown.values())
    answer = task.answer(document, gold, lambda row: {"page": row["page"], "box": box_of(row)})
    question = messages("", ask.asked, text="\n".join(texts))[1]
    return [question, {"role": "assistant", "content": json.dumps(answer)}]


def _page_texts(words: list[Row], box_of: Callable[[Row], list[int] | None]) -> Iterator[str]:
    """The words of each page by lines, as the prompt ``pages_text`` describes them."""
    pages: dict[int, list[Row]] = {}
    for word in words:
        pages.setdefault(word["page"], []).append(word)
    for number, found in sorted(pages.items()):
        sides = [[0, *(word.get(side) for side in BOX)] for word in found]
        sides = [meta_of(w).get("box", box)[1:] for w, box in zip(found, sides, strict=True)]
        is_placed = not any(None in box for box in sides)
        order = reading_order(np.array(sides)) if is_placed else [range(len(found))]
        lines = [_line([found[place] for place in line], box_of) for line in order]
        yield json.dumps({"PAGE": number, "LINES": lines})


def _line(words: list[Row], box_of: Callable[[Row], list[int] | None]) -> Any:
    text = " ".join(word["value"] for word in words)
    boxes = [box for word in words if (box := box_of(word))]
    if len(boxes) < len(words):
        return text
    left, top, right, bottom = zip(*boxes, strict=True)
    return [text, min(left), min(top), max(right), max(bottom)]
