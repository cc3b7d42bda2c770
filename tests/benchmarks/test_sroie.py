import json

import polars as pl
import pytest

from formlab import benchmarks


@pytest.fixture
def root(tmp_path):
    for name in ("key", "box", "img"):
        (tmp_path / name).mkdir()
    (tmp_path / "key" / "000.json").write_text(
        json.dumps({"company": "TEA, LTD", "date": "01/02/2020", "total": "9.00"})
    )
    lines = [
        "0,0,90,0,90,10,0,10,TEA, LTD",
        "0,20,200,20,200,30,0,30,DATE: 01/02/2020 X",
        "0,40,50,40,50,50,0,50,59.00",
        "0,60,50,60,50,70,0,70,9.00",
        "a line of another kind",
    ]
    (tmp_path / "box" / "000.csv").write_text("\r\n".join(lines) + "\n\n")
    return tmp_path


def test_text_with_commas_and_malformed_lines_stay(root):
    corpus = benchmarks.load("sroie", root=root)
    lines = corpus.records.filter(pl.col("kind") == "line")
    assert lines["value"].to_list() == [
        "TEA, LTD", "DATE: 01/02/2020 X", "59.00", "9.00", "a line of another kind",
    ]  # fmt: skip
    assert lines["x0"].null_count() == 1
    assert corpus.flaws["box lines malformed"] == 1


def test_key_gets_the_box_of_the_line_that_holds_it(root):
    records = benchmarks.load("sroie", root=root).records
    boxes = {row["path"]: row for row in records.filter(pl.col("path").is_not_null()).to_dicts()}
    assert (boxes["/company"]["y0"], boxes["/company"]["y1"]) == (0, 10)
    # "DATE: 01/02/2020 X" has 18 characters over 200 pixels; the date is characters 6 to 16.
    assert boxes["/date"]["x0"] == pytest.approx(200 * 6 / 18)
    assert boxes["/date"]["x1"] == pytest.approx(200 * 16 / 18)
    # "9.00" is a line of its own, and not the end of "59.00".
    assert boxes["/total"]["y0"] == 60


def test_key_that_was_not_annotated_is_unscored_and_counted(root):
    corpus = benchmarks.load("sroie", root=root)
    address = corpus.records.filter(pl.col("path") == "/address").row(0, named=True)
    assert (address["value"], address["status"]) == (None, "unscored")
    assert corpus.flaws["keys absent: address"] == 1
