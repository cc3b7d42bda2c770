"""From scores to a summary: pooled scores with intervals, over all and by slice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.folders import Evaluation
from formlab.scoring.bands import band, cut, sliced
from formlab.stats.draws import intervals
from formlab.stats.sums import Row, document_sums, of_cases

# A number with more distinct values than this is cut into bands of about equal counts.
MOST, BANDS_OF_MANY = 12, 6
UNKNOWN = "unknown"
Bins = Mapping[str, Sequence[float]]
_OF = ("benchmark", "split", "metric", "level", "mode")
_VALUES = ("value", "ci_low", "ci_high")
_COUNTS = ("n_docs", "n_cases", "n_undefined")


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
    for fewer than two documents. `n_missing` counts the units (documents or fields) without a
    usable prediction, `n_undefined` those whose own value is NaN (of a mean over documents: the
    documents it leaves out), `n_reader` the fields whose verdict depends on the reading rule,
    `n_ambiguous` the dates that are equal only with day and month exchanged; all are among
    `n_cases`.

    Raises `UnknownName` if a column of `by` is in neither table.

    Parameters
    ----------
    by
        Columns of *cases* or *documents*, a user's own among them, to slice the field scores by;
        ``kind`` if left out.
    average
        Only ``pooled`` or only ``macro``; both if left out.
    resamples, level, seed
        Draws of documents with replacement, all scores of a draw together, for the percentile
        interval at `level`, in (0, 1).
    """
    rows = document_sums(evaluation, ("kind",) if by is None else tuple(by), average=average)
    return summary_of(rows, resamples=resamples, level=level, seed=seed)


def summaries(evaluations: Iterable[Evaluation], **draws: Any) -> pl.DataFrame:
    """The summary tables of several evaluations below each other; `draws` as for `summarise`.

    Examples
    --------
    >>> summaries([]).columns == list(tables.SUMMARY)
    True
    """
    rows = [summarise(evaluation, **draws) for evaluation in evaluations]
    return pl.concat([pl.DataFrame(schema=tables.SUMMARY), *rows])


def summary_of(rows: Iterable[Row], *, resamples: int, level: float, seed: int) -> pl.DataFrame:
    """The summary table of the sums of documents."""
    rows = list(rows)
    scores = [(row.tally, row.score) for row in rows]
    ends = intervals(scores, resamples=resamples, level=level, seed=seed)
    interval = f"bootstrap,documents,n={resamples},level={level:g},seed={seed}"
    summary = [
        row.labels
        | {"value": row.value, "ci_low": low, "ci_high": high}
        | {"settings": dataclasses.replace(row.labels["settings"], interval=interval)}
        for row, (low, high) in zip(rows, ends, strict=True)
    ]
    return tables.check("summary", tables.table("summary", summary))


def surface(
    evaluation: Evaluation,
    metric: str,
    x: str,
    y: str,
    *,
    bins: Bins | None = None,
    **draws: Any,
) -> pl.DataFrame:
    """A metric in every cell of a grid of two columns, with interval and counts.

    Returns a row for each pair of a value of `x` with one of `y`: `metric`, the names `x` and `y`,
    the ordered words `x_value` and `y_value`, `value`, `ci_low`, `ci_high`, `n_docs`, `n_cases`,
    `n_undefined` and `settings`. An empty cell has null and counts of 0; in a cell of a single
    document the interval is NaN. Unknown values stand under ``unknown``.

    Raises `UnknownName` if there is no such metric or column.

    Parameters
    ----------
    x, y
        Columns of *documents* or of *cases*: numbers, or words in
        their order. A column of the bands (``length`` …) will do as well.
    bins
        Column to the ascending edges that cut it; the first band lies under the first edge.
        Without edges every value is its own row of cells, and a number with more than twelve
        values is cut into six bands of about equal counts.
    **draws
        As for `summarise`.
    """
    cells = _cells(evaluation, [metric], [x, y], bins or {}, **draws)
    axes = [cells.select(pl.col(axis).unique().sort()) for axis in ("x_value", "y_value")]
    grid = axes[0].join(axes[1], how="cross")
    grid = grid.join(cells, on=["x_value", "y_value"], how="left", maintain_order="left")
    same = [
        pl.col(name).fill_null(pl.col(name).drop_nulls().first()) for name in (*_OF, "settings")
    ]
    grid = grid.with_columns(pl.col(_COUNTS).fill_null(0), *same, x=pl.lit(x), y=pl.lit(y))
    return grid.select(*_OF, "x", "y", "x_value", "y_value", *_VALUES, *_COUNTS, "settings")


def curve(
    evaluation: Evaluation,
    measures: Sequence[str],
    x: str,
    *,
    window: int = 1,
    bins: Bins | None = None,
    where: pl.Expr | None = None,
    **draws: Any,
) -> pl.DataFrame:
    """Metrics at every value of one column, with intervals, and smoothed along it.

    As `surface`; but metrics that were not scored are left out, a number is never cut without
    edges, and only cases count that are as `where` says, such as ``pl.col("kind") == "date"``.
    `smooth` is the plain mean of `window` neighbouring values, itself in the middle; at the ends,
    and beside undefined values, of those there are.

    Returns a row for each metric and value: `metric`, `x`, `x_value`, `value`, `ci_low`, `ci_high`,
    `n_docs`, `n_cases`, `n_undefined`, `smooth`, `settings`.

    Raises `UnknownName` if there is no such metric or column; `ValueError` if `window` is even or
    below 1.
    """
    if window < 1 or window % 2 == 0:
        raise ValueError(f"window is {window}: an odd number of values, 1 or more")
    cells = _cells(evaluation, measures, [x], bins or {}, most=None, where=where, **draws)
    order = pl.Enum(list(dict.fromkeys(measures)))
    cells = cells.sort(pl.col("metric").cast(order), "x_value")
    smooth = [
        smoothed(rows["value"].to_numpy(), window)
        for rows in cells.partition_by("metric", maintain_order=True)
    ]
    values = pl.Series(np.concatenate([np.empty(0), *smooth]), dtype=pl.Float64)
    rules = pl.col("settings").struct.field("rules").cast(pl.String)
    if window > 1:
        said = pl.lit(f"smooth=mean of {window} neighbouring values")
        rules = pl.concat_str(rules, said, separator="|", ignore_nulls=True)
    settings = pl.col("settings").struct.with_fields(rules.cast(pl.Categorical).alias("rules"))
    cells = cells.with_columns(settings, smooth=values, x=pl.lit(x))
    return cells.select(*_OF, "x", "x_value", *_VALUES, *_COUNTS, "smooth", "settings")


def smoothed(values: np.ndarray, window: int) -> np.ndarray:
    """The mean of each value and its neighbours, `window` in all; NaN is left out of the mean."""
    known, ones, half = ~np.isnan(values), np.ones(window), window // 2
    total = np.convolve(np.where(known, values, 0.0), ones)[half : half + len(values)]
    count = np.convolve(known.astype(float), ones)[half : half + len(values)]
    return np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0)


def _cells(
    evaluation: Evaluation,
    measures: Sequence[str],
    columns: Sequence[str],
    bins: Bins,
    *,
    most: int | None = MOST,
    where: pl.Expr | None = None,
    **draws: Any,
) -> pl.DataFrame:
    """The pooled scores of each combination of the columns' values, through `summarise`."""
    names = [metrics.get(name).name for name in measures]
    rows = evaluation.scan("scores").filter(pl.col("metric").is_in(names), of_cases()).collect()
    key = ["doc_id", "path"]
    cases = evaluation.fields.filter(True if where is None else where)
    axes = ["x_value", "y_value"][: len(columns)]
    of_case = [sliced(cases, evaluation.documents, name) for name in columns]
    known = cases.select(*key, **dict(zip(axes, of_case, strict=True))).unique(key, keep="first")
    rows = rows.join(known, on=key, how="left" if where is None else "inner", maintain_order="left")
    words = [_words(rows[v], bins.get(n), most) for v, n in zip(axes, columns, strict=True)]
    rows = rows.drop(axes)
    cell = pl.concat_str([pl.lit(word.to_physical()) for word in words], separator=" ")
    rows = rows.with_columns(slice_by=pl.lit("cell"), slice_value=cell)
    named = rows.select("slice_value", **dict(zip(axes, words, strict=True))).unique()
    scored = dataclasses.replace(evaluation, scores=rows)
    cells = summarise(scored, by=(), average="pooled", **draws).filter(
        pl.col("metric").is_in(names)
    )
    # No draw of a single document tells anything.
    known = pl.when(pl.col("n_docs") > 1).then(pl.col("ci_low", "ci_high")).otherwise(float("nan"))
    cells = cells.join(named, on="slice_value", maintain_order="left").with_columns(known)
    return cells.select(*_OF, *axes, *_VALUES, *_COUNTS, "settings")


def _words(values: pl.Series, edges: Sequence[float] | None, most: int | None) -> pl.Series:
    """Each value as a word of those that occur, in order; the unknown comes last."""
    if values.dtype.is_numeric():
        numbers = values.cast(pl.Float64).fill_nan(None)
        known = numbers.drop_nulls().unique().sort()
        if edges is None and most is not None and len(known) > most:
            shares = np.linspace(0, 1, BANDS_OF_MANY + 1)[1:-1]
            cuts = np.quantile(numbers.drop_nulls().to_numpy(), shares, method="higher")
            edges = [edge for edge in np.unique(cuts).tolist() if edge > known[0]]
        if edges:
            whole = values.dtype.is_integer()
            words = cut(pl.DataFrame({"at": values}), band("", pl.col("at"), edges, whole=whole))
        else:
            names = {value: f"{value:g}" for value in known}
            kind = pl.Enum(list(dict.fromkeys(names.values())))
            words = numbers.replace_strict(names, default=None, return_dtype=kind)
    elif isinstance(values.dtype, pl.Enum):
        words = values
    else:
        text = values.cast(pl.String)
        words = text.cast(pl.Enum(text.drop_nulls().unique().sort()))
    used = set(words.drop_nulls().unique())
    order = [word for word in words.dtype.categories if word in used and word != UNKNOWN]
    return words.cast(pl.String).fill_null(UNKNOWN).cast(pl.Enum([*order, UNKNOWN]))
