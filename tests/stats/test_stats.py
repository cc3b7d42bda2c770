"""The statistics kit beside scipy's bootstrap and permutation test, statsmodels and hand counts."""

import itertools
import math

import numpy as np
import pytest
import scipy
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import normal_power

from formlab.metrics import METRICS, ratio
from formlab.stats.draws import drawn, drawn_parts, intervals
from formlab.stats.tests import (
    Exchanged,
    Pair,
    adjusted_p,
    minimum_detectable_difference,
    paired_differences,
    permutation_p,
    spread_p,
    tail,
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


def p_of(document, loss, inside):
    document, loss, inside = map(np.array, (document, loss, inside))
    test = Exchanged(document, loss.astype(float), np.ones(len(loss), dtype=bool))
    return test.p([np.flatnonzero(inside)])[0]


def test_chance_of_one_value_a_document_is_that_of_all_ways_to_place_its_losses():
    document = np.repeat([0, 1, 2], 4)
    loss = np.array([1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0])
    inside = np.tile([True, False, False, False], 3)
    # Each of 4, 6 and 4 ways is as likely; the first of each document holds 1, 3 and 1 of them.
    ways = [set(itertools.combinations(range(4), k)) for k in (1, 2, 1)]
    extreme = [all(0 in way for way in each) for each in itertools.product(*ways)]
    assert p_of(document, loss, inside) == pytest.approx(sum(extreme) / len(extreme), abs=1e-12)


def test_chance_of_several_values_a_document_is_no_less_than_the_hypergeometric_one():
    draw = np.random.default_rng(0)
    for _ in range(20):
        loss = (draw.random(40) < 0.3).astype(int)
        inside = np.arange(40) < 15
        document = np.zeros(40, dtype=int)
        exact = scipy.stats.hypergeom.sf(loss[inside].sum() - 1, 40, loss.sum(), 15)
        # One document alone may fail as a whole: that any loss is inside says nothing.
        assert p_of(document, loss, inside) >= 0.99 * exact


def test_documents_are_exchanged_whole_where_a_part_holds_them_whole():
    draw = np.random.default_rng(1)
    document, loss = np.repeat(np.arange(14), 5), (draw.random(70) < 0.25).astype(int)
    loss[:20] |= draw.random(20) < 0.4
    lost = np.bincount(document, weights=loss)
    result = scipy.stats.permutation_test(
        (lost[:4], lost[4:]), lambda x, y: x.mean() - y.mean(), alternative="greater",
        n_resamples=np.inf, vectorized=False,
    )  # fmt: skip
    assert p_of(document, loss, document < 4) == pytest.approx(result.pvalue, abs=0.02)


def test_hard_documents_and_one_that_fails_as_a_whole_prove_nothing():
    # The part is most of two hard documents and little of eight easy ones, at their own rates.
    sizes = [(8, 2)] * 2 + [(2, 8)] * 8
    document = np.repeat(np.arange(10), 10)
    inside = np.concatenate([np.repeat([True, False], size) for size in sizes])
    loss = np.concatenate([np.ones(20), np.zeros(80)])
    assert p_of(document, loss, inside) == 1
    one = (document == 5) & inside
    assert p_of(document, one, inside) > 0.05


def test_the_tail_of_three_moments_is_close_to_a_poisson_distribution_and_not_below_it():
    for mean in (0.3, 2.0, 30.0):
        for seen in (1, 3, 8, 45):
            exact = scipy.stats.poisson.sf(seen - 1, mean)
            near = tail(*(np.array([each]) for each in (seen - 0.5, mean, mean, mean)))[0]
            assert near == pytest.approx(exact, rel=0.15, abs=0.02)
            assert near >= 0.9 * exact


def test_documents_that_are_mostly_wrong_are_too_many_only_if_losses_cluster():
    # Of 600 values 30 are lost: that five or more of ten fall on one of 60 documents is rare.
    sizes = np.full(60, 10)
    one = spread_p(sizes, 30, 600, 1, 0.5)
    drawn = np.random.default_rng(0).multivariate_hypergeometric(sizes, 30, 20_000)
    assert one == pytest.approx(((drawn >= 5).sum(axis=1) > 0).mean(), abs=0.002)
    assert spread_p(sizes, 30, 600, 3, 0.5) < 1e-6
    assert spread_p(sizes, 30, 600, 0, 0.5) == 1
