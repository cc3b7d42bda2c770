import json

import plotly.io as pio
import polars as pl
import pytest

from formlab import analysis, browser, charts
from formlab.charts import theme
from formlab.gallery.inline import policy
from formlab.reports import _draw, page_assets
from tests.made_forms import made

FORMS = {
    "a": (4, 2, [1, 1, 0, 1]),
    "b": (4, 2, [0, 1, 0, 0]),
    "c": (8, 2, [1, 1]),
    "d": (8, 3, [0, 0, 1]),
}


@pytest.fixture
def table():
    return analysis.surface(made(FORMS), "click_accuracy", "n_fields", "n_kinds", resamples=50)


def test_surface_is_level_over_each_cell_and_has_gaps(table):
    sheet, points = charts.surface_3d(table).to_dict()["data"]
    # Five grid lines a value: wall, top, top, wall, gap. Rows are of y, 2 and then 3.
    assert (len(sheet["z"]), len(sheet["z"][0])) == (10, 10)
    assert sheet["z"][1] == [0.0, 0.5, 0.5, 0.0, None, 0.0, 1.0, 1.0, 0.0, None]
    # No form has 4 fields of 3 types.
    assert sheet["z"][6][:5] == [None] * 5
    assert sheet["z"][4] == [None] * 10
    assert sheet["surfacecolor"][1][5:9] == [1.0] * 4
    assert sorted(points["z"]) == pytest.approx([1 / 3, 0.5, 1.0])


def test_cells_tell_their_count_and_interval_on_hover(table):
    figure = charts.surface_3d(table).to_dict()
    # By x and then y, as plotly looks custom data up: the second x, 8, has two types of form.
    words = figure["data"][0]["customdata"]
    assert words[6][1].startswith("fields in the form: 8<br>types of field: 2")
    assert words[1][6] == ""
    text = words[1][1]
    assert text.startswith("fields in the form: 4<br>types of field: 2<br>click accuracy: 0.500")
    assert "n = 8 in 2 documents" in text
    bars = figure["data"][1]["error_z"]
    at = figure["data"][1]["z"].index(0.5)
    low = table.filter(pl.col("value") == 0.5)["ci_low"][0]
    assert bars["arrayminus"][at] == pytest.approx(0.5 - low)
    # A cell of one document has no interval.
    assert bars["array"][figure["data"][1]["z"].index(1.0)] == 0.0


def test_axes_are_named_in_words_and_the_figure_is_described(table):
    layout = charts.surface_3d(table).to_dict()["layout"]
    assert layout["scene"]["xaxis"]["title"]["text"] == "<br>fields in the form"
    assert layout["scene"]["xaxis"]["ticktext"] == ["4", "8"]
    assert layout["scene"]["zaxis"]["title"]["text"] == "click accuracy"
    assert "4 by 2: 0.500 of 8" in layout["meta"]["alt"]
    fallback = layout["meta"]["fallback"]["data"][0]
    assert fallback["z"] == [[0.5, 1.0], [None, pytest.approx(1 / 3)]]


def test_flat_twin_writes_value_and_count_in_each_cell_and_leaves_empty_ones_out(table):
    chart = charts.surface_2d(table).to_dict()
    rows = next(iter(chart["datasets"].values()))
    assert {(row["x_value"], row["y_value"], row["count"]) for row in rows} == {
        ("4", "2", "n = 8"), ("8", "2", "n = 2"), ("8", "3", "n = 3"),
    }  # fmt: skip
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["rect", "text", "text"]
    assert chart["layer"][0]["encoding"]["color"]["scale"]["scheme"] == theme.SCORES
    assert "8 by 3: 0.333 of 3" in chart["description"]
    # NaN is not JSON: intervals that are not known are null.
    assert json.dumps(chart, allow_nan=False)


def test_caption_has_both_ends_and_counts_the_empty_cells(table):
    caption = charts.surface_caption(table, say="Clicks.")
    assert "between 0.333 at 8 by 3" in caption.text
    assert "1.000 at 8 by 2 (n = 2 in 1 document)" in caption.text
    assert caption.text.endswith("3 cells hold forms, 1 hold none and stay empty.")
    assert caption.settings.startswith("b:s|click_accuracy|level=field|avg=micro")


def test_scale_ends_near_the_data_where_all_is_low():
    forms = {"a": (4, 2, [1] + [0] * 9), "b": (8, 2, [0] * 10)}
    low = analysis.surface(made(forms), "click_accuracy", "n_fields", "n_kinds", resamples=0)
    scene = charts.surface_3d(low).to_dict()["layout"]["scene"]
    assert scene["zaxis"]["range"] == pytest.approx([0, 0.105])


def test_without_scores_there_is_a_note():
    empty = analysis.surface(made(FORMS), "cer", "n_fields", "n_kinds")
    for chart in (charts.surface_2d(empty), charts.surface_3d(empty)):
        assert chart.label == "Note"
    assert charts.surface_caption(empty, say="x").label == "Note"


@pytest.mark.browser
def test_arrow_keys_turn_the_surface_in_a_report(table, tmp_path):
    figure = json.loads(pio.to_json(charts.surface_3d(table), validate=False))
    mime = theme.MIME.format("plotly")
    shown = _draw.output({mime: {"figure": figure, "alt": figure["layout"]["meta"]["alt"]}})
    scripts = list(page_assets.scripts({"plotly"}).values())
    (tmp_path / "page.html").write_text(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts)}"></head><body>'
        f"{shown}{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>"
    )
    eye = "document.querySelector('.fl-plotly')._fullLayout.scene._scene.getCamera().eye"
    with browser.page(tmp_path / "page.html", size=(390, 800)) as visit:
        holder = visit.page.locator(".fl-plotly .gl-container canvas").first
        holder.wait_for()
        before = visit.page.evaluate(eye)
        visit.page.locator(".fl-plotly").press("ArrowRight")
        after = visit.page.evaluate(eye)
        assert "Arrow keys turn it" in visit.page.locator(".fl-plotly").get_attribute("aria-label")
        assert visit.trouble == []
    assert (after["x"], after["y"]) != (before["x"], before["y"])
    assert after["z"] == pytest.approx(before["z"])
