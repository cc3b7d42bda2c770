"""The committed sample forms: that they are what FUNSD's files are, and that they are remade."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data" / "sample" / "funsd"
ANNOTATIONS = sorted(SAMPLE.glob("*/annotations/*.json"))
FORMS = pytest.mark.parametrize("file", ANNOTATIONS, ids=lambda file: file.stem)


@cache
def entities(file: Path) -> list[dict]:
    return json.loads(file.read_text("utf-8"))["form"]


@cache
def darkness(file: Path) -> np.ndarray:
    """255 is black; shape (height, width)."""
    with Image.open(file.parents[1] / "images" / f"{file.stem}.png") as image:
        assert image.mode == "L"
        dark = 255 - np.asarray(image, dtype=float)
    # The tests share it.
    dark.setflags(write=False)
    return dark


def links_to_nothing(file: Path) -> list[list[int]]:
    ids = {entity["id"] for entity in entities(file)}
    return [link for e in entities(file) for link in e["linking"] if not set(link) <= ids]


def test_twelve_forms_each_with_its_image():
    splits = [file.parts[-3] for file in ANNOTATIONS]
    assert (splits.count("training_data"), splits.count("testing_data")) == (4, 8)
    images = {file.relative_to(SAMPLE) for file in SAMPLE.glob("*/images/*.png")}
    named = {Path(f.parts[-3], "images", f"{f.stem}.png") for f in ANNOTATIONS}
    assert images == named


@FORMS
def test_entities_are_as_funsd_writes_them(file):
    height, width = darkness(file).shape
    for number, entity in enumerate(entities(file)):
        assert set(entity) == {"id", "text", "box", "label", "words", "linking"}
        assert entity["id"] == number
        assert " ".join(word["text"] for word in entity["words"]) == entity["text"]
        boxes = [word["box"] for word in entity["words"]]
        assert all(0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height for x0, y0, x1, y1 in boxes)
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        assert entity["box"] == [min(x0), min(y0), max(x1), max(y1)]


@FORMS
def test_links_are_listed_at_both_ends_and_lead_from_header_to_question_to_answer(file):
    by_id = {entity["id"]: entity for entity in entities(file)}
    label = {number: entity["label"] for number, entity in by_id.items()}
    for number, entity in by_id.items():
        for start, end in entity["linking"]:
            assert number in (start, end)
            assert all([start, end] in by_id[at]["linking"] for at in (start, end) if at in by_id)
            kinds = (label[start], label.get(end))
            assert kinds in {("header", "question"), ("question", "answer"), ("question", None)}


def test_exactly_one_link_of_one_form_leads_nowhere():
    stray = {file.stem: links for file in ANNOTATIONS if (links := links_to_nothing(file))}
    assert list(stray) == ["purchase_order"]
    assert len(stray["purchase_order"]) == 1


def test_unfilled_ticked_and_tall_answers_are_there():
    answers = [e for file in ANNOTATIONS for e in entities(file) if e["label"] == "answer"]
    empty = [answer for answer in answers if not answer["text"]]
    assert len(empty) == 5
    assert all(answer["linking"] for answer in empty)
    assert sum(answer["text"] == "x" for answer in answers) >= 10
    tall = [a for a in answers if len({word["box"][1] // 12 for word in a["words"]}) > 2]
    assert len(tall) >= 4


def holds_ink(piece: np.ndarray, paper: float) -> bool:
    # The darkest twentieth of the piece, as thin strokes fill no more,
    # against the median of the page, which is paper.
    return bool(np.quantile(piece, 0.95) > paper + 25)


@FORMS
def test_there_is_ink_under_every_word(file):
    dark = darkness(file)
    paper = float(np.median(dark))
    for entity in entities(file):
        for word in entity["words"]:
            x0, y0, x1, y1 = word["box"]
            assert not word["text"] or holds_ink(dark[y0:y1, x0:x1], paper), word


@FORMS
def test_there_is_no_ink_on_the_left_margin(file):
    # The counterpart of the test above: noise and specks alone do not pass for ink.
    dark = darkness(file)
    paper = float(np.median(dark))
    pieces = [dark[y : y + 14, 8:36] for y in range(100, 980, 20)]
    assert sum(holds_ink(piece, paper) for piece in pieces) <= 2


@FORMS
def test_words_are_darker_than_the_same_boxes_moved_to_the_side(file):
    # 9 px down and right is off the strokes of most words, so a skew left out would show here.
    dark = darkness(file)
    gains = []
    for entity in entities(file):
        for word in entity["words"]:
            x0, y0, x1, y1 = word["box"]
            beside = dark[y0 + 9 : y1 + 9, x0 + 9 : x1 + 9]
            if word["text"] and beside.size:
                gains.append(dark[y0:y1, x0:x1].mean() - beside.mean())
    assert np.mean(np.array(gains) > 0) > 0.8


@pytest.mark.complete
def test_the_generator_remakes_the_committed_annotations(remade):
    again = remade("funsd")
    for file in ANNOTATIONS:
        drawn = again / file.relative_to(SAMPLE)
        assert drawn.read_bytes() == file.read_bytes(), file.name
        assert darkness(drawn).shape == darkness(file).shape
