"""What each document adds to every score of an evaluation: a row of a summary before any draw."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import partial, reduce
from itertools import chain
from operator import xor
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.scoring.bands import BANDS, DERIVED, roots, sliced
from formlab.tables import CASES, DOCUMENTS, FIELD_LEVELS, LEVELS, TASKS, USABLE, WHOLE_LEVELS

# What tells the rows of a metric apart; `task` follows from them.
SLICE = ("level", "slice_by", "slice_value")
COUNTS = ("n_cases", "n_missing", "n_undefined", "n_reader", "n_ambiguous")
# `by_column`: by a column of `by`, not by the scorer.
_KEY = ["by_column", *SLICE, "metric"]
_MADE = ["task", "mode", "settings"]
_LABELS = (*SLICE, "metric", *_MADE)
# By what fields are mostly sliced, beside a user's own columns.
_USUAL = ("field", "kind", "subtype", "modality", "length", "page", "position", "template")


@dataclasses.dataclass
class Row:
    """One row of a summary to be: parts per document, and how summed parts become its value.

    `labels` are the columns known so far and `score` takes (…, k) to (…). `tally` has the shape
    (documents, k) and the smallest type that holds it; documents are in the order of their names.
    """

    labels: dict[str, Any]
    tally: np.ndarray
    score: Callable[[np.ndarray], np.ndarray]


def small(values: np.ndarray) -> np.ndarray:
    """Numbers in the smallest type that holds them all unchanged, of counts an unsigned one."""
    if not np.isfinite(values).all() or values.min(initial=0) < 0 or (values % 1).any():
        return values
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def slice_order(column: str, value: str) -> tuple[int, float, str]:
    """Where a slice stands: bands in their order, numbers by size, the unknown last."""
    labels = BANDS[column].labels if column in BANDS else ()
    try:
        return 0, labels.index(value) if value in labels else float(value), value
    except ValueError:
        return 1 + (value == "none"), 0, value


def check_slices(by: Sequence[str], known: Sequence[str], noun: str = "column to slice by") -> None:
    """Raise `UnknownName` for a column that is not known, with the nearest and the usual ones."""
    if unknown := [name for name in by if name not in known]:
        users = {*known} - {*CASES, *DOCUMENTS, *DERIVED}
        near = get_close_matches(unknown[0], known, n=1, cutoff=0.7)
        raise UnknownName.of(noun, unknown[0], {*near, *users, *_USUAL, "…"})


def document_sums(
    evaluation: Evaluation, by: Sequence[str] = ("kind",), *, average: str | None = None
) -> Iterator[Row]:
    """Every score by document: of each metric its sums, then as the mean over documents.

    Raises `UnknownName` if a column of `by` is in neither table, or of another `average`.

    `evaluation`: of any size: one part of it is in memory at a time; `by`: columns of *cases* or
    *documents* to slice the scores of fields by; `average`: only ``pooled`` or only ``macro``.
    """
    if average not in (None, metrics.POOLED, metrics.MACRO):
        raise UnknownName.of("average", average, (metrics.POOLED, metrics.MACRO))
    names = evaluation.document_names
    number = names.to_frame().with_row_index("number")
    pieces: dict[tuple, list[tuple]] = {}
    for added in evaluation.by_part(partial(_added, by=by)):
        rows = added.join(number, on="doc_id").with_row_index("at")
        parts = rows.select("^part[0-9]+$").to_numpy()
        numbers, values = rows["number"].to_numpy(), rows["value"].to_numpy()
        # One query for all groups, of which a small evaluation has more than documents.
        made = pl.struct(_MADE).unique(maintain_order=True).alias("made")
        groups = rows.group_by(_KEY, maintain_order=True)
        groups = groups.agg("at", pl.col("width").first(), made, pl.col(COUNTS).sum())
        for row in groups.iter_rows():
            at, width, how, *counts = row[len(_KEY) :]
            piece = numbers[at], small(parts[at, :width]), values[at], np.array(counts), how
            pieces.setdefault(row[: len(_KEY)], []).append(piece)
    places = [*metrics.METRICS]

    def place(key: tuple) -> tuple:
        by_column, level, column, value, metric = key
        first = by.index(column) if by_column else -1, level in FIELD_LEVELS and column is None
        within = column or "", slice_order(column, value or ""), places.index(metric)
        return *first, LEVELS.index(level), *within

    for key in sorted(pieces, key=place):
        for row in _rows(evaluation, key, pieces.pop(key), len(names)):
            if average in (None, row.labels["average"]):
                yield row


def _added(part: Evaluation, by: Sequence[str]) -> pl.DataFrame:
    """What documents of a part add to each score: rows of sums, and how these were scored."""
    fields = part.scan("cases").filter(~pl.col("level").is_in(WHOLE_LEVELS))
    columns = fields.collect_schema().names()
    check_slices(by, [*columns, *part.documents.columns, *DERIVED])
    needed = {"doc_id", "path", "cause", "ambiguous", *by}.union(*map(roots, by))
    fields = fields.select(name for name in columns if name in needed).collect()
    flags = {"n_reader": pl.col("cause") == "reader", "n_ambiguous": pl.col("ambiguous")}
    # Keys of several columns are slow to join and to group by; their hashes are quick.
    case, placed = _hash(pl.col("doc_id"), pl.col("path")), fields.drop_nulls("path")
    flagged = {n: placed.filter(of).select(case).to_series() for n, of in flags.items()}
    made = {"n_missing": pl.all_horizontal(pl.col("status") != word for word in USABLE)}
    made |= {"n_undefined": pl.col("value").is_nan().fill_null(value=True)}
    made |= {"width": pl.col("stats").list.len().fill_null(2), "case": case if by else None}
    made |= {n: case.is_in(of.implode()) if len(of) else pl.lit(0) for n, of in flagged.items()}
    names = "doc_id", *_LABELS, "hits", "total", "stats", "value"
    scores = part.scan("scores").select(*names, **made).with_row_index("first").collect()
    labels = scores.select("doc_id", *_LABELS, "value", "width")
    # Labels are long: rows are told apart by a hash, and the labels are those of its first row.
    told = labels.drop("value", "width").unnest("settings")
    alike = _hash(*(c.to_physical() for c in told if c.name == "doc_id" or c.count()))
    kept = "case", "first", *COUNTS[1:], "stats"
    scores = scores.select(*kept, alike=alike, part0="hits", part1="total")
    groups = [_summed(scores, labels).with_columns(by_column=False)]
    # Scores of single cases can be sliced by their columns.
    is_loose = pl.col("level").is_in(FIELD_LEVELS) & pl.col("slice_by").is_null()
    loose = scores.filter(labels.select(is_loose).to_series()) if by else scores
    for name in by:
        # Two cases at one path may be of two slices, or of one.
        text = sliced(fields, part.documents, name).cast(pl.String).fill_null("none")
        named = fields.select(case=case, slice=pl.when(pl.col("path").is_not_null()).then(text))
        rows = _summed(loose.join(named.drop_nulls().unique(), on="case"), labels, "slice")
        rows = rows.with_columns(slice_by=pl.lit(name), slice_value="slice", by_column=True)
        groups.append(rows.drop("slice"))
    return pl.concat(groups, how="diagonal")


def _hash(*columns: Any) -> Any:
    """A number for the values of a row; that of a struct takes several times as long."""
    return reduce(xor, (column.hash(seed) for seed, column in enumerate(columns)))


def _summed(scores: pl.DataFrame, labels: pl.DataFrame, *key: str) -> pl.DataFrame:
    """The sums over the cases of each document that were scored alike, of two parts or a list."""
    n_cases = pl.len().alias("n_cases")
    is_plain, stats = pl.col("stats").is_null(), pl.col("stats").list
    listed = scores.filter(~is_plain)
    widest = range(listed["stats"].list.len().max() or 0)
    listed = listed.with_columns(stats.get(n, null_on_oob=True).alias(f"part{n}") for n in widest)
    added = pl.col("^part[0-9]+$", *COUNTS[1:]).sum(), pl.first("first"), n_cases
    groups = (rows.group_by("alike", *key) for rows in (scores.filter(is_plain), listed))
    rows = pl.concat((of.agg(*added) for of in groups), how="diagonal").sort("first")
    return rows.drop("first", "alike").hstack(labels[rows["first"]])


def _rows(evaluation: Evaluation, key: tuple, pieces: Sequence[tuple], count: int) -> Iterator[Row]:
    metric = metrics.get(key[-1])
    numbers, parts, values, counts, made = zip(*pieces, strict=True)
    number, table = np.concatenate(numbers), np.zeros((count, parts[0].shape[1]))
    # A document may have scores of several tasks.
    np.add.at(table, number, np.concatenate(parts))
    tasks = (None, *TASKS)
    scored = [
        (tasks.index(way["task"]), way["mode"] or "", tables.Settings(**way["settings"]))
        for way in chain(*made)
    ]
    # Of scores that were made differently, the settings of the first task stand for all.
    task, mode, settings = min(scored, key=lambda of: (*of[:2], of[2].text()))
    present, score = np.unique(number), metric.score_in(mode or None)
    base = {name: getattr(evaluation, name) for name in ("benchmark", "split", "system")}
    base |= {"metric": metric.name, "average": metrics.POOLED, "mode": mode or None}
    base |= {"task": tasks[task] if len({of[0] for of in scored}) == 1 else None}
    base |= dict(zip((*SLICE, *COUNTS), (*key[1:4], *map(int, sum(counts))), strict=True))
    base |= {"n_docs": len(present), "settings": dataclasses.replace(settings, average="micro")}
    yield Row(base, small(table), score)
    if metric.average == metrics.OVER_ENTITIES:
        return
    # Of several cases a document has the score of their sum; of one, that case's own.
    scores = score(table[present])
    if base["n_cases"] == len(present):
        scores[np.searchsorted(present, number)] = np.concatenate(values)
    means = np.zeros((count, 2))
    means[present] = np.stack([np.nan_to_num(scores), ~np.isnan(scores)], axis=1)
    labels = {"average": metrics.MACRO, "n_undefined": int(np.isnan(scores).sum())}
    labels["settings"] = dataclasses.replace(settings, average="macro")
    yield Row(base | labels, small(means), metrics.ratio)
