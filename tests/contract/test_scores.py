"""Scores: the number of a hand count, the settings beside it, and no document lost."""

import pytest

from tests.contract.doors import SCORE, rows, value


def test_s01_scores_equal_a_hand_count_and_carry_their_settings(work):
    table = rows(*SCORE, "first.jsonl")
    assert value(table, "match_f1") == pytest.approx(4 / 6, abs=1e-9)
    # 11 + 10 edits of the dates, 1 of the name, 1 of the total; 25 and 29 characters.
    assert value(table, "cer") == pytest.approx(23 / 54, abs=1e-9)
