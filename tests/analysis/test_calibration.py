"""Whether confidences are true: calibration, and risk against coverage."""

import numpy as np
import pytest

from formlab.analysis import calibration
from formlab.errors import DataMissing
from tests.analysis.made_values import SEEDS, simulated, values


def test_reliability_is_the_share_right_of_groups_of_equal_size():
    # Two groups of three: 1 of 3 right at 0.2, 0.3, 0.4; 3 of 3 at 0.8, 0.9 and 1.
    table = calibration.reliability(
        values([0.2, 0.9, 0.3, 0.8, 0.4, 1.0], [False, True, True, True, False, True], range(6)),
        bins=2,
    )
    assert table["lowest"].to_list() == [0.2, 0.8]
    assert table["right"].to_list() == [1 / 3, 1.0]
    assert table["confidence"].to_list() == pytest.approx([0.3, 0.9])
    assert table["n_cases"].to_list() == [3, 3]


def test_calibration_error_by_hand():
    # 0.3 - 1/3 and 0.9 - 1, three answers of six each; too unsure by their mean.
    result = calibration.calibration_error(
        values([0.2, 0.9, 0.3, 0.8, 0.4, 1.0], [False, True, True, True, False, True], range(6)),
        bins=2,
    )
    assert result["error"] == pytest.approx((1 / 30 + 0.1) / 2)
    assert result["gap"] == pytest.approx(-(1 / 30 + 0.1) / 2)
    assert result["ci_low"] <= result["error"] <= result["ci_high"]


def test_answers_of_one_confidence_are_never_parted():
    table = calibration.reliability(values([0.5] * 7 + [0.9], [True] * 8, range(8)), bins=4)
    assert table["n_cases"].to_list() == [7, 1]


@pytest.mark.parametrize("luck", [0.0, 0.3])
def test_a_calibrated_system_comes_out_as_such_and_a_bad_one_too(luck):
    def alarms(truth):
        return np.mean([
            calibration.calibration_error(drawn, resamples=100)["p"] <= 0.05
            for drawn in (simulated(seed, truth=truth, luck=luck) for seed in range(60))
        ])  # fmt: skip

    # At 5 % more than 11 of 60 have a chance of 1 in 10,000.
    assert alarms(lambda sure: sure) <= 11 / 60
    assert alarms(lambda sure: sure**3) >= 0.99


@pytest.mark.parametrize("power", [1, 3])
def test_the_interval_of_the_calibration_error_covers_the_true_one(power):
    covered = 0
    for seed in range(SEEDS):
        drawn = simulated(seed, truth=lambda sure: sure**power)
        # The true error in the same groups: what their answers promise less what they keep.
        table = calibration.reliability(drawn, resamples=2)
        sure = drawn["confidence"].to_numpy()
        group = np.searchsorted(table["highest"].to_numpy(), sure)
        gaps = np.bincount(group, weights=sure - sure**power)
        truth = np.abs(gaps).sum() / len(sure)
        result = calibration.calibration_error(drawn, resamples=100, seed=seed)
        covered += result["ci_low"] <= truth <= result["ci_high"]
    # At 95 % fewer than 177 of 200 have a chance of 1 in 10,000; more than that is allowed.
    assert covered >= 177


def test_risk_against_coverage_by_hand():
    # In order of confidence: right, wrong, right; one value was missed and is never passed.
    drawn = values([0.9, 0.8, 0.7, None], [True, False, True, False], range(4))
    table = calibration.risk_coverage(drawn)
    assert table["coverage"].to_list() == [0.25, 0.5, 0.75]
    assert table["risk"].to_list() == pytest.approx([0, 1 / 2, 1 / 3])
    assert table["confidence"].to_list() == [0.9, 0.8, 0.7]


def test_without_confidences_there_is_one_clear_error():
    with pytest.raises(DataMissing, match="no answer has a confidence"):
        calibration.calibration_error(values([None], [True], [0]))
