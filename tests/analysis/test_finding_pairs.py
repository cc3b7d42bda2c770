"""The test of two kinds of field by documents: hand counts, invariances, power."""

import numpy as np
import pytest

from formlab import tables
from formlab.analysis.finding_pairs import compare_kinds, kind_tallies, within_test
from tests.analysis.made_pairs import made
from tests.analysis.test_finding_kinds import planted


def test_difference_within_documents_is_a_hand_count():
    # Document 1: 1 of 2 against 2 of 2, u = (2*2 - 1*2)/4 = 0.5, weight 2*2/4 = 1.
    # Document 2: 0 of 1 against 1 of 3, u = (1*1 - 0*3)/4 = 0.25, weight 3/4.
    # Document 3 holds the first alone and adds nothing. Sum 0.75 over 1.75.
    first = np.array([[1.0, 2], [0, 1], [5, 5]])
    second = np.array([[2.0, 2], [1, 3], [0, 0]])
    difference, error, p, weights = within_test(first, second)
    assert difference == pytest.approx(0.75 / 1.75)
    assert weights == pytest.approx((1.75, 1 + 0.75**2))
    # t = 0.75 / sqrt(0.5² + 0.25²) = 1.3416 with one degree of freedom: p = 1 - 2 atan(t)/pi.
    assert p == pytest.approx(1 - 2 * np.arctan(0.75 / np.sqrt(0.3125)) / np.pi)
    # Residuals 0.5 - 3/7 and 0.25 - 3/7 * 0.75 are ±1/14; (n/(n-1)) 2/196 is 2 * 2/196.
    assert error == pytest.approx(np.sqrt(4 / 196) / 1.75)


def test_sizes_of_kinds_and_ease_of_documents_move_nothing():
    # In each document both kinds have one rate; hard documents hold many of the second kind.
    first = np.array([[9.0, 10], [1, 10], [2, 2]])
    second = np.array([[0.9, 1], [10, 100], [3, 3]])
    assert within_test(first, second)[0] == pytest.approx(0)


def test_turning_the_pair_round_turns_the_sign_alone():
    draw = np.random.default_rng(0)
    for _ in range(50):
        total = draw.integers(1, 9, (7, 2)).astype(float)
        hits = np.floor(draw.random((7, 2)) * (total + 1))
        pair = [np.stack([hits[:, i], total[:, i]], 1) for i in (0, 1)]
        there, back = within_test(*pair), within_test(*pair[::-1])
        assert there[0] == pytest.approx(-back[0])
        assert there[1:3] == pytest.approx(back[1:3])


def test_least_difference_is_found_in_about_four_of_five_samples():
    pair = compare_kinds(planted(0, docs=40, sizes=(10, 10, 0)), metric="outcome")[0]
    gap = pair.least(0.05)
    hits = 0
    for seed in range(100, 200):
        one = planted(seed, docs=40, sizes=(10, 10, 0), rates=(0.5 + gap / 2, 0.5 - gap / 2, 0))
        hits += compare_kinds(one, metric="outcome")[0].p <= 0.05
    assert 65 <= hits <= 95


def test_a_metric_of_fields_and_the_share_right_agree_where_they_count_the_same():
    one = planted(2, rates=(0.9, 0.2, 0.9), spread=0)
    by_rate = kind_tallies(one, "normalised_accuracy", "kind")
    by_case = kind_tallies(one, "outcome", "kind")
    assert all((by_rate[name] == by_case[name]).all() for name in "abc")


def test_f1_of_entities_is_twice_the_found_over_both_sides():
    one = made("m", [("1", "/a", 1)])
    rows = [
        {
            "benchmark": "b", "split": "s", "doc_id": "1", "system": "m", "level": "document",
            "slice_by": "entity", "slice_value": name, "metric": "f1", "stats": stats, "value": 0.5,
            "status": "ok", "settings": {},
        }
        for name, stats in (("day", [1.0, 2, 2]), ("sum", [0.0, 1, 3]))
    ]  # fmt: skip
    one = type(one)(**vars(one) | {"scores": tables.table("scores", rows)})
    found = kind_tallies(one, "f1", "entity")
    assert {name: parts.tolist() for name, parts in found.items()} == {
        "day": [[2.0, 4.0]], "sum": [[0.0, 4.0]],
    }  # fmt: skip
