"""Corpora of degraded pages: every level on the same pages, gold where the page has it."""

import json

import numpy as np
import polars as pl
import pytest
from PIL import Image

import formlab
from formlab import pictures
from formlab.errors import DataBroken
from formlab.folders import Corpus
from formlab_experiments.degradations import DEGRADATIONS
from formlab_experiments.stress import plan, stress_corpus


def test_a_plan_has_the_page_as_it_is_once_and_milder_amounts_first():
    assert plan("scale=0.25:1:4,jpeg=50") == [
        ("none", 0.0, 0), ("scale", 0.75, 1), ("scale", 0.5, 2), ("scale", 0.25, 3),
        ("jpeg", 50.0, 1),
    ]  # fmt: skip
    every = plan(())
    assert {name for name, *_ in every} == {"none", *DEGRADATIONS}
    assert len(every) == 1 + 4 * len(DEGRADATIONS)


def test_every_level_is_on_the_same_pages_with_boxes_that_follow(funsd_root, tmp_path):
    corpus = formlab.load("funsd", root=funsd_root, split="test")
    made = stress_corpus(corpus, "scale=0.5,skew=4,noise=20", out=tmp_path / "out")
    rows = made.documents.select("page_of", "degradation", "amount", "step").rows()
    assert rows == [
        (page, *level)
        for level in (("none", 0, 0), ("scale", 0.5, 1), ("skew", 4, 1), ("noise", 20, 1))
        for page in "ab"
    ]
    sides = ["x0", "y0", "x1", "y1"]
    gold = {
        name: made.records.filter(pl.col("doc_id").str.starts_with(f"a~{name}"), path="/entities/1")
        for name in ("none", "scale", "noise")
    }
    assert gold["none"].select(sides).row(0) == (70, 10, 160, 30)
    assert gold["scale"].select(sides).row(0) == (35, 5, 80, 15)
    assert gold["noise"].select(sides).row(0) == (70, 10, 160, 30)
    sizes = made.documents.select("image", "width", "height").rows()
    assert {pictures.image_size(made.root / image) for image, *_ in sizes} == {
        tuple(size) for _, *size in sizes
    }
    # What the system cannot see has gone nowhere: texts are those of the page.
    texts = made.records.group_by(pl.col("doc_id").str.slice(0, 1), "path").agg(
        pl.col("value").n_unique()
    )
    assert texts["value"].max() == 1


def test_pages_of_a_document_are_degraded_alike(tmp_path):
    for number in (1, 2):
        pixels = np.full((60, 80), 255, np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    corpus = formlab.load("funsd")
    row = corpus.documents[:1].with_columns(
        image=pl.lit("1.png"), meta=pl.lit('{"images": ["1.png", "2.png"], "note": "x"}')
    )
    records = corpus.records.filter(doc_id=row["doc_id"][0])[:2].with_columns(
        page=pl.Series([1, 2]), x0=pl.lit(10.0), y0=pl.lit(10.0), x1=pl.lit(20.0), y1=pl.lit(20.0)
    )
    two = Corpus(row, records, "funsd", "test", root=tmp_path)
    made = stress_corpus(two, "scale=0.5", out=tmp_path / "out")
    meta = json.loads(made.documents["meta"][1])
    assert meta["note"] == "x"
    assert len(meta["images"]) == 2
    assert [pictures.image_size(made.root / name) for name in meta["images"]] == [(40, 30)] * 2
    assert made.records["x1"].to_list() == [20, 20, 10, 10]


def test_documents_with_names_that_no_file_can_have_keep_a_picture_each(funsd_root, tmp_path):
    corpus = formlab.load("funsd", root=funsd_root, split="test")
    names = {"a": "../a/b", "b": "../a:b" + "c" * 300}
    both = corpus.documents, corpus.records
    renamed = (each.with_columns(pl.col("doc_id").replace(names)) for each in both)
    odd = Corpus(*renamed, "funsd", "test", root=corpus.root)
    made = stress_corpus(odd, "scale=0.5", out=tmp_path / "out")
    files = [made.root / image for image in made.documents["image"]]
    assert len({file.read_bytes() for file in files}) == 4
    assert {file.parent for file in files} == {tmp_path / "out" / "images"}


@pytest.mark.parametrize(("vary", "seed"), [("noise=30", 1), ("noise=20", 2)])
def test_another_plan_is_refused_in_the_same_folder(funsd_root, tmp_path, vary, seed):
    corpus = formlab.load("funsd", root=funsd_root, split="test")
    stress_corpus(corpus, "noise=20", out=tmp_path, seed=1)
    with pytest.raises(DataBroken, match="another experiment"):
        stress_corpus(corpus, vary, out=tmp_path, seed=seed)
