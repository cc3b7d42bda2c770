import json
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


@pytest.mark.parametrize("ticked", ["checked", "X", "☑", "[x]", "true", "marked"])
def test_every_way_to_say_ticked_is_one_mark(ticked):
    assert list(marks(ticked)) == [TICK]


@pytest.mark.parametrize("empty", ["", " ", "unchecked", "☐", "[ ]", "false", "none", "[]"])
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


@pytest.mark.parametrize("way", ["unchecked", "no", "☐", "false", ""])
def test_a_box_ticked_on_one_side_only_is_wrong_on_that_side(way):
    for yes in ("checked", "yes", "X"):
        assert mark_precision("☐", yes).parts == (0, 1)
        assert mark_recall("☐", yes).parts == (0, 0)
    assert mark_precision("checked", way).parts == (0, 0)
    assert mark_recall("checked", way).parts == (0, 1)


def test_a_question_answered_no_and_missed_is_a_miss():
    # Golds No, Yes, No; only Yes is read: 1 of 1 mark given is right, 1 of 3 is found.
    tallies = mark_tallies(["No", "Yes", "No"], ["", "Yes", ""], ["checkbox"] * 3)
    sums = {name: parts.sum(axis=0).tolist() for name, parts in tallies.items()}
    assert sums == {"mark_precision": [1, 1], "mark_recall": [1, 3], "mark_f1": [2, 4]}


def test_a_ringed_no_is_a_mark():
    assert list(marks("No", subtype="circle")) == ["no"]
    for said, parts in (("No", (2, 2)), ("false", (2, 2)), ("Yes", (0, 2)), ("", (0, 1))):
        assert mark_tallies(["No"], [said], ["circle"])["mark_f1"].tolist() == [list(parts)]
    # To say of a ring that it is unchecked says of none which it is.
    assert mark_tallies(["No"], ["unchecked"], ["circle"])["mark_f1"].tolist() == [[0, 1]]


def test_no_beside_a_single_box_is_its_state():
    # The gold says that this is a box; a question that has the option "no" says so as well.
    assert mark_f1("unchecked", "No").parts == (0, 0)
    for said in ("No", "false", "unchecked", "☐"):
        assert mark_tallies(["No"], [said], ["checkbox"])["mark_f1"].tolist() == [[2, 2]]
    assert mark_tallies(["No"], ["X"], ["checkbox"])["mark_f1"].tolist() == [[0, 2]]


def test_all_that_a_choice_says_is_an_option():
    assert list(marks("none", kind="radio")) == ["none"]
    assert list(marks("off", subtype="circle")) == ["off"]
    assert mark_tallies(["off"], ["on"], ["circle"])["mark_f1"].tolist() == [[0, 2]]
    # Where nothing is ringed, to say so is right.
    assert mark_tallies([""], ["none"], ["circle"])["mark_f1"].tolist() == [[0, 0]]


def test_a_comma_inside_an_option_does_not_split_it():
    gold = "Married, filing jointly"
    assert mark_tallies([gold], [gold])["mark_f1"].tolist() == [[2, 2]]
    # The same option as a list of one, and torn apart by a model: the gold shows it is one.
    for pred in (f'["{gold}"]', '["Married", "filing jointly"]', f"{gold}; Single"):
        assert mark_recall(gold, pred).parts == (1, 1)
    assert mark_precision(gold, f"{gold}; Single").parts == (1, 2)
    assert mark_f1(gold, "Single").parts == (0, 2)


def test_a_comma_separates_where_the_gold_is_a_list():
    for gold in ("Tea; Milk", '["Tea", "Milk"]', "Tea\nMilk", "Tea | Milk"):
        assert mark_f1(gold, "milk, Tea").parts == (4, 4)
        assert mark_f1(gold, "milk, Rusk, Jam").parts == (2, 5)


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


def test_random_golds_against_themselves_are_whole_and_against_silence_are_missed():
    rng = random.Random(11)
    words = ["no", "Yes", "Tea", "off", "0", "3", "N", "Married, filing jointly", "a, b, c", "none"]
    for _ in range(400):
        options = rng.sample(words, rng.randint(1, 4))
        subtype, kind = rng.choice([(None, None), ("checkbox", "radio"), ("circle", "choice")])
        gold = rng.choice([json.dumps(options), "; ".join(options)])
        said = rng.sample(options, len(options))
        pred = rng.choice([json.dumps(said), "; ".join(said), "\n".join(said)])
        own, silent = (
            mark_tallies([gold], [text], [subtype], [kind])["mark_f1"][0] for text in (pred, "")
        )
        wanted = marks(gold, subtype=subtype, kind=kind).total()
        assert own.tolist() == [2 * wanted, 2 * wanted]
        assert silent.tolist() == [0, wanted]
        # What is wanted follows from the gold alone.
        other = rng.choice(words)
        recall = mark_tallies([gold], [other], [subtype], [kind])["mark_recall"][0]
        assert recall[1] == wanted
        assert recall[0] <= wanted


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
