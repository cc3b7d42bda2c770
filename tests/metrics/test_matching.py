"""Right values of one's own forms: a hand count, plain Python sets, and what never changes."""

import math
import random

import numpy as np
import pytest

from formlab import metrics
from formlab.metrics.counts import match_tallies
from tests.seeds import seeds


def summed(*sides, **options):
    return {
        name.removeprefix("match_"): tuple(rows.sum(axis=0))
        for name, rows in match_tallies(*sides, **options).items()
    }


def test_tallies_match_hand_count():
    golds = ["9.00", "Ada", "x", "", "", None]
    preds = ["9", "Eda", "", "", "y", "z"]
    right = [True, False, False, True, False, False]
    # Gold values: 9.00, Ada, x. Given: 9, Eda, y, z. Right of both: 9. Blank and right: the fourth.
    parts = summed(golds, preds, right, weights=[3, 1, 1, 1, 1, 1])
    assert parts["precision"] == (1, 4)
    assert parts["recall"] == (1, 3)
    assert parts["f1"] == (2, 7)
    # Five fields are in the gold; the sixth only the prediction has.
    assert parts["accuracy"] == (2, 5)
    # 9.00 counts three times on both sides.
    assert parts["weighted"] == (6, 11)
    assert "weighted" not in summed(golds, preds, right)


def test_blank_field_left_blank_is_right_and_in_no_sum_of_recall():
    assert summed([""], [""], [True]) == {
        "precision": (0, 0), "recall": (0, 0), "f1": (0, 0), "accuracy": (1, 1),
    }  # fmt: skip
    assert math.isnan(metrics.get("match_recall").score(np.zeros(2)))


def test_sides_of_different_length_are_refused():
    with pytest.raises(ValueError, match="must be as many"):
        match_tallies(["a"], [], [])


@pytest.mark.parametrize("seed", seeds(50))
def test_scores_are_those_of_sets_and_lie_in_range(seed):
    draw = random.Random(seed)
    count = draw.randint(0, 12)
    golds, preds = (draw.choices([None, "", " ", "a", "b"], k=count) for _ in range(2))
    right = [gold == pred and gold is not None for gold, pred in zip(golds, preds, strict=True)]
    weights = draw.choices([1, 2, 3], k=count)
    parts = summed(golds, preds, right, weights=weights)
    in_gold, in_pred = (
        {n for n, value in enumerate(side) if (value or "").strip()} for side in (golds, preds)
    )
    good = {n for n in range(count) if right[n]}
    assert parts["precision"] == (len(good & in_pred), len(in_pred))
    assert parts["recall"] == (len(good & in_gold), len(in_gold))
    assert parts["f1"] == (2 * len(good & in_gold), len(in_gold) + len(in_pred))
    assert parts["weighted"][1] == sum(weights[n] for side in (in_gold, in_pred) for n in side)
    assert all(0 <= hits <= total for hits, total in parts.values())
