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
import scipy

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
from formlab.scoring.align import INSERTED, from_predictions
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
_NOT_JUDGED = "fields not judged: the gold text of their page does not hold them"
_NORM = ("nfc", "space", "lower")
_WORD = re.compile(r"\S+")
SCHEMA: dict[str, Any] = {"doc_id": pl.String, "path": pl.String, "pred": pl.String}
SCHEMA |= {"at": pl.Int64, "judged": pl.Boolean, "displaced": pl.Boolean}


def texts_only(claims: pl.DataFrame) -> bool:
    """Whether predictions give the text of pages and nothing else, for one page at least."""
    pages = claims.filter(pl.col("path").is_null(), pl.col("status").is_in(USABLE))
    has_text = pages["value"].null_count() < pages.height
    return has_text and claims["path"].null_count() == claims.height


def in_page_text(
    joined: pl.DataFrame, gold: pl.DataFrame, claims: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Fill in what stands for each field in the text of its page, and add what is inserted there.

    `joined` are gold records under the names of *cases*, without predictions of fields; `gold` and
    `claims` the records of both sides, those of pages among them. The notes are those of
    `read_page_text`.
    """
    whole = pl.col("path").is_null() & pl.col("status").is_in(USABLE)
    pages, golds = claims.filter(whole), gold.filter(whole)
    fields = gold.filter(pl.col("path").is_not_null(), pl.col("status").is_in(USABLE))
    read, notes = read_page_text(fields, golds, pages)
    # For a field that is blank nothing is looked for, and nothing stands there.
    blank = fields.filter(pl.col("value").str.strip_chars() == "").select("doc_id", "path")
    read = pl.concat([read, blank.with_columns(pred=pl.lit(""))], how="diagonal")
    source = pages.select("doc_id", pred_status="status", pred_origin="origin")
    read, key = read.join(source, on="doc_id"), ["doc_id", "path"]
    both = joined.join(read, on=key, how="left", suffix="_read", maintain_order="left")
    names = ("pred", "pred_status", "pred_origin")
    left = both.with_columns(
        *(pl.coalesce(name, f"{name}_read").alias(name) for name in names),
        outcome=pl.when(~pl.col("judged")).then(pl.lit("unscored")).otherwise("outcome"),
    ).drop(*(f"{name}_read" for name in names), "judged")
    extra = from_predictions(inserted(golds, pages), "spurious")
    return pl.concat([left, extra], how="diagonal_relaxed"), notes


def in_order(cases: pl.DataFrame, joined: pl.DataFrame) -> pl.DataFrame:
    """The cases with the cause ``wrong_order`` where a field read right stands out of order."""
    if "displaced" not in joined.columns:
        return cases
    displaced = joined["displaced"].fill_null(False)
    cause = pl.when(displaced & pl.col("cause").is_null()).then(pl.lit("wrong_order"))
    return cases.with_columns(cause=cause.otherwise("cause"))


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
    golds, texts = (dict(side.select("doc_id", "value").drop_nulls().iter_rows())
                    for side in (gold_pages, pages))  # fmt: skip
    notes: Counter[str] = Counter()
    records: list[tuple] = []
    fields = fields.filter(pl.col("value").str.strip_chars() != "")
    for (doc_id,), group in fields.group_by("doc_id", maintain_order=True):
        if doc_id in texts:
            page = Text(_nfc(texts[doc_id]), keep=own_marks(golds.get(doc_id, "")))
            for kind, count in page.marks.items():
                notes[f"{TITLES[kind]} taken out to find fields"] += count
            notes["characters of page texts too long to be searched"] += page.cut
            records += _fields(str(doc_id), group, golds.get(doc_id), page)
    table = pl.DataFrame(records, schema=SCHEMA, orient="row")
    notes[_NOT_JUDGED] = table.filter(~pl.col("judged")).height
    return table, {name: count for name, count in notes.items() if count}


def _nfc(value: str) -> str:
    return text.normalise(value, ("nfc",))


def _fields(doc_id: str, group: pl.DataFrame, gold: str | None, page: Text) -> Iterator[tuple]:
    plain = [_nfc(value) for value in group["value"]]
    values = [squash(value) for value in plain]
    boxes = group.select(BOX).cast(pl.Float64).to_numpy()
    near = _Neighbours(boxes)
    layers, golds = _layers(values, gold, near)
    pred: dict[int, Stretch] = {}
    for layer in layers:
        side = [golds[number] for number in layer] if golds else None
        words = {i: [squash(word) for word in plain[n].split()] for i, n in enumerate(layer)}
        found = find_stretches(
            [values[n] for n in layer], page, near.of(layer), words=words, gold=side
        )
        pred |= {n: stretch for n, stretch in zip(layer, found, strict=True) if stretch is not None}
    judged = {number for layer in layers for number in layer}
    # Which of two equal values stands where cannot be known.
    once = [n for n in pred if values.count(values[n]) == 1]
    known = [n for n in once if n in golds and np.isfinite(boxes[n]).all()]
    displaced: set[int] = set()
    if len(known) > 1:
        places = (np.array([int(side[n].places[0]) for n in known]) for side in (golds, pred))
        displaced = {known[i] for i in np.flatnonzero(out_of_order(boxes[known], *places))}
    for number, path in enumerate(group["path"]):
        places = pred[number].places if number in pred else None
        read, at = ("", None) if places is None else (page.shown(places), page.at(int(places[0])))
        yield doc_id, path, read, at, number in judged, number in displaced


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
        found = find_stretches([values[n] for n in left], page, near.of(left), bar=_GOLD)
        layer = {n: s for n, s in zip(left, found, strict=True) if s is not None}
        if not layer:
            break
        layers.append(list(layer))
        stretches |= layer
        left = [number for number in left if number not in layer]
    return layers, stretches


class _Neighbours:
    """Fields beside each other on a page: as the gold lists them, along lines, down columns."""

    def __init__(self, boxes: np.ndarray) -> None:
        whole = np.flatnonzero(np.isfinite(boxes).all(axis=1))
        self.orders = [list(range(len(boxes)))]
        for sides in ((0, 1, 2, 3), (1, 0, 3, 2)) if whole.size else ():
            order = [int(whole[i]) for row in rows(boxes[whole][:, sides]) for i in row]
            self.orders.append(order)
        self.ranks = [{number: i for i, number in enumerate(order)} for order in self.orders]

    def of(self, layer: list[int]) -> Near:
        """The distance of a field of a layer from a place: to the nearest neighbour's place."""

        def near(number: int, at: int, known: dict[int, int]) -> float:
            anchors = {layer[n]: position for n, position in known.items()}
            distances = []
            for order, ranks in zip(self.orders, self.ranks, strict=True):
                if (rank := ranks.get(layer[number])) is not None:
                    for beside in (order[rank - 1 :: -1] if rank else (), order[rank + 1 :]):
                        first = next((other for other in beside if other in anchors), None)
                        if first is not None:
                            distances.append(abs(at - anchors[first]))
            return float(min(distances, default=at))

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
    return pl.DataFrame(records, schema=dict(pages.schema) | {"at": pl.Int64}, orient="row")


# What two boxes must share of the narrower one to stand in one column, and of the higher one to
# stand on one line.
_COLUMN, _LINE = 0.5, 0.5


def out_of_order(boxes: np.ndarray, gold_places: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The fewest fields without which the text keeps to the order of the page.

    A field precedes another that stands below it in its column or to its right on its line
    (Breuel 2003), and what these imply, if the gold text has them in that order too. A text that
    goes line by line keeps to that order, and so does one that goes column by column. The fields
    that remain are a largest antichain of the pairs in conflict (Dilworth 1950), found by a
    bipartite matching.

    `boxes` has the shape (n, 4): left, top, right, bottom; `gold_places` and `places` say where
    each field stands in the gold text and in the text judged. Shape (n,), boolean.

    Examples
    --------
    >>> boxes = np.array([[0, 0, 9, 9], [20, 0, 29, 9], [0, 10, 9, 19], [20, 10, 29, 19]])
    >>> rows, columns = np.array([0, 1, 2, 3]), np.array([0, 2, 1, 3])
    >>> bool(out_of_order(boxes, rows, columns).any())
    False
    >>> out_of_order(boxes, rows, np.array([9, 1, 2, 3])).tolist()
    [True, False, False, False]
    """
    before = _precedes(np.asarray(boxes, dtype=float))
    before &= gold_places[:, None] < gold_places[None, :]
    conflict = before & (places[:, None] > places[None, :])
    return _outside_antichain(conflict)


def _precedes(boxes: np.ndarray) -> np.ndarray:
    left, top, right, bottom = boxes.T
    width, height = right - left, bottom - top
    across = _shared(left, right) / np.maximum(np.minimum.outer(width, width), 1e-9)
    shared = _shared(top, bottom)
    line = shared / np.maximum(np.maximum.outer(height, height), 1e-9) >= _LINE
    apart = shared < _LINE * np.minimum.outer(height, height)
    lower = np.less.outer(top + bottom, top + bottom)
    reach = lower & (across >= _COLUMN) & apart
    reach |= line & np.less.outer(left + right, left + right) & (across < _COLUMN)
    for index in range(len(boxes)):
        reach |= reach[:, index, None] & reach[None, index, :]
    # Boxes that lie over each other can precede each other; they say nothing then.
    return reach & ~reach.T


def _shared(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.minimum.outer(high, high) - np.maximum.outer(low, low)


def _outside_antichain(conflict: np.ndarray) -> np.ndarray:
    """What a least vertex cover of the split graph takes, after Kőnig: the rest is no pair."""
    matched = scipy.sparse.csgraph.maximum_bipartite_matching(
        scipy.sparse.csr_array(conflict), perm_type="column"
    )
    partner = {int(column): row for row, column in enumerate(matched) if column >= 0}
    front = [row for row, column in enumerate(matched) if column < 0]
    rows, columns = set(front), set()
    while front:
        reached = set(np.flatnonzero(conflict[front.pop()]).tolist()) - columns
        columns |= reached
        further = {partner[column] for column in reached if column in partner} - rows
        rows |= further
        front += further
    cover = np.ones(len(conflict), dtype=bool)
    cover[list(rows)] = False
    cover[list(columns)] = True
    return cover
