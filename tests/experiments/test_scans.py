"""Scans whose values are changed, each replacement shown, and those rejected left out."""

import numpy as np
import polars as pl
import pytest
from PIL import Image

import formlab
from formlab import resources
from formlab_experiments import Scans, counterfactual_corpus

SAMPLE = resources.folder("data") / "sample" / "funsd"
CHANGES = ("original", "dependent", "blank")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    pages = Scans(formlab.load("formcraft", root=SAMPLE, split="test"))
    out = tmp_path_factory.mktemp("scans")
    kinds = ("date", "number")
    return pages, counterfactual_corpus(pages, out=out, alone=kinds, limit=2, each=2), out


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


def test_totals_of_real_receipts_are_changed(tmp_path, shared):
    pages = Scans(formlab.load("formcraft", root=shared / "data" / "sroie"))
    corpus = counterfactual_corpus(pages, out=tmp_path, limit=2, each=1)
    assert set(corpus.documents["change"]) == {
        "original", "source", "dependent", "contradicted", "blank", "consistent",
    }  # fmt: skip
    assert all((tmp_path / image).is_file() for image in corpus.documents["image"])
