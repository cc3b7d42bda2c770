import pytest

from formlab_arena.value_patterns import PATTERNS, as_asked, in_control


@pytest.mark.parametrize(
    ("value", "hint", "written"),
    [
        ("3rd of May 1990", "DD/MM/YYYY", "03/05/1990"),
        ("May 3, 1990", "mm/dd/yyyy", "05/03/1990"),
        ("1990-05-03", "dd.mm.yy", "03.05.90"),
        ("1990/05/03", "TT.MM.JJJJ", "03.05.1990"),
        ("3 May 1990", "", "3 May 1990"),
        ("3 May 1990", "my summary", "3 May 1990"),
        ("soon", "DD/MM/YYYY", "soon"),
        ("31 February 2020", "YYYY-MM-DD", "31 February 2020"),
        ("555.010.2231", "pattern [0-9]{3}-[0-9]{3}-[0-9]{4}", "555-010-2231"),
        ("(555) 010-2231", r"pattern \(\d{3}\) \d{3}-\d{4}", "(555) 010-2231"),
        ("Ada", "pattern [A-Z]+", "Ada"),
    ],
)
def test_values_are_written_as_the_field_asks(value, hint, written):
    assert as_asked(value, hint) == written


@pytest.mark.parametrize(
    ("value", "kind", "written"),
    [
        ("5 March 2027", "date", "2027-03-05"),
        ("on Friday, 5th of March 2027", "date", "2027-03-05"),
        ("2024/12/05", "date", "2024-12-05"),
        ("soon", "date", None),
        ("2:05 pm", "time", "14:05"),
        ("12 a.m.", "time", "00:00"),
        ("at noon", "time", "12:00"),
        ("25:00", "time", None),
        ("March 2027", "month", "2027-03"),
        ("03/2027", "month", "2027-03"),
        ("week 9 of 2027", "week", "2027-W09"),
        ("5 March 2027", "week", "2027-W09"),
        ("5 March 2027 at 9:30", "datetime-local", "2027-03-05T09:30"),
        ("$1,334,000.50 a year", "number", "1334000.50"),
        ("minus", "number", None),
        ("Red", "color", "#ff0000"),
        ("reddish", "color", None),
        ("1 March", "text", "1 March"),
    ],
)
def test_values_take_the_form_of_their_control(value, kind, written):
    assert in_control(value, kind) == written


def test_number_stays_within_the_bounds_of_a_range():
    assert in_control("14", "range", hint="0…10") == "10"


def test_order_of_day_and_month_is_that_of_the_text():
    assert in_control("05/06/2027", "date") == "2027-05-06"
    assert in_control("05/06/2027", "date", order="day") == "2027-06-05"


@pytest.mark.parametrize("phone", ["(555) 010-2231 x75507", "+1-555-010-2231", "+47 900 12 345"])
def test_phone_is_found_whole(phone):
    assert PATTERNS["phone"].search(f"call {phone}, please")[0] == phone
