import base64
import csv
import io

import numpy as np
import pytest

from formlab.reports import csv_export


def test_no_text_of_a_model_is_a_formula_in_a_spreadsheet():
    evil = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "＝1", "=cmd|' /C calc'!A0"]
    evil += ["\u200b=1", "\ufeff=1", "\x1b-1", "\u2060+1"]
    lines = list(csv.reader(io.StringIO(csv_export.text([{"=head": text} for text in evil]))))
    assert lines[0] == ["'=head"]
    assert [row[0] for row in lines[1:]] == [f"'{text}" for text in evil]


def test_numbers_stay_numbers_and_nothing_is_an_empty_cell():
    rows = [{"a": -0.5, "b": None}, {"a": float("nan"), "b": True}, {"c": [1, "x"]}]
    assert csv_export.text(rows) == 'a,b,c\r\n-0.5,,\r\n,True,\r\n,,"[1, ""x""]"\r\n'


def test_what_csv_quotes_is_read_back():
    text = 'a,"b"\nc\u2028\ud800\0'
    (_, row) = csv.reader(io.StringIO(csv_export.text([{"x": text}]), newline=""))
    assert row == ['a,"b"\nc\u2028\\ud800␀']


def test_datasets_of_a_layered_chart_are_told_apart():
    spec = {
        "datasets": {"data-1": [{"x": 1}], "data-2": []},
        "layer": [{"data": {"values": [{"y": 2}]}}, {"data": {"name": "data-1"}}],
    }
    assert csv_export.rows("vega", {"spec": spec}) == [{"part": "1", "x": 1}, {"part": "2", "y": 2}]


def test_cells_of_a_surface_are_rows_whatever_way_they_travel():
    grid = np.array([[1.0, 2.0], [3.0, 4.0]])
    sent = {"dtype": "f8", "bdata": base64.b64encode(grid.tobytes()).decode(), "shape": "2, 2"}
    rows = [
        {"x": "a", "y": 5, "z": 1.0}, {"x": "b", "y": 5, "z": 2.0},
        {"x": "a", "y": 6, "z": 3.0}, {"x": "b", "y": 6, "z": 4.0},
    ]  # fmt: skip
    for z in (grid.tolist(), sent):
        trace = {"type": "surface", "x": ["a", "b"], "y": [5, 6], "z": z}
        assert csv_export.rows("plotly", {"figure": {"data": [trace]}}) == rows


def test_columns_of_one_title_are_both_kept():
    payload = {"columns": [{"title": "n"}, {"title": "n"}], "rows": [[1, 2]]}
    assert csv_export.rows("table", payload) == [{"n": 1, "n 2": 2}]


@pytest.mark.parametrize("kind", ["vega", "plotly", "table", "gallery", "cards"])
@pytest.mark.parametrize("payload", [{}, {"spec": 1, "figure": [], "rows": {}, "cases": [1]}])
def test_payloads_of_other_shapes_have_no_table(kind, payload):
    assert csv_export.rows(kind, payload) == []
