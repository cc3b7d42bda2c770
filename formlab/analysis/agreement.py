"""Which failures all systems share, how hard each field is, and how able each system."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import scipy

from formlab.analysis.comparability import KEY, common, fields
from formlab.analysis.intervals import by_document, drawn_sums, percentiles
from formlab.analysis.rasch import rasch
from formlab.errors import DataBroken
from formlab.folders import Evaluation

_OF_GOLD = ("level", "kind", "modality", "subtype", "field", "gold")


def item_difficulty(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """How hard each field is for all systems together.

    Parameters
    ----------
    evaluations
        Two or more of the same corpus, cut to what all of them were scored on (`common`).

    Returns
    -------
    polars.DataFrame
        A row for each value of the gold: doc_id, task, path, level, kind, modality, subtype, field,
        gold, n_right (systems), group (``all right``, ``none right``, ``only … wrong``,
        ``only … right`` or ``some right``), separates (whether any two systems differ on it),
        difficulty (in log odds, of mean 0: its expectation after what the systems made of it) and
        difficulty_sd.
        Systems that are right on all fields or on none say nothing about difficulty.

    Raises
    ------
    DataBroken
        If the evaluations cannot be compared, or have no field in common.

    Examples
    --------
    >>> import formlab
    >>> gold = {"a": {"x": "1", "y": "2", "z": "3"}}
    >>> answers = [{"a": {"x": "1", "y": "2", "z": "4"}}, {"a": {"x": "1", "y": "5", "z": "6"}}]
    >>> both = [formlab.evaluate(gold, each) for each in answers]
    >>> item_difficulty(both).select("path", "n_right", "separates").rows()
    [('/x', 2, False), ('/y', 1, True), ('/z', 0, False)]
    """
    table = _Table.of(evaluations)
    fitted = rasch(table.patterns, table.counts)
    names = pl.Series("group", table.groups, dtype=pl.String)[table.pattern]
    n_right = pl.Series(table.patterns.sum(axis=1)[table.pattern], dtype=pl.Int64)
    separates = (n_right > 0) & (n_right < len(table.systems))
    return table.items.with_columns(
        n_right=n_right, group=names, separates=separates,
        difficulty=pl.Series(fitted.difficulty[table.pattern]),
        difficulty_sd=pl.Series(fitted.deviation[table.pattern]),
    )  # fmt: skip


def abilities(evaluations: Sequence[Evaluation], *, level: float = 0.95) -> pl.DataFrame:
    """How able each system is, on the scale of the fields' difficulty.

    Parameters
    ----------
    evaluations
        As for `item_difficulty`.
    level
        Of the intervals, which take documents as units (t distribution).

    Returns
    -------
    polars.DataFrame
        system, share (of fields right), ability (log odds of being right on a field of mean
        difficulty), ci_low, ci_high, spread (standard deviation of the difficulties), n_items,
        n_docs; the ablest system first. The ability is NaN for a system that is right on all
        fields or on none, and for all if fewer than two others remain.

    Raises
    ------
    DataBroken
        As for `item_difficulty`.

    References
    ----------
    G. Rasch, Probabilistic Models for Some Intelligence and Attainment Tests, 1960; R. D. Bock and
    M. Aitkin, "Marginal maximum likelihood estimation of item parameters", Psychometrika 46, 1981.
    """
    table = _Table.of(evaluations)
    fitted = rasch(table.patterns, table.counts)
    n_docs = len(table.counts)
    reach = scipy.special.stdtrit(n_docs - 1, (1 + level) / 2) if n_docs > 1 else math.nan
    shares = table.patterns[table.pattern].mean(axis=0)
    rows = {
        "system": table.systems, "share": shares, "ability": fitted.ability,
        "ci_low": fitted.ability - reach * fitted.error,
        "ci_high": fitted.ability + reach * fitted.error,
    }  # fmt: skip
    whole = {"spread": fitted.spread, "n_items": len(table.pattern), "n_docs": n_docs}
    frame = pl.DataFrame(rows).with_columns(pl.lit(value).alias(n) for n, value in whole.items())
    return frame.sort("share", "system", descending=[True, False])


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
        n_docs (documents with such fields).

    Raises
    ------
    DataBroken
        As for `item_difficulty`.
    """
    table = _Table.of(evaluations)
    drawn = drawn_sums(table.counts, resamples=resamples, seed=seed)
    rows = []
    for group in _group_names(table.systems):
        chosen = np.array([name == group for name in table.groups], dtype=bool)
        of_group = np.array([_group(p, table.systems) == group for p in table.every])
        share, expected = _shares(table, table.counts.sum(axis=0)[None], chosen, of_group)
        shares, chances = _shares(table, drawn, chosen, of_group)
        ends = percentiles(shares, level), percentiles(shares - chances, level)
        if len(table.counts) < 2:
            ends = ((math.nan, math.nan),) * 2
        own = table.counts[:, chosen].sum(axis=1)
        rows.append(
            {
                "group": group, "n_items": int(own.sum()), "share": share[0],
                "ci_low": ends[0][0], "ci_high": ends[0][1], "expected": expected[0],
                "excess": share[0] - expected[0], "excess_low": ends[1][0],
                "excess_high": ends[1][1], "n_docs": int((own > 0).sum()),
            }
        )  # fmt: skip
    return pl.DataFrame(rows)


def hardest(
    items: pl.DataFrame,
    by: Sequence[str] = ("doc_id",),
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The mean difficulty of groups of fields, the hardest first.

    Parameters
    ----------
    items
        From `item_difficulty`, with further columns if `by` names them.
    by
        The columns that make the groups: forms (``doc_id``, ``template``), fields (``path``) or
        kinds.
    resamples, level, seed
        Of the intervals, which draw the documents of a group.

    Returns
    -------
    polars.DataFrame
        The columns `by`, difficulty, ci_low, ci_high (NaN with fewer than two documents),
        none_right (the share of fields that no system gets right), n_items, n_docs.
    """
    rows = []
    for key, group in items.group_by(*by, maintain_order=True):
        names, number = np.unique(group["doc_id"].to_numpy(), return_inverse=True)
        columns = [group["difficulty"].to_numpy(), np.ones(group.height)]
        parts, ends = by_document(number, columns, len(names)), (math.nan, math.nan)
        if len(names) > 1 and resamples:
            sums = drawn_sums(parts, resamples=resamples, seed=seed)
            ends = percentiles(sums[:, 0] / sums[:, 1], level)
        rows.append(
            dict(zip(by, key, strict=True))
            | {
                "difficulty": group["difficulty"].mean(), "ci_low": ends[0], "ci_high": ends[1],
                "none_right": (group["n_right"] == 0).mean(), "n_items": group.height,
                "n_docs": len(names),
            }
        )  # fmt: skip
    schema = {name: items.schema[name] for name in by}
    frame = pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)
    return frame.sort("difficulty", *by, descending=[True] + [False] * len(by)) if rows else frame


@dataclasses.dataclass(frozen=True)
class _Table:
    """Who is right on what: each item has one of few patterns, a 1 for each system that is right.

    `counts` has the items of each pattern by document, shape (documents, patterns).
    """

    systems: list[str]
    items: pl.DataFrame
    patterns: np.ndarray
    pattern: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, evaluations: Sequence[Evaluation]) -> _Table:
        shared = common(evaluations).evaluations
        key = [*KEY[:3], "turn"]
        frames = [
            each.gathered(_rights).rename({"right": f"right {at}"})
            for at, each in enumerate(shared)
        ]
        items = frames[0]
        for at, other in enumerate(frames[1:], 1):
            right = other.select(*key, f"right {at}")
            items = items.join(right, on=key, how="inner", nulls_equal=True)
        if not items.height:
            what = "these evaluations have no field in common that was scored"
            raise DataBroken(what, remedy="formlab score with the same gold for each")
        items = items.sort(key)
        right = items.select(f"right {at}" for at in range(len(shared))).to_numpy().astype(float)
        patterns, pattern = np.unique(right, axis=0, return_inverse=True)
        names, number = np.unique(items["doc_id"].to_numpy(), return_inverse=True)
        pattern = pattern.reshape(-1)
        size = len(names) * len(patterns)
        counts = np.bincount(number * len(patterns) + pattern, minlength=size).astype(float)
        return cls(
            [each.system for each in shared], items.select(*KEY[:3], *_OF_GOLD), patterns, pattern,
            counts.reshape(len(names), len(patterns)),
        )  # fmt: skip

    @property
    def groups(self) -> list[str]:
        """The group of each pattern."""
        return [_group(pattern, self.systems) for pattern in self.patterns]

    @property
    def every(self) -> np.ndarray:
        """Every pattern that these systems could make."""
        return np.array(list(itertools.product((0.0, 1.0), repeat=len(self.systems))))


def _rights(part: Evaluation) -> pl.DataFrame:
    known = fields(part).filter(
        pl.col("gold").is_not_null(), pl.col("outcome") != "unscored", turn=1
    )
    return known.select(*KEY, *_OF_GOLD, right=pl.col("outcome") == "match")


def _group(pattern: np.ndarray, systems: Sequence[str]) -> str:
    n_right = int(pattern.sum())
    if n_right in (0, len(systems)):
        return "all right" if n_right else "none right"
    if n_right == len(systems) - 1:
        return f"only {systems[int(pattern.argmin())]} wrong"
    return f"only {systems[int(pattern.argmax())]} right" if n_right == 1 else "some right"


def _group_names(systems: Sequence[str]) -> list[str]:
    wrong, right = ([f"only {name} {word}" for name in systems] for word in ("wrong", "right"))
    several = [*right, *(["some right"] if len(systems) > 3 else [])] if len(systems) > 2 else []
    return ["none right", *wrong, *several, "all right"]


def _shares(
    table: _Table, sums: np.ndarray, chosen: np.ndarray, of_group: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of some draws the share of chosen patterns, and that of a group if failures were independent.

    `sums` count the patterns of each draw.
    """
    total = sums.sum(axis=1, keepdims=True)
    right = sums @ table.patterns / total
    chance = np.zeros(len(sums))
    for pattern in table.every[of_group]:
        chance += np.where(pattern == 1, right, 1 - right).prod(axis=1)
    return sums[:, chosen].sum(axis=1) / total[:, 0], chance
