import dataclasses

import pytest

from formlab_arena.actions import Answer, Click, Press, Scroll, Type, Wait
from formlab_arena.episode import RunSettings
from formlab_arena.form_url import fill_url
from formlab_arena.observation import Observation, OpenDialog
from formlab_arena.rules_agent import Rules
from formlab_arena.screen import MarkGroup, Screen, ScreenField, TextLine, TickMark
from tests.arena.foreign import RIGHT, TEXT, hosting


def screen(*fields, groups=(), lines=("Camp",)):
    shown = tuple(TextLine(text, (0, 20 * n, 50, 20 * n + 15)) for n, text in enumerate(lines))
    return Screen(shown, fields, groups)


def field(label, text="", kind="", *, at=0, height=30, width=300):
    labels = (label,) if label else ()
    return ScreenField((100, at, 100 + width, at + height), text, labels, kind)


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
    full = screen(field("Name", "Ada Borg", at=100), BUTTON)
    first, second = acts([screen(field("Name", at=100), BUTTON), full], "Name: Ada Berg.")
    assert first == [Click(250, 115), Press("Control+A"), Type("Ada Berg")]
    assert second == [Click(140, 715)]


def test_list_is_searched_by_letters_and_file_is_named():
    page = screen(field("Tent", "Choose", "list"), field("Photo", "Choose File", "file", at=50))
    [done] = acts([page], "Tent: Large.", files=["photo-of-ada.png", "cv.pdf"])
    assert done[:2] == [Click(250, 65), Type("photo-of-ada.png")]
    assert done[2:] == [Click(250, 15), Type("Large"), Press("Enter")]


def test_parts_of_dates_and_times_are_typed_as_keys_in_the_order_shown():
    page = screen(
        field("Day", "mm/dd/yyyy", "date"),
        field("Tag", "dd/mm/yyyy", "date", at=50),
        field("Hour", "--:-- --", "time", at=100),
        field("Month", "--------- ----", "month", at=150),
        field("Start", "mm/dd/yyyy, --:-- --", "datetime-local", at=200),
    )
    text = "Day: 5 March 2027\nTag: 2027-03-05\nHour: 9.30 pm\nMonth: May 2027\n"
    [done] = acts([page], f"{text}Start: 2027-03-05 09:30")
    keys = [action.key for action in done if isinstance(action, Press)]
    assert "".join(keys) == (
        "03/05/2027" "05/03/2027" "0930P" "MayArrowRight2027" "03/05/2027ArrowRight0930A"
    )  # fmt: skip
    assert not any(isinstance(action, Type) for action in done)


def test_what_a_field_shows_is_compared_once_and_numbers_lose_their_words():
    shown = [screen(field("Years", text), BUTTON) for text in ("", "", "5")]
    first, second, third = acts(shown, "Years: 5 years\nName: Ada")
    assert [first[-1], second[-1]] == [Type("5 years"), Type("5")]
    assert third == [Click(140, 715)]


def test_label_within_an_empty_field_is_its_name_and_a_typed_value_is_not():
    empty, full = field("", "Town *", at=50), field("Town *", "Name", at=50)
    first, second = acts([screen(empty, BUTTON), screen(full, BUTTON)], "Town: Name\nName: Oslo")
    assert first == [Click(250, 65), Press("Control+A"), Type("Name")]
    assert second == [Click(140, 715)]


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


NAMED = field("Name", "Ada", at=100)


def test_form_is_mended_where_it_says_so_and_the_same_refusal_twice_ends_it():
    page = screen(NAMED, field("Town", "", at=200), BUTTON, lines=("Camp", "Please sign up"))
    bubble = TextLine("Please fill out this field.", (110, 240, 300, 260))
    refused = dataclasses.replace(page, lines=(*page.lines, bubble))
    done = acts([page, page, page, refused, page, refused], "Name: Ada\nTown: Oslo")
    assert done[3] == [Click(250, 215), Press("Control+A"), Type("Oslo")]
    # Both, Oslo again, the button; what the bubble names; the button; the same bubble.
    assert [len(actions) for actions in done] == [6, 3, 1, 3, 1, 0]


def test_form_that_is_empty_after_it_was_sent_is_not_sent_again():
    send = field("", "Send", "button", at=700, width=80)
    empty, full = screen(field("Name", at=100), send), screen(NAMED, send)
    done = acts([empty, full, empty, empty], "Name: Ada.")
    assert done[2:] == [[Wait(0.7)], []]


def test_button_that_changed_nothing_is_pressed_once():
    page = screen(NAMED, BUTTON)
    agent = Rules(lambda _: page)
    see = Observation(1, None, (1280, 800), "Name: Ada.", ())
    assert [len(agent.act(see)), agent.act(see)] == [3, [Click(140, 715)]]
    assert agent.act(dataclasses.replace(see, messages=("Click(x=1, y=2) changed nothing",))) == []


def test_page_that_never_does_what_it_should_costs_few_looks():
    page = screen(field("Name", at=100), BUTTON)
    done = acts([page] * 12, "Name: Ada.")
    # Typed, typed again, pressed, waited for; then typed and pressed once more.
    assert [len(actions) for actions in done[: done.index([])]] == [3, 3, 1, 1, 3, 1, 1]


def test_new_page_is_filled_in_although_its_labels_are_the_same():
    first = [screen(field("Name", text), BUTTON, lines=("One", "Owner")) for text in ("", "Ada")]
    second = screen(field("Name"), BUTTON, lines=("Two", "Tenant"))
    done = acts([*first, second], "Name: Ada.")
    assert [len(actions) for actions in done] == [3, 1, 3]


def test_dialog_is_accepted_and_after_sending_only_a_confirmation_is_pressed():
    agent = Rules(lambda _: screen())
    see = Observation(1, None, (1280, 800), "", (), dialog=OpenDialog("confirm", "Sure?"))
    assert agent.act(see) == [Answer()]
    send = screen(field("Name", "Ada"), field("", "Send", "button", at=700, width=80))
    for word, pressed in (("Confirm", True), ("Send another", False)):
        thanks = screen(field("", word, "button", at=90), lines=("Thank", "you"))
        done = acts([send, send, thanks], "Name: Ada.")
        assert bool(done[2]) is pressed


def test_banner_about_cookies_goes_first_and_the_button_that_sends_need_not_be_the_lowest():
    banner = field("", "Accept all", "button", at=750, width=90)
    page = screen(NAMED, BUTTON, banner, lines=("We use cookies",))
    send, reset = field("", "Send", "button", at=650), field("", "Reset", "button", at=700)
    plain = screen(NAMED, send, reset, field("", "Privacy", "button", at=760))
    done = acts([page, plain, plain], "Name: Ada.")
    assert done[0] == [Click(145, 765)]
    assert done[2] == [Click(250, 665)]


def test_pane_is_scrolled_where_the_page_stands_still():
    page = screen(NAMED, lines=("a", "b"))
    assert acts([page] * 4, "Name: Ada.")[1:] == [
        [Scroll(560)], [Scroll(400, x=250, y=115)], [],
    ]  # fmt: skip


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
    assert result["status"] == "submitted"
    assert result["left_at"].endswith("/thanks")
    assert len(server.sent) == 1
