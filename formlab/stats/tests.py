"""Tests of two systems on the same documents, from the parts of their scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, log2
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

from formlab.stats.draws import block_sizes, drawn_parts, percentiles, weighted_sums

# So few documents that differ are swapped in every way: 2 to this power.
EXACT = 12
# What only rounding tells from the observed difference is as extreme as it.
ROUNDING = 1e-9
NAN = float("nan")
# A claim holds from here on, after adjusting for all that was looked at beside it.
ALPHA = 0.05
# Whether the verdict is the same under all rules of reading fields from pages.
SAME, DEPENDS = "same", "depends"
Rows = Sequence[Mapping[str, Any]]
# What tells the rows of a comparison apart.
KEY = ("metric", "average", "level", "slice_by", "slice_value", "system_a", "system_b")


@dataclass
class Pair:
    """Two systems to tell apart by one score.

    `first` and `second` are the parts of each document, shape (documents, k); `score` takes
    (…, k) to (…) and is better `up` or down. `labels` are the columns that the row is known by.
    """

    first: np.ndarray
    second: np.ndarray
    score: Callable[[np.ndarray], np.ndarray]
    up: bool = True
    labels: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """The parts of each system over all documents."""
        return self.first.sum(axis=0, dtype=float), self.second.sum(axis=0, dtype=float)

    @property
    def values(self) -> tuple[float, float]:
        """The score of each system."""
        return float(self.score(self.sums[0])), float(self.score(self.sums[1]))

    def lead(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """By how much the first is better, from the sums of both."""
        ours, theirs = self.score(first), self.score(second)
        return ours - theirs if self.up else theirs - ours


def paired_differences(
    pairs: Sequence[Pair],
    *,
    resamples: int = 1000,
    permutations: int = 9999,
    level: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """By how much the first of each pair is better, with interval, p and what could be shown.

    Returns for each pair its labels and `value_a value_b difference ci_low ci_high p
    least_difference`.

    Parameters
    ----------
    pairs
        All over the same documents, in the same order.
    resamples, level
        Draws of documents with replacement, those of `summarise`, for the percentile interval.
    permutations
        Random swaps of the two systems' parts of a document, for the two-sided p. Where at most
        twelve documents differ, every swap is made once instead and p is exact. A swap under which
        the score is undefined counts as extreme.
    power
        Of the least difference, which is NaN where the pair has fewer than `documents_needed`, and
        where no draw differs from another.
    seed
        Of draws and swaps.
    """
    ends = [(NAN, NAN, NAN)] * len(pairs)
    if pairs and len(pairs[0].first) > 1 and resamples:
        tables = [table for pair in pairs for table in (pair.first, pair.second)]
        drawn = drawn_parts(tables, resamples=resamples, seed=seed)
        ends = [_interval(pair, next(drawn), next(drawn), level, power) for pair in pairs]
    extremes = permutation_p(pairs, permutations=permutations, seed=seed)
    rows = []
    for pair, (low, high, least), p in zip(pairs, ends, extremes, strict=True):
        first, second = pair.values
        numbers = {"value_a": first, "value_b": second, "difference": float(pair.lead(*pair.sums))}
        numbers |= {"ci_low": low, "ci_high": high, "p": p, "least_difference": least}
        rows.append(pair.labels | numbers)
    return rows


def _interval(
    pair: Pair, first: np.ndarray, second: np.ndarray, level: float, power: float
) -> tuple[float, float, float]:
    """Ends of the interval of a difference, and the least difference that would be seen."""
    values = pair.lead(first, second)
    values = values[~np.isnan(values)]
    error = float(values.std(ddof=1)) if values.size > 1 else 0.0
    enough = pair.labels.get("n_docs", len(pair.first)) >= documents_needed(1 - level)
    known = enough and error > ROUNDING
    least = minimum_detectable_difference(error, level=level, power=power) if known else NAN
    return *percentiles(values, level), least


def permutation_p(pairs: Sequence[Pair], *, permutations: int = 9999, seed: int = 0) -> list[float]:
    """Two-sided p of each pair by swapping documents; NaN where a value is undefined.

    Exact where at most twelve documents differ; else of random swaps, or NaN without these.
    """
    p_values = [NAN] * len(pairs)
    random: dict[int, np.ndarray] = {}
    for number, pair in enumerate(pairs):
        if np.isnan(np.subtract(*pair.values)):
            continue
        deltas = np.subtract(pair.second, pair.first, dtype=float)
        differing = deltas[(deltas != 0).any(axis=1)]
        if len(differing) <= EXACT:
            moved = _every_swap(len(differing)) @ differing
            p_values[number] = float(_is_extreme(pair, moved).mean())
        elif permutations:
            random[number] = deltas
    count = len(pairs[0].first) if pairs else 0
    sums = weighted_sums(
        [*random.values()], lambda: swaps(count, permutations=permutations, seed=seed)
    )
    for number, moved in zip(random, sums, strict=True):
        # The observed assignment is one of those that could have been.
        p_values[number] = float(_is_extreme(pairs[number], moved).sum() + 1) / (permutations + 1)
    return p_values


def _is_extreme(pair: Pair, moved: np.ndarray) -> np.ndarray:
    """Whether the difference is at least as large once `moved` has changed sides."""
    first, second = pair.sums
    observed = abs(pair.lead(first, second))
    values = abs(pair.lead(first + moved, second - moved))
    return ~(values < observed * (1 - ROUNDING) - 1e-14)


def _every_swap(count: int) -> np.ndarray:
    """All ways of swapping some of `count` documents: shape (2^count, count)."""
    return (np.arange(2**count)[:, None] >> np.arange(count)) & 1


def swaps(count: int, *, permutations: int, seed: int) -> Iterator[np.ndarray]:
    """Which of `count` documents change sides in each random swap: blocks (b, count) of 0 and 1."""
    # Other random numbers than those of the draws of the same seed.
    random = np.random.default_rng([seed, 1])
    for size in block_sizes(count, permutations):
        bits = np.frombuffer(random.bytes(size * ((count + 7) // 8)), dtype=np.uint8)
        yield np.unpackbits(bits.reshape(size, -1), axis=1, count=count).astype(float)


def loss_test(
    pair: Pair, margin: float, *, alpha: float = ALPHA, permutations: int = 9999, seed: int = 0
) -> tuple[float, float]:
    """Whether the first system of a pair loses less than `margin` against the second.

    A one-sided sign-flip test of what each document adds to the difference (its jackknife value),
    moved by the margin (S. Wellek, Testing Statistical Hypotheses of Equivalence and
    Noninferiority, 2010); documents without what the metric counts have no say. With up to twelve
    documents every flip is made and p is exact; then 1 / 2^n is the least p of n documents.
    Measured at 5 to 100 documents of unequal size, a loss of just the margin passes at 0.05 in 3 to
    6 of 100 corpora; where one document in ten loses half and the others nothing, in 19 of 100 at
    n = 50.

    Returns p in (0, 1] under the hypothesis that `margin` or more is lost, and the loss from which
    on it is at most `alpha`, infinite where no margin will do. Both NaN for fewer than two
    documents, or where the score is undefined without one of them.

    `pair`: the baseline second; `margin`: in the unit of the score, 0 and more; `alpha`,
    `permutations`, `seed`: the level of the test, in (0, 1), and its random flips.
    """
    counted = (pair.first != 0).any(axis=1) | (pair.second != 0).any(axis=1)
    losses = -contributions(Pair(pair.first[counted], pair.second[counted], pair.score, pair.up))
    count = len(losses)
    if count < 2 or np.isnan(losses).any():
        return NAN, NAN
    exact = count <= EXACT
    flips = [_every_swap(count)] if exact else swaps(count, permutations=permutations, seed=seed)
    # Flipping documents leaves the sum as large as it is as long as the margin is at most their
    # mean loss. No flip at all always does; it is in `flips` where these are exact.
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.concatenate([(block @ losses) / block.sum(axis=1) for block in flips])
    means = np.nan_to_num(means, nan=np.inf)
    means = np.sort(means if exact else np.append(means, np.inf))[::-1]
    slack = ROUNDING * np.abs(losses).max()
    allowed = int(alpha * len(means) + ROUNDING)
    most = means[allowed] if allowed < len(means) else -np.inf
    return float((means >= margin - slack).mean()), float(most)


def contributions(pair: Pair) -> np.ndarray:
    """What each document adds to the lead of the first of a pair; their mean is the lead."""
    first, second = pair.sums
    whole = pair.lead(first, second)
    without = pair.lead(first - pair.first, second - pair.second)
    values = (len(pair.first) - 1) * (whole - without)
    return values - values.mean() + whole if len(values) else values


def documents_needed(alpha: float = ALPHA) -> int:
    """From how many documents on a test by swaps can come to `alpha` at all.

    Of the 2^n swaps of n documents two are as extreme as the most extreme one.
    """
    return ceil(log2(2 / alpha) - ROUNDING)


def minimum_detectable_difference(
    error: float, *, level: float = 0.95, power: float = 0.8
) -> float:
    """The least true difference that a two-sided test at `level` finds with `power`.

    It is (z of level + z of power) times the standard error, here the spread of the paired
    bootstrap (H. S. Bloom, Minimum detectable effects, Evaluation Review 19(5), 1995).
    """
    quantile = NormalDist().inv_cdf
    return (quantile((1 + level) / 2) + quantile(power)) * error


def adjusted_p(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """p adjusted after Holm for all comparisons looked at; what could not be tested stays NaN."""
    adjusted = np.array(p, dtype=float)
    known = ~np.isnan(adjusted)
    tested = adjusted[known]
    order, count = np.argsort(tested, kind="stable"), np.arange(len(tested), 0, -1)
    tested[order] = np.minimum(np.maximum.accumulate(count * tested[order]), 1.0)
    adjusted[known] = tested
    return adjusted


def holds(
    p: float, low: float, high: float, rules: str | None = None, *, alpha: float = ALPHA
) -> bool:
    """Whether a difference was shown: the one rule for every comparison.

    The adjusted `p` is at most `alpha`, the interval is clear of 0, and no reading rule says
    otherwise.
    """
    return bool(p <= alpha * (1 + 1e-9) and (low > 0 or high < 0) and rules != DEPENDS)


def compared(
    rows: Rows,
    schema: Mapping[str, Any],
    *,
    by_other_rules: Sequence[Rows] = (),
    has_rule: pl.Expr | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Tests of pairs as a table: p adjusted over its family, `rules`, and who is `better`.

    `rows` are as from `paired_differences`, with `metric`, `level`, `slice_by`, `system_a` and
    `system_b`; one may have a `surest` p, greater than that of all its cases, which is adjusted
    instead. `by_other_rules` are the same tests under each other rule of reading fields from pages,
    `has_rule` says for which rows a rule has a say.

    `p_holm` is adjusted over the pairs and slices of a metric, average and level. Rows of no slice
    are a family apart, and so are kinds: both were planned, and looking at other slices costs them
    nothing. `least_difference` is NaN where no p of a family can hold after that. `rules` tells
    whether the verdict is the ``same`` under all reading rules or ``depends``; a difference is
    shown where `holds` at 1 - `level`.
    """
    if not rows:
        return pl.DataFrame(schema=dict(schema))
    verdict = _verdicts(_adjusted(rows, "p", level), level)
    same = pl.lit(True)
    for number, others in enumerate(by_other_rules):
        other = _verdicts(_adjusted(others, "p", level), level)
        keys = [name for name in KEY if name in other.columns]
        name = f"verdict_{number}"
        other = other.rename({"verdict": name})
        verdict = verdict.join(other, on=keys, how="left", nulls_equal=True, maintain_order="left")
        same &= pl.col("verdict").eq_missing(pl.col(name))
    rules = pl.when(same).then(pl.lit(SAME)).otherwise(pl.lit(DEPENDS))
    known = pl.lit(bool(by_other_rules)) & pl.col("p").is_not_nan()
    known &= pl.lit(True) if has_rule is None else has_rule
    table = _adjusted(rows, "surest", level).with_columns(
        verdict.with_columns(rules=rules)["rules"]
    )
    table = _with_better(table.with_columns(pl.when(known).then("rules")), 1 - level)
    return table.select(
        (pl.col(name) if name in table.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in schema.items()
    )


def _adjusted(rows: Rows, which: str, level: float) -> pl.DataFrame:
    """The rows with `p_holm` of one of their p, and what could be shown after it."""
    p = np.array([row.get(which, row["p"]) for row in rows], dtype=float)
    families: dict[tuple[Any, ...], list[int]] = {}
    for at, row in enumerate(rows):
        by = row["slice_by"] if row["slice_by"] in (None, "kind") else ""
        families.setdefault((*(row.get(name) for name in KEY[:3]), by), []).append(at)
    holm, least = np.empty((2, len(rows)))
    for members in families.values():
        holm[members] = adjusted_p(p[members])
        # With fewer documents the least p there can be, counted for all tests, shows nothing.
        needed = documents_needed((1 - level) / max(1, (~np.isnan(p[members])).sum()))
        for at in members:
            enough = rows[at]["n_docs"] >= needed
            least[at] = rows[at]["least_difference"] if enough else NAN
    found = [row | {"settings": dataclasses.asdict(row["settings"])} for row in rows]
    table = pl.DataFrame(found, infer_schema_length=None)
    return table.with_columns(p_holm=holm, least_difference=least)


def _verdicts(table: pl.DataFrame, level: float) -> pl.DataFrame:
    """What each row says: the sign of its difference, or 0 where none is shown."""
    keys = [name for name in KEY if name in table.columns]
    shown = pl.col("p_holm").fill_nan(1) <= 1 - level + 1e-9
    return table.select(
        *keys, verdict=pl.when(shown).then(pl.col("difference").sign()).otherwise(0.0)
    )


def _with_better(table: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Comparisons with `better`, null where no difference was shown (`holds`)."""
    rows = table.select("p_holm", "ci_low", "ci_high", "rules").rows()
    shown = pl.Series([holds(*row, alpha=alpha) for row in rows], dtype=pl.Boolean)
    ahead = pl.when(pl.col("difference") > 0).then("system_a").otherwise("system_b")
    return table.with_columns(better=pl.when(shown).then(ahead))
