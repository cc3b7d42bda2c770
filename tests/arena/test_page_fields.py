import datetime

import pytest

from formlab_arena.actions import Click, Select
from formlab_arena.page_fields import DatePicker, day_of, fields_of, native, same
from tests.arena.test_oracle import button, element


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


def calendar(year, month):
    names = ["Previous month", f"{datetime.date(year, month, 1):%B %Y}", "Next month", "1", "17"]
    return [button(f"{name}-{month}", name, "button") for name in names]


def test_calendar_is_turned_to_the_month_and_the_day_is_clicked():
    picker = DatePicker(datetime.date(2027, 3, 17), {"e1"})
    month, asked = 1, []
    while asked[-1:] != [Click(element=f"17-{month}")]:
        asked.append(picker.next([element("e1"), *calendar(2027, month)]))
        month += asked[-1] == Click(element=f"Next month-{month}")
    assert asked == [
        Click(element="Next month-1"), Click(element="Next month-2"), Click(element="17-3"),
    ]  # fmt: skip
    assert DatePicker(datetime.date(2026, 12, 17), ()).next(calendar(2027, 1)) == Click(
        element="Previous month-1"
    )


def test_calendar_with_lists_is_set_by_them():
    months = [f"{datetime.date(2027, n, 1):%B}" for n in range(1, 13)]
    lists = [
        element("m", "select", label="Month", options=tuple(months)),
        element("y", "select", label="Year", options=("2026", "2027")),
        button("d", "18", "button"),
    ]
    picker = DatePicker(datetime.date(2027, 3, 18), ())
    assert [picker.next(lists) for _ in range(3)] == [
        Select("m", ("March",)), Select("y", ("2027",)), Click(element="d"),
    ]  # fmt: skip
