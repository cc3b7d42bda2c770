"""Degradations: marks are found where the boxes say, and a page differs in nothing else."""

import cv2
import numpy as np
import pytest
from PIL import Image

from formlab_experiments.degradations import DEGRADATIONS, degrade

# A milder and the worst amount of each by default.
AMOUNTS = {
    "blur": (0.75, 3), "noise": (30, 120), "skew": (1, 4), "scale": (0.8, 0.2), "jpeg": (76, 4),
    "contrast": (0.76, 0.04), "fold": (10, 40), "stain": (0.15, 0.6), "ink": (0.2, 0.8),
}  # fmt: skip
CASES = [(name, amount) for name, both in AMOUNTS.items() for amount in both]
# Black marks of 24 by 16 pixels all over a page of 600 by 800.
MARKS = np.array([(x, y, x + 24, y + 16) for x in range(40, 560, 90) for y in range(40, 780, 60)])


def page(mode="L"):
    pixels = np.full((800, 600), 250, np.uint8)
    for x0, y0, x1, y1 in MARKS:
        pixels[y0:y1, x0:x1] = 10
    return Image.fromarray(pixels).convert(mode)


@pytest.mark.parametrize("name", DEGRADATIONS)
def test_the_neutral_amount_changes_nothing(name):
    image = page()
    same = degrade(image, name, DEGRADATIONS[name].neutral, seed=3)
    assert same.image.tobytes() == image.tobytes()
    assert same.boxes(MARKS).tolist() == MARKS.astype(float).tolist()


@pytest.mark.parametrize(("name", "amount"), CASES)
def test_the_same_seed_gives_the_same_bytes_in_grey_and_in_colour(name, amount):
    for mode in ("L", "RGB"):
        first, again = (degrade(page(mode), name, amount, seed=1, page="a") for _ in range(2))
        assert first.image.mode == mode
        assert first.image.tobytes() == again.image.tobytes()
        assert first.image.tobytes() != page(mode).resize(first.image.size).tobytes()


@pytest.mark.parametrize("name", ["noise", "fold", "stain", "ink"])
def test_another_seed_or_page_is_degraded_elsewhere(name):
    amount, others = AMOUNTS[name][1], ((0, "a"), (1, "a"), (0, "b"))
    made = [degrade(page(), name, amount, seed=seed, page=of) for seed, of in others]
    assert len({each.image.tobytes() for each in made}) == 3


def centres(image, light):
    """The middle of each dark blob that is about as large as a mark, in pixels from the edge."""
    dark = np.uint8(np.asarray(image.convert("L")) < light)
    _, _, stats, middles = cv2.connectedComponentsWithStats(dark)
    return middles[1:][stats[1:, cv2.CC_STAT_AREA] > 8] + 0.5


@pytest.mark.parametrize(
    ("name", "amount"), [c for c in CASES if c[0] in ("skew", "scale", "fold", "jpeg", "blur")]
)
def test_marks_are_found_in_the_middle_of_their_boxes(name, amount):
    made = degrade(page(), name, amount, seed=2)
    boxes = made.boxes(MARKS)
    wanted = (boxes[:, :2] + boxes[:, 2:]) / 2
    found = centres(made.image, 110)
    away = np.linalg.norm(found[None] - wanted[:, None], axis=2).min(axis=1)
    # Creases wear the ink off some marks, and none of a mark that a crease crosses is in place.
    assert (away < 0.6).mean() > (0.8 if name == "fold" else 0.999), np.sort(away)[-5:]


def test_the_share_of_lost_ink_and_of_stained_paper_is_the_amount():
    black = Image.new("L", (400, 400), 0)
    black.paste(255, (0, 0, 400, 210))
    lost = np.asarray(degrade(black, "ink", 0.4, seed=1).image)[215:]
    assert (lost > 128).mean() == pytest.approx(0.4, abs=0.05)
    stained = np.asarray(degrade(Image.new("L", (400, 400), 255), "stain", 0.3).image)
    assert (stained < 250).mean() == pytest.approx(0.3, abs=0.02)
