import random
import time

import pytest

from formlab_arena.labelled_lines import labelled_values
from formlab_arena.matching import (
    assigned,
    closest,
    file_named,
    likeness,
    options_in,
    pair,
    several,
)


def test_labels_are_paired_with_names_whatever_the_notation():
    fields = {
        "firstName": ("firstName", "First name *"), "lastName": ("lastName", "Family name"),
        "mail": ("mail", "Your e-mail address"), "mail2": ("mail2", "Confirm e-mail address"),
        "dob": ("dob", "Date of birth (DD/MM/YYYY)"),
    }  # fmt: skip
    keys = ["First Name", "lastname", "Your Email Address", "Confirm Email", "Date of birth"]
    assert list(pair(keys, fields).values()) == list(fields)


def test_key_that_may_be_two_fields_is_left_out_and_an_equal_one_takes_the_first():
    assert pair(["Name"], {"a": ("First name",), "b": ("Last name",)}) == {}
    assert pair(["Name"], {"a": ("Name",), "b": ("Name",)}) == {"Name": "a"}
    # The second is left for the key that is like it only.
    assert pair(["Name", "Company"], {"a": ("Company name",), "b": ("Name",)}) == {
        "Name": "b", "Company": "a",
    }  # fmt: skip


def test_pairs_are_one_to_one_whatever_the_text():
    dice = random.Random(0)
    for _ in range(300):
        label = lambda: "".join(dice.choices("ab A1-_İ名", k=dice.randint(0, 6)))  # noqa: E731
        keys = list(dict.fromkeys(label() for _ in range(5)))
        labels = [label() for _ in range(5)]
        pairs = pair(keys, {str(n): (text,) for n, text in enumerate(labels)})
        assert len(set(pairs.values())) == len(pairs)
        assert all(labels[int(pairs[key])] == key for key in keys if key in labels)


def test_long_labels_cost_no_time():
    start = time.process_time()
    pair(["a" * 5000, "b " * 5000], {str(n): (f"{'a ' * 3000}{n}",) for n in range(200)})
    assert time.process_time() - start < 2


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


def test_options_are_whole_words_and_the_longer_one_wins():
    assert options_in("Field methods and maths", ["Maths", "Math", "Field Methods"]) == [0, 2]
    assert options_in("", ["", "a"]) == []


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


def test_several_options_stand_between_commas_lines_and_words():
    options = ["Choose", "Rail", "Bus pass", "Milk, cold", "Tea"]
    assert several("- rail\n- BUS PASS", options) == [1, 2]
    assert several("Milk, cold & tea", options) == [3, 4]
    assert several("none of them", options) == []


def test_file_is_named_by_the_text_its_label_or_alone():
    files = ("cv.pdf", "my-cv.pdf", "photo.png")
    assert file_named("Résumé", "see my-cv.pdf", files) == "my-cv.pdf"
    assert file_named("Photo of you", "", files) == "photo.png"
    assert file_named("Résumé", "", files) is None
    assert file_named("Résumé", "", files[:1]) == "cv.pdf"
