import random
from pathlib import Path

import pytest
import yaml

from formlab_arena.labelled_lines import labelled_values
from formlab_arena.matching import assigned, closest, pair
from formlab_arena.page_fields import native, same
from formlab_arena.value_patterns import as_asked, in_control

VALUES = yaml.safe_load(Path(__file__).with_name("values.yml").read_text("utf-8"))


def option_meant(value, options):
    at = closest(value, options)
    return None if at is None else options[at]


@pytest.mark.parametrize(
    ("table", "function"),
    [
        ("written as the field asks", as_asked),
        ("in the form of a control", in_control),
        ("options by what they mean", option_meant),
        ("as the control takes it", native),
    ],
)
def test_values_of_the_table_are_written_so(table, function):
    for *given, written in VALUES[table]:
        assert function(*given) == written, given


def test_order_of_day_and_month_is_that_of_the_text():
    assert in_control("05/06/2027", "date") == "2027-05-06"
    assert in_control("05/06/2027", "date", order="day") == "2027-06-05"


def test_labels_and_values_are_read_back_in_any_notation():
    pairs = [tuple(pair) for pair in VALUES["labelled"]]
    for line, between, before, after in VALUES["notations"]:
        lines = [line.format(n=n, k=k, v=v) for n, (k, v) in enumerate(pairs)]
        text = before + between.join(lines) + after
        read = labelled_values(text, [label for label, _ in pairs])
        assert set(pairs) <= {(each.label, each.value) for each in read}, line


def test_any_values_on_lines_are_read_back_exactly():
    dice = random.Random(16)
    letters = "abc XYZ 019 .,;!?-+/()]{}<>@#$%&=^~éßÅ中’ :'"
    for _ in range(300):
        pairs = []
        for n in range(dice.randint(2, 12)):
            drawn = "".join(dice.choice(letters) for _ in range(dice.randint(1, 60)))
            # Several spaces divide cells; a mark at the end of all values is no part of any.
            pairs.append((f"Label {n}", f"v_{n} {' '.join(drawn.split())} {n % 2}w"))
        read = labelled_values("\n".join(f"{k}: {v}" for k, v in pairs))
        first = {each.place: each for each in reversed(read)}
        assert [(each.label, each.value) for _, each in sorted(first.items())] == pairs


@pytest.mark.parametrize(
    "text", [":" * 9000, "a: " * 9000, "\0: \ud800", "| " * 9000, "Ab. " * 9000]
)
def test_hostile_lines_cost_no_crash(text):
    labelled_values(text, ["a", "(", "*" * 5000])


def test_pairs_are_one_to_one_whatever_the_text():
    dice = random.Random(0)
    for _ in range(300):
        label = lambda: "".join(dice.choices("ab A1-_İ名", k=dice.randint(0, 6)))  # noqa: E731
        keys = list(dict.fromkeys(label() for _ in range(5)))
        labels = [label() for _ in range(5)]
        pairs = pair(keys, {str(n): (text,) for n, text in enumerate(labels)})
        assert len(set(pairs.values())) == len(pairs)
        assert all(labels[int(pairs[key])] == key for key in keys if key in labels)


def values_for(text, *labels, used=()):
    pairs = assigned([[label] for label in labels], labelled_values(text), used=used)
    return [pair and pair.value for pair in pairs]


def test_best_assignment_is_of_all_fields_together():
    text = "Company Name: Lund\nContact Name: Bo\nName: Ada\nE-mail: a@b.example"
    assert values_for(text, "Name", "Contact name", "Company name") == ["Ada", "Bo", "Lund"]
    assert values_for(text, "Contact e-mail", "Email *") == [None, "a@b.example"]


def test_equal_texts_differ_in_case_spaces_and_marks_only():
    assert same(" Ada  Berg", "ada berg")
    assert not same("", "-")
    assert same("", " ")
