import polars as pl

from formlab import tables
from formlab.scoring.tasks.facts import PageLines, read_boxes, words_of

# Two lines: "Sales 15 $15" and "Costs 15".
WORDS = [
    ("/ocr/lines/0/words/0", "Sales", (0.0, 0.0, 50.0, 10.0)),
    ("/ocr/lines/0/words/1", "15", (60.0, 0.0, 80.0, 10.0)),
    ("/ocr/lines/0/words/2", "$", (90.0, 0.0, 95.0, 10.0)),
    ("/ocr/lines/0/words/3", "15", (95.0, 0.0, 115.0, 10.0)),
    ("/ocr/lines/1/words/0", "Costs", (0.0, 20.0, 50.0, 30.0)),
    ("/ocr/lines/1/words/1", "15", (60.0, 20.0, 80.0, 30.0)),
]


def row(pred, *, box=None, misplaced=False):
    known = dict(zip(tables.BOX, box or [None] * 4, strict=True))
    return {"pred": pred, "misplaced": misplaced} | known


def test_a_text_over_several_words_has_the_box_of_all():
    assert PageLines(WORDS).places("$15") == [(90.0, 0.0, 115.0, 10.0)]
    assert PageLines(WORDS).places("sales  15") == [(0.0, 0.0, 80.0, 10.0)]


def test_a_figure_inside_another_has_no_place():
    seen = PageLines([("/ocr/lines/0/words/0", "2015", (0.0, 0.0, 9.0, 9.0))])
    assert seen.places("15") == []
    assert seen.places("") == []


def test_of_several_places_the_one_by_the_gold_box_is_taken():
    (box,) = read_boxes([row("15", box=(58.0, 21.0, 82.0, 31.0))], WORDS)
    assert box == {"pred_x0": 60.0, "pred_y0": 20.0, "pred_x1": 80.0, "pred_y1": 30.0}


def test_without_a_gold_box_or_in_a_wrong_row_only_a_single_place_is_known():
    near = (58.0, 21.0, 82.0, 31.0)
    rows = [row("15"), row("15", box=near, misplaced=True), row("Costs15"), row(None)]
    assert [bool(box) for box in read_boxes(rows, WORDS)] == [False, False, True, False]


def test_words_without_a_box_are_left_out():
    base = {
        "benchmark": "b", "split": "s", "doc_id": "1", "role": "prediction", "system": "m",
        "task": "layout", "kind": "word", "status": "ok",
    }  # fmt: skip
    rows = [base | {"path": "/a", "value": "x"}]
    rows.append(base | {"path": "/b", "value": "y", "x0": 0.0, "y0": 0.0, "x1": 1.0, "y1": 1.0})
    found = words_of(tables.table("records", rows))
    assert found == {"1": [("/b", "y", (0.0, 0.0, 1.0, 1.0))]}
    assert words_of(tables.table("records", []).filter(pl.lit(True))) == {}
