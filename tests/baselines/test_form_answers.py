"""Questions about a form answered from its fields, without a model."""

import pytest

from formlab_baselines.form_answers import answers

FIELDS = [
    {"task": "text", "path": "/Bill/Total", "value": "90.00"},
    {"task": "text", "path": "/Bill/Paid by", "value": "Ada"},
    {"task": "text", "path": "/Guests/Name", "value": ""},
    {"task": "marking", "path": "/Menu/Starter", "value": "soup; salad"},
    {"task": "marking", "path": "/Menu/Wine", "value": None},
]


@pytest.mark.parametrize(
    ("question", "options", "answer"),
    [
        # "paid" stands in one name, "bill" in two.
        ("Who paid the bill?", [], "Ada"),
        # A number is asked for, and one value has digits.
        ("How much is the bill?", [], "90.00"),
        ("Which starters are served?", ["pate", "Salad", "soup"], "Salad; soup"),
        ("Which starters are not served?", ["pate", "Salad", "soup"], "pate"),
        # No name, or no mark, has to do with it.
        ("Why?", [], None),
        ("Was it signed?", ["yes", "no"], None),
    ],
)
def test_a_question_is_answered_by_the_nearest_field_or_by_what_is_marked(
    question, options, answer
):
    asked = [{"id": "q1", "question": question, "options": options}]
    rows = [(row["task"], row["path"], row["value"]) for row in answers(asked, FIELDS)]
    assert rows == ([("vqa", "/vqa/q1", answer)] if answer else [])
