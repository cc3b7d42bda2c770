"""The statistics kit beside scipy's bootstrap and permutation test, statsmodels and hand counts."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import normal_power

from formlab.metrics import METRICS, ratio
from formlab.stats.draws import drawn, drawn_parts, intervals
from formlab.stats.tests import (
    Pair,
    adjusted_p,
    minimum_detectable_difference,
    paired_differences,
    permutation_p,
)


def random_pair(seed, count, shift=0.0):
    """Documents of 1 to 8 values, and two systems of which the second has more right."""
    generator = np.random.default_rng(seed)
    total = generator.integers(1, 9, (count, 1))
    sides = [generator.binomial(total, 0.5 + more) for more in (0.0, shift)]
    return Pair(*(np.hstack([side, total]).astype(float) for side in sides), ratio)


def of_pooled_shares(one):
    """The same pair for scipy: its columns, and the difference of its pooled shares."""

    def difference(a, b, c, d, axis=-1):
        return a.sum(axis=axis) / b.sum(axis=axis) - c.sum(axis=axis) / d.sum(axis=axis)

    return (*one.first.T, *one.second.T), difference


def scipys_p(one, permutations=np.inf):
    """p of scipy's test of paired samples, whose statistic swaps whole documents."""

    def difference(swapped, axis=-1):
        # Swapping a document is turning the sign of its place.
        sides = [
            np.where(swapped[..., None] > 0, *pair).sum(axis=-2)
            for pair in ((one.first, one.second), (one.second, one.first))
        ]
        return ratio(sides[1]) - ratio(sides[0])

    places = np.ones(len(one.first))
    return stats.permutation_test(
        (places, -places), lambda x, _, axis=-1: difference(x, axis),
        permutation_type="samples", n_resamples=permutations,
        rng=np.random.default_rng(0),
    ).pvalue  # fmt: skip


@pytest.mark.parametrize(("count", "within"), [(7, 1e-9), (12, 1e-9), (14, 0.015)])
def test_p_is_that_of_scipys_permutation_test_of_all_swaps(count, within):
    one = random_pair(count, count, 0.2)
    assert permutation_p([one])[0] == pytest.approx(scipys_p(one), abs=within)


def test_p_of_many_swaps_is_near_scipys():
    one = random_pair(3, 60, 0.06)
    assert permutation_p([one])[0] == pytest.approx(scipys_p(one, 9999), abs=0.02)


def test_intervals_are_those_of_scipys_bootstrap():
    one = random_pair(6, 40, 0.1)
    columns, difference = of_pooled_shares(one)
    options = {"method": "percentile", "n_resamples": 4000, "rng": np.random.default_rng(0)}
    theirs = stats.bootstrap(columns, difference, paired=True, **options).confidence_interval
    row = paired_differences([one], resamples=4000, permutations=0)[0]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((theirs.low, theirs.high), abs=0.01)
    theirs = stats.bootstrap(columns[:2], lambda a, b, axis: a.sum(axis) / b.sum(axis), paired=True,
                             **options).confidence_interval  # fmt: skip
    (ends,) = intervals([(one.first, ratio)], resamples=4000, level=0.95, seed=0)
    assert ends == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_draws_are_of_all_documents_and_the_same_for_every_table(monkeypatch):
    tables = [np.arange(14).reshape(7, 2), np.linspace(0, 1, 7)[:, None], np.full((7, 1), 2.0**30)]
    # In one block and turn, and in as many as there are draws and tables.
    for size, rows in ((10**6, 50), (1, 1)):
        monkeypatch.setattr("formlab.stats.draws.WEIGHTS", size)
        monkeypatch.setattr("formlab.stats.draws.COLUMNS", size)
        # Blocks of other sizes would be other numbers: only the turns change.
        random = np.random.default_rng(3)
        weights = np.concatenate([drawn(random, 7, rows) for _ in range(0, 50, rows)])
        assert (weights.sum(axis=1) == 7).all()
        expected = [weights @ table for table in tables]
        for sums, other in zip(drawn_parts(tables, resamples=50, seed=3), expected, strict=True):
            np.testing.assert_allclose(sums, other)


def test_swaps_that_are_as_far_apart_count_and_undefined_scores_have_no_p():
    one = Pair(np.array([[1, 4], [0, 2]]), np.array([[3, 4], [2, 2]]), ratio)
    row = paired_differences([one])[0]
    # 1/6 against 5/6. No swap and both give 4/6; one alone gives 0.
    assert (row["difference"], row["p"]) == (pytest.approx(-4 / 6), 2 / 4)
    none = Pair(np.zeros((2, 2)), np.ones((2, 2)), ratio)
    row = paired_differences([none])[0]
    assert math.isnan(row["difference"])
    assert math.isnan(row["p"])


def test_equal_systems_have_p_of_one_and_no_detectable_difference():
    one = random_pair(7, 30)
    row = paired_differences([Pair(one.first, one.first, ratio)])[0]
    assert (row["difference"], row["p"]) == (0, 1)
    assert math.isnan(row["least_difference"])
    fewer = Pair(one.first, one.first, ratio, up=False)
    assert str(paired_differences([fewer])[0]["difference"]) == "0.0"


def test_p_is_at_most_005_in_one_of_twenty_corpora_without_a_difference():
    p = permutation_p([random_pair(seed, 30) for seed in range(400)], permutations=499)
    # 0.05 give or take three standard errors of 400 trials.
    assert 0.017 < np.mean(np.array(p) <= 0.05) < 0.083


def test_scores_of_many_parts_are_compared_from_their_sums():
    # Of two entities: found, gold and predicted of each.
    first = np.array([[1, 1, 1, 0, 1, 0], [0, 1, 1, 1, 1, 1]])
    second = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
    row = paired_differences([Pair(first, second, METRICS["macro_f1"].score)])[0]
    # First: 2·1 / (2 + 2) and 2·1 / (2 + 1). Second: 1.
    assert row["value_a"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert row["difference"] == pytest.approx((1 / 2 + 2 / 3) / 2 - 1)


def test_adjusted_p_equals_statsmodels():
    p = np.random.default_rng(1).uniform(0, 0.2, 12)
    found = adjusted_p([*p[:5], np.nan, *p[5:]])
    assert np.delete(found, 5) == pytest.approx(multipletests(p, method="holm")[1])
    assert math.isnan(found[5])


def test_detectable_difference_has_the_power_that_statsmodels_says_and_the_spread_of_the_draws():
    for power in (0.5, 0.8, 0.9):
        effect = minimum_detectable_difference(1 / math.sqrt(40), power=power)
        assert normal_power(effect, 40, 0.05) == pytest.approx(power, abs=1e-3)
    values = np.random.default_rng(5).normal(0.5, 0.1, (2, 200))
    one = Pair(*(np.stack([side, np.ones(200)], axis=1) for side in values), ratio)
    row = paired_differences([one], resamples=4000, permutations=0)[0]
    known = minimum_detectable_difference(np.diff(values, axis=0).std(ddof=1) / math.sqrt(200))
    assert row["least_difference"] == pytest.approx(known, rel=0.06)
