import polars as pl

from formlab import tables
from formlab.scoring.tasks.facts import places_of, read_boxes, words_of

# Two lines: "Sales 15 $15" and "Costs 15".
LINES = {
    "/ocr/lines/0": [
        ("sales", (0.0, 0.0, 50.0, 10.0)),
        ("15", (60.0, 0.0, 80.0, 10.0)),
        ("$", (90.0, 0.0, 95.0, 10.0)),
        ("15", (95.0, 0.0, 115.0, 10.0)),
    ],
    "/ocr/lines/1": [("costs", (0.0, 20.0, 50.0, 30.0)), ("15", (60.0, 20.0, 80.0, 30.0))],
}


def placed(pred, *, box=None, misplaced=False):
    row = {"pred": pred, "misplaced": misplaced} | dict(zip(tables.BOX, box or (), strict=False))
    read_boxes([row], LINES)
    return [row.get(f"pred_{side}") for side in tables.BOX]


def test_a_text_over_several_words_has_the_box_of_all_and_figures_stand_whole():
    assert places_of("$15", LINES) == [(90.0, 0.0, 115.0, 10.0)]
    assert places_of("sales  15", LINES) == [(0.0, 0.0, 80.0, 10.0)]
    assert places_of("15", {"/0": [("2015", (0.0, 0.0, 9.0, 9.0))]}) == places_of("", LINES) == []


def test_of_several_places_the_one_by_the_gold_box_is_taken():
    near, nowhere = (58.0, 21.0, 82.0, 31.0), [None] * 4
    assert placed("15", box=near) == [60.0, 20.0, 80.0, 30.0]
    assert placed("15") == placed("15", box=near, misplaced=True) == placed(None) == nowhere
    assert placed("Costs15") == [0.0, 20.0, 80.0, 30.0]


def test_words_without_a_box_are_left_out():
    base = {
        "benchmark": "b", "split": "s", "doc_id": "1", "role": "prediction", "system": "m",
        "task": "layout", "kind": "word", "status": "ok",
    }  # fmt: skip
    rows = [base | {"path": "/a/words/0", "value": "x"}]
    rows.append(
        rows[0] | {"value": "Y z"} | dict(zip(tables.BOX, (0.0, 0.0, 1.0, 1.0), strict=True))
    )
    assert words_of(tables.table("records", rows)) == {"1": {"/a": [("yz", (0.0, 0.0, 1.0, 1.0))]}}
    assert words_of(tables.table("records", []).filter(pl.lit(True))) == {}
