"""FUNSD's own words, however their boxes are drawn, are read as the gold's text, field by field."""

import numpy as np
import polars as pl
import pytest

from formlab import benchmarks
from formlab.scoring.fields import read_fields
from formlab.tables import BOX


@pytest.fixture(scope="module")
def page():
    """Fields of the project's own pages, their words, and how often each field has each word."""
    corpora = [benchmarks.load("funsd", split=split) for split in ("train", "test")]
    records = pl.concat(corpus.records for corpus in corpora)
    fields = records.filter(pl.col("task") == "text", pl.col("path").is_not_null())
    words = records.filter(pl.col("kind") == "word", pl.col("value").str.strip_chars() != "")
    # A handful of records hold several words, of which nobody says where each stands.
    words = words.filter(~pl.col("value").str.contains(" "))
    field = pl.col("path").str.extract("^(/entities/[0-9]+)")
    return fields, words, words.group_by("doc_id", path=field).agg(gold=pl.col("value").sort())


CHANGES = {
    "as annotated": {},
    "low": {"height": 0.5}, "high": {"height": 2.5}, "narrow": {"width": 0.8},
    "low and wide": {"height": 0.5, "width": 1.3}, "high and wide": {"height": 2.5, "width": 1.3},
    "down": {"down": 0.3}, "up and low": {"down": -0.3, "height": 0.5},
    "jittered": {"jitter": 0.15},
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_words_in_their_field_are_read_there_however_their_boxes_are_drawn(page, change):
    fields, words, gold = page
    how = {"height": 1, "width": 1, "down": 0, "jitter": 0} | CHANGES[change]
    boxes = words.select(BOX).to_numpy()
    centres, sizes = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    noise = np.random.default_rng(0).uniform(-how["jitter"], how["jitter"], len(boxes))
    centres[:, 1] += how["down"] * np.median(sizes[:, 1]) + noise * sizes[:, 1]
    half = sizes * (how["width"], how["height"]) / 2
    moved = np.hstack([centres - half, centres + half])
    seen = words.with_columns(pl.Series(name, moved[:, n]) for n, name in enumerate(BOX))
    read = read_fields(fields, seen).join(gold, on=["doc_id", "path"])
    same = read["pred"].str.split(" ").list.sort() == read["gold"]
    # FUNSD lists the words of a few fields in another order than they stand on the page.
    assert read.height > 700
    assert same.mean() > 0.99
