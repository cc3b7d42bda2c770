import pytest

from formlab_arena.actions import Click, Press, Scroll, Type
from formlab_arena.episode import RunSettings
from formlab_arena.form_url import fill_url
from formlab_arena.observation import Observation
from formlab_arena.rules_agent import Rules
from formlab_arena.screen import MarkGroup, Screen, ScreenField, TextLine, TickMark
from tests.arena.foreign import RIGHT, TEXT, hosting


def screen(*fields, groups=(), lines=("Camp",)):
    shown = tuple(TextLine(text, (0, 20 * n, 50, 20 * n + 15)) for n, text in enumerate(lines))
    return Screen(shown, fields, groups)


def field(label, text="", *, at=0, height=30, width=300):
    return ScreenField((100, at, 100 + width, at + height), text, (label,) if label else ())


BUTTON = field("", "Next", at=700, width=80)


def acts(screens, text, *, files=(), looks=None):
    """What the agent does at each look, shown these screens one after another."""
    shown = iter(screens)
    agent = Rules(lambda _: next(shown))
    return [
        agent.act(Observation(n, None, (1280, 800), text, tuple(files)))
        for n in range(1, (looks or len(screens)) + 1)
    ]


def test_field_is_clicked_typed_into_and_not_again():
    page = screen(field("Name", at=100), BUTTON)
    first, second = acts([page, page], "Name: Ada Berg.")
    assert first == [Click(250, 115), Press("Control+A"), Type("Ada Berg")]
    assert second == [Click(140, 715)]


def test_list_is_searched_by_letters_and_file_is_named():
    page = screen(field("Tent", "Choose"), field("Photo", "Choose File No file chosen", at=50))
    [done] = acts([page], "Tent: Large.", files=["photo-of-ada.png", "cv.pdf"])
    assert done[:2] == [Click(140, 65), Type("photo-of-ada.png")]
    assert done[2:] == [Click(250, 15), *map(Press, "Large"), Press("Enter")]


def test_choices_come_from_the_bottom_up_because_they_may_show_more_below():
    marks = tuple(
        TickMark((10, y, 26, y + 16), text, False, True)
        for y, text in ((100, "Rail"), (130, "Bus"))
    )
    box = (TickMark((10, 300, 26, 316), "I agree", False),)
    groups = (MarkGroup(marks, ("Travel",)), MarkGroup(box, ()))
    [done] = acts([screen(groups=groups)], "Travel: Bus. I agree.")
    assert done == [Click(18, 308), Click(18, 138)]


def test_ticked_and_denied_boxes_are_left_alone():
    groups = tuple(
        MarkGroup((TickMark((10, y, 26, y + 16), text, ticked),), ())
        for y, text, ticked in ((0, "Terms", True), (40, "Newsletter", False))
    )
    [done] = acts([screen(groups=groups)], "Terms: yes. Leave “Newsletter” unticked.")
    assert done == [Scroll(560)]


def test_page_that_does_not_turn_is_given_up_after_a_second_try():
    page = screen(field("Name", at=100), BUTTON)
    done = acts([page] * 6, "Name: Ada.", looks=5)
    # Fill, press; still empty, so fill again, press again; then stop.
    assert [len(actions) for actions in done] == [3, 1, 3, 1, 0]


def test_new_page_is_filled_in_although_its_labels_are_the_same():
    first = screen(field("Name"), BUTTON, lines=("One", "Owner"))
    second = screen(field("Name"), BUTTON, lines=("Two", "Tenant"))
    done = acts([first, first, second], "Name: Ada.")
    assert [len(actions) for actions in done] == [3, 1, 3]


def test_page_without_a_button_is_scrolled_to_its_end_and_left():
    top, bottom = screen(lines=("a", "b")), screen(lines=("c", "d"))
    assert acts([top, bottom, bottom], "") == [[Scroll(560)], [Scroll(560)], []]


def test_hostile_text_and_labels_cost_no_crash():
    hostile = "<script>\0\x1b[31m\ud800“"
    page = screen(field(hostile), field("(" * 3000, at=50), BUTTON)
    assert acts([page], f"{hostile}: {hostile}")


@pytest.mark.browser
def test_form_that_is_not_ours_is_filled_in_from_its_screenshots(tmp_path):
    with hosting() as server:
        result = fill_url(server.url, tmp_path, RunSettings("rules"), text=TEXT)
    assert result["filled"] == RIGHT
    assert result["status"] == "ended"
    assert result["left_at"].endswith("/thanks")
    assert len(server.sent) == 1
