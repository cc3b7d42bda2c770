import numpy as np
import pytest
from PIL import Image, ImageDraw

from formlab_arena.actions import Click, Press, Type, Wait
from formlab_arena.episode import RunSettings
from formlab_arena.form_url import fill_url
from formlab_arena.observation import Observation
from formlab_arena.rules_agent import Rules
from formlab_arena.screen import Screen, ScreenField, TextLine, arrange
from tests.arena.foreign import RIGHT, TEXT, foreign_page
from tests.arena.web import hosting


def page(*, ink=(90, 90, 90), paper=(255, 255, 255)):
    """Two fields in a row, one beside its label, two rings and a box to tick, a button."""
    image = Image.new("RGB", (640, 420), paper)
    pen = ImageDraw.Draw(image)
    for box in ((20, 50, 300, 86), (340, 50, 620, 86), (200, 110, 620, 200)):
        pen.rectangle(box, outline=ink)
    for y in (240, 270):
        pen.ellipse((24, y, 41, y + 17), outline=ink)
    pen.ellipse((29, 275, 36, 282), fill=ink)
    pen.rectangle((24, 310, 41, 327), outline=ink)
    pen.rectangle((20, 360, 140, 400), fill=(30, 60, 150))
    return np.asarray(image.convert("L"))


LINES = [
    TextLine("First name", (20, 24, 110, 46)),
    TextLine("Last name", (340, 24, 430, 46)),
    TextLine("Ada", (30, 58, 60, 78)),
    TextLine("Remarks", (110, 116, 190, 138)),
    TextLine("Travel", (22, 214, 80, 234)),
    TextLine("By rail", (50, 238, 110, 258)),
    TextLine("By bus", (20, 268, 110, 288)),  # OCR took the ring into the line.
    TextLine("I agree", (50, 308, 110, 328)),
    TextLine("Send", (55, 370, 105, 390)),
]


def test_fields_have_the_nearest_label_and_what_is_in_them():
    result = arrange(page(), LINES)
    assert [(f.labels[:1], f.text) for f in result.fields] == [
        (("First name",), "Ada"), (("Last name",), ""), (("Remarks",), ""), ((), "Send"),
    ]  # fmt: skip
    x0, y0, x1, y1 = result.fields[0].box
    assert max(abs(x0 - 20), abs(y0 - 50), abs(x1 - 301), abs(y1 - 87)) <= 2


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


NAMED = field("Name", "Ada", at=100)


def test_form_that_is_empty_after_it_was_sent_is_not_sent_again():
    send = field("", "Send", "button", at=700, width=80)
    empty, full = screen(field("Name", at=100), send), screen(NAMED, send)
    done = acts([empty, full, empty, empty], "Name: Ada.")
    assert done[2:] == [[Wait(0.7)], []]


@pytest.mark.browser
def test_form_that_is_not_ours_is_filled_in_from_its_screenshots(tmp_path):
    with hosting(foreign_page()) as server:
        result = fill_url(server.url, tmp_path, RunSettings("rules"), text=TEXT)
    assert result["filled"] == RIGHT
    assert result["status"] == "submitted"
    assert result["left_at"].endswith("/thanks")
    assert len(server.sent) == 1
