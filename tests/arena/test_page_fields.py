import datetime

import pytest

from formlab_arena.page_fields import day_of, fields_of, native, same
from tests.arena.test_oracle import element


@pytest.mark.parametrize(
    ("kind", "hint", "value", "text"),
    [
        ("date", "", "March 5, 2027", "2027-03-05"), ("date", "", "soon", "soon"),
        ("datetime-local", "", "2027-07-12T09:30", "2027-07-12T09:30"),
        ("datetime-local", "", "12 July 2027, 9:30 pm", "2027-07-12T21:30"),
        ("time", "", "12:05 am", "00:05"), ("time", "", "16:45", "16:45"),
        ("month", "", "August 2027", "2027-08"), ("month", "", "2027-08", "2027-08"),
        ("week", "", "2027-W28", "2027-W28"), ("number", "", "1,250,000", "1250000"),
        ("text", "", "1,250,000", "1,250,000"), ("text", "DD/MM/YYYY", "05/07/1987", "05/07/1987"),
        ("text", "mm/dd/yyyy", "5 July 1987", "07/05/1987"), ("text", "", True, "Yes"),
        ("text", "", ["Tea", "Jam"], "Tea, Jam"),
    ],
)  # fmt: skip
def test_answer_is_written_as_the_control_takes_it(kind, hint, value, text):
    assert native(kind, hint, value) == text


def test_order_of_day_and_month_is_that_of_the_other_answers():
    assert day_of("3/5/2027", ["31/1/2027"]) == datetime.date(2027, 5, 3)
    assert day_of("3/5/2027", ["1/31/2027"]) == datetime.date(2027, 3, 5)


def test_equal_texts_differ_in_case_spaces_and_marks_only():
    assert same(" Ada  Berg", "ada berg")
    assert not same("", "-")
    assert same("", " ")


def test_marks_to_click_are_those_that_differ():
    day = fields_of(
        element(f"e{n}", "checkbox", field="day", option=name[:2], label=name, checked=n == 0)
        for n, name in enumerate(("Monday", "Tuesday", "Sunday"))
    )["day"]
    assert [e.id for e in day.to_click(day.exactly(["tu", "Monday"]))] == ["e1"]
    assert [e.id for e in day.to_click(day.exactly(["Tuesday"]))] == ["e0", "e1"]
    assert day.content == "Monday"
