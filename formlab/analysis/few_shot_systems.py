"""Several systems over few-shot splits: the rows of a paper's table of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from formlab import tables
from formlab.analysis.comparability import named
from formlab.analysis.few_shot import TASKS, corpus_name, few_shot_only, split_of
from formlab.analysis.pooling import merge_splits
from formlab.analysis.side_by_side import side_by_side
from formlab.folders import Evaluation

CELL: dict[str, Any] = {
    "corpus": pl.String, "task": pl.Enum(TASKS), "train_size": pl.Int64, "n_splits": pl.Int64,
}  # fmt: skip
_ROWS: dict[str, Any] = tables.SCHEMAS["summary"] | {"mark": pl.String, "p": pl.Float64} | CELL
# The mean of F1 over however many triples of counts: here those of each split.
_MEAN = "macro_f1"


def few_shot_systems(evaluations: Iterable[Evaluation]) -> dict[str, list[Evaluation]]:
    """The evaluations of few-shot splits by system, as `few_shot_only` chooses them.

    Where a split has several evaluations of one system, all but the first are of a system with a
    number: ``rules``, ``rules (2)``.

    Examples
    --------
    >>> from formlab.analysis import open_evaluation
    >>> one = open_evaluation(benchmark="vrdu", system="rules")
    >>> list(few_shot_systems([one, one]))
    ['rules', 'rules (2)']
    """
    splits: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        splits.setdefault(evaluation.split, []).append(evaluation)
    systems: dict[str, list[Evaluation]] = {}
    for alike in splits.values():
        for evaluation in named(alike):
            systems.setdefault(evaluation.system, []).append(evaluation)
    return {name: few_shot_only(own) for name, own in systems.items()}


def few_shot_side_by_side(
    systems: Mapping[str, Sequence[Evaluation]],
    scores: Sequence[str] = ("micro_f1", "macro_f1"),
    *,
    resamples: int = 1000,
    permutations: int = 9999,
    seed: int = 0,
) -> pl.DataFrame:
    """`side_by_side` at each corpus, task and training size, over all seeds and templates.

    Parameters
    ----------
    systems
        As from `few_shot_systems`.
    scores
        Of ``micro_f1`` and ``macro_f1``.
    resamples, permutations, seed
        As for `side_by_side`.

    Returns
    -------
    polars.DataFrame
        The rows of `side_by_side`, `task` that of the splits, and `corpus`, `train_size` and
        ``n_splits``, over how many splits. A score is the mean over them, as in the paper; its
        interval and its test are by documents, one of several splits drawn with all of these, and
        p values are adjusted within the cell and score. Where the systems of a cell have other
        splits (of other seeds, say), nothing is tested: `mark` and `p` are null.

    Raises
    ------
    DataBroken
        As for `side_by_side`.

    Examples
    --------
    >>> from formlab.analysis import open_evaluation
    >>> both = [open_evaluation(benchmark="vrdu", system=name) for name in ("rules", "template")]
    >>> options = {"resamples": 99, "permutations": 99}
    >>> table = few_shot_side_by_side(few_shot_systems(both), ["micro_f1"], **options)
    >>> table.select("task", "train_size", "system", "mark").rows()
    [('single', 2, 'rules', 'near'), ('single', 2, 'template', 'best')]
    """
    cells: dict[tuple, dict[tuple[str, ...], list[list[Evaluation]]]] = {}
    for own in systems.values():
        groups: dict[tuple, list[Evaluation]] = {}
        for split in own:
            info = split_of(split)
            cell = (corpus_name(split), info.get("task") or TASKS[-1], info.get("train_size"))
            groups.setdefault(cell, []).append(split)
        for cell, splits in groups.items():
            ordered = sorted(splits, key=lambda split: split.split)
            names = tuple(split.split for split in ordered)
            cells.setdefault(cell, {}).setdefault(names, []).append(ordered)
    options: dict[str, Any] = {"resamples": resamples, "permutations": permutations, "seed": seed}
    rows = [pl.DataFrame(schema=_ROWS)]
    for cell, alike in cells.items():
        for names, members in alike.items():
            values: dict[str, Any] = dict(zip(CELL, (*cell, len(names)), strict=True))
            if len(alike) > 1:
                # The best of a few systems is not the best of the cell.
                values |= {"mark": None, "p": None}
            added = [pl.lit(value, _ROWS[key]).alias(key) for key, value in values.items()]
            for score in scores:
                means = [_mean_over_splits(splits, score) for splits in members]
                table = side_by_side(means, [_MEAN], **options).with_columns(metric=pl.lit(score))
                rows.append(table.with_columns(added).select(*_ROWS))
    return pl.concat(rows).sort("corpus", "task", "train_size", maintain_order=True)


def _mean_over_splits(splits: Sequence[Evaluation], score: str) -> Evaluation:
    """All splits as one evaluation with a single score: the mean over splits of `score`."""
    # By fixed rules an entity that the gold of some split lacks weighs less in that mean.
    whole = pl.col("slice_by").is_null() & (pl.col("level") == "document")
    merged = merge_splits(splits)
    parts = []
    for place, split in enumerate(splits):
        own = split.gathered(lambda part: part.scores.filter(whole, metric=score))
        size = own["stats"].list.len().max() or 0
        before, after = ([0.0] * size * count for count in (place, len(splits) - 1 - place))
        stats = pl.concat_list(pl.lit(before), "stats", pl.lit(after))
        parts.append(
            own.with_columns(stats=stats, split=pl.lit(merged.split), metric=pl.lit(_MEAN))
        )
    scores = pl.concat(parts)
    return merged.changed(
        {"scores": lambda part: scores.join(part.documents, on="doc_id", how="semi")}
    )
