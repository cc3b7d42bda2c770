"""Rows collected column by column are the rows."""

from formlab.columns import Columns, height_of


def test_rows_and_columns_are_collected_in_order_with_what_they_lack():
    rows = Columns(status="ok")
    rows.extend([{"path": "/a"}, {"path": "/b", "status": None}], doc_id="1")
    rows.extend({"path": ["/c"], "page": [2]}, doc_id="2")
    rows.extend([])
    assert rows.height == 3
    assert rows.lists == {
        "path": ["/a", "/b", "/c"], "status": ["ok", None, "ok"], "doc_id": ["1", "1", "2"],
        "page": [None, None, 2],
    }  # fmt: skip


def test_no_rows_have_no_height():
    assert height_of([]) == height_of({}) == height_of({"path": []}) == 0
