"""Several systems in one table: every score with its interval, and which are told from the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import common, named, scored_metrics
from formlab.analysis.compare import COMPARISON, compare
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation
from formlab.stats.sums import SLICE

BEST, NEAR, WORSE = "best", "near", "worse"
_KEY = ("metric", "average", *SLICE)


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
    average, by
        As for `compare`: ``pooled``, ``macro`` or both; columns of the gold or of documents to
        slice the fields by.
    resamples, permutations, seed
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
        If evaluations with a metric in common are of different documents; the message says what
        differs.
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
    every = named(evaluations)
    options: dict[str, Any] = {"resamples": resamples, "seed": seed}
    rows = pl.concat([summarise(each, by=by, average=average, **options) for each in every])
    if scores is not None:
        rows = rows.filter(pl.col("metric").is_in([metrics.get(name).name for name in scores]))
    names = rows["metric"].unique().sort().to_list()
    ups = [name for name in names if metrics.get(name).direction == "up"]
    up = pl.col("metric").is_in(ups)
    height = pl.when(up).then("value").otherwise(-pl.col("value")).fill_nan(None)
    best = (height == height.max().over(_KEY)).fill_null(False) & (pl.len().over(_KEY) > 1)
    rows = rows.with_columns(best=best)

    options |= {"by": by, "average": average, "permutations": permutations}
    groups = _groups(every, names)
    pairs = [compare(alike, metric=chosen, **options) for alike, chosen in groups]
    # Either of a pair may be the best.
    sides = [_against(each, *ab) for each in pairs for ab in (("a", "b"), ("b", "a"))]
    tested = pl.concat(sides or [_against(pl.DataFrame(schema=COMPARISON), "a", "b")])
    tops = rows.filter("best").select(*_KEY, other="system").unique(_KEY, keep="first")
    tested = tested.join(tops, on=[*_KEY, "other"], how="semi", nulls_equal=True).drop("other")
    key = [*_KEY, "system"]
    rows = rows.join(tested, on=key, how="left", nulls_equal=True, maintain_order="left")
    # A test of only what both systems were scored on says nothing of another number.
    known = (pl.col("value") == pl.col("compared")) & pl.col("p").is_not_nan()
    known &= pl.col("low").is_not_nan()
    shown = pl.when(pl.col("better").is_null()).then(pl.lit(NEAR)).otherwise(pl.lit(WORSE))
    mark = pl.when("best").then(pl.lit(BEST)).when(known).then(shown)
    return rows.select(*tables.SCHEMAS["summary"], mark.alias("mark"), pl.col("p").fill_nan(None))


def _groups(
    every: Sequence[Evaluation], names: Iterable[str]
) -> Iterator[tuple[list[Evaluation], list[str]]]:
    """The metrics that the same systems, two or more, were scored on in a task of all of them."""
    scored = {
        each.system: set(each.gathered(lambda s: s.scores.select("metric", "task").unique()).rows())
        for each in every
    }
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        tasks = {
            system: {task for metric, task in rows if metric == name}
            for system, rows in scored.items()
        }
        systems = tuple(system for system, own in tasks.items() if own)
        if len(systems) > 1 and set.intersection(*(tasks[system] for system in systems)):
            groups.setdefault(systems, []).append(name)
    for systems, chosen in groups.items():
        alike = list(common([each for each in every if each.system in systems]).evaluations)
        shared = set.intersection(*map(scored_metrics, alike))
        if names := [name for name in chosen if name in shared]:
            yield alike, names


def _against(pairs: pl.DataFrame, side: str, other: str) -> pl.DataFrame:
    return pairs.select(
        *_KEY, system=f"system_{side}", other=f"system_{other}", compared=f"value_{side}",
        p="p_holm", better="better", low="ci_low",
    )  # fmt: skip
