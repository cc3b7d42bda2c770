"""Field reading: the text of a field is what a system read under the field's box.

So a system that reads pages and knows no fields can be scored field by field. A rule decides which
word belongs to which field, one of `READERS`:

- ``centre``, the default: the field whose box holds the word's centre, else one that covers at
  least `LEAST` of the word's area; of several the one with most of the word, then the smaller one.
- ``overlap``: the field whose box shares most area with the word, provided that this is at least
  `HALF` of the word's width times the lower of the two heights.
- ``cut``: each character goes to every field whose box holds its centre, the characters of a word
  being taken as evenly wide; a word with at least `WHOLE` of its width in the box is not cut.

Gold lines (kind ``line``) write down the text that fields stand in: a word goes to one line and to
one field. A record that holds white space, such as a line, is split into its words first; its
characters stand evenly over its box. A field's words are joined row by row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from formlab.errors import UnknownName
from formlab.scoring.align import with_read
from formlab.scoring.whole import Whole
from formlab.tables import BOX

LEAST, HALF, WHOLE = 0.25, 0.5, 0.75
READER = "centre"
_RULES = {
    "centre": f"centre,else-overlap>={LEAST:g}",
    "overlap": f"overlap>={HALF:g}",
    "cut": f"cut,whole>={WHOLE:g}",
}
READERS = tuple(_RULES)
# Words and boxes of a page that are laid beside each other at once, and words of one field whose
# distances are looked at: a hostile page may hold a million.
_CELLS, _ENOUGH = 2_000_000, 400
# How much a step along a row weighs against one across rows.
_AHEAD = 0.2
_WORD = re.compile(r"\S+")
_BOXES = pl.col(BOX).cast(pl.Float64)
_PLACED = pl.all_horizontal(_BOXES.is_finite())

# A piece of a word that is read under a field: word, first character, last but one.
Piece = tuple[int, int, int]


def others(reader: str = READER) -> tuple[str, ...]:
    """The rules beside `reader`, in the order of `cases.readings`; `UnknownName` if it is none.

    >>> others(), others("cut")
    (('overlap', 'cut'), ('centre', 'overlap'))
    """
    if reader not in READERS:
        raise UnknownName.of("reading rule", reader, READERS)
    return tuple(name for name in READERS if name != reader)


def described(reader: str = READER) -> str:
    """The rule as it stands in the settings of a score, with the names of the others.

    >>> described()
    'centre,else-overlap>=0.25|readings=overlap,cut'
    """
    return f"{_RULES[reader]}|readings={','.join(others(reader))}"


def words_of_pages(records: pl.DataFrame) -> pl.DataFrame:
    """The words and lines that a system read on pages."""
    return records.filter(pl.col("task") == "layout", pl.col("kind").is_in(["word", "line"]))


def words_read(whole: Whole, *tasks: str) -> bool:
    """Whether a system read words, and the gold says of any field of `tasks` where it stands."""
    placed = whole.gold.filter(pl.col("x0").is_not_null(), pl.col("task").is_in(tasks))
    return placed.height > 0 and words_of_pages(whole.answers).height > 0


def filled(
    joined: pl.DataFrame, seen: pl.DataFrame, where: pl.Expr, *, reader: str = READER
) -> pl.DataFrame:
    """Cases to be with what was read under their boxes, `where` no prediction names the field."""
    if not seen.height:
        return joined
    gold = joined.filter(pl.col("gold_status").is_not_null(), pl.col("path").is_not_null())
    read = read_fields(gold, seen, reader=reader).with_columns(pred_status=pl.lit("ok"))
    names = [name for name in read.columns if name not in ("doc_id", "path", "readings")]
    both = with_read(joined.with_columns(unnamed=where), read, names, pl.col("unnamed"))
    return both.with_columns(readings=pl.when("unnamed").then("readings")).drop("unnamed")


def read_fields(fields: pl.DataFrame, seen: pl.DataFrame, *, reader: str = READER) -> pl.DataFrame:
    """What stands under the box of each field, by the rule `reader`, one of `READERS`.

    `fields` are all records of the page that have a box, as each word goes to one of them (to one
    line and to one other where `kind` says which are lines): doc_id, path, page (1 where null) and
    the box. `seen` are a system's records of task `layout`: its words or, of a page where there are
    none, its lines.

    One row per field with a box, of the pages that occur in `seen`: doc_id, path, pred ("" where
    nothing is read under the box), pred_page, confidence (mean over characters), the box of what
    was read, null where nothing was, and readings: what `others` read.

    >>> box = {"doc_id": "1", "page": 1, "x0": 0.0, "y0": 0.0, "x1": 40.0, "y1": 10.0}
    >>> fields = pl.DataFrame([box | {"path": "/name"}])
    >>> word = {"kind": "word", "value": "Ada", "confidence": 0.9, "y1": 21.0, "y0": -9.0}
    >>> row = read_fields(fields, pl.DataFrame([box | word])).row(0, named=True)
    >>> row["pred"], row["readings"]
    ('Ada', ['Ada', 'Ada'])
    """
    names, rows = (reader, *others(reader)), []
    number = pl.col("page").cast(pl.Int64).fill_null(1)
    seen = seen.with_columns(number).partition_by("doc_id", "page", as_dict=True)
    placed = fields.with_columns(number).filter(_PLACED)
    is_line = pl.col("kind").eq_missing("line").alias("line")
    layers = ["doc_id", "page", *([is_line] if "kind" in placed.columns else [])]
    for key, group in placed.group_by(layers, maintain_order=True):
        if (at := key[:2]) in seen:
            page, boxes = _Words.of(seen[at]), group.select(_BOXES).to_numpy()
            by_field = zip(*(_pieces(name, boxes, page) for name in names), strict=True)
            for path, box, pieces in zip(group["path"].to_list(), boxes, by_field, strict=True):
                main, *rest = (page.joined(some, box[3] - box[1]) for some in pieces)
                rows.append((at[0], path, at[1], *main, [other[0] for other in rest]))
    schema = {"doc_id": pl.String, "path": pl.String, "pred_page": pl.Int64, "pred": pl.String}
    schema |= {"confidence": pl.Float64} | {f"pred_{side}": pl.Float64 for side in BOX}
    return pl.DataFrame(rows, schema=schema | {"readings": pl.List(pl.String)}, orient="row")


@dataclass
class _Words:
    """The words of a page: texts, boxes of shape (n, 4), how sure each is."""

    texts: list[str]
    boxes: np.ndarray
    certain: np.ndarray

    def __post_init__(self) -> None:
        self.centres = (self.boxes[:, :2] + self.boxes[:, 2:]) / 2
        self.sizes = np.maximum(self.boxes[:, 2:] - self.boxes[:, :2], 1e-9)

    @classmethod
    def of(cls, seen: pl.DataFrame) -> _Words:
        if (seen["kind"] == "word").any():
            seen = seen.filter(pl.col("kind") == "word")
        seen = seen.filter(_PLACED)
        texts, places, edges = [], [], []
        for index, value in enumerate(seen["value"].to_list()):
            spans = [match.span() for match in _WORD.finditer(value or "")]
            texts += [value[first:last] for first, last in spans]
            places += [index] * len(spans)
            # White space at the ends has no ink: the box begins with the first character that has.
            start = spans[0][0] if spans else 0
            edges += [(first - start, last - start, spans[-1][1] - start) for first, last in spans]
        boxes = seen.select(_BOXES).to_numpy()[places]
        first, last, length = np.array(edges, dtype=float).reshape(-1, 3).T
        step = (boxes[:, 2] - boxes[:, 0]) / length
        # A single word keeps its box to the last digit.
        right = np.where(last < length, boxes[:, 0] + step * last, boxes[:, 2])
        boxes[:, 0], boxes[:, 2] = boxes[:, 0] + step * first, right
        return cls(texts, boxes, seen["confidence"].cast(pl.Float64).to_numpy()[places])

    def joined(self, pieces: Sequence[Piece], height: float) -> tuple:
        """Text, confidence and box of pieces in a field that high; nulls for no pieces."""
        if not pieces:
            return ("", None, None, None, None, None)
        number, first, last = np.array(pieces).T
        boxes = self.boxes[number]
        step = self.sizes[number, 0] / np.array([len(self.texts[n]) for n in number])
        boxes[:, 2] = boxes[:, 0] + step * last
        boxes[:, 0] += step * first
        if len(pieces) == 1:
            text = self.texts[number[0]][first[0] : last[0]]
            return (text, float(self.certain[number[0]]), *boxes[0].tolist())
        texts = [self.texts[n][a:z] for n, a, z in pieces]
        text = " ".join(texts[index] for index in _reading_order(boxes, height))
        confidence = float(np.average(self.certain[number], weights=last - first))
        low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
        return (text, confidence, *low.tolist(), *high.tolist())


def _pieces(reader: str, boxes: np.ndarray, page: _Words) -> list[list[Piece]]:
    """Of each box the pieces of words that are read there: whole words but by the rule `cut`."""
    pieces: list[list[Piece]] = [[] for _ in boxes]
    # The smaller box first, so that it wins where two share as much of the word.
    order = np.argsort(np.prod(boxes[:, 2:] - boxes[:, :2], axis=1), kind="stable")
    boxes, step = boxes[order], max(1, _CELLS // len(boxes))
    for start in range(0, len(page.texts), step):
        block = slice(start, start + step)
        low = np.maximum(boxes[:, None, :2], page.boxes[block, :2])
        high = np.minimum(boxes[:, None, 2:], page.boxes[block, 2:])
        # Width and height that each box shares with each word, both of shape (boxes, words).
        shared = np.clip(high - low, 0, None).transpose(2, 0, 1)
        chosen = _chosen(reader, boxes, page, block, shared)
        for field, index in np.argwhere(chosen).tolist():
            word, box = start + index, boxes[field]
            length, first, width = len(page.texts[word]), 0, page.sizes[word, 0]
            last = length
            if reader == "cut" and shared[0][field, index] < WHOLE * width:
                centres = page.boxes[word, 0] + width / length * (np.arange(length) + 0.5)
                within = np.flatnonzero((centres >= box[0]) & (centres <= box[2]))
                if not within.size:
                    continue
                first, last = int(within[0]), int(within[-1]) + 1
            pieces[order[field]].append((word, first, last))
    return pieces


def _chosen(
    reader: str, boxes: np.ndarray, page: _Words, block: slice, shared: np.ndarray
) -> np.ndarray:
    """Which words of a block go to which boxes, shape (boxes, words); but by `cut` to one each."""
    (x, y), sizes, area = page.centres[block].T, page.sizes[block], shared[0] * shared[1]
    level = (y >= boxes[:, None, 1]) & (y <= boxes[:, None, 3])
    if reader == "cut":
        return level & (shared[0] > 0)
    if reader == "overlap":
        # A word's box may be far higher than its ink, or a field's: the lower of the two counts.
        lower = np.minimum((boxes[:, 3] - boxes[:, 1])[:, None], sizes[:, 1])
        near = (area >= HALF * sizes[:, 0] * lower) & (area > 0)
    else:
        inside = level & (x >= boxes[:, None, 0]) & (x <= boxes[:, None, 2])
        near = area >= LEAST * sizes.prod(axis=1)
        near = inside | (near & ~inside.any(axis=0))
    # Of those that may have it, the one with most of the word does.
    best = np.where(near, area, -1.0).argmax(axis=0)
    return near & (np.arange(len(boxes))[:, None] == best)


def _reading_order(boxes: np.ndarray, height: float) -> list[int]:
    """Places in `boxes` of one field of that height: rows from the top, each from left to right."""
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    gap = _row_gap(boxes, centres, height)
    rows: list[list[int]] = []
    for index in np.lexsort(centres.T[::-1]).tolist():
        # From the centre of each row's last word: a row that broke off long ago is further away
        # than one that did just now.
        ahead, down = (centres[index] - centres[[row[-1] for row in rows]]).T
        far = np.where(np.abs(down) <= gap, np.abs(down) + _AHEAD * ahead, np.inf)
        if np.isfinite(far).any():
            rows[int(far.argmin())].append(index)
        else:
            rows.append([index])
    steps = np.sum([centres[row[-1]] - centres[row[0]] for row in rows], axis=0)
    level = centres[:, 1] - centres[:, 0] * (steps[1] / steps[0] if steps[0] else 0.0)
    rows.sort(key=lambda row: float(level[row].mean()))
    return [index for row in rows for index in row]


def _row_gap(boxes: np.ndarray, centres: np.ndarray, height: float) -> float:
    """From which distance of neighbours' centres on two words stand in different rows."""
    # Half of the distance between close neighbours that stand one above the other. Where none do,
    # no second row fits into a field less than half as high as the field, or than a word.
    boxes, (x, y) = boxes[:_ENOUGH], centres[:_ENOUGH].T
    sizes = boxes[:, 2:] - boxes[:, :2]
    usual, apart = float(np.median(sizes[:, 1])), abs(y[:, None] - y)
    # Words side by side have centres at least half of the wider apart; boxes may be a third wider
    # than their ink. What all but coincides was read twice.
    stacked = abs(x[:, None] - x) < 0.38 * np.maximum(sizes[:, None, 0], sizes[:, 0])
    nearest = np.where(stacked & (apart > 0.25 * usual), apart, np.inf).min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    return float(np.quantile(nearest, 0.25)) / 2 if nearest.size else min(0.45 * height, usual)
