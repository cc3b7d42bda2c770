"""What each document adds to every score of an evaluation: a row of a summary before any draw."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from formlab import metrics
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.metrics.metric import OVER_ENTITIES
from formlab.scoring.bands import DERIVED, roots, sliced
from formlab.stats.draws import exact
from formlab.tables import (
    BOX,
    FIELD_LEVELS,
    LEVELS,
    SETTINGS,
    TASKS,
    USABLE,
    WHOLE_LEVELS,
    Settings,
)

# What tells the rows of a metric apart; `task` follows from them.
SLICE = ("level", "slice_by", "slice_value")
COUNTS = ("n_cases", "n_missing", "n_undefined", "n_reader", "n_ambiguous")
# `by_column`: by a column of `by`, not by the scorer. `place`: its order in that column.
_KEY = ["by_column", *SLICE, "metric"]
_CASE = ["doc_id", "path"]
_MADE = ["task", "mode", "settings"]


@dataclasses.dataclass
class Row:
    """One row of a summary to be: parts per document, and how summed parts become its value.

    `labels` are the columns known so far and `score` takes (…, k) to (…). `tally` has the shape
    (documents, k) and the smallest type that holds it; documents are in the order of their names.
    """

    labels: dict[str, Any]
    tally: np.ndarray
    score: Callable[[np.ndarray], np.ndarray]

    @property
    def parts(self) -> np.ndarray:
        """The parts as numbers to count with."""
        return self.tally.astype(float)

    @property
    def value(self) -> float:
        """The score of all documents."""
        return float(self.score(self.tally.sum(axis=0, dtype=float)))


class _Piece(NamedTuple):
    """What the documents of a part add to one score, and how it was made."""

    number: np.ndarray
    parts: np.ndarray
    value: np.ndarray
    counts: np.ndarray
    made: list[tuple]
    place: float


def small(values: np.ndarray) -> np.ndarray:
    """Numbers in the smallest of four types that holds them all unchanged."""
    for kind in (np.uint8, np.uint16, np.uint32):
        if values.min(initial=0) >= 0 and values.max(initial=0) <= np.iinfo(kind).max:
            cast = values.astype(kind)
            return cast if (cast == values).all() else values
    return values


def of_cases() -> pl.Expr:
    """Whether scores are of single cases, by whose columns they can be sliced."""
    return pl.col("level").is_in(FIELD_LEVELS) & pl.col("slice_by").is_null()


def document_sums(
    evaluation: Evaluation, by: Sequence[str] = ("kind",), *, average: str | None = None
) -> Iterator[Row]:
    """Every score by document: of each metric its sums, then as the mean over documents.

    Raises `UnknownName` if a column of `by` is in neither table, or of another `average`.

    `evaluation`: of any size: one part of it is in memory at a time; `by`: columns of *cases* or
    *documents* to slice the scores of fields by; `average`: only ``pooled`` or only ``macro``.
    """
    averages = (metrics.POOLED, metrics.MACRO)
    if average not in (None, *averages):
        raise UnknownName.of("average", average, averages)
    names = evaluation.document_names
    number = pl.DataFrame({"doc_id": names}).with_row_index("number")
    pieces: dict[tuple, list[_Piece]] = {}
    for added in evaluation.by_part(partial(_added, by=by)):
        for key, rows in added.join(number, on="doc_id").group_by(_KEY, maintain_order=True):
            piece = _Piece(
                number=rows["number"].to_numpy(),
                parts=small(rows.select(f"part{n}" for n in range(rows["width"][0])).to_numpy()),
                value=rows["value"].to_numpy(),
                counts=rows.select(pl.col(COUNTS).sum()).to_numpy()[0],
                made=rows.select(_MADE).unique().rows(),
                place=rows["place"][0] or 0.0,
            )
            pieces.setdefault(key, []).append(piece)
    known = {name: at for at, name in enumerate(metrics.METRICS)}

    def placed(key: tuple) -> tuple:
        by_column, level, column, value, metric = key
        of_all = level in FIELD_LEVELS and column is None
        order = (column or "", pieces[key][0].place, value or "", known[metric])
        group = by.index(column) if by_column else -1
        return by_column, of_all, group, LEVELS.index(level), *order

    for key in sorted(pieces, key=placed):
        for row in _rows(evaluation, key, pieces.pop(key), len(names)):
            if average in (None, row.labels["average"]):
                yield row


def _added(part: Evaluation, by: Sequence[str]) -> pl.DataFrame:
    """What documents of a part add to each score: rows of sums, and how these were scored."""
    fields = _fields(part, by)
    flags = {"n_reader": pl.col("cause") == "reader", "n_ambiguous": pl.col("ambiguous")}
    # Keys of several columns are slow to join and to group by; their hashes are quick.
    case, placed = pl.struct(_CASE).hash(), fields.drop_nulls("path")
    flagged = {name: placed.filter(flag).select(case).to_series() for name, flag in flags.items()}
    columns = ["doc_id", "path", *SLICE, "metric", *_MADE, "hits", "total", "stats", "value"]
    scores = part.scan("scores").select(
        *columns,
        n_missing=~pl.col("status").is_in(USABLE).fill_null(value=True),
        n_undefined=pl.col("value").is_nan().fill_null(value=True),
        width=pl.col("stats").list.len().fill_null(2),
        by_column=False,
        place=pl.lit(None, pl.Float64),
        **{name: case.is_in(cases.implode()) for name, cases in flagged.items()},
    )
    groups = []
    for rows in _with_parts(scores.collect()):
        groups.append(_summed(rows))
        loose = rows.filter(of_cases()).drop("slice_by", "slice_value", "by_column", "place")
        for name in by:
            # Two cases at one path may be of two slices, or of one.
            values = sliced(fields, part.documents, name)
            text = values.cast(pl.String).fill_null("none")
            named = fields.select(*_CASE, _place(values), slice_value=text)
            named = named.unique([*_CASE, "slice_value"], keep="first")
            named = named.with_columns(by_column=True, slice_by=pl.lit(name))
            groups.append(_summed(loose.join(named, on=_CASE)))
    return pl.concat(groups, how="diagonal").with_columns(pl.col("^part[0-9]+$").fill_null(0.0))


def _summed(scores: pl.DataFrame) -> pl.DataFrame:
    """The sums over the cases of each document, of those that were scored alike."""
    settings = (pl.col("settings").struct.field(f.name).to_physical() for f in SETTINGS.fields)
    alike = pl.struct(*_KEY, "doc_id", "task", "mode", *settings).hash().alias("alike")
    return (
        scores.with_columns(alike)
        .group_by("alike", maintain_order=True)
        .agg(
            pl.col("^part[0-9]+$").sum(),
            pl.col(*_KEY, "doc_id", "value", "width", "place", *_MADE).first(),
            pl.col(COUNTS[1:]).sum(),
            n_cases=pl.len(),
        )
    )


def _fields(part: Evaluation, by: Sequence[str]) -> pl.DataFrame:
    """The fields of a part with the columns that their slices follow from."""
    rows = part.scan("cases").filter(~pl.col("level").is_in(WHOLE_LEVELS))
    known = rows.collect_schema().names()
    everywhere = dict.fromkeys([*known, *part.documents.columns, *DERIVED])
    for name in by:
        if name not in everywhere:
            raise UnknownName.of("column to slice by", name, everywhere)
    bands = [root for name in by for root in roots(name)]
    needed = dict.fromkeys([*_CASE, "cause", "ambiguous", *BOX, *bands, *by])
    return rows.select(name for name in needed if name in known).collect()


def _with_parts(scores: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The scores with the parts of each: those of two parts, and those of more."""
    stats = pl.col("stats")
    yield scores.filter(stats.is_null()).drop("stats").rename({"hits": "part0", "total": "part1"})
    rest = scores.filter(stats.is_not_null()).drop("hits", "total")
    parts = (stats.list.get(at, null_on_oob=True) for at in range(rest["width"].max() or 0))
    named = {f"part{at}": part.cast(pl.Float64) for at, part in enumerate(parts)}
    yield rest.with_columns(**named).drop("stats")


def _place(values: pl.Series) -> pl.Expr:
    """Where each value stands among those of its column; null: in the order of the alphabet."""
    place = pl.lit(None, pl.Float64)
    if isinstance(values.dtype, pl.Enum):
        place = pl.lit(values.to_physical().cast(pl.Float64))
    elif values.dtype.is_numeric():
        place = pl.lit(values.cast(pl.Float64).fill_nan(np.inf))
    return pl.when(pl.lit(values.is_null())).then(np.inf).otherwise(place).alias("place")


def _first(made: tuple) -> tuple:
    """Of scores that were made differently, those whose settings stand for all."""
    task, mode, settings = made
    at = TASKS.index(task) if task in TASKS else -1
    return at, mode or "", Settings(**settings).text()


def _rows(
    evaluation: Evaluation, key: tuple, pieces: Sequence[_Piece], count: int
) -> Iterator[Row]:
    metric = metrics.get(key[-1])
    made = [scored for piece in pieces for scored in piece.made]
    task, mode, settings = min(made, key=_first)
    score, settings = metric.score_in(mode), Settings(**settings)
    number = np.concatenate([piece.number for piece in pieces])
    table = np.zeros((count, pieces[0].parts.shape[1]))
    for piece in pieces:
        # A document may have scores of several tasks.
        np.add.at(table, piece.number, piece.parts)
    known = np.unique(number)
    totals = dict(zip(COUNTS, map(int, sum(piece.counts for piece in pieces)), strict=True))
    base = {name: getattr(evaluation, name) for name in ("benchmark", "split", "system")}
    base |= {"metric": metric.name, "average": metrics.POOLED, "mode": mode}
    base |= {"task": task if len({scored[0] for scored in made}) == 1 else None}
    base |= dict(zip(SLICE, key[1:4], strict=True)) | totals | {"n_docs": len(known)}
    base["settings"] = dataclasses.replace(settings, average="micro")
    yield Row(base, small(exact(table)), score)
    if metric.average == OVER_ENTITIES:
        return
    # Of several cases a document has the score of their sum; of one, that case's own.
    values = score(table[known])
    if totals["n_cases"] == len(known):
        values[np.searchsorted(known, number)] = np.concatenate([piece.value for piece in pieces])
    means = np.zeros((count, 2))
    means[known] = np.stack([np.nan_to_num(values), ~np.isnan(values)], axis=1)
    labels = {
        "average": metrics.MACRO,
        "settings": dataclasses.replace(settings, average="macro"),
        "n_undefined": int(np.isnan(values).sum()),
    }
    yield Row(base | labels, small(exact(means)), ratio)
