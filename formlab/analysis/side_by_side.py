"""Several systems in one table: every score with its interval, and which are told from the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import common, named
from formlab.analysis.compare import compare
from formlab.analysis.summarise import SLICE, summarise
from formlab.errors import UnknownName
from formlab.folders import Evaluation

BEST, NEAR = "best", "near"
_KEY = ("metric", *SLICE)


def side_by_side(
    evaluations: Sequence[Evaluation],
    scores: Sequence[str] | None = None,
    *,
    by: Sequence[str] = (),
    resamples: int = 1000,
    permutations: int = 9999,
    seed: int = 0,
) -> pl.DataFrame:
    """The scores of several systems, each marked by how it stands to the best of its column.

    Parameters
    ----------
    evaluations
        One or more of the same documents. A task that only some were scored on stays: its scores
        are those of these systems. Systems of one name are numbered.
    scores
        Names of metrics; all that were scored if left out.
    by
        As for `compare`: columns of the gold or of documents to slice the fields by.
    resamples, permutations, seed
        As for `compare`.

    Returns
    -------
    polars.DataFrame
        The rows of `summarise` for every system, and `mark`: ``best`` for the best value of its
        metric and slice; ``near`` where no difference from the best was shown, by the test by
        documents of `compare`, adjusted for all of its comparisons; null where a difference was
        shown, and where nothing could be tested. `p` is the adjusted p value against the best.

    Raises
    ------
    DataBroken
        If the evaluations are of different documents; the message says what differs.
    UnknownName
        If no system was scored on a metric of `scores`.

    Examples
    --------
    >>> from formlab import analysis
    >>> systems = analysis.open_compared(benchmark="funsd")
    >>> table = side_by_side(systems, ["cer"], resamples=0, permutations=99)
    >>> table.filter(level="page").select("system", "mark").rows()
    [('ocr', 'best'), ('ocr(scale=2.0)', 'near')]
    """
    every = named(evaluations)
    options: dict[str, Any] = {"resamples": resamples, "seed": seed}
    rows = pl.concat([summarise(each, by=by, **options) for each in every])
    for name in scores or ():
        if name not in rows["metric"]:
            raise UnknownName.of("scored metric", name, rows["metric"].unique().sort())
    rows = rows.filter(pl.col("metric").is_in(list(scores))) if scores else rows
    rows = rows.with_columns(mark=pl.lit(None, pl.String), p=pl.lit(None, pl.Float64))
    if len(every) < 2 or not rows.height:
        return rows

    ups = {n: metrics.get(metrics.plain(n)).direction == "up" for n in rows["metric"].unique()}
    up = pl.col("metric").replace_strict(ups, return_dtype=pl.Boolean)
    height = pl.when(up).then("value").otherwise(-pl.col("value")).fill_nan(None)
    best = (height == height.max().over(_KEY)).fill_null(False) & (pl.len().over(_KEY) > 1)
    rows = rows.with_columns(best=best)
    alike = common(every).evaluations
    shared = set.intersection(*(set(each.scores["metric"]) for each in alike))
    tested = [name for name in rows["metric"].unique() if metrics.plain(name) in shared]
    if not tested:
        return _marked(rows)
    pairs = compare(alike, metric=sorted(tested), by=by, permutations=permutations, **options)
    # Either of a pair may be the best.
    there = pl.concat([_against(pairs, "a", "b"), _against(pairs, "b", "a")])
    tops = rows.filter("best").select(*_KEY, other="system").unique(_KEY, keep="first")
    there = there.join(tops, on=[*_KEY, "other"], how="semi", nulls_equal=True)
    rows = rows.drop("p").join(
        there.drop("other"), on=[*_KEY, "system"], how="left", nulls_equal=True,
        maintain_order="left",
    )  # fmt: skip
    # A test of only what all systems were scored on says nothing of another number.
    same = pl.col("value").eq(pl.col("compared"))
    near = same & pl.col("p").is_not_nan() & pl.col("better").is_null()
    return _marked(rows.with_columns(near=near.fill_null(False)))


def _against(pairs: pl.DataFrame, side: str, other: str) -> pl.DataFrame:
    return pairs.select(
        *_KEY, system=f"system_{side}", other=f"system_{other}", compared=f"value_{side}",
        p="p_holm", better="better",
    )  # fmt: skip


def _marked(rows: pl.DataFrame) -> pl.DataFrame:
    near = pl.col("near") if "near" in rows.columns else pl.lit(False)
    mark = pl.when("best").then(pl.lit(BEST)).when(near).then(pl.lit(NEAR))
    rows = rows.with_columns(mark=mark)
    return rows.select(*tables.SCHEMAS["summary"], "mark", pl.col("p").fill_nan(None))
