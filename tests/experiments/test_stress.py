"""Degraded pages, corpora of them, and how systems respond to them."""

import json
import math
import sys

import cv2
import numpy as np
import polars as pl
import pytest
from PIL import Image

import formlab
from formlab import pictures
from formlab.errors import DataBroken, NotAvailable
from formlab.folders import Corpus
from formlab_experiments.degradations import DEGRADATIONS, degrade
from formlab_experiments.responses import (
    NEVER,
    NO_START,
    growing_causes,
    half_level,
    harm,
    response,
)
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
    known = {"none": (70, 10, 160, 30), "scale": (35, 5, 80, 15), "noise": (70, 10, 160, 30)}
    for name, box in known.items():
        of = pl.col("doc_id").str.starts_with(f"a~{name}")
        gold = made.records.filter(of, path="/entities/1")
        assert gold.select("x0", "y0", "x1", "y1").row(0) == box
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


def test_another_plan_is_refused_in_the_same_folder(funsd_root, tmp_path):
    corpus = formlab.load("funsd", root=funsd_root, split="test")
    stress_corpus(corpus, "noise=20", out=tmp_path, seed=1)
    for vary, seed in (("noise=30", 1), ("noise=20", 2)):
        with pytest.raises(DataBroken, match="another experiment"):
            stress_corpus(corpus, vary, out=tmp_path, seed=seed)


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


def test_another_seed_or_page_is_degraded_elsewhere():
    for name in ("noise", "fold", "stain", "ink"):
        others = [
            degrade(page(), name, AMOUNTS[name][1], seed=seed, page=of).image.tobytes()
            for seed, of in ((0, "a"), (1, "a"), (0, "b"))
        ]
        assert len(set(others)) == 3, name


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


def cases_of(hits, levels, of=10):
    """Cases of pages: `hits` fields right at each level (none first), the same of all pages."""
    rows = []
    for page, counts in enumerate(hits):
        for (name, amount, step), right in zip(levels, counts, strict=True):
            rows += [
                (f"p{page}", name, float(amount), step, n < right, "odd" if n % 2 else "even")
                for n in range(of)
            ]  # fmt: skip
    schema = ["page_of", "degradation", "amount", "step", "right", "kind"]
    return pl.DataFrame(rows, schema=schema, orient="row")


LEVELS = [("none", 0, 0), ("blur", 1, 1), ("blur", 3, 2), ("scale", 0.5, 1)]


def test_curves_begin_at_the_page_as_it_is_and_compare_with_it():
    cases = cases_of([[10, 8, 2, 10], [8, 8, 4, 8], [9, 5, 3, 9]], LEVELS)
    table = response(cases)
    blur = table.filter(degradation="blur")
    assert blur["amount"].to_list() == [0, 1, 3]
    # 27, 21 and 9 of 30.
    assert blur["share"].to_list() == pytest.approx([0.9, 0.7, 0.3])
    assert blur["difference"].to_list()[1:] == pytest.approx([-0.2, -0.6])
    assert math.isnan(blur["difference"][0])
    assert blur["n_pages"].to_list() == [3, 3, 3]
    # The interval of the difference stands at the share that it leads to.
    assert (blur["low"] < blur["share"])[1:].all()
    assert blur["low"][2] == pytest.approx(max(0, 0.9 + blur["ci_low"][2]))
    scale = table.filter(degradation="scale")
    assert scale["amount"].to_list() == [1, 0.5]
    assert scale["difference"][1] == 0
    by_kind = response(cases, "kind")
    assert by_kind.select("value", "degradation").unique().height == 4
    counted = by_kind.filter(degradation="blur", value="even")["share"].to_list()
    right = cases.filter(pl.col("kind") == "even", pl.col("degradation").is_in(["none", "blur"]))
    by_hand = right.group_by("step").agg(pl.col("right").mean()).sort("step")["right"].to_list()
    assert counted == pytest.approx(by_hand)


def test_p_is_adjusted_over_the_whole_table():
    cases = cases_of(np.random.default_rng(0).integers(4, 9, (12, 4)), LEVELS)
    for table in (response(cases, "kind"), harm(cases)):
        known = table.filter(pl.col("p").is_not_nan()).sort("p")
        assert known["p_adjusted"][0] == pytest.approx(min(1, known["p"][0] * known.height))


def test_half_is_reached_between_two_amounts():
    # 20 of 20 at first; 16 at 1, 4 at 3: 10 is half way between.
    cases = cases_of([[10, 8, 2, 10]] * 2, LEVELS)
    table = half_level(cases)
    row = table.filter(degradation="blur").row(0, named=True)
    assert (row["amount"], row["ci_low"], row["ci_high"]) == (2, 2, 2)
    assert (row["reached"], row["last"], row["left"], row["reason"]) == (1, 3, 0.2, "")
    never = table.filter(degradation="scale").row(0, named=True)
    assert math.isnan(never["amount"])
    assert math.isnan(never["ci_low"])
    assert (never["reason"], never["reached"], never["last"], never["left"]) == (NEVER, 0, 0.5, 1)


def test_half_of_nothing_is_said_and_a_curve_that_few_pages_bring_down_has_an_open_end():
    assert half_level(cases_of([[0, 0, 0, 0]] * 2, LEVELS))["reason"].unique().item() == NO_START
    uneven = cases_of([[10, 10, 10, 10]] * 3 + [[10, 0, 0, 10]] * 4, LEVELS)
    row = half_level(uneven).filter(degradation="blur").row(0, named=True)
    assert 0 < row["reached"] < 1
    assert not math.isnan(row["ci_low"])
    assert math.isnan(row["ci_high"])


@pytest.mark.parametrize("pages", [12, pytest.param(24, marks=pytest.mark.complete)])
def test_intervals_of_the_half_level_hold_it_as_often_as_they_say(pages):
    """100 experiments on pages that differ in how they read and in what they stand."""
    rng = np.random.default_rng(pages)
    levels = [("none", 0, 0), *(("blur", amount, amount) for amount in (1, 2, 3, 4))]

    def hits(count):
        start, knee = rng.uniform(0.6, 1, (count, 1)), rng.normal(2.4, 0.5, (count, 1))
        chance = start / (1 + np.exp(2.5 * (np.arange(5) - knee)))
        return rng.binomial(20, np.clip(chance, 0, 1))

    # So many pages that their own curve is the true one.
    many = np.rint(hits(100_000).mean(axis=0) * 500)
    truth = half_level(cases_of([many], levels, of=10_000), resamples=2)["amount"].item()
    inside = 0
    for seed in range(100):
        row = half_level(cases_of(hits(pages), levels, of=20), resamples=300, seed=seed)
        inside += row["ci_low"].item() <= truth <= row["ci_high"].item()
    # At 95 % fewer than 86 have a chance of 1 in 10,000.
    assert inside >= 86, inside


def test_a_cause_grows_by_the_fields_that_fail_for_it():
    cause = pl.when(pl.col("right")).then(None).otherwise(pl.lit("missed"))
    cases = cases_of([[10, 8, 2, 10], [10, 6, 4, 10]], LEVELS).with_columns(cause=cause)
    # Of two steps of 10 fields on two pages 2 + 8 + 4 + 6 of 40; none under scale.
    table = growing_causes(cases).select("degradation", "cause", "difference")
    assert table.rows() == [("blur", "missed", pytest.approx(1 / 2))]


def test_pairs_are_ordered_by_what_they_do_over_their_range():
    rng = np.random.default_rng(2)
    start = rng.integers(8, 11, 15)
    hits = [[s, s - 1, s - 2, max(s - 7, 0)] for s in start]
    table = harm(cases_of(hits, LEVELS))
    assert table.select("first", "second", "range").rows() == [
        ("none", "scale", "0.5 to 0.5"), ("none", "blur", "1 to 3"),
        ("blur", "scale", "0.5 to 0.5"),
    ]  # fmt: skip
    # 7 of 10 fields less, 1 or 2 of 10 less.
    assert table["difference"].to_list()[1] == pytest.approx(-0.15)
    assert (table["p_adjusted"] < 0.001).all()


def test_without_opencv_the_extra_that_has_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(NotAvailable, match=r"pip install 'formlab\[experiments\]'"):
        degrade(Image.new("L", (9, 9)), "blur", 1)
