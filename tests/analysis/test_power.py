import math

import numpy as np
import pytest
from scipy import stats

from formlab.analysis.paired_tests import Pair, differences
from formlab.analysis.power import least_difference
from formlab.metrics import ratio


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
