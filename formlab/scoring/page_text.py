"""Fields found in a page's text: a system that gives text alone is judged field by field too.

Each gold field is looked for in the text (`_stretches`): one stretch each, whole words. A field
whose gold the page's own gold text does not hold is not judged; fields that share their words
there, as a line and a key value within it do, are looked for apart from each other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from formlab import text
from formlab.metrics.page import word_edits
from formlab.scoring._stretches import (
    LEAST,
    LEAST_SHORT,
    SHORT,
    Near,
    Stretch,
    Text,
    find_stretches,
    squash,
)
from formlab.scoring.page_order import out_of_order
from formlab.tables import BOX, USABLE
from formlab.text.layout import rows
from formlab.text.marks import TITLES, own_marks

RULES = (
    f"page-text,one-to-one,whole-words,similarity>={LEAST:g},"
    f"{LEAST_SHORT:g} below 8 characters,exact below {SHORT}"
)
# How like a gold field's words in the gold text must be, as keys and lines may be spelled apart.
_GOLD = 0.85
_LAYERS = 4
# Fewer words inserted in one place are no stretch of text but slips.
_RUN = 3
# The kind of cases of text that no gold holds.
INSERTED = "inserted"
_NORM = ("nfc", "space", "lower")
_WORD = re.compile(r"\S+")
SCHEMA: dict[str, Any] = {
    "doc_id": pl.String, "path": pl.String, "pred": pl.String, "at": pl.Int64,
    "judged": pl.Boolean, "displaced": pl.Boolean,
}  # fmt: skip


def texts_only(claims: pl.DataFrame) -> bool:
    """Whether predictions give the text of pages and nothing else, for one page at least."""
    pages = claims.filter(pl.col("path").is_null(), pl.col("status").is_in(USABLE))
    has_text = pages["value"].null_count() < pages.height
    return has_text and claims["path"].null_count() == claims.height


def read_page_text(
    fields: pl.DataFrame, gold_pages: pl.DataFrame, pages: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Where each field stands in the text that was given for its document.

    `fields` are gold records with a path; `gold_pages` and `pages` records without one, the text of
    each document as it is and as it was read. One row per field with a value, of documents with a
    text: doc_id, path, pred ("" where it is not found), at (the place of its first character, else
    null), judged (false if the gold text of the page does not hold it) and displaced
    (`out_of_order`). The notes count marks and characters that the search left out, and fields
    not judged.
    """
    golds = dict(gold_pages.select("doc_id", "value").drop_nulls().iter_rows())
    texts = dict(pages.select("doc_id", "value").drop_nulls().iter_rows())
    notes: Counter[str] = Counter()
    records: list[tuple] = []
    fields = fields.filter(pl.col("value").str.strip_chars() != "")
    for (doc_id,), group in fields.group_by("doc_id", maintain_order=True):
        if doc_id in texts:
            page = Text(_nfc(texts[doc_id]), keep=own_marks(golds.get(doc_id, "")))
            notes.update(
                {f"{TITLES[n]} taken out to find fields": c for n, c in page.marks.items()}
            )
            notes["characters of page texts too long to be searched"] += page.cut
            records += _fields(str(doc_id), group, golds.get(doc_id), page)
    table = pl.DataFrame(records, schema=SCHEMA, orient="row")
    notes["fields not judged: the gold text of their page does not hold them"] = table.filter(
        ~pl.col("judged")
    ).height
    return table, {name: count for name, count in notes.items() if count}


def _nfc(value: str) -> str:
    return text.normalise(value, ("nfc",))


def _fields(doc_id: str, group: pl.DataFrame, gold: str | None, page: Text) -> Iterator[tuple]:
    values = [squash(_nfc(value)) for value in group["value"]]
    boxes = group.select(BOX).cast(pl.Float64).to_numpy()
    near = _Neighbours(boxes)
    layers, gold_stretches = _layers(values, gold, near)
    pred: dict[int, Stretch] = {}
    for layer in layers:
        targets = [values[number] for number in layer]
        side = [gold_stretches[number] for number in layer] if gold_stretches else None
        words = {
            i: [squash(word) for word in _nfc(group["value"][n]).split()]
            for i, n in enumerate(layer)
        }
        placed = find_stretches(targets, page, near.of(layer), words=words, gold=side)
        pred |= {n: s for n, s in zip(layer, placed, strict=True) if s is not None}
    judged = {number for layer in layers for number in layer}
    # Which of two equal values stands where cannot be known.
    once = {number for number, value in enumerate(values) if values.count(value) == 1}
    displaced = _displaced(boxes, {n: s for n, s in pred.items() if n in once}, gold_stretches)
    for number, path in enumerate(group["path"]):
        stretch = pred.get(number)
        reading = "" if stretch is None else page.shown(stretch.places)
        at = None if stretch is None else page.at(int(stretch.places[0]))
        yield doc_id, path, reading, at, number in judged, number in displaced


def _layers(
    values: list[str], gold: str | None, near: _Neighbours
) -> tuple[list[list[int]], dict[int, Stretch]]:
    """The fields in layers that share no word of the gold text, and where they stand there."""
    left = [number for number, value in enumerate(values) if value]
    if gold is None or not gold.strip():
        return [left], {}
    page = Text(_nfc(gold), keep=TITLES)
    layers, stretches = [], {}
    for _ in range(_LAYERS):
        placed = (
            find_stretches([values[n] for n in left], page, near.of(left), bar=_GOLD)
            if left
            else []
        )
        layer = {n: s for n, s in zip(left, placed, strict=True) if s is not None}
        if not layer:
            break
        layers.append(list(layer))
        stretches |= layer
        left = [number for number in left if number not in layer]
    return layers, stretches


def _displaced(boxes: np.ndarray, pred: dict[int, Stretch], gold: dict[int, Stretch]) -> set[int]:
    known = [n for n in pred if n in gold and np.isfinite(boxes[n]).all()]
    if len(known) < 2:
        return set()
    places = [np.array([int(side[n].places[0]) for n in known]) for side in (gold, pred)]
    return {known[i] for i in np.flatnonzero(out_of_order(boxes[known], *places))}


class _Neighbours:
    """Fields beside each other on a page: as the gold lists them, along lines, down columns."""

    def __init__(self, boxes: np.ndarray) -> None:
        whole = np.flatnonzero(np.isfinite(boxes).all(axis=1))
        orders = [list(range(len(boxes)))]
        for sides in ((0, 1, 2, 3), (1, 0, 3, 2)) if whole.size else ():
            order = [whole[i] for row in rows(boxes[whole][:, sides]) for i in row]
            orders.append([int(number) for number in order])
        self.orders = orders
        self.ranks = [{number: i for i, number in enumerate(order)} for order in orders]

    def of(self, layer: list[int]) -> Near:
        """The distance of a field of a layer from a place: to the nearest neighbour's place."""

        def near(number: int, at: int, known: dict[int, int]) -> float:
            anchors = {layer[n]: position for n, position in known.items()}
            best = np.inf
            for order, ranks in zip(self.orders, self.ranks, strict=True):
                rank = ranks.get(layer[number])
                for step in (-1, 1) if rank is not None else ():
                    beside = rank + step
                    while 0 <= beside < len(order) and order[beside] not in anchors:
                        beside += step
                    if 0 <= beside < len(order):
                        best = min(best, abs(at - anchors[order[beside]]))
            return float(best) if np.isfinite(best) else float(at)

        return near


def inserted(golds: pl.DataFrame, pages: pl.DataFrame) -> pl.DataFrame:
    """The stretches of page text, of `_RUN` words and more, that the gold text does not hold.

    Records: those of `pages` with the path ``/inserted/<at>``, the value and `at`.
    """
    texts = dict(golds.select("doc_id", "value").drop_nulls().iter_rows())
    records = []
    for row in pages.iter_rows(named=True):
        gold, raw = texts.get(row["doc_id"]), row["value"]
        if not raw or not gold or not gold.strip():
            continue
        spans = [word.span() for word in _WORD.finditer(raw)]
        places = word_edits(text.normalise(gold, _NORM), text.normalise(raw, _NORM)).inserted
        for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
            words = [raw[slice(*spans[index])] for index in run if index < len(spans)]
            if sum(any(map(str.isalnum, word)) for word in words) >= _RUN:
                at = spans[int(run[0])][0]
                stretch = {"path": f"/inserted/{at}", "value": " ".join(words), "at": at}
                records.append(row | stretch | {"kind": INSERTED})
    schema = dict(pages.schema) | {"at": pl.Int64}
    return pl.DataFrame(records, schema=schema, orient="row")
