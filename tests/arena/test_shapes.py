import numpy as np
import pytest
from PIL import Image, ImageDraw

from formlab_arena.shapes import holds, outlines, ticked


def drawn(draw, size=(400, 200)):
    image = Image.new("L", size, 255)
    draw(ImageDraw.Draw(image))
    return np.asarray(image)


def test_box_to_write_in_is_found_once_and_too_small_or_open_ones_are_not():
    def draw(pen):
        pen.rectangle((20, 20, 219, 59), outline=120)
        pen.rectangle((20, 80, 59, 99), outline=120)  # Narrower than a box to write in.
        pen.line((20, 120, 300, 120), fill=120)  # A line is no box.
        pen.line((20, 160, 300, 160), fill=120)

    wide, small = outlines(drawn(draw))
    assert [tuple(map(round, box)) for box in wide] == [(20, 20, 220, 60)]
    assert small == {}


def test_frame_around_boxes_is_no_box_and_the_button_in_a_file_field_is_part_of_it():
    def draw(pen):
        pen.rectangle((5, 5, 390, 190), outline=120)
        pen.rectangle((20, 20, 300, 56), outline=120)
        pen.rectangle((26, 26, 120, 50), outline=120)

    wide, _ = outlines(drawn(draw))
    assert [tuple(map(round, box)) for box in wide] == [(20, 20, 301, 57)]


@pytest.mark.parametrize(("is_ring", "fill"), [(True, 255), (True, 90), (False, 255), (False, 90)])
def test_ring_and_square_are_told_apart_and_what_is_in_them_seen(is_ring, fill):
    def draw(pen):
        shape = pen.ellipse if is_ring else pen.rectangle
        shape((50, 50, 67, 67), outline=90, fill=255)
        shape((54, 54, 63, 63), fill=fill)

    gray = drawn(draw)
    _, small = outlines(gray)
    box = max(small, key=lambda box: box[2] - box[0])
    assert small[box] == is_ring
    assert ticked(gray, box) == (fill == 90)
    assert holds((40, 40, 80, 80), box)


def test_letter_with_another_one_close_behind_is_no_box_to_tick():
    gray = drawn(lambda pen: pen.text((50, 50), "Omega", font_size=24, fill=0))
    _, small = outlines(gray)
    # Behind the last letter there is nothing; a mark needs a line of text there.
    assert all(ticked(gray, box) is None for box in small if box[0] < 110)
    assert min(box[0] for box in small) < 110
