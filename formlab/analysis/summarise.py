"""From scores to a summary: pooled scores with intervals, over all and by slice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.bands import BANDS, banded, position
from formlab.analysis.intervals import by_document, drawn_parts, percentiles
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import Metric, ratio
from formlab.tables import FIELD_LEVELS, USABLE, Settings

# What tells the rows of a metric apart; `task` follows from them.
SLICE = ("level", "slice_by", "slice_value")


@dataclasses.dataclass
class Row:
    """One row of a summary to be: parts per document, and how summed parts become its value.

    `labels` are the columns known so far, `parts` has the shape (documents, k) and `score` takes
    (…, k) to (…).
    """

    labels: dict[str, Any]
    parts: np.ndarray
    score: Any


def summarise(
    evaluation: Evaluation,
    *,
    by: Sequence[str] | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The summary table of an evaluation.

    Each metric gets its pooled value (micro: the score of the summed tallies) and, as
    ``macro_<metric>``, the mean over documents (`formlab.metrics.mean_of`). A row is of all that
    has its `level` (``page``, ``field`` …), or of the slice `slice_by` = `slice_value`.

    Parameters
    ----------
    evaluation
        As from `evaluate`.
    by
        Columns of *cases* or *documents*, a user's own among them, to slice the field scores by;
        ``kind`` if left out.
    resamples
        How often documents are drawn with replacement, all scores of a draw together.
    level
        Of the percentile interval, in (0, 1).
    seed
        Of the draws.

    Returns
    -------
    polars.DataFrame
        The schema SUMMARY; `task` is null where the scores are of several. The interval is NaN for
        fewer than two documents. `n_missing` counts the units (documents or fields) without a
        usable prediction, `n_undefined` those whose own value is NaN (of a mean over documents: the
        documents it leaves out), `n_reader` the fields whose verdict depends on the reading rule
        (cause ``reader``), `n_ambiguous` the dates that are equal only if day and month are read in
        the other order; all are among `n_cases`.

    Raises
    ------
    UnknownName
        If a column of `by` is in neither table.
    """
    codes = {doc: number for number, doc in enumerate(evaluation.documents["doc_id"])}
    rows = list(tallied(evaluation, ("kind",) if by is None else tuple(by), codes))
    if not rows:
        return tables.table("summary", [])
    values = [float(row.score(row.parts.sum(axis=0))) for row in rows]
    ends = [(float("nan"), float("nan"))] * len(rows)
    if len(codes) > 1 and resamples:
        drawn = drawn_parts([row.parts for row in rows], resamples=resamples, seed=seed)
        ends = [percentiles(row.score(d), level) for row, d in zip(rows, drawn, strict=True)]
    interval = f"bootstrap,documents,n={resamples},level={level:g},seed={seed}"
    summary = [
        row.labels
        | {"value": value, "ci_low": low, "ci_high": high}
        | {"settings": dataclasses.replace(row.labels["settings"], interval=interval)}
        for row, value, (low, high) in zip(rows, values, ends, strict=True)
    ]
    return tables.check("summary", tables.table("summary", summary))


def tallied(evaluation: Evaluation, by: Sequence[str], codes: dict[str, int]) -> Iterator[Row]:
    """The scores of each metric and slice, summed by document; `codes` are their numbers."""
    key = ["doc_id", "path"]
    scores = evaluation.scores.join(_flags(evaluation), on=key, how="left", maintain_order="left")
    loose = scores.filter(of_cases())
    groups = [loose] if loose.height else []
    open_slices = loose.drop("slice_by", "slice_value")
    groups += [
        open_slices.join(chosen, on=key, how="inner", maintain_order="left")
        for chosen in _slices(evaluation, by)
    ]
    ready = scores.filter(~of_cases())
    for table in (ready, *groups):
        for group in table.partition_by(*SLICE, maintain_order=True):
            for (metric,), rows in group.group_by("metric", maintain_order=True):
                yield from _metric_rows(evaluation, metrics.get(str(metric)), rows, codes)


def of_cases() -> pl.Expr:
    """Whether scores are of single cases, by whose columns they can be sliced."""
    return pl.col("level").is_in(FIELD_LEVELS) & pl.col("slice_by").is_null()


def _flags(evaluation: Evaluation) -> pl.DataFrame:
    """Of each field: does its verdict depend on the reading rule, or on the order of a date?"""
    reader = (pl.col("cause") == "reader").fill_null(False).alias("reader")
    return evaluation.fields.group_by("doc_id", "path").agg(
        reader.any(), pl.col("ambiguous").fill_null(False).any()
    )


def _slices(evaluation: Evaluation, by: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The fields of each slice, by `doc_id` and `path`."""
    cases = evaluation.fields
    for column in by:
        values = sliced(cases, evaluation.documents, column)
        named = cases.select("doc_id", "path").with_columns(values.alias("_value"))
        for (value,), group in sorted(
            named.group_by("_value"), key=lambda item: order(values, item[0][0])
        ):
            # As polars writes it, and as `find_slices` and the address of a report have it.
            label = pl.Series([value]).cast(pl.String).fill_null("none").item()
            yield (
                group.select("doc_id", "path")
                .unique()
                .with_columns(slice_by=pl.lit(column), slice_value=pl.lit(label))
            )


def sliced(cases: pl.DataFrame, documents: pl.DataFrame, column: str) -> pl.Series:
    """The value of `column` for each case: its own, its document's, a band or its `position`.

    Raises
    ------
    UnknownName
        If there is no such column in either table and no such band.
    """
    if column in BANDS:
        return banded(cases, column)
    if column == "position":
        return position(cases, documents)
    if column in cases.columns:
        return cases[column]
    if column in documents.columns:
        return cases.join(documents.select("doc_id", column), on="doc_id", how="left")[column]
    known = [*cases.columns, *documents.columns, *BANDS, "position"]
    raise UnknownName.of("column to slice by", column, dict.fromkeys(known))


def order(values: pl.Series, value: Any) -> tuple[bool, Any]:
    """Where a slice stands: bands in their own order, all else by value; unknown last."""
    if isinstance(values.dtype, pl.Enum) and value is not None:
        return (False, values.dtype.categories.to_list().index(value))
    return (value is None, value)


def _metric_rows(
    evaluation: Evaluation, metric: Metric, group: pl.DataFrame, codes: dict[str, int]
) -> Iterator[Row]:
    number = group["doc_id"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()
    parts = by_document(number, _parts(group).T, len(codes))
    values, there = group["value"].to_numpy(), np.unique(number)
    first = group.row(0, named=True)
    settings, score = Settings(**first["settings"]), metric.score_in(first["mode"])
    base = {
        "benchmark": evaluation.benchmark, "split": evaluation.split,
        "system": evaluation.system, "metric": metric.name,
        "task": first["task"] if group["task"].n_unique() == 1 else None,
        **{name: first[name] for name in ("level", "slice_by", "slice_value", "mode")},
        "n_docs": len(there), "n_cases": group.height,
        "n_missing": int((~group["status"].is_in(USABLE)).sum()),
        "n_undefined": int(np.isnan(values).sum()),
        "n_reader": int(group["reader"].sum()),
        "n_ambiguous": int(group["ambiguous"].sum()),
        "settings": dataclasses.replace(settings, average="micro"),
    }  # fmt: skip
    yield Row(base, parts, score)
    mean_name = metrics.mean_of(metric.name)
    if mean_name is None:
        return
    # Of several cases a document has the score of their sum; of one, that case's own.
    single = len(there) == len(number)
    each, where = (values, number) if single else (score(parts[there]), there)
    labels = {
        "metric": mean_name, "settings": dataclasses.replace(settings, average="macro"),
        "n_undefined": int(np.isnan(each).sum()),
    }  # fmt: skip
    yield Row(base | labels, _mean_parts(each, where, len(codes)), ratio)


def _parts(group: pl.DataFrame) -> np.ndarray:
    if group["stats"].null_count():
        return group.select("hits", "total").to_numpy()
    return np.array(group["stats"].to_list(), dtype=float)


def _mean_parts(values: np.ndarray, number: np.ndarray, count: int) -> np.ndarray:
    defined = ~np.isnan(values)
    return by_document(number, [np.where(defined, values, 0.0), defined.astype(float)], count)
