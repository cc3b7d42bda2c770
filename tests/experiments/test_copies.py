import numpy as np
import polars as pl
import pytest
from PIL import Image, ImageChops

import formlab
from formlab import resources
from formlab_experiments import Scans, counterfactual_corpus, relations_of
from formlab_experiments.forms.paper import Paper, Pen
from formlab_experiments.forms.scan import Scan, scan_page
from formlab_experiments.ink import replace_ink
from formlab_experiments.redrawn import Templates
from tests.made_relations import form


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


PATHS = ["/Bill/Total", "/Bill/Work"]


@pytest.fixture(scope="module")
def pages():
    return Templates([form()], seed=1)


def drawn(pages, values, legible=PATHS):
    page = pages.page("bill", values, legible)
    fields = {row["path"]: row for row in page.fields}
    return page.images()[0], fields


@pytest.mark.parametrize("value", ["87.00", "", "1287.00"])
def test_nothing_but_the_value_is_changed(pages, value):
    before, old = drawn(pages, {})
    after, new = drawn(pages, {"/Bill/Total": value})
    x0, y0, x1, y1 = ImageChops.difference(before, after).getbbox()
    places = [row["/Bill/Total"] for row in (old, new)]
    # The scan is blurred and turned.
    assert min(place["x0"] for place in places) - 3 <= x0
    assert min(place["y0"] for place in places) - 3 <= y0
    assert max(place["x1"] for place in places) + 3 >= x1
    assert max(place["y1"] for place in places) + 3 >= y1
    assert new.pop("/Bill/Total")["value"] == value
    # The group of the field ends where its fields do.
    same = {path: row for path, row in new.items() if path != "/Bill"}
    assert same == {path: old[path] for path in same}


def test_relations_of_a_form_are_those_that_can_be_computed():
    corpus = Templates([form()], seed=1).corpus
    found = {each.item: each for each in relations_of(corpus)}
    assert {item: each.relation for item, each in found.items()} == {
        "/consistency/c1": "sum", "/consistency/c2": "date", "/consistency/c3": "copy",
        "/vqa/q1": "product",
    }  # fmt: skip
    total = found["/consistency/c1"]
    assert total.paths == ["/Bill/Parts", "/Bill/Work", "/Bill/Total"]
    # 2.50 and 18.00.
    assert total.implied({"/Bill/Parts": "2.50", "/Bill/Work": "18.00"}) == "20.50"
    assert found["/consistency/c2"].implied({"/Drawn": "25 Dec 2019"}) == "04 Jan 2020"
    assert found["/vqa/q1"].dependent is None


SAMPLE = resources.folder("data") / "sample" / "funsd"
CHANGES = ("original", "dependent", "blank")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    pages = Scans(formlab.load("formcraft", root=SAMPLE, split="test"))
    out = tmp_path_factory.mktemp("scans")
    kinds = ("date", "number")
    return pages, counterfactual_corpus(pages, out=out, alone=kinds, limit=1, each=1), out


def test_copies_of_scans_have_new_ink_at_their_field_alone(made):
    pages, corpus, out = made
    assert set(corpus.documents["change"]) == set(CHANGES)
    for row in corpus.documents.filter(pl.col("change") != "original").to_dicts():
        field = corpus.records.filter(doc_id=row["doc_id"], path=row["dependent"])
        assert field["value"].item() == row["ink"] != row["prior"]
        before = pages.page(row["page_of"], {}, ()).images()[0]
        with Image.open(out / row["image"]) as image:
            ys, xs = np.nonzero(np.asarray(image) != np.asarray(before))
        x0, y0, x1, y1 = field.select("x0", "y0", "x1", "y1").row(0)
        assert x0 - 40 < xs.min() <= xs.max() < x1 + 40
        assert y0 - 20 < ys.min() <= ys.max() < y1 + 20
