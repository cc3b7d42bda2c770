"""Ink in the box of a scan: taken away, and replaced by other text in a matching font."""

import numpy as np
import pytest

from formlab_experiments.forms.paper import Paper, Pen
from formlab_experiments.forms.scan import Scan, scan_page
from formlab_experiments.ink import replace_ink


def written(face="sans", size=17, *, shade=20, rule=False):
    """A grey page with an amount on it, and the box of the amount."""
    paper = Paper(320, 80, seed="1")
    paper.text("Total", 20, 20, Pen("serif", size))
    amount = paper.text("1,482.50", 120, 20, Pen(face, size, shade=shade))
    if rule:
        paper.rule(100, 46, 300, 46, width=2)
    (word,) = amount.words
    return scan_page(paper, Scan(blur=0.5, noise=0.04)), word.box


def outside(image, box, margin=8):
    pixels = np.asarray(image).astype(int).copy()
    x0, y0, x1, y1 = (round(side) for side in box)
    pixels[max(0, y0 - margin) : y1 + margin, max(0, x0 - margin) : x1 + margin] = 0
    return pixels


def test_nothing_outside_the_box_is_changed():
    page, box = written()
    done = replace_ink(page, box, "1,482.50", "7,936.50")
    assert (outside(page, box) == outside(done.image, box)).all()
    assert (np.asarray(page) != np.asarray(done.image)).any()


@pytest.mark.parametrize("face", ["serif", "mono", "narrow"])
def test_font_and_shade_are_those_of_the_ink(face):
    page, box = written(face, shade=90)
    done = replace_ink(page, box, "1,482.50", "7,936.50")
    assert done.match.face == face
    assert done.match.fit > 0.85
    before, after = (np.percentile(np.asarray(i)[10:50, 110:210], 3) for i in (page, done.image))
    assert after == pytest.approx(before, abs=25)


def test_new_ink_is_what_the_same_font_would_have_written():
    page, box = written("mono")
    done = replace_ink(page, box, "1,482.50", "7,936.20")
    paper = Paper(320, 80, seed="1")
    (word,) = paper.text("7,936.20", 120, 20, Pen("mono", 17)).words
    assert np.allclose(done.box, word.box, atol=2)
    wanted = np.asarray(scan_page(paper, Scan(blur=0.5)))[15:45, 115:215].astype(float)
    found = np.asarray(done.image)[15:45, 115:215].astype(float)
    assert np.corrcoef(wanted.ravel(), found.ravel())[0, 1] > 0.7
