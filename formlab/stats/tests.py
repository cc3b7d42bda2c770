"""Tests by documents: of two systems on the same ones, and of a part of one system's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, isnan, log2
from typing import Any

import numpy as np
import polars as pl
import scipy

from formlab.stats.draws import drawn_parts, percentiles, weighted_sums

# So few documents that differ are swapped in every way: 2 to this power.
EXACT = 12
# What only rounding tells from the observed difference is as extreme as it.
ROUNDING = 1e-9
NAN = float("nan")
# A claim holds from here on, after adjusting for all that was looked at beside it.
ALPHA = 0.05
# Whether the verdict is the same under all rules of reading fields from pages.
SAME, DEPENDS = "same", "depends"
# What tells the rows of a comparison apart.
KEY = ("metric", "average", "level", "slice_by", "slice_value", "system_a", "system_b")
# Longer sums are counted by their three moments, and not exactly, as are p from `_DOUBTFUL` on.
_LONGEST, _DOUBTFUL = 1024, 0.1
# Draws of whole documents, up to so many of them; p of fewer hits is by three moments.
_DRAWS, _DOCUMENTS, _HITS = 4999, 2000, 10
# So many cells of slices and documents are tested at once.
_CELLS = 250_000


@dataclass
class Pair:
    """Two systems to tell apart by one score.

    `first` and `second` are the parts of each document, shape (documents, k); `score` takes
    (…, k) to (…) and is better `up` or down. `labels` are the columns that the row is known by;
    `sure` is the same pair without cases that are in doubt, if there are any.
    """

    first: np.ndarray
    second: np.ndarray
    score: Callable[[np.ndarray], np.ndarray]
    up: bool = True
    labels: dict[str, Any] = field(default_factory=dict)
    sure: Pair | None = None

    def __post_init__(self) -> None:
        # The parts of each system over all documents, its score, and the lead of the first.
        self.sums = self.first.sum(axis=0, dtype=float), self.second.sum(axis=0, dtype=float)
        self.values = tuple(float(self.score(sums)) for sums in self.sums)
        self.difference = float(self.lead(*self.sums))

    def lead(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """By how much the first is better, from the sums of both."""
        a, b = self.score(first), self.score(second)
        return a - b if self.up else b - a


def paired_differences(
    pairs: Sequence[Pair],
    *,
    resamples: int = 1000,
    permutations: int = 9999,
    level: float = 0.95,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """By how much the first of each pair is better, with interval, p and what could be shown.

    Returns for each pair its labels and `value_a value_b difference ci_low ci_high p
    least_difference`; of one with a pair that is `sure` also `surest`, the greater p of both, or 1
    where they differ in who is ahead. The least difference is NaN where the pair has fewer than
    `documents_needed`, and where no draw differs from another.

    `pairs`: all over the same documents, in the same order. `resamples`, `level`: draws of
    documents, those of `summarise`, for the percentile interval. `permutations`: random swaps for
    the two-sided p (see `permutation_p`).
    """
    options = {"permutations": permutations, "seed": seed}
    surer = iter(permutation_p([pair.sure for pair in pairs if pair.sure], **options))
    tables, rows = [table for pair in pairs for table in (pair.first, pair.second)], []
    # One document cannot be drawn otherwise.
    is_drawn = pairs and len(pairs[0].first) > 1
    drawn = drawn_parts(tables, resamples=resamples if is_drawn else 0, seed=seed)
    for pair, p in zip(pairs, permutation_p(pairs, **options), strict=True):
        leads = pair.lead(next(drawn), next(drawn))
        leads = leads[~np.isnan(leads)]
        error = float(leads.std(ddof=1)) if leads.size > 1 else 0.0
        enough = pair.labels.get("n_docs", len(pair.first)) >= documents_needed(1 - level)
        detectable = enough and error > ROUNDING
        least = minimum_detectable_difference(error, level=level) if detectable else NAN
        (value_a, value_b), (low, high) = pair.values, percentiles(leads, level)
        row = {"value_a": value_a, "value_b": value_b, "difference": pair.difference, "p": p}
        row |= {"ci_low": low, "ci_high": high, "least_difference": least}
        if pair.sure:
            again = next(surer)
            is_same = np.sign(pair.sure.difference) == np.sign(pair.difference)
            row["surest"] = max(p, again) if is_same else 1.0
        rows.append(pair.labels | row)
    return rows


def permutation_p(pairs: Sequence[Pair], *, permutations: int = 9999, seed: int = 0) -> list[float]:
    """Two-sided p of each pair by swapping documents; NaN where a value is undefined.

    Where at most twelve documents differ every swap is made once and p is exact; else swaps are
    random, or p is NaN without these. One under which the score is undefined counts as extreme.
    """
    deltas = [np.subtract(pair.second, pair.first, dtype=float) for pair in pairs]
    moves, p_values = _moved(deltas, permutations=permutations, seed=seed), []
    for pair, moved in zip(pairs, moves, strict=True):
        values = abs(pair.lead(pair.sums[0] + moved, pair.sums[1] - moved))
        is_extreme = ~(values < abs(pair.difference) * (1 - ROUNDING) - 1e-14)
        is_tested = len(moved) and not isnan(pair.difference)
        p_values.append(float(is_extreme.mean()) if is_tested else NAN)
    return p_values


def _moved(tables: Sequence[np.ndarray], *, permutations: int, seed: int) -> Iterator[np.ndarray]:
    """What changes sides of each table (documents, k): in every swap of few, or in random swaps."""
    differing = [table[(table != 0).any(axis=1)] for table in tables]
    many = [table for table, of in zip(tables, differing, strict=True) if len(of) > EXACT]
    # Other random numbers than those of the draws of the same seed.
    random = weighted_sums(many, swapped, times=permutations, seed=[seed, 1])
    for of in differing:
        if len(of) <= EXACT:
            yield (np.arange(2 ** len(of))[:, None] >> np.arange(len(of)) & 1) @ of
        else:
            # No swap at all is one of those that could have been.
            yield np.pad(next(random), ((0, permutations > 0), (0, 0)))


def swapped(random: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Which of `count` documents change sides in each swap: 0 and 1 of shape (size, count)."""
    bits = np.frombuffer(random.bytes(size * ((count + 7) // 8)), dtype=np.uint8)
    return np.unpackbits(bits.reshape(size, -1), axis=1, count=count).astype(float)


def loss_p(pair: Pair, margin: float, *, permutations: int = 9999, seed: int = 0) -> float:
    """p under the hypothesis that the first system of a pair loses `margin` or more, 0 or above.

    A one-sided sign-flip test of what each document adds to the difference (its jackknife value),
    moved by the margin (S. Wellek, Testing Statistical Hypotheses of Equivalence and
    Noninferiority, 2010); documents without what the metric counts have no say. With up to twelve
    documents every flip is made and p is exact; then 1 / 2^n is the least p of n documents. NaN for
    fewer than two documents, or where the score is undefined without one of them.
    """
    counted = (pair.first != 0).any(axis=1) | (pair.second != 0).any(axis=1)
    losses = -contributions(Pair(pair.first[counted], pair.second[counted], pair.score, pair.up))
    gains = margin - losses
    if len(gains) < 2 or np.isnan(gains).any():
        return NAN
    # Flipped documents add to the sum what they took from it.
    (moved,) = _moved([gains[:, None]], permutations=permutations, seed=seed)
    return float((moved <= ROUNDING * np.abs(gains).sum()).mean()) if len(moved) else NAN


def contributions(pair: Pair) -> np.ndarray:
    """What each document adds to the lead of the first of a pair; their mean is the lead."""
    first, second = pair.sums
    rest = pair.lead(first - pair.first, second - pair.second)
    values = (len(pair.first) - 1) * (pair.difference - rest)
    return values - values.mean() + pair.difference if len(values) else values


def documents_needed(alpha: float = ALPHA) -> int:
    """From how many documents on a test can come to `alpha`: of 2^n swaps two are as extreme."""
    return ceil(log2(2 / alpha) - ROUNDING)


def minimum_detectable_difference(error: float, level: float = 0.95, power: float = 0.8) -> float:
    """The least true difference that a two-sided test at `level` finds with `power`.

    It is (z of level + z of power) times the standard error, here the spread of the paired
    bootstrap (H. S. Bloom, Minimum detectable effects, Evaluation Review 19(5), 1995).
    """
    return float(scipy.special.ndtri([(1 + level) / 2, power]).sum()) * error


def adjusted_p(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """p adjusted after Holm for all comparisons looked at; what could not be tested stays NaN."""
    adjusted = np.array(p, dtype=float)
    order = np.argsort(adjusted, kind="stable")[: (~np.isnan(adjusted)).sum()]
    steps = np.arange(len(order), 0, -1) * adjusted[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def compared(tests: pl.DataFrame, *other_rules: pl.DataFrame, level: float = 0.95) -> pl.DataFrame:
    """Tests of pairs, with p adjusted over its family, `n_tested`, `rules` and who is `better`.

    `tests` are the rows of `paired_differences` with the labels `KEY`, `n_docs`, `read`, whether a
    reading rule has a say, `rules`, and `surest`, the p to adjust where it is not p; both may be
    null. `other_rules` are the same tests under each other rule of reading fields from pages.

    `p_holm` is adjusted over the `n_tested` pairs and slices of a metric, average and level. Rows
    of no slice are a family apart, and so are kinds: both were planned. `least_difference` is NaN
    where no p of a family can hold after that. `rules` tells whether the verdict is the ``same``
    under all reading rules or ``depends``. A difference is shown, and one of both `better`, where
    `p_holm` is at most 1 - `level`, the interval is clear of 0 and no reading rule says otherwise.
    """
    alpha, table = 1 - level, _adjusted(tests, pl.coalesce("surest", "p"))
    holds = pl.col("p_holm") <= alpha + ROUNDING
    if other_rules:
        # Labels in doubt have no say in what a rule changes.
        versions = [_adjusted(of, pl.col("p")) for of in (tests, *other_rules)]
        sign = pl.when(holds).then(pl.col("difference").sign()).fill_null(0)
        is_same = (pl.len() == len(versions)) & (sign.n_unique() == 1)
        same = pl.concat(versions).group_by(KEY).agg(same=is_same)
        table = table.join(same, on=KEY, how="left", nulls_equal=True, maintain_order="left")
        rules = pl.when("same").then(pl.lit(SAME)).otherwise(pl.lit(DEPENDS))
        has_rules = pl.col("p").is_not_nan() & pl.col("read")
        table = table.with_columns(rules=pl.when(has_rules).then(rules).otherwise("rules"))
    # With fewer documents the least p there can be, counted for all tests, shows nothing.
    needed = [documents_needed(alpha / max(n, 1)) for n in table["n_tested"]]
    is_clear = (pl.col("ci_low").fill_nan(None) > 0) | (pl.col("ci_high").fill_nan(None) < 0)
    is_shown = is_clear & holds
    is_shown &= pl.col("rules").ne_missing(DEPENDS)
    ahead = pl.when(pl.col("difference") > 0).then("system_a").otherwise("system_b")
    enough = pl.col("n_docs") >= pl.Series(needed, dtype=pl.Int64)
    least = pl.when(enough).then("least_difference").otherwise(NAN)
    return table.with_columns(least_difference=least, better=pl.when(is_shown).then(ahead))


def _adjusted(tests: pl.DataFrame, p: pl.Expr) -> pl.DataFrame:
    """The rows with `p_holm` and `n_tested`, each in its family."""
    is_planned = pl.col("slice_by").is_null() | (pl.col("slice_by") == "kind")
    family = *KEY[:3], pl.when(is_planned).then("slice_by").otherwise(pl.lit(""))
    holm = p.map_batches(lambda of: pl.Series(adjusted_p(of.to_numpy())), pl.Float64)
    tested = pl.col("p").is_not_nan().sum().cast(pl.Int64)
    return tests.with_columns(p_holm=holm.over(family), n_tested=tested.over(family))


class Exchanged:
    """Losses of values in documents, against which parts are tested: one-sided, more is worse.

    What is independent are documents. Where a part cuts through them, the losses of each one are
    exchanged among its own values, so that a document that is hard, or wrong throughout, proves
    nothing; where it holds whole documents these are exchanged. `document` numbers that of each
    value from 0, a `loss` is 0 or 1; only `active` values are exchanged.
    """

    def __init__(self, document: np.ndarray, loss: np.ndarray, active: np.ndarray) -> None:
        self.document, self.loss = document, loss
        self.count = int(document.max(initial=-1)) + 1
        self.sizes, self.losses = self._sums(np.flatnonzero(active))

    def _sums(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and losses of each document at some places."""
        document = self.document[at]
        losses = np.bincount(document, weights=self.loss[at], minlength=self.count)
        return np.bincount(document, minlength=self.count), losses

    def p(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """p of each part, given by the places of its values."""
        step, p = max(1, _CELLS // max(self.count, 1)), [np.ones(0)]
        for begin in range(0, len(parts), step):
            block = map(self._sums, parts[begin : begin + step])
            cells, losses = map(np.stack, zip(*block, strict=True))
            is_whole = ((cells == 0) | (cells == self.sizes)).all(axis=1)
            p.append(self._within(cells, losses))
            if is_whole.any():
                p[-1][is_whole] = self._of_documents(cells[is_whole])
        return np.concatenate(p)

    def _within(self, cells: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """Exchanged within documents, and where several values are of one, also by documents."""
        # Documents alike in size, losses and values inside share a row of chances.
        wide = int(self.sizes.max(initial=0)) + 1
        key = (self.sizes * wide + self.losses.astype(np.int64)) * wide + cells
        key, number = np.unique(key, return_inverse=True)
        size, lost, drawn = (of[:, None] for of in (key // wide**2, key // wide % wide, key % wide))
        k, number = np.arange(min(lost.max(), drawn.max()) + 1), number.reshape(cells.shape)
        # Of a document without values none is sure to be drawn.
        table = scipy.stats.hypergeom.pmf(k, np.maximum(size, 1), lost, drawn)
        p = _sums(table, number, losses.sum(axis=1))
        # Values of one document may fail together: then documents with any loss in the part count.
        none = table[:, :1]
        by_any = _sums(np.hstack([none, 1 - none]), number, (losses > 0).sum(axis=1))
        moved = losses - cells * (self.losses / np.maximum(self.sizes, 1))
        spread = np.sqrt((moved**2).sum(axis=1))
        away = moved.sum(axis=1) / np.where(spread > 0, spread, 1)
        by_spread = scipy.stats.t.sf(away, np.maximum((cells > 0).sum(axis=1) - 1, 1))
        by_documents = np.clip(2 * np.minimum(by_spread, by_any), p, 1)
        return np.where((cells > 1).any(axis=1), by_documents, p)

    def _of_documents(self, cells: np.ndarray) -> np.ndarray:
        """Exchanged between documents that a part holds whole."""
        present = self.sizes > 0
        inside, sizes, losses = cells[:, present] > 0, self.sizes[present], self.losses[present]
        moved = losses - losses.sum() / max(sizes.sum(), 1) * sizes
        chosen, count = inside.sum(axis=1), len(moved)
        mean = moved.sum() / max(count, 1)
        away, rest = moved - mean, count - chosen
        share = chosen * rest / max(count - 1, 1) / max(count, 1)
        third = share * (rest - chosen) / max(count - 2, 1) * (away**3).sum()
        seen = inside @ moved
        p = tail(seen, chosen * mean, share * (away**2).sum(), third)
        if count > _DOCUMENTS:
            return p
        drawn = np.random.default_rng(0).permuted(np.tile(moved, (_DRAWS, 1)), axis=1)
        hits = ((inside @ drawn.T) >= seen[:, None] - 1e-9).sum(axis=1)
        by_draws = (np.maximum(hits, _HITS) + 1) / (_DRAWS + 1)
        return np.where(hits >= _HITS, by_draws, np.minimum(p, by_draws))


def _sums(table: np.ndarray, number: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The chance of `seen` or more in all documents, whose chances are rows of a table."""
    k = np.arange(table.shape[1])
    mean = table @ k
    away = k - mean[:, None]
    of_rows = mean, (table * away**2).sum(axis=1), (table * away**3).sum(axis=1)
    moments = [of[number].sum(axis=1) for of in of_rows]
    p = tail(seen - 0.5, *moments)
    # Sums of documents have the product of their waves.
    reach = np.maximum(moments[0] + 12 * np.sqrt(moments[1]) + 30, seen + 2)
    waves = np.log(np.fft.rfft(table, _LONGEST, axis=1) + 1e-300)
    for row in np.flatnonzero((p < _DOUBTFUL) & (np.maximum(reach, len(k)) < _LONGEST)):
        found, often = np.unique(number[row], return_counts=True)
        # Not by `@`, whose threads wait for one another longer than they work here.
        chances = np.fft.irfft(np.exp(np.einsum("i,ij", often, waves[found])), _LONGEST)
        p[row] = np.clip(chances[int(seen[row]) :].sum(), 1e-15, 1)
    return p


def tail(seen: np.ndarray, mean: np.ndarray, variance: np.ndarray, third: np.ndarray) -> np.ndarray:
    """The chance of `seen` or more of a sum with these moments, by a shifted gamma distribution."""
    varies = variance > 1e-12
    deviation = np.sqrt(np.where(varies, variance, 1))
    skew = np.where(varies, third, 0) / deviation**3
    p = scipy.stats.pearson3.sf((seen - mean) / deviation, skew)
    return np.where(varies, p, seen - mean <= 1e-9)


def spread_p(sizes: np.ndarray, lost: int, of: int, seen: int, share: float) -> float:
    """p that `seen` documents of some sizes have lost this share, if `lost` of all values are."""
    if not seen or not len(sizes):
        return 1.0
    distinct, times = np.unique(sizes, return_counts=True)
    chances = scipy.stats.hypergeom.sf(np.ceil(share * distinct) - 1, of, lost, distinct)
    return float(scipy.stats.poisson.sf(seen - 1, times @ chances))


def drawn_p(least: int, size: int, lost: int, of: int) -> float:
    """The chance that `size` of all values have `least` of the lost or more: Fisher's exact p."""
    return float(scipy.stats.hypergeom.sf(least - 1, of, lost, size))
