"""What each document adds to every score of an evaluation: sums, from which summaries are made.

Documents are independent, so the tallies of an evaluation in shards are those of its shards below
each other, and nobody has to read the scores again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from formlab import metrics
from formlab.folders import Evaluation
from formlab.scoring.bands import sliced
from formlab.tables import FIELD_LEVELS, SETTINGS, USABLE

COUNTS = ("n_docs", "n_cases", "n_missing", "n_undefined", "n_reader", "n_ambiguous")
# What tells scopes apart. `asked` are slices by a column of cases or documents; the others are
# those that a scorer made.
_RUN = ("task", "level", "slice_by", "slice_value", "metric", "mode", "settings")
TALLIES: dict[str, Any] = {
    **{name: SETTINGS if name == "settings" else pl.String for name in _RUN},
    "asked": pl.Boolean, "place": pl.Float64, **dict.fromkeys(COUNTS, pl.Int64),
    "documents": pl.List(pl.UInt32), "parts": pl.List(pl.Float64), "values": pl.List(pl.Float64),
}  # fmt: skip
# Slices that stored tallies have in any case: those of a summary that asks for nothing else.
BY = ("kind",)
_KEY = ["doc_id", "path"]


def of_cases() -> pl.Expr:
    """Whether scores are of single cases, by whose columns they can be sliced."""
    return pl.col("level").is_in(FIELD_LEVELS) & pl.col("slice_by").is_null()


def tallies(evaluation: Evaluation, by: Sequence[str] = BY) -> pl.DataFrame:
    """The scores of one shard, summed by document for each scope.

    A stored shard may keep them: its attribute ``kept_tallies`` is then this table, for the slices
    that were asked for when it was made, else None. Nothing else of the shard is read where its
    kept tallies have the slices of a summary (`kept`); so an evaluation that was made from it by
    another choice of cases or scores must not have the attribute.

    Parameters
    ----------
    evaluation
        One shard.
    by
        Columns of *cases* or *documents* to slice the scores of fields by.

    Returns
    -------
    polars.DataFrame
        The schema TALLIES: a row for each `task`, `level`, slice, `metric`, `mode` and `settings`.
        `asked` says that the slice is one of `by`, and `place` where it stands among those of its
        column (null: in the order of the alphabet). `documents` are the numbers of the documents in
        the order of their `doc_id` in the shard, null for all of them; `parts` are the sums of each
        document one after the other. `values` are the documents' own scores where each has a
        single case whose score is not that of its parts (BLEU of one sentence), else null.

    Raises
    ------
    UnknownName
        If a column of `by` is in neither table.
    """
    if (stored := kept(evaluation, by)) is not None:
        return stored
    rows = list(_summed(evaluation, by))
    return pl.DataFrame([_column([row[name] for row in rows], name) for name in TALLIES])


def tally_rows(evaluation: Evaluation, by: Sequence[str] = BY) -> Iterator[dict[str, Any]]:
    """The rows of `tallies`, with arrays for lists: no table is made on the way."""
    if (stored := kept(evaluation, by)) is None:
        yield from _summed(evaluation, by)
        return
    # Lists as slices of one array: rows of Python's own lists would take many times as long.
    lists = {name: _unlisted(stored[name]) for name, kind in TALLIES.items() if kind == pl.List}
    for at, row in enumerate(stored.drop(*lists).iter_rows(named=True)):
        yield row | {name: each[at] for name, each in lists.items()}


def _unlisted(lists: pl.Series) -> list[np.ndarray | None]:
    if lists.is_empty():
        return []
    flat = lists.drop_nulls().explode().to_numpy()
    sizes = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    cut = np.split(flat, np.cumsum(sizes)[:-1])
    return [None if none else each for none, each in zip(lists.is_null(), cut, strict=True)]


def _summed(evaluation: Evaluation, by: Sequence[str]) -> Iterator[dict[str, Any]]:
    cases = _Cases(evaluation, by)
    for scope, scores in _runs(evaluation.scores):
        is_sliced = scope["level"] in FIELD_LEVELS and scope["slice_by"] is None
        run, groups = _Run.of(scope, scores), cases.groups(scores, is_sliced=is_sliced)
        yield from run.summed(groups.whole, cases.count, asked=False)
        for grouped in groups.slices:
            yield from run.summed(grouped, cases.count, asked=True)


def _column(values: list[Any], name: str) -> pl.Series:
    kind = TALLIES[name]
    if not isinstance(kind, pl.List) or not values:
        return pl.Series(name, values, dtype=kind)
    none = pl.Series(name, [None], dtype=kind)
    each = [none if v is None else pl.Series(name, v).cast(kind.inner).implode() for v in values]
    return pl.concat(each, rechunk=True)


def kept(evaluation: Evaluation, by: Sequence[str]) -> pl.DataFrame | None:
    """The tallies that a stored shard keeps, of the slices `by`; None where it has not all."""
    stored = getattr(evaluation, "kept_tallies", None)
    if stored is None:
        return None
    sliced_by = set(stored.filter("asked")["slice_by"])
    if not set(by) <= sliced_by and stored.filter(of_cases()).height:
        return None
    return stored.filter(~pl.col("asked") | pl.col("slice_by").is_in(list(by)))


def _runs(scores: pl.DataFrame) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The scores of each scope; a scorer writes them below each other, so that few are moved."""
    if not scores.height:
        return
    settings = scores["settings"].struct
    columns = [scores[name] for name in _RUN[:-1]]
    columns += [settings.field(field.name) for field in SETTINGS.fields]
    begins = np.arange(scores.height) == 0
    for column in columns:
        # Most are null, or the same all through.
        nulls = column.null_count()
        if nulls < scores.height and (nulls or not (column == column[0]).all()):
            begins |= column.ne_missing(column.shift()).to_numpy()
    starts = np.flatnonzero(begins).tolist()
    runs: dict[str, tuple[dict[str, Any], list[pl.DataFrame]]] = {}
    for start, end in zip(starts, [*starts[1:], scores.height], strict=True):
        row = scores.row(start, named=True)
        scope = {name: row[name] for name in _RUN}
        runs.setdefault(repr(scope), (scope, []))[1].append(scores.slice(start, end - start))
    for scope, spans in runs.values():
        yield scope, spans[0] if len(spans) == 1 else pl.concat(spans)


class _Groups(NamedTuple):
    """Scores grouped by slice and document.

    `rows` are the numbers of the scores (null: each once, in order), with the `group` and the
    `code` of the slice of each; `documents` has the document of each group, and slice number n the
    groups from `ends[n]` to `ends[n + 1]`. `counts` has what counts the same by every metric.
    """

    rows: np.ndarray | None
    group: np.ndarray
    code: np.ndarray
    documents: np.ndarray
    ends: np.ndarray
    labels: list[dict[str, Any]]
    counts: dict[str, np.ndarray]

    @classmethod
    def of(
        cls, number: np.ndarray, rows: np.ndarray | None, code: np.ndarray, count: int,
        labels: list[dict[str, Any]], flags: dict[str, np.ndarray],
    ) -> _Groups:  # fmt: skip
        """Of the `number` of each score's document, of `count`, and the `code` of its slice."""
        documents = number if rows is None else number[rows]
        key, group = np.unique(code * np.int64(count) + documents, return_inverse=True)
        ends = np.searchsorted(key, np.arange(len(labels) + 1) * np.int64(count))
        counts = {name: _count(code, flag, rows, len(labels)) for name, flag in flags.items()}
        counts["n_cases"] = np.bincount(code, minlength=len(labels))
        return cls(rows, group, code, key % max(count, 1), ends, labels, counts)


def _count(code: np.ndarray, flag: np.ndarray, rows: np.ndarray | None, size: int) -> np.ndarray:
    """How many rows of each slice have a flag; most have none."""
    if not flag.any():
        return np.zeros(size, dtype=np.int64)
    return np.bincount(code[flag if rows is None else flag[rows]], minlength=size)


class _Placed(NamedTuple):
    """The groups of some scores: of all of them, and of the slices by each column."""

    doc_id: pl.Series
    path: pl.Series
    is_sliced: bool
    whole: _Groups
    slices: list[_Groups]


class _Cases:
    """The fields of a shard, by which its scores are sliced."""

    def __init__(self, evaluation: Evaluation, by: Sequence[str]) -> None:
        documents = evaluation.documents["doc_id"].unique().sort().to_frame()
        self.count = documents.height
        self.numbers = documents.with_row_index("number")
        fields = evaluation.fields
        self.keys = fields.select(_KEY).with_row_index("case")
        flags = {"n_reader": pl.col("cause") == "reader", "n_ambiguous": pl.col("ambiguous")}
        self.flags = {
            name: fields.select(flag.fill_null(value=False)).to_series().to_numpy()
            for name, flag in flags.items()
        }
        self.sliced = {name: sliced(fields, evaluation.documents, name) for name in by}
        self.last: _Placed | None = None

    @cached_property
    def columns(self) -> list[tuple[list[dict[str, Any]], np.ndarray]]:
        """The slices by each column, and the number of that of each case."""
        return [_coded(values, name) for name, values in self.sliced.items()]

    def groups(self, scores: pl.DataFrame, *, is_sliced: bool) -> _Placed:
        """Those of the scores of one scope; scores by several metrics mostly are of the same."""
        doc_id, path = scores["doc_id"], scores["path"]
        last = self.last
        if last is None or last.is_sliced != is_sliced or not (
            doc_id.equals(last.doc_id) and path.equals(last.path)
        ):  # fmt: skip
            self.last = last = self._placed(doc_id, path, is_sliced=is_sliced)
        return last

    def _placed(self, doc_id: pl.Series, path: pl.Series, *, is_sliced: bool) -> _Placed:
        scores = pl.DataFrame([doc_id, path]).with_row_index("row")
        number = scores.join(self.numbers, on="doc_id", how="left", maintain_order="left")["number"]
        pairs = scores.join(self.keys, on=_KEY, how="inner", maintain_order="left")
        rows, case = (pairs[name].to_numpy() for name in ("row", "case"))
        flags = {
            name: np.bincount(rows, weights=flag[case], minlength=len(doc_id)) > 0
            for name, flag in self.flags.items()
        }
        numbers = number.cast(pl.Int64).to_numpy()
        nothing = [{"place": None}]
        zeros = np.zeros(len(doc_id), dtype=np.int64)
        whole = _Groups.of(numbers, None, zeros, self.count, nothing, flags)
        slices = []
        for labels, codes in self.columns if is_sliced else ():
            members = rows * np.int64(len(labels)) + codes[case]
            # Two cases at one path may be of two slices, or of one.
            members = members if (np.diff(rows) > 0).all() else np.unique(members)
            own, code = np.divmod(members, max(len(labels), 1))
            slices.append(_Groups.of(numbers, own, code, self.count, labels, flags))
        return _Placed(doc_id, path, is_sliced, whole, slices)


def _coded(values: pl.Series, column: str) -> tuple[list[dict[str, Any]], np.ndarray]:
    """The slices by a column, and the number of that of each case."""
    # As polars writes it, and as `find_slices` and the address of a report have it.
    label = values.cast(pl.String).fill_null("none")
    place = pl.lit(None, pl.Float64)
    if isinstance(values.dtype, pl.Enum):
        place = pl.col("value").to_physical().cast(pl.Float64)
    elif values.dtype.is_numeric():
        place = pl.col("value").cast(pl.Float64).fill_nan(np.inf)
    place = pl.when(pl.col("value").is_null()).then(np.inf).otherwise(place)
    named = pl.DataFrame([values.alias("value"), label.alias("slice_value")])
    known = named.unique("slice_value", keep="first").with_columns(place=place)
    known = known.sort("slice_value").drop("value").with_row_index("code")
    codes = named.join(known, on="slice_value", how="left", maintain_order="left")["code"]
    labels = known.select(pl.lit(column).alias("slice_by"), "slice_value", "place").to_dicts()
    return labels, codes.cast(pl.Int64).to_numpy()


@dataclass
class _Run:
    """The scores of one scope: `parts` by column, `values` and `flags` of each."""

    scope: dict[str, Any]
    parts: list[np.ndarray]
    values: np.ndarray
    flags: dict[str, np.ndarray]
    score: Any

    @classmethod
    def of(cls, scope: dict[str, Any], scores: pl.DataFrame) -> _Run:
        """From scores of one scope."""
        if scores["stats"].null_count():
            parts = [scores[name].to_numpy() for name in ("hits", "total")]
        else:
            flat = scores["stats"].explode().to_numpy()
            parts = list(np.ascontiguousarray(flat.reshape(scores.height, -1).T))
        values = scores["value"].to_numpy()
        usable = scores["status"].is_in(USABLE).fill_null(value=True).to_numpy()
        flags = {"n_missing": ~usable, "n_undefined": np.isnan(values)}
        score = metrics.get(scope["metric"]).score_in(scope["mode"])
        return cls(scope, parts, values, flags, score)

    def summed(self, groups: _Groups, count: int, *, asked: bool) -> Iterator[dict[str, Any]]:
        """A row of tallies for each slice."""
        rows, many = groups.rows, len(groups.documents)

        def by_group(column: np.ndarray) -> np.ndarray:
            taken = column if rows is None else column[rows]
            return np.bincount(groups.group, weights=taken, minlength=many)

        parts = np.stack([by_group(column) for column in self.parts], axis=1)
        each = groups.counts | {
            name: _count(groups.code, flag, rows, len(groups.labels))
            for name, flag in self.flags.items()
        }
        sizes = np.diff(groups.ends)
        values = None
        if (single := each["n_cases"] == sizes).any():
            values = by_group(self.values)
            scored = self.score(parts)
            alike = (values == scored) | (np.isnan(values) & np.isnan(scored))
        for at in np.flatnonzero(sizes):
            label, here = groups.labels[at], slice(groups.ends[at], groups.ends[at + 1])
            own = values is not None and single[at] and not alike[here].all()
            yield self.scope | label | {name: int(column[at]) for name, column in each.items()} | {
                "asked": asked, "n_docs": int(sizes[at]),
                "documents": None if sizes[at] == count else groups.documents[here],
                "parts": parts[here].ravel(), "values": values[here] if own else None,
            }  # fmt: skip
