import polars as pl

from formlab import review, tables

CASE = {
    "benchmark": "b", "split": "s", "doc_id": "1", "system": "x", "task": "text", "path": "/a",
    "outcome": "mismatch", "gold": "7", "pred": "1", "cause": "digit",
}  # fmt: skip


def proposed(**more):
    shared = more.pop("shared", False)
    frame = tables.table("cases", [CASE | more])
    return frame.with_columns(
        systems=pl.Series([["x", "y"]]), n_agree=pl.lit(2), n_systems=pl.lit(3), shared=shared
    )


def test_a_contradicted_label_opens_on_what_the_systems_read():
    (item,) = review.of_proposals(proposed(x0=1.0, y0=2.0, x1=3.0, y1=4.0, page=2))
    assert (item.label, item.parts) == ("7", {"value": "1"})
    assert ("by", "2 of 3: x, y") in item.facts
    assert item.boxes == ((2, (1.0, 2.0, 3.0, 4.0)),)


def test_without_a_gold_box_the_predicted_one_is_shown():
    boxes = {"pred_x0": 5.0, "pred_y0": 6.0, "pred_x1": 7.0, "pred_y1": 8.0}
    (item,) = review.of_proposals(proposed(**boxes))
    assert item.boxes == ((1, (5.0, 6.0, 7.0, 8.0)),)


def test_a_verdict_on_a_document_of_several_splits_is_for_all_of_them():
    assert review.of_proposals(proposed())[0].key["split"] == "s"
    assert review.of_proposals(proposed(shared=True))[0].key["split"] is None
