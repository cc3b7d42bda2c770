import json

import pytest

from formlab import analysis, charts
from tests.made_forms import made

FORMS = {str(n): (n, 1, [1] * n + [0] * (4 - n)) for n in (1, 2, 4)}


@pytest.fixture
def table():
    return analysis.curve(made(FORMS), ["click_accuracy"], "n_fields", window=3, resamples=20)


def test_points_stand_at_their_value_and_the_line_is_smoothed(table):
    chart = charts.curve_lines(table).to_dict()
    rows = next(iter(chart["datasets"].values()))
    assert [(row["x_value"], row["value"]) for row in rows] == [("1", 0.25), ("2", 0.5), ("4", 1.0)]
    assert [row["smooth"] for row in rows] == pytest.approx([3 / 8, 7 / 12, 3 / 4])
    lines = next(layer for layer in chart["layer"] if layer["mark"]["type"] == "line")
    assert lines["encoding"]["y"]["field"] == "smooth"
    assert lines["encoding"]["x"]["sort"] == ["1", "2", "4"]
    assert json.dumps(chart, allow_nan=False)


def test_counts_stand_along_the_top(table):
    chart = charts.curve_lines(table).to_dict()
    counts = [layer for layer in chart["layer"] if layer["mark"]["type"] == "text"]
    assert counts[0]["encoding"]["text"]["field"] == "n"


def test_caption_says_both_ends_n_and_the_smoothing(table):
    caption = charts.curve_caption(table, say="Clicks.")
    assert "Click accuracy is 0.250 at 1 and 1.000 at 4." in caption.text
    assert "n = 12 fields in 3 forms" in caption.text
    assert "mean of 3 neighbouring values" in caption.settings


def test_without_scores_there_is_a_note():
    empty = analysis.curve(made(FORMS), ["cer"], "n_fields")
    assert charts.curve_lines(empty).label == "Note"
    assert charts.curve_caption(empty, say="x").label == "Note"
