import numpy as np
import pytest
from PIL import Image, ImageDraw

from formlab_arena.shapes import has_arrow, holds, is_time, outlines, ticked


def drawn(draw, size=(400, 200), paper=255):
    image = Image.new("L", size, paper)
    draw(ImageDraw.Draw(image))
    return np.asarray(image)


def rounded(boxes):
    return [tuple(map(round, box)) for box in boxes]


def test_box_to_write_in_is_found_once_and_too_small_or_open_ones_are_not():
    def draw(pen):
        pen.rectangle((20, 20, 219, 59), outline=120)
        pen.rectangle((20, 80, 53, 91), outline=120)  # Narrower than a box to write in.
        pen.line((20, 120, 70, 120), fill=120)  # A short line is no box.
        pen.line((20, 160, 70, 160), fill=120)

    seen = outlines(drawn(draw))
    assert rounded(seen.boxes) == [(20, 20, 220, 60)]
    assert (list(seen.lines), dict(seen.marks)) == ([], {})


@pytest.mark.parametrize("paper", [255, 246, 20])
def test_space_above_a_line_is_written_on_and_sides_of_boxes_and_underlined_texts_are_not(paper):
    def draw(pen):
        pen.line((20, 60, 220, 60), fill=120)
        pen.rectangle((20, 80, 219, 119), outline=120)
        pen.line((20, 160, 300, 160), fill=120)

    seen = outlines(drawn(draw, paper=paper), [(20, 140, 300, 160)])
    assert rounded(seen.lines) == [(20, 26, 221, 60)]
    assert rounded(seen.boxes) == [(20, 80, 220, 120)]


def test_border_that_a_label_interrupts_counts_as_closed_and_blots_of_texts_are_no_boxes():
    def draw(pen):
        pen.rectangle((20, 40, 319, 95), outline=120)
        pen.rectangle((32, 30, 120, 50), fill=255)

    seen = outlines(drawn(draw), [(32, 30, 120, 50), (20, 150, 200, 170)])
    assert [(box[0], box[2], box[3]) for box in rounded(seen.boxes)] == [(20, 320, 96)]


def test_frame_and_the_button_in_a_file_field_are_boxes_too():
    def draw(pen):
        pen.rectangle((5, 5, 390, 190), outline=120)
        pen.rectangle((20, 20, 300, 56), outline=120)
        pen.rectangle((26, 26, 120, 50), outline=120)

    boxes = outlines(drawn(draw, size=(800, 500))).boxes
    expected = [(5, 5, 391, 191), (20, 20, 301, 57), (26, 26, 121, 51)]
    assert np.abs(np.subtract(boxes, expected)).max() <= 2


@pytest.mark.parametrize(("kind", "fill"), [("ring", 255), ("ring", 90), ("box", 255), ("box", 90)])
def test_ring_and_square_are_told_apart_and_what_is_in_them_seen(kind, fill):
    def draw(pen):
        shape = pen.ellipse if kind == "ring" else pen.rectangle
        shape((50, 50, 67, 67), outline=90, fill=255)
        shape((54, 54, 63, 63), fill=fill)

    gray = drawn(draw)
    marks = outlines(gray).marks
    box = max(marks, key=lambda box: box[2] - box[0])
    assert marks[box] == kind
    assert ticked(gray, box) == (fill == 90)
    assert holds((40, 40, 80, 80), box)


@pytest.mark.parametrize(("knob", "on"), [(50, False), (66, True)])
def test_switch_is_on_where_its_knob_is_at_the_right(knob, on):
    def draw(pen):
        pen.rounded_rectangle((48, 48, 82, 66), 9, fill=130)
        pen.ellipse((knob, 50, knob + 14, 64), fill=255)

    gray = drawn(draw)
    [box] = [box for box, kind in outlines(gray).marks.items() if kind == "switch"]
    assert ticked(gray, box, "switch") is on


def test_letter_with_another_one_beside_it_is_no_box_to_tick():
    def draw(pen):
        pen.text((50, 50), "Omega", font_size=24, fill=0)
        pen.text((50, 120), "ID", font_size=24, fill=0)

    gray = drawn(draw)
    marks = outlines(gray).marks
    assert any(box[1] > 110 for box in marks)
    # Behind the last letter there is nothing; a mark needs a line of text there.
    assert all(ticked(gray, box, kind) is None for box, kind in marks.items() if box[0] < 110)


@pytest.mark.parametrize(("shade", "state"), [(118, False), (0, None)])
def test_text_close_behind_a_mark_is_darker_than_the_mark_or_it_is_a_letter(shade, state):
    def draw(pen):
        pen.rectangle((50, 50, 62, 62), outline=shade)
        pen.rectangle((66, 48, 70, 62), fill=0)

    assert ticked(drawn(draw), (50, 50, 63, 63)) is state


def test_empty_time_of_the_browser_is_seen_by_its_dashes_and_an_empty_or_full_field_is_none():
    def draw(pen):
        for x in (26, 33, 46, 53, 66, 73):
            pen.line((x, 36, x + 4, 36), fill=0)
        for y in (32, 38):
            pen.rectangle((41, y, 42, y + 1), fill=0)
        pen.text((26, 88), "06:30 PM", font_size=14, fill=0)

    gray = drawn(draw)
    boxes = [(20, 20, 219, 50), (20, 80, 219, 110), (20, 140, 219, 170)]
    assert [is_time(gray, box) for box in boxes] == [True, False, False]


@pytest.mark.filterwarnings("error")
def test_mark_at_the_edge_and_one_too_small_to_look_into_are_none():
    page = np.full((40, 40), 255, np.uint8)
    assert ticked(page, (32, 10, 40, 18)) is None
    assert ticked(page, (2, 2, 9, 9)) is None


def test_arrow_at_the_right_end_is_that_of_a_list_and_an_icon_or_a_text_is_not():
    def draw(pen):
        for y in (20, 70, 120):
            pen.rectangle((20, y, 219, y + 30), outline=120)
        pen.polygon([(195, 33), (207, 33), (201, 39)], fill=60)
        pen.rectangle((195, 79, 207, 91), outline=60)
        pen.text((150, 128), "one word or v", font_size=14, fill=0)

    gray = drawn(draw)
    assert [has_arrow(gray, (20, y, 220, y + 31)) for y in (20, 70, 120)] == [True, False, False]
