import random

import pytest

from formlab_arena.labelled_lines import labelled_values
from formlab_arena.matching import (
    assigned,
    closest,
    likeness,
    pair,
)


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


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("Your e-mail *", "Email address"),
        ("Phone no.", "Telephone number (optional)"),
        ("firstName", "First name"),
        ("Postcode", "ZIP code"),
        ("What is your date of birth?", "DOB"),
        ("Attachments", "Attachment"),
        ("Organisation", "Organization"),
    ],
)
def test_same_labels_in_other_words_are_alike(label, other):
    assert likeness(label, other) > 0.95


@pytest.mark.parametrize(
    ("label", "other"),
    [("First name", "Last name"), ("Reference email", "Reference name"), ("", "Name"), ("*", "?")],
)
def test_other_labels_are_not_alike(label, other):
    assert likeness(label, other) < 0.58


def test_best_assignment_is_of_all_fields_together():
    text = "Company Name: Lund\nContact Name: Bo\nName: Ada\nE-mail: a@b.example"
    assert values_for(text, "Name", "Contact name", "Company name") == ["Ada", "Bo", "Lund"]
    assert values_for(text, "Contact e-mail", "Email *") == [None, "a@b.example"]


@pytest.mark.parametrize(
    ("value", "options", "chosen"),
    [
        ("No", ["Please select", "Norway", "Yes", "No", "NO"], "No"),
        (False, ["Yes", "No, thanks"], "No, thanks"),
        ("true", ["No", "Yes"], "Yes"),
        ("urgent", ["Urgent - System Down", "Normal"], "Urgent - System Down"),
        ("Urgent-System Down", ["Urgent - System Down", "Normal"], "Urgent - System Down"),
        ("UK", ["United States", "United Kingdom"], "United Kingdom"),
        ("12", ["1-10", "11-50", "51+"], "11-50"),
        ("5", ["1", "5", "50"], "5"),
        ("Enginering", ["Sales", "Engineering"], "Engineering"),
        ("the second one", ["First", "Third"], None),
        ("Select", ["Select…", "Other"], None),
        ("", ["", "a"], None),
    ],
)
def test_option_is_found_by_what_it_means(value, options, chosen):
    at = closest(value, options)
    assert (None if at is None else options[at]) == chosen
