import pytest

from formlab_arena.label_matching import assigned, likeness
from formlab_arena.labelled_lines import labelled_values


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


def test_repeated_labels_are_taken_in_order_and_places_of_other_pages_last():
    text = "Name: Ada\nAge: 30\nName: Bo\nAge: 40"
    assert values_for(text, "Name", "Age", "Name", "Age") == ["Ada", "30", "Bo", "40"]
    assert values_for(text, "Name", "Age", used={0, 1}) == ["Bo", "40"]


def test_section_tells_equal_labels_apart():
    text = "Tenant\n\n- Name: Bo\n\n## Owner\n- Name: Ada"
    assert values_for(text, "Owner name") == ["Ada"]


def test_no_fields_and_no_values_give_nothing():
    assert assigned([], labelled_values("a: b")) == []
    assert values_for("", "Name") == [None]
