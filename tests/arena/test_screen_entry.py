import pytest

from formlab_arena.actions import Click, Press, Type
from formlab_arena.screen import ScreenField
from formlab_arena.screen_entry import Entry, actions_for, shows

FIELD = ScreenField((10, 20, 110, 50), "", ())


@pytest.mark.parametrize(
    ("text", "value", "same"),
    [
        ("Ada Borg", "Ada Berg", True), ("", "Ada", False), ("Oslo", "Ada Berg", False),
        ("03/05/2027", "2027-03-05", True), ("mm/dd/yyyy", "2027-03-05", False),
        ("through wartime Europe.", "A life through wartime Europe.", True),
    ],
)  # fmt: skip
def test_value_stands_in_a_field_in_spite_of_ocr_and_of_what_does_not_fit(text, value, same):
    assert shows(text, value) is same


def test_text_replaces_what_was_there_and_a_date_is_typed_by_its_parts():
    assert actions_for(FIELD, Entry("Ada")) == [Click(60, 35), Press("Control+A"), Type("Ada")]
    assert actions_for(FIELD, Entry("a.pdf", "file")) == [Click(60, 35), Type("a.pdf")]
    day = ScreenField(FIELD.box, "dd/mm/yyyy", ())
    keys = [action.key for action in actions_for(day, Entry("2027-03-05", "date"))[1:]]
    assert "".join(keys) == "05/03/2027"
