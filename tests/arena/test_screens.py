import json

import polars as pl
import pytest

from formlab_arena.screens import by_screen
from tests.analysis.made_pairs import built

BOX = {"x0": 1.0, "y0": 2.0, "x1": 3.0, "y1": 4.0}
CLICK = {"pred_x0": 5.0, "pred_y0": 6.0, "pred_x1": 5.0, "pred_y1": 6.0}


@pytest.fixture
def evaluation():
    documents = [
        {"doc_id": "1", "image": "a.png", "meta": json.dumps({"images": ["a.png", "b.png"]})},
        {"doc_id": "2", "image": "c.png", "meta": json.dumps({"images": ["c.png"]})},
        {"doc_id": "3", "image": "d.png"},
    ]
    base = {"task": "click", "outcome": "mismatch"}
    cases = [
        base | BOX | CLICK | {"doc_id": "1", "path": "/both", "page": 2, "pred_page": 2},
        base | BOX | CLICK | {"doc_id": "1", "path": "/away", "page": 1, "pred_page": 2},
        base | BOX | {"doc_id": "1", "path": "/gold", "page": 2},
        base | BOX | {"doc_id": "1", "path": "/never seen", "page": 0},
        base | BOX | CLICK | {"doc_id": "2", "path": "/one", "page": 1, "pred_page": 1},
        base | BOX | {"doc_id": "3", "path": "/plain", "page": 1},
    ]
    return built(cases, documents=documents)


def test_each_screen_is_a_document_and_no_case_is_lost(evaluation):
    screens = by_screen(evaluation).check()
    added = screens.documents.filter(pl.col("doc_id").str.contains("screen"))
    assert added.select("doc_id", "image").rows() == [
        ("1 screen 1", "a.png"), ("1 screen 2", "b.png"),
    ]  # fmt: skip
    assert screens.cases.height == evaluation.cases.height
    assert set(screens.cases["doc_id"]) <= set(screens.documents["doc_id"])


def test_case_stands_on_the_screen_of_its_click_with_the_boxes_that_are_there(evaluation):
    cases = {row["path"]: row for row in by_screen(evaluation).cases.to_dicts()}
    assert cases["/both"]["doc_id"] == cases["/away"]["doc_id"] == "1 screen 2"
    assert (cases["/both"]["x0"], cases["/both"]["pred_x0"]) == (1.0, 5.0)
    assert (cases["/away"]["x0"], cases["/away"]["pred_x0"]) == (None, 5.0)
    assert (cases["/gold"]["doc_id"], cases["/gold"]["x0"]) == ("1 screen 2", 1.0)
    assert (cases["/never seen"]["doc_id"], cases["/never seen"]["x0"]) == ("1 screen 1", None)


def test_forms_of_one_image_stay_as_they_are(evaluation):
    cases = by_screen(evaluation).cases.filter(pl.col("doc_id").is_in(["2", "3"]))
    assert cases.equals(evaluation.cases.filter(pl.col("doc_id").is_in(["2", "3"])))
