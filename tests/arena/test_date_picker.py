import datetime

from formlab_arena.actions import Click, Select
from formlab_arena.date_picker import DatePicker
from tests.arena.test_oracle import button, element


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
