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


def test_denial_is_heard_and_agreement_is_none():
    instructions = InstructionText(TEXT)
    assert instructions.about("Newsletter").denies
    assert not instructions.about("Terms").denies


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
