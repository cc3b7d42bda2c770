import random

import pytest

from formlab.metrics import METRICS
from formlab.metrics.marking import TICK, all_constituents, mark_tallies, marks

mark_precision, mark_recall, mark_f1 = (METRICS[f"mark_{n}"] for n in ("precision", "recall", "f1"))
CROSS = "[x] Other insurance; Fernhill Mutual; 1,200.00"


def f1(gold, pred, subtype=None, kind=None):
    (parts,) = mark_tallies([gold], [pred], [subtype], [kind])["mark_f1"].tolist()
    return tuple(parts)


def test_every_way_to_say_ticked_is_one_mark_and_to_say_empty_none():
    for ticked in ("checked", "X", "☑", "[x]", "true", "marked"):
        assert list(marks(ticked)) == [TICK]
    for empty in ("", " ", "unchecked", "☐", "[ ]", "false", "none", "[]"):
        assert not marks(empty)


@pytest.mark.parametrize(
    ("gold", "preds", "precision", "recall"),
    [
        # A box rightly left empty adds nothing; one ticked on one side only is wrong there.
        ("unchecked", ["no"], (0, 0), (0, 0)),
        ("☐", ["checked", "yes", "X"], (0, 1), (0, 0)),
        ("checked", ["unchecked", "no", "☐", "false", ""], (0, 0), (0, 1)),
    ],
)
def test_states_of_a_box_by_hand(gold, preds, precision, recall):
    for pred in preds:
        assert mark_precision(gold, pred).parts == precision
        assert mark_recall(gold, pred).parts == recall
        assert mark_f1(gold, pred).parts == (0, precision[1] + recall[1])


def test_a_question_answered_no_and_missed_is_a_miss():
    # Golds No, Yes, No; only Yes is read: 1 of 1 mark given is right, 1 of 3 is found.
    tallies = mark_tallies(["No", "Yes", "No"], ["", "Yes", ""], ["checkbox"] * 3)
    sums = {name: parts.sum(axis=0).tolist() for name, parts in tallies.items()}
    assert sums == {"mark_precision": [1, 1], "mark_recall": [1, 3], "mark_f1": [2, 4]}


@pytest.mark.parametrize(
    ("gold", "pred", "subtype", "parts"),
    [
        # A ringed "no" is a mark.
        ("No", "No", "circle", (2, 2)),
        ("No", "false", "circle", (2, 2)),
        ("No", "Yes", "circle", (0, 2)),
        ("No", "", "circle", (0, 1)),
        # To say of a ring that it is unchecked says of none which it is.
        ("No", "unchecked", "circle", (0, 1)),
        # The gold says that this is a box; a question that has the option "no" says so as well.
        ("unchecked", "No", None, (0, 0)),
        ("No", "No", "checkbox", (2, 2)),
        ("No", "false", "checkbox", (2, 2)),
        ("No", "unchecked", "checkbox", (2, 2)),
        ("No", "☐", "checkbox", (2, 2)),
        ("No", "X", "checkbox", (0, 2)),
        # All that a choice says is an option; where nothing is ringed, to say so is right.
        ("off", "on", "circle", (0, 2)),
        ("", "none", "circle", (0, 0)),
        # A ringed figure is an option and no state.
        ("1", "2", "circle", (0, 2)),
        # A comma separates where the gold is a list.
        ("Tea; Milk", "milk, Tea", None, (4, 4)),
        ('["Tea", "Milk"]', "milk, Tea", None, (4, 4)),
        ("Tea\nMilk", "milk, Tea", None, (4, 4)),
        ("Tea | Milk", "milk, Tea", None, (4, 4)),
        *((g, "milk, Rusk, Jam", None, (2, 5)) for g in ("Tea; Milk", "Tea | Milk", "Tea\nMilk")),
    ],
)
def test_options_and_states_by_hand(gold, pred, subtype, parts):
    assert f1(gold, pred, subtype) == parts


@pytest.mark.parametrize(
    ("value", "subtype", "kind", "only"),
    [("No", "circle", None, "no"), ("none", None, "radio", "none"), ("off", "circle", None, "off"),
     ("1", "circle", None, "1"),
     ("99.40; was 93.40", "annotation", None, "99.40; was 93.40")],
)  # fmt: skip
def test_a_value_that_is_one_mark(value, subtype, kind, only):
    assert list(marks(value, subtype=subtype, kind=kind)) == [only]


def test_a_comma_inside_an_option_does_not_split_it():
    gold = "Married, filing jointly"
    assert f1(gold, gold) == (2, 2)
    # The same option as a list of one, and torn apart by a model: the gold shows it is one.
    for pred in (f'["{gold}"]', '["Married", "filing jointly"]', f"{gold}; Single"):
        assert mark_recall(gold, pred).parts == (1, 1)
    assert mark_precision(gold, f"{gold}; Single").parts == (1, 2)
    assert mark_f1(gold, "Single").parts == (0, 2)


def test_cells_of_a_table_count_at_their_row():
    gold = "Day | Hours\nMon | 8\nTue | 8"
    # The same text as Markdown, and as JSON; Tuesday's hours wrong: 5 of 6 cells right.
    markdown = "| Day | Hours |\n|---|---|\n| Mon | 8 |\n| Tue | 9 |"
    as_json = '[["Day", "Hours"], ["Mon", 8], ["Tue", 9]]'
    for pred in (markdown, as_json):
        assert f1(gold, pred, "table-grid") == (10, 12)
    # A row too high, the cells are the right ones at the wrong place; both first cells differ.
    moved = "Mon | 8\nTue | 8"
    assert mark_tallies([gold], [moved], ["table-grid"])["mark_recall"].tolist() == [[1, 6]]


def test_random_sets_agree_with_set_arithmetic():
    rng = random.Random(3)
    options = [f"option {n}" for n in range(8)]
    for _ in range(100):
        gold, pred = (rng.sample(options, rng.randint(0, 8)) for _ in "ab")
        right, texts = len(set(gold) & set(pred)), ("; ".join(gold), "; ".join(pred))
        assert mark_f1(*texts).parts == (2 * right, len(gold) + len(pred))
        assert mark_precision(*texts).parts == (right, len(pred))
        assert mark_recall(*texts).parts == (right, len(gold))


@pytest.mark.parametrize(
    "value", ["\x00\ud800\u2028", "|" * 100_000, "[" * 100_000, "a;" * 100_000]
)
def test_hostile_values_are_compared(value):
    for subtype in (None, "table-grid", "annotation", "circle"):
        assert mark_tallies([value], ["Tea"], [subtype])["mark_recall"][0][0] == 0
    assert not all_constituents("Tea; Milk", value)


@pytest.mark.parametrize(
    ("gold", "pred", "right"),
    [
        (CROSS, CROSS, True),
        (CROSS, "1200; ☑ other insurance; Fernhill mutual", True),
        (CROSS, "[ ] Other insurance; Fernhill Mutual; 1,200.00", False),
        (CROSS, "[x] Other insurance; Fernhill Mutual", False),
        (CROSS, CROSS + "; and more", False),
        (CROSS, "", False),
        # The same part twice is wanted twice.
        ("9; 9", "9; 8", False),
        ("9; 9.00", "9.0; 9", True),
        # An object or a list has the same parts as text.
        ("[x] paid", '{"box": true, "text": "paid"}', True),
        ('["[ ] no", null, 7]', "unchecked; no; 7", True),
    ],
)
def test_a_cross_field_is_right_only_with_every_part(gold, pred, right):
    assert all_constituents(gold, pred) is right
