import pytest

from formlab_arena.instruction_text import InstructionText

TEXT = """Dear team, my name is Ada Berg and I work at Lund Tools. Please book “Large hall” as
“Room”. The fee comes to 1,250 EUR; write to ada@lund.example or call +47 900 12 345. I was born on
3 May 1990.

On “Plans”: We show two films. The second one is long. “Seats”: 40. Referee's e-mail: bo@x.example.
Do not tick “Newsletter”. “Terms” are fine with me. For “Will you park?” choose No."""


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("Name", "Ada Berg"),  # “name is …”, up to the next clause.
        ("Your name", "Ada Berg"),  # The one word of the label that says something.
        ("Room", "Large hall"),  # The value stands before the label.
        ("Seats", "40"),
        ("Referee's e-mail", "bo@x.example"),
        ("Will you park?", "No"),
        ("willyoupark", "No"),  # OCR loses spaces.
    ],
)
def test_value_of_a_label_is_found(label, value):
    assert InstructionText(TEXT).about(label).value == value


@pytest.mark.parametrize("label", ["Referee", "Weight", "e", "", "\0\ud800", "x" * 100_000])
def test_label_that_the_text_does_not_name_has_no_value(label):
    # “Referee's e-mail” is another label than “Referee”.
    assert InstructionText(TEXT).about(label) is None


def test_long_value_goes_on_up_to_the_next_thing_named():
    mention = InstructionText(TEXT).about("Plans")
    assert mention.whole == "We show two films. The second one is long."
    assert mention.value == "We show two films"


def test_denial_is_heard_and_agreement_is_none():
    instructions = InstructionText(TEXT)
    assert instructions.about("Newsletter").denies
    assert not instructions.about("Terms").denies


def test_quoted_label_counts_more_than_the_word_in_passing():
    instructions = InstructionText("The colour of my car is red. Under “Colour” put blue.")
    assert instructions.about("Colour").value == "blue"


@pytest.mark.parametrize(
    ("label", "span"),
    [
        ("E-mail", "ada@lund.example"),
        ("Mobile phone", "+47 900 12 345"),
        ("Date of birth", "3 May 1990"),
        ("Price", "1,250 EUR"),
        ("Web site", None),
        ("Hobbies", None),
    ],
)
def test_typed_values_are_found_without_their_label(label, span):
    assert InstructionText(TEXT).span(label, None) == span


def test_span_of_another_label_is_not_taken_where_the_text_says_something_else():
    instructions = InstructionText("Alternative e-mail: none. Write to ada@lund.example.")
    assert instructions.span("Alternative e-mail", instructions.about("Alternative e-mail")) is None


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("E-mail", "ada@lund.example.co.uk"),
        ("Phone", "(298) 55-01-75 ext. 204"),
        ("Web site", "https://lund.example/a?b=1"),
        ("Price", "1,250.50"),
    ],
)
def test_stop_behind_an_address_or_number_is_no_part_of_it(label, value):
    lines = f"{label}: {value}.\nName: Ada Berg"
    for text in (lines, f"Name: Ada Berg. {label}: {value}. Seats: 4."):
        instructions = InstructionText(text)
        mentions = instructions.assign([["Name"], [label]])
        assert instructions.span(label, mentions[1]) == value


@pytest.mark.parametrize("text", ["", "\0", "“" * 5000, ("Name: " * 3000), "İstanbul name is x."])
def test_hostile_text_costs_no_crash(text):
    instructions = InstructionText(text)
    for label in ("Name", "E-mail", "Date"):
        instructions.about(label)
        instructions.span(label, None)
