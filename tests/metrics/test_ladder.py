"""Accuracies on the rungs of the strictness ladder."""

import math

import pytest

from formlab import text
from formlab.metrics import METRICS

RUNGS = ("exact", "normalised", "typed", "fuzzy")


def test_accuracy_of_a_column_is_its_share_of_true():
    # Two of three known values are right; the null leaves the count.
    metric = METRICS["exact_accuracy"]
    tallies = metric.tallies([True, False, None, True])
    assert tallies.tolist() == [[1, 1], [0, 1], [0, 0], [1, 1]]
    assert metric.score(tallies.sum(axis=0)) == pytest.approx(2 / 3)
    assert math.isnan(metric.values(tallies)[2])
    assert metric.tallies([]).shape == (0, 2)


def test_accuracies_rise_from_rung_to_rung():
    # Right on: all rungs, all but exact, typed and fuzzy, fuzzy alone, none.
    table = text.ladders(
        ["a", "A b", "1,000", "abcdefghij", "a"], ["a", "a  B", "1000.0", "abcdefghiX", "z"]
    )
    values = []
    for rung in RUNGS:
        metric = METRICS[f"{rung}_accuracy"]
        assert metric.view == rung
        values.append(float(metric.score(metric.tallies(table[rung].to_list()).sum(axis=0))))
    assert values == [0.2, 0.4, 0.6, 0.8]


def test_two_strings_are_judged_by_the_ladder():
    assert METRICS["exact_accuracy"]("a", "A").value == 0
    assert METRICS["normalised_accuracy"]("a", "A").value == 1
    assert (METRICS["exact_accuracy"]("a", "A") + METRICS["exact_accuracy"]("a", "a")).value == 0.5


@pytest.mark.parametrize(
    ("gold", "pred", "right"),
    [
        ("$105,452.00", "105452", 1),
        ("2022-07-01", "1 July 2022", 1),
        ("Tooth 24", "tooth  24", 1),
        ("41", "41.0", 1),
        ("41", "14", 0),
        ("yes", "", 0),
    ],
)
def test_answer_to_a_question_or_check_is_right_however_its_value_is_written(gold, pred, right):
    for name in ("vqa_accuracy", "consistency_accuracy"):
        assert METRICS[name](gold, pred).parts == (right, 1)
