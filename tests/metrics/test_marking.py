import random

import numpy as np
import pytest

from formlab.metrics.marking import (
    MARKING_METRICS,
    TICK,
    all_constituents,
    constituents,
    mark_f1,
    mark_precision,
    mark_recall,
    mark_tallies,
    marks,
)


def test_marks_of_two_ringed_and_three_predicted_by_hand():
    # Gold {tea, milk}, predicted {milk, jam, rusk}: one right of three given, of two wanted.
    gold, pred = "Tea; Milk", '["milk", "Jam", "Rusk"]'
    assert mark_precision(gold, pred).parts == (1, 3)
    assert mark_recall(gold, pred).parts == (1, 2)
    # F1 = 2 tp / (2 tp + fp + fn) = 2 / (2 + 2 + 1).
    assert mark_f1(gold, pred).parts == (2, 5)
    assert mark_f1(gold, pred).value == 0.4


@pytest.mark.parametrize("ticked", ["checked", "X", "yes", "☑", "[x]", "true", "marked"])
def test_every_way_to_say_ticked_is_one_mark(ticked):
    assert list(marks(ticked)) == [TICK]


@pytest.mark.parametrize("empty", ["", " ", "unchecked", "no", "☐", "[ ]", "false", "none", "[]"])
def test_every_way_to_say_empty_is_no_mark(empty):
    assert not marks(empty)


def test_a_box_rightly_left_empty_adds_nothing():
    tallies = mark_tallies(["unchecked"], ["no"])
    assert {name: parts.tolist() for name, parts in tallies.items()} == {
        "mark_precision": [[0, 0]],
        "mark_recall": [[0, 0]],
        "mark_f1": [[0, 0]],
    }
    assert np.isnan(mark_f1("unchecked", "no").value)


def test_a_box_ticked_on_one_side_only_is_wrong_on_that_side():
    assert (mark_precision("no", "yes").parts, mark_recall("no", "yes").parts) == ((0, 1), (0, 0))
    assert (mark_precision("yes", "no").parts, mark_recall("yes", "no").parts) == ((0, 0), (0, 1))


def test_a_ringed_figure_is_an_option_and_no_state():
    assert list(marks("1", subtype="circle")) == ["1"]
    assert mark_f1.name in MARKING_METRICS
    assert mark_tallies(["1"], ["2"], ["circle"])["mark_f1"].tolist() == [[0, 2]]


def test_cells_of_a_table_count_at_their_row():
    gold = "Day | Hours\nMon | 8\nTue | 8"
    # The same text as Markdown, and as JSON; Tuesday's hours wrong: 5 of 6 cells right.
    markdown = "| Day | Hours |\n|---|---|\n| Mon | 8 |\n| Tue | 9 |"
    as_json = '[["Day", "Hours"], ["Mon", 8], ["Tue", 9]]'
    for pred in (markdown, as_json):
        assert mark_tallies([gold], [pred], ["table-grid"])["mark_f1"].tolist() == [[10, 12]]
    # A row too high, the cells are the right ones at the wrong place; both first cells differ.
    moved = "Mon | 8\nTue | 8"
    assert mark_tallies([gold], [moved], ["table-grid"])["mark_recall"].tolist() == [[1, 6]]


def test_an_annotation_is_one_mark_as_a_whole():
    assert list(marks("99.40; was 93.40", subtype="annotation")) == ["99.40; was 93.40"]


def test_random_sets_agree_with_set_arithmetic_and_stay_in_range():
    rng = random.Random(3)
    options = [f"option {n}" for n in range(8)]
    for _ in range(300):
        gold, pred = (rng.sample(options, rng.randint(0, 8)) for _ in "ab")
        right = len(set(gold) & set(pred))
        found = mark_f1("; ".join(gold), "; ".join(pred))
        assert found.parts == (2 * right, len(gold) + len(pred))
        assert np.isnan(found.value) if not gold + pred else 0 <= found.value <= 1
        back = mark_f1("; ".join(pred), "; ".join(gold))
        assert found.parts == back.parts
        assert mark_precision("; ".join(gold), "; ".join(pred)).parts == (
            mark_recall("; ".join(pred), "; ".join(gold)).parts
        )


def test_a_cross_field_is_right_only_with_every_part():
    gold = "[x] Other insurance; Fernhill Mutual; 1,200.00"
    assert all_constituents(gold, gold)
    assert all_constituents(gold, "1200; ☑ other insurance; Fernhill mutual")
    assert not all_constituents(gold, "[ ] Other insurance; Fernhill Mutual; 1,200.00")
    assert not all_constituents(gold, "[x] Other insurance; Fernhill Mutual")
    assert not all_constituents(gold, gold + "; and more")
    assert not all_constituents(gold, "")


def test_the_same_part_twice_is_wanted_twice():
    assert not all_constituents("9; 9", "9; 8")
    assert all_constituents("9; 9.00", "9.0; 9")


def test_an_object_gives_the_same_parts_as_text():
    assert constituents('{"box": true, "text": "paid"}') == constituents("[x] paid")
    assert constituents('["[ ] no", null, 7]') == ["unchecked", "no", "7"]


@pytest.mark.parametrize(
    "value",
    ["\x00\ud800\u2028", "|" * 100_000, ";" * 100_000, "[" * 100_000, "x" * 1_000_000, "☑" * 50_000,
     "a;" * 100_000],
)  # fmt: skip
def test_hostile_values_are_compared_without_an_error(value):
    for subtype in (None, "table-grid", "annotation", "circle"):
        mark_tallies([value], ["Tea"], [subtype])
    all_constituents("Tea; Milk", value)
    all_constituents(value, value)
