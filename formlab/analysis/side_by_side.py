"""Several systems in one table: every score with its interval, and which are told from the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import common, named, scored_metrics
from formlab.analysis.compare import COMPARISON, ROW, compare
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation

BEST, NEAR, WORSE = "best", "near", "worse"


def side_by_side(
    evaluations: Sequence[Evaluation],
    scores: Sequence[str] | None = None,
    *,
    average: str | None = None,
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
    average, by, resamples, permutations, seed
        As for `compare`.

    Returns
    -------
    polars.DataFrame
        The rows of `summarise` for every system, and `mark`: ``best`` for the best value of its
        metric and slice; ``near`` where no difference from the best was shown, by the test by
        documents of `compare`, adjusted for all of its comparisons; ``worse`` where one was; null
        where nothing could be tested, as without `resamples`. `p` is the adjusted p value against
        the best. A metric that no system was scored on has no rows.

    Raises
    ------
    DataBroken
        If evaluations with a metric in common are of different documents.
    UnknownName
        If a metric of `scores` is not registered.

    Examples
    --------
    >>> from formlab import analysis
    >>> systems = analysis.open_compared(benchmark="funsd")
    >>> table = side_by_side(systems, ["cer"], average="pooled", resamples=99, permutations=99)
    >>> table.filter(level="page").select("system", "mark").rows()
    [('ocr', 'best'), ('ocr(scale=2.0)', 'near')]
    """
    systems = named(evaluations)
    draws: dict[str, Any] = {"by": by, "average": average, "resamples": resamples, "seed": seed}
    rows = pl.concat([summarise(system, **draws) for system in systems])
    if scores is not None:
        rows = rows.filter(pl.col("metric").is_in([metrics.get(name).name for name in scores]))
    tested = [pl.DataFrame(schema=COMPARISON)]
    for alike, names in _scored_alike(systems, rows["metric"].unique().sort()):
        tested.append(compare(alike, metric=names, permutations=permutations, **draws))
    return _marked(rows, pl.concat(tested))


def _scored_alike(
    systems: Sequence[Evaluation], names: Iterable[str]
) -> Iterator[tuple[Sequence[Evaluation], list[str]]]:
    """The metrics that the same systems, two or more, were scored on in a task of all of them."""
    tasks: dict[str, dict[str, set[str]]] = {}
    for system in systems:
        scored = system.gathered(lambda part: part.scores.select("metric", "task").unique())
        for metric, task in scored.rows():
            tasks.setdefault(metric, {}).setdefault(system.system, set()).add(task)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        of = tasks.get(name, {})
        if len(of) > 1 and set.intersection(*of.values()):
            groups.setdefault(tuple(of), []).append(name)
    for members, metric_names in groups.items():
        alike = common([system for system in systems if system.system in members]).evaluations
        shared = set.intersection(*map(scored_metrics, alike))
        if known := [name for name in metric_names if name in shared]:
            yield alike, known


def _marked(rows: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Rows of summaries with `mark` and `p` against the best of each score, as from `compare`."""
    key = list(ROW)
    ups = [name for name in rows["metric"].unique() if metrics.get(name).direction == "up"]
    height = pl.when(pl.col("metric").is_in(ups)).then("value").otherwise(-pl.col("value"))
    height = height.fill_nan(None)
    best = (height == height.max().over(key)).fill_null(False) & (pl.len().over(key) > 1)
    rows = rows.with_columns(best=best)
    tops = rows.filter("best").select(*key, other="system").unique(key, keep="first")
    renamed = {"compared": "value", "system": "system"}
    pairs = pairs.with_columns(low="ci_low", p=pl.col("p_holm").fill_nan(None))
    sides = pl.concat(
        pairs.select(
            *(*key, "better", "low", "p"),
            *(pl.col(f"{name}_{side}").alias(new) for new, name in renamed.items()),
            other=f"system_{other}",
        )
        for side, other in ("ab", "ba")
    )
    tested = sides.join(tops, on=[*key, "other"], how="semi", nulls_equal=True).drop("other")
    on = [*key, "system"]
    rows = rows.join(tested, on=on, how="left", nulls_equal=True, maintain_order="left")
    # A test of only what both systems were scored on says nothing of another number.
    known = (pl.col("value") == pl.col("compared")) & pl.col("p").is_not_null()
    known &= pl.col("low").is_not_nan()
    told = pl.when(pl.col("better").is_null()).then(pl.lit(NEAR)).otherwise(pl.lit(WORSE))
    mark = pl.when("best").then(pl.lit(BEST)).when(known).then(told)
    return rows.select(*tables.SCHEMAS["summary"], mark.alias("mark"), "p")
