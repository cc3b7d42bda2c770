"""From scores to a summary: pooled scores with intervals, over all and by slice."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from formlab import metrics, tables
from formlab.folders import Evaluation
from formlab.scoring.bands import Band, sliced
from formlab.stats.draws import intervals
from formlab.stats.sums import document_sums

UNKNOWN = "unknown"
_COUNTS, _AXES = ("n_docs", "n_cases", "n_undefined"), ("x_value", "y_value")
_SAME = ("benchmark", "split", "metric", "level", "mode", "settings")


def interval_text(*, resamples: int = 1000, level: float = 0.95, seed: int = 0) -> str:
    """How a percentile interval over documents was drawn, for `settings`."""
    return f"bootstrap,documents,n={resamples},level={level:g},seed={seed}"


def summarise(
    evaluation: Evaluation,
    *,
    by: Sequence[str] | None = None,
    average: str | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The summary table of an evaluation.

    Each metric gets two rows by `average`: ``pooled``, the score of the summed tallies, and
    ``macro``, the mean over documents (but for what is a mean over entities). A row is of all that
    has its `level` (``page``, ``field`` …), or of the slice `slice_by` = `slice_value`.

    Returns the schema SUMMARY; `task` is null where the scores are of several. The interval is NaN
    for fewer than two documents. Among `n_cases`, `n_missing` counts the units (documents or
    fields) without a usable prediction, `n_undefined` those whose own value is NaN, `n_reader` the
    fields whose verdict depends on the reading rule, `n_ambiguous` the dates that are equal only
    with day and month exchanged.

    `by`: columns of *cases* or *documents* to slice the field scores by (``kind`` if left out;
    `UnknownName` for one in neither table); `average`: only ``pooled`` or only ``macro``;
    `resamples`, `seed`: draws of documents with replacement, all scores of a draw together, for the
    percentile interval at `level`, in (0, 1).
    """
    columns, summary = ("kind",) if by is None else tuple(by), []
    rows = list(document_sums(evaluation, columns, average=average))
    scores = [(row.tally, row.score) for row in rows]
    ends = intervals(scores, resamples=resamples, level=level, seed=seed)
    interval = interval_text(resamples=resamples, level=level, seed=seed)
    for row, (low, high) in zip(rows, ends, strict=True):
        value = float(row.score(row.tally.sum(axis=0, dtype=float)))
        settings = dataclasses.replace(row.labels["settings"], interval=interval)
        values = {"value": value, "ci_low": low, "ci_high": high, "settings": settings}
        summary.append(row.labels | values)
    return tables.check("summary", tables.table("summary", summary))


def surface(
    evaluation: Evaluation,
    metric: str,
    x: str,
    y: str,
    *,
    bins: Mapping[str, Sequence[float]] | None = None,
    **draws: Any,
) -> pl.DataFrame:
    """A metric in every cell of a grid of two columns, with interval and counts.

    Returns a row for each pair of a value of `x` with one of `y`, the ordered words `x_value` and
    `y_value`. An empty cell has null and counts of 0; in a cell of a single document the interval
    is NaN. Unknown values stand under ``unknown``.

    `x`, `y`: columns of *documents* or of *cases*, the bands (``length`` …) among them; `bins`:
    column to the ascending edges that cut it; `draws`: as for `summarise`.

    Raises `UnknownName` if there is no such metric or column.
    """
    name, cases = metrics.get(metric).name, evaluation.fields
    values = (sliced(cases, evaluation.documents, column) for column in (x, y))
    words = dict(zip(_AXES, map(_words, values, map((bins or {}).get, (x, y))), strict=True))
    codes = pl.concat_str([word.to_physical() for word in words.values()], separator=" ")
    named = cases.select(slice_value=codes, **words)
    marked = dataclasses.replace(evaluation, cases=cases.with_columns(cell=named["slice_value"]))
    cells = summarise(marked, by=["cell"], average="pooled", **draws)
    cells = cells.filter(metric=name, slice_by="cell").join(named.unique(), on="slice_value")
    rows, columns = (cells.select(pl.col(axis).unique().sort()) for axis in _AXES)
    grid = rows.join(columns, how="cross").join(cells, on=_AXES, how="left", maintain_order="left")
    # No draw of a single document tells anything.
    ends = pl.when(pl.col("n_docs").ne_missing(1)).then(pl.col("ci_low", "ci_high"))
    same = (pl.col(column).fill_null(pl.col(column).drop_nulls().first()) for column in _SAME)
    columns = *same, ends.otherwise(float("nan")), pl.col(_COUNTS).fill_null(0)
    names = *_SAME[:5], "x", "y", *_AXES, "value", "ci_low", "ci_high", *_COUNTS, "settings"
    return grid.with_columns(*columns, x=pl.lit(x), y=pl.lit(y)).select(*names)


def _words(values: pl.Series, edges: Sequence[float] | None) -> pl.Series:
    """Each value as a word, in the order of the values; the unknown comes last."""
    words = values = values.fill_nan(None) if values.dtype.is_float() else values
    if edges:
        words = Band("", edges, whole=values.dtype.is_integer()).of(values)
    elif values.dtype.is_float():
        words = values.map_elements("{:g}".format, return_dtype=pl.String)
    words = words.cast(pl.String).fill_null(UNKNOWN)
    # Of words whose order is their own, such as bands, the numbers tell it.
    order = pl.DataFrame({"word": words, "at": values.to_physical()}).sort("at", nulls_last=True)
    return words.cast(pl.Enum(order["word"].unique(maintain_order=True)))
