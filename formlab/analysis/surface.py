"""Any metric over two columns of forms or cases, and its course along one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.summarise import summarise
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.scoring.bands import band, cut, sliced
from formlab.stats.sums import of_cases

# A number with more distinct values than this is cut into bands of about equal counts.
MOST, BANDS_OF_MANY = 12, 6
UNKNOWN = "unknown"
Bins = Mapping[str, Sequence[float]]
_OF = ("benchmark", "split", "metric", "level", "mode")
_VALUES = ("value", "ci_low", "ci_high")
_COUNTS = ("n_docs", "n_cases", "n_undefined")


def surface(
    evaluation: Evaluation,
    metric: str,
    x: str,
    y: str,
    *,
    bins: Bins | None = None,
    of: str = "field",
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """A metric in every cell of a grid of two columns, with interval and counts.

    Parameters
    ----------
    evaluation
        As from `evaluate`.
    metric
        A registered metric.
    x, y
        Columns of *documents* or, where `of` is ``field``, of *cases*: numbers, or words in
        their order. A column of the bands (``length`` …) will do as well.
    bins
        Column to the ascending edges that cut it; the first band lies under the first edge.
        Without edges every value is its own row of cells, and a number with more than twelve
        values is cut into six bands of about equal counts.
    of
        ``field`` pools the fields of a cell, ``document`` its whole documents.
    resamples, level, seed
        Of the bootstrap over documents, as in `summarise`.

    Returns
    -------
    polars.DataFrame
        A row for each pair of a value of `x` with one of `y`: `metric`, the names `x` and `y`,
        the ordered words `x_value` and `y_value`, `value`, `ci_low`, `ci_high`, `n_docs`,
        `n_cases`, `n_undefined` and `settings`. In an empty cell the numbers are null and the
        counts 0. The interval is NaN in a cell of a single document, of which no draw tells
        anything. Scores whose `x` or `y` is not known stand under ``unknown``.

    Raises
    ------
    UnknownName
        If there is no such metric or column.
    """
    cells = _cells(
        evaluation, [metric], [x, y], bins or {}, of,
        resamples=resamples, level=level, seed=seed,
    )  # fmt: skip
    sides = [cells[name].unique().sort() for name in ("x_value", "y_value")]
    grid = sides[0].to_frame().join(sides[1].to_frame(), how="cross")
    filled = grid.join(
        cells, on=["x_value", "y_value"], how="left", maintain_order="left"
    ).with_columns(
        *(pl.col(name).fill_null(0) for name in _COUNTS),
        *(pl.lit(name).alias(axis) for axis, name in (("x", x), ("y", y))),
        *(pl.col(name).fill_null(pl.col(name).drop_nulls().first()) for name in (*_OF, "settings")),
    )
    return filled.select(*_OF, "x", "y", "x_value", "y_value", *_VALUES, *_COUNTS, "settings")


def curve(
    evaluation: Evaluation,
    measures: Sequence[str],
    x: str,
    *,
    window: int = 1,
    bins: Bins | None = None,
    of: str = "field",
    where: pl.Expr | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Metrics at every value of one column, with intervals, and smoothed along it.

    Parameters
    ----------
    measures
        Registered metrics; those that were not scored are left out.
    x, bins, of, resamples, level, seed
        As in `surface`; but a number is never cut without edges.
    where
        Which *cases* count, such as ``pl.col("kind") == "date"``; all if left out.
    window
        How many neighbouring values `smooth` is the plain mean of, itself in the middle; odd.
        At the ends, and beside undefined values, it is the mean of those there are.

    Returns
    -------
    polars.DataFrame
        A row for each metric and value: `metric`, `x`, `x_value`, `value`, `ci_low`, `ci_high`,
        `n_docs`, `n_cases`, `n_undefined`, `smooth`, `settings`.

    Raises
    ------
    UnknownName
        If there is no such metric or column.
    ValueError
        If `window` is even or below 1.
    """
    if window < 1 or window % 2 == 0:
        raise ValueError(f"window is {window}: an odd number of values, 1 or more")
    cells = _cells(
        evaluation, measures, [x], bins or {}, of,
        resamples=resamples, level=level, seed=seed, most=None, where=where,
    )  # fmt: skip
    order = pl.Enum(list(dict.fromkeys(measures)))
    cells = cells.sort(pl.col("metric").cast(order), "x_value")
    parts = [
        rows.with_columns(pl.Series("smooth", smoothed(rows["value"].to_numpy(), window)))
        for rows in cells.partition_by("metric", maintain_order=True)
    ]
    whole = pl.concat(parts) if parts else cells.with_columns(smooth=pl.lit(None, pl.Float64))
    if window > 1:
        rules = pl.concat_str(
            pl.col("settings").struct.field("rules").cast(pl.String),
            pl.lit(f"smooth=mean of {window} neighbouring values"),
            separator="|", ignore_nulls=True,
        )  # fmt: skip
        whole = whole.with_columns(
            pl.col("settings").struct.with_fields(rules.cast(pl.Categorical).alias("rules"))
        )
    return whole.with_columns(pl.lit(x).alias("x")).select(
        *_OF, "x", "x_value", *_VALUES, *_COUNTS, "smooth", "settings"
    )


def smoothed(values: np.ndarray, window: int) -> np.ndarray:
    """The mean of each value and its neighbours, `window` in all; NaN is left out of the mean."""
    known = ~np.isnan(values)
    ones = np.ones(window)
    half = window // 2
    total = np.convolve(np.where(known, values, 0.0), ones)[half : half + len(values)]
    count = np.convolve(known.astype(float), ones)[half : half + len(values)]
    return np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0)


def _cells(
    evaluation: Evaluation, measures: Sequence[str], columns: list[str], bins: Bins, of: str, *,
    resamples: int, level: float, seed: int, most: int | None = MOST, where: pl.Expr | None = None,
) -> pl.DataFrame:  # fmt: skip
    """The pooled scores of each combination of the columns' values, through `summarise`."""
    names = [metrics.get(name).name for name in measures]
    chosen = of_cases() if of == "field" else pl.col("slice_by").is_null() & ~of_cases()
    axes = ("x_value", "y_value")[: len(columns)]

    def read(part: Evaluation) -> pl.DataFrame:
        rows = part.scores.filter(pl.col("metric").is_in(names), chosen)
        if where is not None:
            kept = part.fields.filter(where)
            rows = rows.join(kept, on=["doc_id", "path"], how="semi", maintain_order="left")
        values = (_column(part, rows, name, of) for name in columns)
        return rows.with_columns(v.alias(axis) for v, axis in zip(values, axes, strict=True))

    values = evaluation.gathered(lambda part: read(part).group_by(axes).len())
    words = [
        _words(values.group_by(at=axis).agg(pl.col("len").sum()), bins.get(name), most)
        for axis, name in zip(axes, columns, strict=True)
    ]

    def marked(part: Evaluation) -> pl.DataFrame:
        rows = read(part)
        for axis, known in zip(axes, words, strict=True):
            own = known.select(pl.col("at").alias(axis), pl.col("word").to_physical().alias("word"))
            rows = rows.join(
                own, on=axis, how="left", nulls_equal=True, maintain_order="left", suffix=" of y"
            )
        numbers = [name for name in ("word", "word of y") if name in rows.columns]
        named = pl.concat_str(numbers, separator=" ")
        return rows.with_columns(slice_by=pl.lit("cell"), slice_value=named).select(
            list(tables.SCORES)
        )

    cells = summarise(
        evaluation.changed({"scores": marked}), by=(), average="pooled",
        resamples=resamples, level=level, seed=seed,
    ).filter(pl.col("metric").is_in(names))  # fmt: skip
    number = pl.col("slice_value").str.split(" ").list
    in_words = []
    for at, (axis, known) in enumerate(zip(axes, words, strict=True)):
        kind = known["word"].dtype
        names_of = dict(enumerate(kind.categories))
        word = number.get(at).cast(pl.Int64).replace_strict(names_of, return_dtype=kind)
        in_words.append(word.alias(axis))
    single = pl.col("n_docs") < 2
    return cells.select(
        *_OF, *in_words, "value",
        *(pl.when(single).then(float("nan")).otherwise(name).alias(name) for name in _VALUES[1:]),
        *_COUNTS, "settings",
    )  # fmt: skip


def _column(evaluation: Evaluation, rows: pl.DataFrame, name: str, of: str) -> pl.Series:
    """The value of a column for each score: of its document, or of its case."""
    documents = evaluation.documents
    if name in documents.columns:
        return rows.join(
            documents.select("doc_id", pl.col(name).alias("at")),
            on="doc_id", how="left", maintain_order="left",
        )["at"]  # fmt: skip
    if of != "field":
        raise UnknownName.of("column of documents", name, documents.columns)
    cases = evaluation.fields
    named = cases.select("doc_id", "path", sliced(cases, documents, name).alias("at"))
    named = named.unique(["doc_id", "path"], keep="first")
    return rows.join(named, on=["doc_id", "path"], how="left", maintain_order="left")["at"]


def _words(counts: pl.DataFrame, edges: Sequence[float] | None, most: int | None) -> pl.DataFrame:
    """Each value, `at` in `counts`, as a `word` of those that occur, in order; null comes last."""
    values = counts["at"]
    if values.dtype.is_numeric():
        known = counts.select(pl.col("at").cast(pl.Float64), "len").drop_nulls().drop_nans()
        if edges is None and most is not None and known["at"].n_unique() > most:
            edges = _quantiles(known)
        if edges:
            words = cut(counts, band("", pl.col("at"), edges, whole=values.dtype.is_integer()))
        else:
            order = [f"{value:g}" for value in known["at"].unique().sort()]
            plain = [None if v is None or v != v else f"{v:g}" for v in values.to_list()]
            words = pl.Series(plain, dtype=pl.Enum(list(dict.fromkeys(order))))
    elif isinstance(values.dtype, pl.Enum):
        words = values
    else:
        text = values.cast(pl.String)
        words = text.cast(pl.Enum(text.drop_nulls().unique().sort()))
    used = set(words.drop_nulls().unique())
    order = [word for word in words.dtype.categories if word in used and word != UNKNOWN]
    named = words.cast(pl.String).fill_null(UNKNOWN).cast(pl.Enum([*order, UNKNOWN]))
    return pl.DataFrame([values.alias("at"), named.alias("word")])


def _quantiles(known: pl.DataFrame) -> list[float]:
    shares = np.linspace(0, 1, BANDS_OF_MANY + 1)[1:-1]
    every = np.repeat(known["at"].to_numpy(), known["len"].to_numpy())
    edges = np.quantile(every, shares, method="higher")
    return [edge for edge in np.unique(edges).tolist() if edge > known["at"].min()]
