"""Whether confidences sort and are true, and what needs no review."""

import numpy as np
import polars as pl
import pytest

from formlab.analysis.confidence import (
    calibration_error,
    reliability,
    straight_through,
    whole_documents,
)
from formlab.errors import DataMissing
from tests.analysis.made_values import SEEDS, simulated, values


def test_reliability_is_the_share_right_of_groups_of_equal_size():
    # Two groups of three: 1 of 3 right at 0.2, 0.3, 0.4; 3 of 3 at 0.8, 0.9 and 1.
    table = reliability(
        values([0.2, 0.9, 0.3, 0.8, 0.4, 1.0], [False, True, True, True, False, True], range(6)),
        bins=2,
    )
    assert table["lowest"].to_list() == [0.2, 0.8]
    assert table["right"].to_list() == [1 / 3, 1.0]
    assert table["confidence"].to_list() == pytest.approx([0.3, 0.9])
    assert table["n_cases"].to_list() == [3, 3]


def test_calibration_error_by_hand():
    # 0.3 - 1/3 and 0.9 - 1, three answers of six each; too unsure by their mean.
    result = calibration_error(
        values([0.2, 0.9, 0.3, 0.8, 0.4, 1.0], [False, True, True, True, False, True], range(6)),
        bins=2,
    )
    assert result["error"] == pytest.approx((1 / 30 + 0.1) / 2)
    assert result["gap"] == pytest.approx(-(1 / 30 + 0.1) / 2)
    assert result["gap_low"] <= result["gap"] <= result["gap_high"]


def test_answers_of_one_confidence_are_never_parted():
    table = reliability(values([0.5] * 7 + [0.9], [True] * 8, range(8)), bins=4)
    assert table["n_cases"].to_list() == [7, 1]


def test_risk_against_coverage_by_hand():
    # In order of confidence: right, wrong, right; one value was missed and is never passed.
    drawn = values([0.9, 0.8, 0.7, None], [True, False, True, False], range(4))
    table = reliability(drawn, bins=50)
    assert table["coverage"].to_list() == [0.75, 0.5, 0.25]
    assert table["risk"].to_list() == pytest.approx([1 / 3, 1 / 2, 0])
    assert table["lowest"].to_list() == [0.7, 0.8, 0.9]
    assert (table["risk_low"] <= table["risk"]).all()


def test_whether_confidence_sorts_is_the_share_of_pairs_in_order():
    # Of 3 x 2 pairs of a right answer with a wrong one 4 are in order and 1 is a tie.
    drawn = values([0.9, 0.8, 0.5, 0.5, 0.6], [True, True, True, False, False], range(5))
    assert calibration_error(drawn)["area"] == pytest.approx(4.5 / 6)
    # A confidence that has nothing to do with being right, and one that has.
    shown, off = dict.fromkeys(("useless", "useful"), 0), 0
    for seed in range(60):
        truths = {"useless": lambda sure: 0.8 + 0 * sure, "useful": lambda sure: sure**3}
        for name, truth in truths.items():
            error = calibration_error(simulated(seed, truth=truth), resamples=100)
            shown[name] += error["area_low"] > 0.5
        off += calibration_error(simulated(seed, luck=0.3), resamples=100)["gap_low"] > 0
    # Of useless ones, 2.5 % would be shown to sort; more than 6 of 60 have a chance of 1 in 1,000.
    assert shown["useless"] <= 6
    assert shown["useful"] == 60
    # So it is with systems that are right as often as they say, for being surer than that.
    assert off <= 6
    assert error["gap_low"] > 0


def test_without_confidences_there_is_one_clear_error():
    with pytest.raises(DataMissing, match="no answer has a confidence"):
        calibration_error(values([None], [True], [0]))


@pytest.mark.parametrize(("luck", "each"), [(0.0, 5), (0.5, 20)])
def test_what_goes_straight_through_is_as_precise_as_it_says(luck, each):
    """In at most one run of twenty the true precision above the threshold is below the target."""
    target, broken, passed = 0.95, 0, 0
    for seed in range(SEEDS):
        drawn = simulated(seed, n=400 * each, each=each, luck=luck)
        row = straight_through(drawn, targets=[target]).row(0, named=True)
        above = drawn.filter(pl.col("confidence") >= row["threshold"])["confidence"]
        passed += row["n_through"] > 0
        broken += row["n_through"] > 0 and above.mean() < target
        assert row["n_through"] in (0, above.len())
    # At 5 % more than 23 of 200 have a chance of 1 in 10,000.
    assert broken <= 23
    assert passed / SEEDS >= 0.25


def test_a_document_goes_through_if_all_its_values_do():
    drawn = values([0.9, 0.8, 0.7, None, 0.9], [True, True, False, False, True], [0, 0, 1, 1, 2])
    whole = whole_documents(drawn)
    assert whole.select("right", "confidence").rows() == [
        (True, 0.8), (False, None), (True, 0.9)
    ]  # fmt: skip


def test_no_answers_show_a_precision_and_the_table_says_how_many_would():
    drawn = values([0.9] * 50, [True] * 50, range(50))
    row = straight_through(drawn, targets=[0.99], price=2).row(0, named=True)
    assert np.isnan(row["threshold"])
    assert (row["n_through"], row["n_review"], row["cost"]) == (0, 50, 100)
    # 0.99 ** 436 is 0.0125008, just above 0.05 / 4.
    assert row["needed"] == 437


def test_each_kind_has_its_own_threshold_and_what_has_no_confidence_is_reviewed():
    # 400 right answers of one kind; of the other one wrong answer and 99 values without any.
    texts = values([0.9] * 400, [True] * 400, range(400))
    dates = values([0.8] + [None] * 99, [False] * 100, range(100)).with_columns(kind=pl.lit("date"))
    table = straight_through(pl.concat([texts, dates]), targets=[0.95], price=0.5, by="kind")
    columns = ["kind", "threshold", "n_through", "n_review", "cost"]
    assert table.fill_nan(None).select(columns).rows() == [
        ("text", 0.9, 400, 0, 0.0), ("date", None, 0, 100, 50.0)
    ]  # fmt: skip
    # Two groups share the error: 0.95 ** 99 is just below 0.05 / 4 / 2.
    assert table["needed"].to_list() == [99, 99]
