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

from collections.abc import Sequence

import numpy as np
import polars as pl

from formlab import tables
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
# Words and boxes that are compared at once, and words of one field: a page may hold a million.
_CELLS, _ENOUGH = 2_000_000, 400
# How much a step along a row weighs against one across rows.
_AHEAD = 0.2
# A width or height of at least this much can be divided by.
_THIN = 1e-9
# White space as `str.split` has it, and runs of it or of what is seen.
_SEEN, _ENDS = r"[^\s\x1c-\x1f]", r"^[\s\x1c-\x1f]+|[\s\x1c-\x1f]+$"
_RUN = rf"{_SEEN}+|[\s\x1c-\x1f]+"
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
    gold = joined.filter(pl.col("gold_status").is_not_null(), pl.col("path").is_not_null())
    read = read_fields(gold, seen, reader=reader).with_columns(pred_status=pl.lit("ok"))
    return with_read(joined, read.join(joined.filter(where), on=["doc_id", "path"], how="semi"))


def read_fields(fields: pl.DataFrame, seen: pl.DataFrame, *, reader: str = READER) -> pl.DataFrame:
    """What stands under the box of each field, by the rule `reader`, one of `READERS`.

    `fields` are all records of the page that have a box, as each word goes to one of them (to one
    line and to one other where `kind` says which are lines): doc_id, path, page (1 where null) and
    the box. `seen` are a system's records of task `layout`: words or, of a page without any, lines.

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
    names, rows, at = (reader, *others(reader)), [], ["doc_id", "page"]
    number = pl.col("page").cast(pl.Int64).fill_null(1)
    fields, seen = fields.with_columns(number), seen.with_columns(number)
    pages = (words := _words(seen)).partition_by(at, as_dict=True)
    placed = fields.filter(_PLACED).join(seen, on=at, how="semi", maintain_order="left")
    is_line = pl.col("kind").eq_missing("line").alias("line")
    layers = [*at, *([is_line] if "kind" in placed.columns else [])]
    for (doc_id, page, *_), group in placed.group_by(layers, maintain_order=True):
        of_page = pages.get((doc_id, page), words.clear())
        texts, boxes = of_page["text"].to_list(), group.select(_BOXES).to_numpy()
        of_words = of_page.select(BOX).to_numpy(), texts, of_page["confidence"].to_numpy()
        pieces = _pieces(boxes, *of_words[:2])
        by_field = zip(*(pieces[name] for name in names), strict=True)
        for path, box, read in zip(group["path"].to_list(), boxes, by_field, strict=True):
            main, *rest = (_joined(some, *of_words, box[3] - box[1]) for some in read)
            rows.append((doc_id, path, page, *main, [other[0] for other in rest]))
    schema = tables.schema("doc_id path pred_page:int pred confidence:number")
    schema |= {f"pred_{side}": pl.Float64 for side in BOX} | {"readings": pl.List(pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _words(seen: pl.DataFrame) -> pl.DataFrame:
    """The words of pages, of a page that has none those of its lines, with text and box."""
    is_word, length = pl.col("kind") == "word", pl.col("text").str.len_chars()
    seen = seen.filter(is_word | ~is_word.any().over("doc_id", "page"), _PLACED)
    # White space at the ends has no ink: the box begins with the first character that has.
    parts = pl.col("value").str.replace_all(_ENDS, "").str.extract_all(_RUN)
    words = seen.select("doc_id", "page", _BOXES, pl.col("confidence").cast(pl.Float64), text=parts)
    words = words.with_row_index("record").explode("text")
    words = words.with_columns(last=length.cum_sum().over("record"), of=length.sum().over("record"))
    words = words.filter(pl.col("text").str.contains(_SEEN))
    step = (pl.col("x1") - pl.col("x0")) / pl.col("of")
    # A single word keeps its box to the last digit.
    end = pl.when(pl.col("last") < pl.col("of")).then(pl.col("x0") + step * pl.col("last"))
    start = pl.col("x0") + step * (pl.col("last") - length)
    return words.with_columns(x0=start, x1=end.otherwise("x1"))


def _joined(
    pieces: Sequence[Piece], words: np.ndarray, texts: Sequence[str], sure: np.ndarray, high: float
) -> tuple:
    """Text, confidence and box of pieces of words in a field so `high`; nulls for no pieces."""
    if not pieces:
        return ("", None, None, None, None, None)
    number, first, last = np.array(pieces).T
    boxes, sizes = words[number], last - first
    step = np.maximum(boxes[:, 2] - boxes[:, 0], _THIN) / [len(texts[n]) for n in number]
    boxes[:, 2] = boxes[:, 0] + step * last
    boxes[:, 0] += step * first
    order = _reading_order(boxes, high) if len(pieces) > 1 else [0]
    text = " ".join(texts[n][start:end] for n, start, end in map(pieces.__getitem__, order))
    ends = *boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist()
    return (text, float(sure[number] @ sizes / sizes.sum()), *ends)


def _pieces(
    boxes: np.ndarray, words: np.ndarray, texts: Sequence[str]
) -> dict[str, list[list[Piece]]]:
    """By rule the pieces of words that are read in each box: whole words but by `cut`."""
    pieces: dict[str, list[list[Piece]]] = {name: [[] for _ in boxes] for name in READERS}
    # The smaller box first, so that it wins where two share as much of the word.
    order = np.argsort(np.prod(boxes[:, 2:] - boxes[:, :2], axis=1), kind="stable")
    boxes, step = boxes[order], max(1, _CELLS // len(boxes))
    for start in range(0, len(texts), step):
        for name, chosen in _chosen(boxes, words[start : start + step]).items():
            for field, index in np.argwhere(chosen).tolist():
                word, (left, _, right, _) = start + index, boxes[field]
                first, last = 0, len(texts[word])
                x0, x1 = words[word, ::2]
                width = max(x1 - x0, _THIN)
                if name == "cut" and min(x1, right) - max(x0, left) < WHOLE * width:
                    centres = x0 + width / last * (np.arange(last) + 0.5)
                    within = np.flatnonzero((centres >= left) & (centres <= right)).tolist()
                    first, last = (within[0], within[-1] + 1) if within else (0, 0)
                if first < last:
                    pieces[name][order[field]].append((word, first, last))
    return pieces


def _chosen(boxes: np.ndarray, words: np.ndarray) -> dict[str, np.ndarray]:
    """By rule which words go to which boxes, shape (boxes, words); but by `cut` to one each."""
    fields, sizes = boxes[:, None], np.maximum(words[:, 2:] - words[:, :2], _THIN)
    low, high = np.maximum(fields, words)[..., :2], np.minimum(fields, words)[..., 2:]
    shared = np.clip(high - low, 0, None)
    area, centres = shared.prod(axis=2), (words[:, :2] + words[:, 2:]) / 2
    within = (centres >= fields[..., :2]) & (centres <= fields[..., 2:])
    inside = within.all(axis=2)
    beside = (area >= LEAST * sizes.prod(axis=1)) & ~inside.any(axis=0)
    # A word's box may be far higher than its ink, or a field's: the lower of the two counts.
    lower = np.minimum(fields[..., 3] - fields[..., 1], sizes[:, 1])
    half = (area >= HALF * sizes[:, 0] * lower) & (area > 0)
    chosen = {"cut": within[..., 1] & (shared[..., 0] > 0)}
    for name, near in {"centre": inside | beside, "overlap": half}.items():
        # Of those that may have it, the one with most of the word does.
        best = np.where(near, area, -1.0).argmax(axis=0)
        chosen[name] = near & (np.arange(len(boxes))[:, None] == best)
    return chosen


def _reading_order(boxes: np.ndarray, height: float) -> list[int]:
    """Places in `boxes` of one field of that height: rows from the top, each from left to right."""
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    gap = _row_gap(boxes, centres, height)
    rows: list[list[int]] = []
    for index in np.lexsort(centres.T[::-1]).tolist():
        # From the centre of each row's last word: a row that broke off long ago is further away.
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
