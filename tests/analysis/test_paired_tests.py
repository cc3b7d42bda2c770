import itertools
import math

import numpy as np
import pytest
from scipy import stats

from formlab.analysis.paired_tests import Pair, adjusted_p, differences, least_difference
from formlab.metrics import METRICS, ratio


def pair(first, second):
    return Pair(np.array(first, dtype=float), np.array(second, dtype=float), ratio)


def random_pair(generator, count, shift=0.0):
    total = generator.integers(1, 9, (count, 1)).astype(float)
    sides = [generator.binomial(total.astype(int), np.clip(0.5 + d, 0, 1)) for d in (0.0, shift)]
    return Pair(*(np.hstack([side.astype(float), total]) for side in sides), ratio)


def test_difference_is_of_pooled_scores_and_p_counts_every_swap():
    row = differences([pair([[1, 4], [0, 2]], [[3, 4], [2, 2]])])[0]
    # 1/6 against 5/6. No swap and both give 4/6; one alone gives 0 (3/6 each) or 0 (3/6 each).
    assert row["difference"] == pytest.approx(4 / 6)
    assert row["p"] == pytest.approx(2 / 4)


def test_exact_p_equals_a_brute_force_over_all_swaps():
    one = random_pair(np.random.default_rng(1), 7, 0.3)
    seen = abs(np.subtract(*one.values))
    extreme = 0
    for swap in itertools.product([False, True], repeat=7):
        turned = np.array(swap)[:, None]
        first = np.where(turned, one.second, one.first).sum(axis=0)
        second = np.where(turned, one.first, one.second).sum(axis=0)
        extreme += abs(first[0] / first[1] - second[0] / second[1]) >= seen - 1e-12
    assert differences([one])[0]["p"] == pytest.approx(extreme / 2**7)


def test_p_of_a_mean_equals_scipys_paired_permutation_test():
    generator = np.random.default_rng(2)
    values = generator.uniform(size=(2, 10))
    one = pair(*(np.stack([side, np.ones(10)], axis=1) for side in values))
    theirs = stats.permutation_test(
        (values[0], values[1]), lambda x, y: np.mean(x - y), permutation_type="samples",
        n_resamples=np.inf,
    )  # fmt: skip
    assert differences([one])[0]["p"] == pytest.approx(theirs.pvalue)


def test_random_swaps_come_near_the_exact_p():
    generator = np.random.default_rng(4)
    values = generator.normal([[0.0], [0.35]], 1, size=(2, 13))
    one = pair(*(np.stack([side, np.ones(13)], axis=1) for side in values))
    exact = stats.permutation_test(
        (values[0], values[1]), lambda x, y: np.mean(x - y), permutation_type="samples",
        n_resamples=np.inf,
    ).pvalue  # fmt: skip
    assert differences([one])[0]["p"] == pytest.approx(exact, abs=0.02)


def test_interval_comes_near_scipys_paired_bootstrap():
    one = random_pair(np.random.default_rng(6), 40, 0.1)

    def difference(a, b, c, d, axis=-1):
        return c.sum(axis=axis) / d.sum(axis=axis) - a.sum(axis=axis) / b.sum(axis=axis)

    columns = (*one.first.T, *one.second.T)
    theirs = stats.bootstrap(
        columns, difference, paired=True, method="percentile", n_resamples=4000,
        rng=np.random.default_rng(0), vectorized=True,
    ).confidence_interval  # fmt: skip
    ours = differences([one], resamples=4000, permutations=0)[0]
    assert ours["ci_low"] == pytest.approx(theirs.low, abs=0.015)
    assert ours["ci_high"] == pytest.approx(theirs.high, abs=0.015)


def test_equal_systems_have_no_difference_and_p_of_one():
    one = random_pair(np.random.default_rng(7), 30)
    same = Pair(one.first, one.first, ratio)
    row = differences([same])[0]
    assert (row["difference"], row["p"]) == (0, 1)
    # Without any spread nothing says how small a difference would have been seen.
    assert math.isnan(row["least_difference"])


def test_turning_the_pair_turns_the_difference_and_keeps_p():
    one = random_pair(np.random.default_rng(8), 30, 0.2)
    there = differences([one])[0]
    back = differences([Pair(one.second, one.first, ratio)])[0]
    assert back["difference"] == pytest.approx(-there["difference"])
    assert (back["ci_low"], back["ci_high"]) == pytest.approx((-there["ci_high"], -there["ci_low"]))
    assert back["p"] == there["p"]


def test_rows_do_not_depend_on_what_else_is_tested():
    generator = np.random.default_rng(9)
    one, two = random_pair(generator, 20, 0.2), random_pair(generator, 20, 0.1)
    assert differences([one, two])[0] == differences([one])[0]


def test_false_positives_stay_near_alpha_when_systems_are_alike():
    generator = np.random.default_rng(10)
    trials = [random_pair(generator, 30) for _ in range(400)]
    rows = differences(trials, resamples=200, permutations=499)
    share = np.mean([row["p"] <= 0.05 for row in rows])
    # 0.05 give or take three standard errors of 400 trials.
    assert 0.017 < share < 0.083


def test_undefined_scores_give_nan():
    row = differences([pair([[0, 0], [0, 0]], [[1, 2], [1, 2]])])[0]
    assert math.isnan(row["difference"])
    assert math.isnan(row["p"])


def test_metrics_with_many_parts_are_compared_from_their_sums():
    metric = METRICS["macro_f1"]
    # Two entities: found, gold and predicted of each.
    first = np.array([[1, 1, 1, 0, 1, 0], [0, 1, 1, 1, 1, 1]], dtype=float)
    second = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]], dtype=float)
    row = differences([Pair(first, second, metric.score)])[0]
    # First: 2·1 / (2 + 2) and 2·1 / (2 + 1); their mean is 7/12. Second: 1.
    assert row["value_a"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert row["difference"] == pytest.approx(1 - (1 / 2 + 2 / 3) / 2)


def test_holm_follows_the_hand_count():
    # The least times 3; the next, 0.03, times 2; the last is no less than the one before.
    assert adjusted_p([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_least_difference_is_the_sum_of_both_quantiles():
    # 1.959964 + 0.841621 standard errors.
    assert least_difference(2.0) == pytest.approx(2 * 2.801585, rel=1e-6)
    assert least_difference(1.0, level=0.9, power=0.5) == pytest.approx(1.644854, rel=1e-6)
    assert math.isnan(least_difference(float("nan")))


def test_statsmodels_finds_that_difference_with_the_power_asked_for():
    from statsmodels.stats.power import normal_power

    for power in (0.5, 0.8, 0.9):
        effect = least_difference(1 / math.sqrt(40), power=power)
        assert normal_power(effect, 40, 0.05) == pytest.approx(power, abs=1e-3)


def test_a_true_difference_of_that_size_is_found_in_four_of_five_corpora():
    generator = np.random.default_rng(3)
    spread, count, corpora = 0.2, 60, 400
    gain = least_difference(spread / math.sqrt(count))
    values = generator.normal(gain, spread, (corpora, count))
    found = stats.ttest_1samp(values, 0, axis=1).pvalue < 0.05
    # Four standard errors of the share, plus what Student's t loses on the normal.
    assert found.mean() == pytest.approx(0.8, abs=0.09)


def test_bootstrap_spread_gives_the_least_difference_of_the_known_spread():
    generator = np.random.default_rng(5)
    count = 200
    first = np.stack([generator.normal(0.5, 0.1, count), np.ones(count)], axis=1)
    second = np.stack([generator.normal(0.5, 0.1, count), np.ones(count)], axis=1)
    row = differences([Pair(first, second, ratio)], resamples=4000, permutations=0)[0]
    known = least_difference((second - first)[:, 0].std(ddof=1) / math.sqrt(count))
    assert row["least_difference"] == pytest.approx(known, rel=0.06)
