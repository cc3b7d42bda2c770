"""Examples before a question: documents to learn from, each with the answer it should get."""

from __future__ import annotations

import dataclasses
import json
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from formlab import benchmarks
from formlab.benchmarks import vrdu
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab.folders import Corpus
from formlab.systems.chat.ask import Row, Task, messages
from formlab.systems.chat.view import OcrLines, PageView
from formlab.systems.pages import Page, page_files
from formlab.tables import BOX
from formlab.text.layout import rows as reading_order

SHOWN_AS = ("text", "image")


def drawn(corpus: Corpus, settings: dict[str, Any]) -> Corpus | None:
    """The documents of a corpus to learn from that are its examples; None without any.

    The settings are ``shots`` (how many), ``shots_seed`` (of their draw) and ``shots_as``. None of
    them is a document of `corpus`, and all have a page to show; with fewer shots the same draw
    gives the first of them.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If there are fewer such documents, or a setting cannot be.
    """
    count = settings["shots"]
    if settings["shots_as"] not in SHOWN_AS:
        raise UnknownName.of("way to show examples", settings["shots_as"], SHOWN_AS)
    if count < 0:
        raise DataBroken(f"{count} examples", remedy="shots=0 or more")
    if not count:
        return None
    known = benchmarks.training(corpus)
    as_text = settings["shots_as"] == "text"
    usable = sorted(
        row["doc_id"] for row in known.documents.iter_rows(named=True)
        if (as_text and meta_of(row).get("ocr")) or _has_page(row, known.root)
    )  # fmt: skip
    if len(usable) < count:
        what = f"{count} examples are asked for, and of {known.documents.height} documents to "
        what += f"learn from {len(usable)} can be shown"
        where = f"{corpus.benchmark}:{corpus.split}"
        raise DataMissing(what, where=where, remedy=f"--set shots={len(usable)}, or a larger split")
    random.Random(settings["shots_seed"]).shuffle(usable)
    chosen = pl.col("doc_id").is_in(usable[:count])
    return dataclasses.replace(
        known, documents=known.documents.filter(chosen), records=known.records.filter(chosen)
    )


def _has_page(document: Row, root: Path | None) -> bool:
    try:
        return all(path.is_file() for path in page_files(document, root))
    except DataMissing:
        return False


@dataclass(frozen=True, eq=False)
class Shots:
    """The examples of a task, as turns of a conversation. Threads may share them.

    With `text`, a page is shown as the words that come with its document, or as those that this
    cache has of it; else as `view` says.
    """

    examples: Corpus
    task: Task
    view: PageView
    text: OcrLines | None
    _turns: dict[Callable[..., Row], list[Row]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.task.answer is None:
            what = f"no examples can be shown for {self.task.name}"
            raise NotAvailable(what, remedy="--set shots=0")

    def turns(self, show: Callable[[Page], Row]) -> list[Row]:
        """A message and its answer for each example; `show` makes what stands for a page."""
        with self._lock:
            if show not in self._turns:
                rows = self.examples.documents.iter_rows(named=True)
                self._turns[show] = [turn for row in rows for turn in self._pair(row, show)]
            return self._turns[show]

    def _pair(self, document: Row, show: Callable[[Page], Row]) -> list[Row]:
        gold = self.examples.records.filter(pl.col("doc_id") == document["doc_id"]).to_dicts()
        ask, root = self.task.make(document, gold), self.examples.root
        if ask is None or self.task.answer is None:
            return []
        try:
            pages = self.view.pages(document, root)[: self.view.most]
        except DataMissing:
            # Words may be there without an image.
            if not self.text:
                raise
            pages = []
        sizes = {page.number: page for page in pages}

        def place(row: Row) -> Row:
            return {"page": row["page"], "box": self._box(row, sizes)}

        text = None
        if self.text:
            text = self._words(document, gold, root, sizes)
            text = text or "\n".join(self.text.text(page) for page in pages)
        shown = [] if self.text else pages
        user = messages("", ask.asked, shown, show=show, text=text)[1]
        answer = json.dumps(self.task.answer(document, gold, place))
        return [user, {"role": "assistant", "content": answer}]

    def _box(self, row: Row, sizes: dict[int, Page]) -> list[int] | None:
        page, box = sizes.get(row["page"]), [row.get(side) for side in BOX]
        known = page is not None and self.view.boxes != "none" and None not in box
        return page.stated(box, unit=self.view.boxes) if page and known else None

    def _words(
        self, document: Row, gold: list[Row], root: Path | None, sizes: dict[int, Page]
    ) -> str:
        """The supplied words by page and line, as the prompt ``pages_text`` describes them."""
        supplied = vrdu.words(document, root) if meta_of(document).get("ocr") else None
        words = supplied or [row for row in gold if row["kind"] == "word"]
        pages: dict[int, list[Row]] = {}
        for word in words:
            pages.setdefault(word["page"], []).append(word)
        shown = sorted(pages.items())[: self.view.most]
        return "\n".join(
            json.dumps({"PAGE": page, "LINES": [self._line(line, sizes) for line in _lines(own)]})
            for page, own in shown
        )

    def _line(self, words: list[Row], sizes: dict[int, Page]) -> Any:
        text = " ".join(word["value"] for word in words)
        boxes = [box for word in words if (box := self._box(word, sizes))]
        if len(boxes) < len(words):
            return text
        left, top, right, bottom = zip(*boxes, strict=True)
        return [text, min(left), min(top), max(right), max(bottom)]


def _lines(words: list[Row]) -> list[list[Row]]:
    """The words of a page by lines."""
    boxes = [meta_of(word).get("box", [0, *(word.get(side) for side in BOX)])[1:] for word in words]
    if any(None in box for box in boxes):
        return [words]
    return [[words[place] for place in line] for line in reading_order(np.array(boxes))]
