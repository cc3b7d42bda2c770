"""From scores to a summary: pooled scores with intervals, over all and by slice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from formlab import tables
from formlab.folders import Evaluation
from formlab.stats.draws import intervals
from formlab.stats.sums import Row, document_sums


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

    Parameters
    ----------
    evaluation
        As from `evaluate`.
    by
        Columns of *cases* or *documents*, a user's own among them, to slice the field scores by;
        ``kind`` if left out.
    average
        Only ``pooled`` or only ``macro``; both if left out.
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
