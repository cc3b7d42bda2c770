import json

import polars as pl
import pytest

from formlab import charts, tables
from formlab.charts.form_faults import click_value_bars, fault_bars, miss_bars, nearest_table
from formlab.tables import Evaluation
from tests.made_forms import made


def rows_of(chart):
    return next(iter(chart["datasets"].values()))


def test_bars_of_click_and_value_have_four_cells_and_the_count():
    table = pl.DataFrame(
        {
            "kind": ["string"] * 4,
            "click": ["right", "right", "wrong", "wrong"],
            "value": ["right", "wrong", "right", "wrong"],
            "n_cases": [5, 1, 3, 1],
            "share": [0.5, 0.1, 0.3, 0.1],
        }
    )
    chart = click_value_bars(table).to_dict()
    assert [(row["cell"], row["n_cases"]) for row in rows_of(chart)] == [
        ("both right", 5), ("click right, value wrong", 1), ("click wrong, value right", 3),
        ("both wrong", 1),
    ]  # fmt: skip
    assert chart["layer"][0]["encoding"]["x"]["stack"] == "normalize"
    assert "string, click wrong, value right: 3" in chart["description"]


@pytest.fixture
def missed():
    rows = [
        {"template": "A", "path": "/a", "near": "/b", "near_distance": 0.0, "distance": 30.0},
        {"template": "A", "path": "/a", "near": "/b", "near_distance": 2.0, "distance": 50.0},
        {"template": "A", "path": None, "near": "/b", "near_distance": 0.0, "distance": None},
        {"template": "A", "path": "/c", "near": None, "near_distance": None, "distance": 700.0},
    ]
    return pl.DataFrame(rows)


def test_misses_stand_in_bands_of_distance(missed):
    chart = miss_bars(missed).to_dict()
    assert {(row["band"], row["on"], row["clicks"]) for row in rows_of(chart)} == {
        ("20–40", "hit a wrong element", 1), ("40–80", "hit no element", 1),
        ("640 and more", "hit no element", 1),
    }  # fmt: skip
    assert chart["encoding"]["y"]["sort"][0] == "under 5"
    assert json.dumps(chart, allow_nan=False)


def test_nearest_elements_are_counted_by_the_field_that_was_meant(missed):
    frame = nearest_table(missed).frame
    assert frame.row(0, named=True) == {
        "form": "A", "meant for": "/a", "hit or next to": "/b", "clicks": 2, "of them hits": 1,
        "median distance": 40.0,
    }  # fmt: skip
    assert set(frame["meant for"]) == {"/a", "/c", "none"}
    assert frame["clicks"].sum() == missed.height


def test_faults_are_split_into_first_ones_and_followers():
    counts = pl.DataFrame(
        {
            "fault": ["wrong_field", "missing"],
            "n_first": [2, 1],
            "n_after": [3, 0],
            "n_docs": [2, 1],
        }
    )
    chart = fault_bars(counts).to_dict()
    assert {(r["fault"], r["role"], r["fields"]) for r in rows_of(chart)} == {
        ("wrong field", "first fault", 2), ("wrong field", "follows another", 3),
        ("missing", "first fault", 1), ("missing", "follows another", 0),
    }  # fmt: skip
    assert chart["encoding"]["y"]["sort"] == ["wrong field", "missing"]


def test_evaluation_without_clicks_or_log_gets_notes():
    empty = Evaluation(
        *(tables.table(name, []) for name in ("documents", "cases", "scores")), "b", "s", "x"
    )
    plain = made({"a": (2, 1, [1, 0])})
    for evaluation in (empty, plain):
        for figures in (
            charts.click_value_figures(evaluation), charts.fault_figures(evaluation),
            charts.miss_figures(evaluation),
        ):  # fmt: skip
            assert figures[0].label == "Note"


def test_captions_count_what_the_figures_show(monkeypatch):
    faults = pl.DataFrame(
        {
            "doc_id": ["1", "1", "2"], "fault": ["wrong_field", "overwritten", "missing"],
            "first": [True, False, True], "chain": [2, 2, 1],
        }
    )  # fmt: skip
    monkeypatch.setattr("formlab.charts.form_faults.propagation", lambda _: faults)
    caption, _, _, table = charts.fault_figures(made({"a": (1, 1, [1])}))
    assert "First faults: 2; faults that follow another: 1; forms with any: 2" in caption.text
    assert "longest chain: 2." in caption.text
    assert table.frame.rows() == [(1, 1), (2, 1)]
