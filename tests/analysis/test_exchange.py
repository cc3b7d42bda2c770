"""Losses exchanged within documents and between them, against other ways of counting."""

import itertools

import numpy as np
import pytest
import scipy

from formlab.stats.tests import Exchanged, spread_p, tail


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
