"""Whether a number sorts right from wrong, against Mann and Whitney and by chance."""

import numpy as np
import pytest
import scipy

from formlab.stats.sorting import sorting


def test_the_share_of_pairs_in_order_is_that_of_mann_and_whitney():
    draw = np.random.default_rng(0)
    number, right = draw.integers(0, 8, 200) / 8, draw.random(200) < 0.7
    result = scipy.stats.mannwhitneyu(number[right], number[~right], alternative="greater")
    found = sorting(np.arange(200), number, right)
    assert found.auc == pytest.approx(result.statistic / (right.sum() * (~right).sum()))
    # Where each answer is a document, both tests ask the same.
    assert found.p == pytest.approx(result.pvalue, abs=0.02)


def test_a_useless_number_seldom_sorts_and_a_telling_one_does_though_documents_fail_together():
    useless = telling = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        document = np.repeat(np.arange(40), 12)
        ease = draw.uniform(0.75, 1, 40)[document]
        right = draw.random(480) < ease
        # A number that all answers of a document share is worth no more than one.
        useless += sorting(document, draw.random(40)[document], right).p <= 0.05
        telling += sorting(document, right + draw.normal(0, 1.5, 480), right).p <= 0.05
    assert useless <= 20
    assert telling >= 180


def test_nothing_to_sort_is_undefined():
    assert np.isnan(sorting(np.arange(3), np.arange(3), np.ones(3))).all()
