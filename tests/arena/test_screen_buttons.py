import pytest

from formlab_arena.screen import ScreenField
from formlab_arena.screen_buttons import goes_on, is_button


@pytest.mark.parametrize(
    ("text", "kind", "width", "button", "onward"),
    [
        ("Submit", "", 90, True, True), ("Go", "button", 90, True, False),
        ("Next of kin is my sister Ada of Oslo", "", 300, False, True),
        ("Send", "list", 90, False, True), ("Reset", "", 90, True, False),
    ],
)  # fmt: skip
def test_button_is_told_by_its_look_or_its_words(text, kind, width, button, onward):
    field = ScreenField((0, 0, width, 30), text, (), kind)
    assert (is_button(field), goes_on(field)) == (button, onward)
