"""Which failures all systems share, and which one system has alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from formlab.analysis.comparability import KEY, common, fields, of_gold
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.stats.draws import drawn_sums, percentiles

_OF_GOLD = ("level", "kind", "modality", "subtype", "field", "gold")
_SEVERAL = "some right"


def item_difficulty(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """How many systems have each value of the gold right.

    Parameters
    ----------
    evaluations
        Two or more of the same corpus, cut to what all of them were scored on (`common`).

    Returns
    -------
    polars.DataFrame
        A row for each value of the gold: doc_id, task, path, level, kind, modality, subtype, field,
        gold, n_right (systems), group (``all right``, ``none right``, ``only … wrong``,
        ``only … right`` or ``some right``), separates (whether any two systems differ on it) and
        difficulty (the share of systems that have it wrong).

    Raises
    ------
    DataBroken
        If the evaluations cannot be compared, or have no field in common.

    Examples
    --------
    >>> import formlab
    >>> gold = {"a": {"x": "1", "y": "2", "z": "3"}}
    >>> answers = [{"a": {"x": "1", "y": "2", "z": "4"}}, {"a": {"x": "1", "y": "5", "z": "6"}}]
    >>> both = [formlab.evaluate(gold, answer) for answer in answers]
    >>> item_difficulty(both).select("path", "n_right", "separates").rows()
    [('/x', 2, False), ('/y', 1, True), ('/z', 0, False)]
    """
    systems, items = _items(evaluations)
    return items.select(
        *KEY[:3],
        *_OF_GOLD,
        "n_right",
        "group",
        separates=pl.col("n_right").is_between(1, len(systems) - 1),
        difficulty=1 - pl.col("n_right") / len(systems),
    )


def shared_failures(
    evaluations: Sequence[Evaluation], *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> pl.DataFrame:
    """Which share of fields all systems fail, and which one alone fails or gets right.

    A failure of all is likely the form's fault, that of one system its own.

    Parameters
    ----------
    evaluations
        As for `item_difficulty`.
    resamples, level, seed
        Of the intervals, which draw documents.

    Returns
    -------
    polars.DataFrame
        A row for each group of fields (see `item_difficulty`): group, n_items, share, ci_low,
        ci_high, expected (the share if systems with these shares of right fields failed
        independently of each other), excess (share less expected), excess_low, excess_high,
        n_docs (documents with such fields). Of fewer than two documents the intervals are NaN.

    Raises
    ------
    DataBroken
        As for `item_difficulty`.
    """
    systems, items = _items(evaluations)
    patterns = _patterns(systems)
    sums = [(pl.col("group") == name).sum().alias(name) for name in patterns]
    rights = [pl.col(f"right {at}").sum() for at in range(len(systems))]
    by_document = items.group_by("doc_id").agg(*sums, *rights).sort("doc_id").drop("doc_id")
    counts = by_document.to_numpy().astype(float)
    shares, chances = _shares(counts.sum(axis=0)[None], patterns)
    drawn = _shares(drawn_sums(counts, resamples=resamples, seed=seed), patterns)
    rows = []
    for at, name in enumerate(patterns):
        ends = [percentiles(each[:, at], level) for each in (drawn[0], drawn[0] - drawn[1])]
        ends = ends if len(counts) > 1 else [(math.nan, math.nan)] * 2
        own, share, expected = counts[:, at], shares[0, at], chances[0, at]
        counted = (int(own.sum()), share, *ends[0], expected, share - expected, *ends[1])
        rows.append((name, *counted, int((own > 0).sum())))
    columns = "group n_items share ci_low ci_high expected excess excess_low excess_high n_docs"
    return pl.DataFrame(rows, schema=columns.split(), orient="row")


def _items(evaluations: Sequence[Evaluation]) -> tuple[list[str], pl.DataFrame]:
    """The systems, and a row for each value of the gold: who is right, how many, and the group."""
    shared = common(evaluations).evaluations
    systems = [evaluation.system for evaluation in shared]
    key = [*KEY[:3], "turn"]
    frames = [
        evaluation.gathered(_rights).rename({"right": f"right {at}"})
        for at, evaluation in enumerate(shared)
    ]
    items = frames[0]
    for at, frame in enumerate(frames[1:], 1):
        items = items.join(frame.select(*key, f"right {at}"), on=key, nulls_equal=True)
    if not items.height:
        what = "these evaluations have no field in common that was scored"
        raise DataBroken(what, remedy="formlab score with the same gold for each")
    rights = [pl.col(f"right {at}") for at in range(len(systems))]
    group = pl.lit(_SEVERAL)
    for name, pattern in _patterns(systems).items():
        if pattern is not None:
            same = pl.all_horizontal(r == bit for r, bit in zip(rights, pattern, strict=True))
            group = pl.when(same).then(pl.lit(name)).otherwise(group)
    n_right = pl.sum_horizontal(rights).cast(pl.Int64)
    return systems, items.sort(key).with_columns(n_right=n_right, group=group)


def _rights(part: Evaluation) -> pl.DataFrame:
    # The key may stand twice in the gold: its first value is compared.
    known = fields(part).filter(of_gold(), turn=1)
    return known.select(*KEY, *_OF_GOLD, right=pl.col("outcome") == "match")


def _patterns(systems: Sequence[str]) -> dict[str, list[bool] | None]:
    """The groups of fields by which systems are right on them; None is what no other group has."""
    # Of two systems, only one wrong is only the other right.
    count = len(systems)
    alone = [[at == other for other in range(count)] for at in range(count)]
    groups: dict[str, list[bool] | None] = {"none right": [False] * count}
    for name, only in zip(systems, alone, strict=True):
        groups[f"only {name} wrong"] = [not bit for bit in only]
    if count > 2:
        groups |= {f"only {name} right": only for name, only in zip(systems, alone, strict=True)}
    if count > 3:
        groups[_SEVERAL] = None
    return groups | {"all right": [True] * count}


def _shares(
    sums: np.ndarray, patterns: dict[str, list[bool] | None]
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of each group in draws, and those of failures that are independent of each other."""
    counts, rights = np.split(sums, [len(patterns)], axis=1)
    total = counts.sum(axis=1, keepdims=True)
    right = rights / total
    chances = np.zeros_like(counts)
    for at, pattern in enumerate(patterns.values()):
        if pattern is not None:
            chances[:, at] = np.where(pattern, right, 1 - right).prod(axis=1)
    for at, pattern in enumerate(patterns.values()):
        if pattern is None:
            chances[:, at] = 1 - chances.sum(axis=1)
    return counts / total, chances
