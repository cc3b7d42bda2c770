import pytest

from formlab_arena.actions import Click, Press, Type
from formlab_arena.screen import ScreenField
from formlab_arena.screen_entry import Entry, actions_for, anew, chosen_in_list, shows

FIELD = ScreenField((10, 20, 110, 50), "", ())


@pytest.mark.parametrize(
    ("text", "value", "same"),
    [
        ("Ada Borg", "Ada Berg", True), ("", "Ada", False), ("Oslo", "Ada Berg", False),
        ("03/05/2027", "2027-03-05", True), ("mm/dd/yyyy", "2027-03-05", False),
        ("e5", "comes to 5", False), ("1334000", "1,334,000", True),
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


def test_field_of_numbers_gets_the_number_and_a_list_its_letters_in_one_go():
    assert anew(Entry("comes to 5"), "e5") == "5"
    assert anew(Entry("comes to 5"), "Osl0") == "comes to 5"
    assert chosen_in_list(FIELD, "Größe L") == [Click(60, 35), Type("Gre L"), Press("Enter")]
