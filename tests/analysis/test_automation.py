"""What goes straight through without review."""

import numpy as np
import polars as pl
import pytest

from formlab.analysis import automation
from tests.analysis.made_values import SEEDS, simulated, values


@pytest.mark.parametrize(("luck", "each"), [(0.0, 5), (0.5, 20)])
def test_what_goes_straight_through_is_as_precise_as_it_says(luck, each):
    """In at most one run of twenty the true precision above the threshold is below the target."""
    target, broken, passed = 0.95, 0, 0
    for seed in range(SEEDS):
        drawn = simulated(seed, n=400 * each, each=each, luck=luck)
        row = automation.straight_through(drawn, targets=[target]).row(0, named=True)
        above = drawn.filter(pl.col("confidence") >= row["threshold"])["confidence"]
        passed += row["n_through"] > 0
        broken += row["n_through"] > 0 and above.mean() < target
        assert row["n_through"] in (0, above.len())
    # At 5 % more than 23 of 200 have a chance of 1 in 10,000.
    assert broken <= 23
    assert passed / SEEDS >= 0.25


def test_a_sequence_that_has_failed_does_not_go_on():
    # The surest answers are wrong: all sequences begin below the target, and all 5,000 are above.
    drawn = values(np.linspace(1, 0.5, 5000), [n >= 40 for n in range(5000)], range(5000))
    row = automation.straight_through(drawn, targets=[0.95]).row(0, named=True)
    assert np.isnan(row["threshold"])
    assert automation.straight_through(drawn[40:], targets=[0.95])["n_through"].item() == 4960


def test_a_document_goes_through_if_all_its_values_do():
    drawn = values([0.9, 0.8, 0.7, None, 0.9], [True, True, False, False, True], [0, 0, 1, 1, 2])
    whole = automation.whole_documents(drawn)
    assert whole.select("right", "confidence").rows() == [
        (True, 0.8), (False, None), (True, 0.9)
    ]  # fmt: skip


def test_no_answers_show_a_precision_and_the_table_says_how_many_would():
    drawn = values([0.9] * 50, [True] * 50, range(50))
    row = automation.straight_through(drawn, targets=[0.99], price=2).row(0, named=True)
    assert np.isnan(row["threshold"])
    assert (row["n_through"], row["n_review"], row["cost"]) == (0, 50, 100)
    # 0.99 ** 436 is 0.0125008, just above 0.05 / 4.
    assert row["needed"] == 437


def test_each_kind_has_its_own_threshold_and_what_has_no_confidence_is_reviewed():
    # 400 right answers of one kind; of the other one wrong answer and 99 values without any.
    texts = values([0.9] * 400, [True] * 400, range(400))
    dates = values([0.8] + [None] * 99, [False] * 100, range(100)).with_columns(kind=pl.lit("date"))
    table = automation.straight_through(
        pl.concat([texts, dates]), targets=[0.95], price=0.5, by="kind"
    )
    columns = ["kind", "threshold", "n_through", "n_review", "cost"]
    assert table.fill_nan(None).select(columns).rows() == [
        ("text", 0.9, 400, 0, 0.0), ("date", None, 0, 100, 50.0)
    ]  # fmt: skip
    # Two groups share the error: 0.95 ** 99 is just below 0.05 / 4 / 2.
    assert table["needed"].to_list() == [99, 99]
