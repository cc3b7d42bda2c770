import json

import plotly.io as pio
import polars as pl
import pytest

from formlab import browser, charts
from formlab.charts import _surface
from tests.reports.conftest import report_page

ROWS = [("4", "2", 0.5, 8, 0.25, 0.75), ("4", "3", None, 0, None, None),
        ("8", "2", 1.0, 2, None, None), ("8", "3", 1 / 3, 3, None, None)]  # fmt: skip
COLUMNS = ["fields", "kinds", "value", "n_cases", "ci_low", "ci_high"]
TABLE = pl.DataFrame(ROWS, schema=COLUMNS, orient="row")
TITLES = {"fields": "fields in the form", "kinds": "types of field"}


def surface(table=TABLE, **more):
    return charts.surface(table, "fields", "kinds", titles=TITLES, metric="click_accuracy", **more)


def test_surface_is_level_over_each_cell_and_has_gaps():
    sheet, points = surface()[0].to_dict()["data"]
    # Five grid lines a value: wall, top, top, wall, gap. Rows are of y, 2 and then 3.
    assert (len(sheet["z"]), len(sheet["z"][0])) == (10, 10)
    assert sheet["z"][1] == [0.0, 0.5, 0.5, 0.0, None, 0.0, 1.0, 1.0, 0.0, None]
    # No form has 4 fields of 3 types.
    assert sheet["z"][6][:5] == [None] * 5
    assert sheet["z"][4] == [None] * 10
    assert sheet["surfacecolor"][1][5:9] == [1.0] * 4
    assert sorted(points["z"]) == pytest.approx([1 / 3, 0.5, 1.0])


def test_cells_show_their_count_and_interval_on_hover_without_markup_of_names():
    figure = surface()[0].to_dict()
    # By x and then y, as plotly looks custom data up: the second x, 8, has two types of form.
    texts = figure["data"][0]["customdata"]
    assert texts[6][1].startswith("fields in the form: 8<br>types of field: 2")
    assert texts[1][6] == ""
    assert "95 % interval 0.250 to 0.750" in texts[1][1]
    bars = figure["data"][1]["error_z"]
    assert bars["arrayminus"][0] == bars["array"][0] == 0.25
    # A cell of one document has no interval.
    assert bars["array"][1] == 0.0
    hostile = surface(TABLE.with_columns(fields=pl.lit("<a href='x'>")))[0].to_dict()
    assert "<a" not in hostile["data"][0]["customdata"][1][1]


def test_figure_is_described_and_has_a_flat_fallback():
    layout = surface()[0].to_dict()["layout"]
    assert layout["scene"]["xaxis"]["title"]["text"] == "<br><br>fields in the form"
    assert layout["scene"]["xaxis"]["ticktext"] == ["4", "8"]
    assert "4, 2 0.500" in layout["meta"]["alt"]
    fallback = layout["meta"]["fallback"]["data"][0]
    assert fallback["z"] == [[0.5, 1.0], [None, pytest.approx(1 / 3)]]


def test_flat_twin_has_each_value_and_count_and_leaves_empty_cells_out():
    chart = surface()[1].to_dict()
    drawn = {(row["fields"], row["kinds"]): row["n_cases"]
             for row in next(iter(chart["datasets"].values()))}  # fmt: skip
    assert drawn == {("4", "2"): 8, ("8", "2"): 2, ("8", "3"): 3}
    assert chart["layer"][0]["encoding"]["y"]["scale"]["domain"] == ["3", "2"]


@pytest.mark.browser
def test_arrow_keys_turn_the_surface_in_a_report(tmp_path):
    figure = json.loads(pio.to_json(surface()[0], validate=False))
    payload = {"figure": figure, "alt": figure["layout"]["meta"]["alt"]}
    (tmp_path / "page.html").write_text(report_page("plotly", payload, ""))
    eye = "document.querySelector('.fl-plotly')._fullLayout.scene._scene.getCamera().eye"
    with browser.page(tmp_path / "page.html", size=(390, 800)) as visit:
        visit.page.locator(".fl-plotly .gl-container canvas").first.wait_for()
        before = visit.page.evaluate(eye)
        holder = visit.page.locator(".fl-plotly")
        holder.press("ArrowRight")
        after = visit.page.evaluate(eye)
        assert "Arrow keys turn it" in holder.get_attribute("aria-label")
        assert visit.trouble == []
    assert (after["x"], after["y"]) != (before["x"], before["y"])
    assert after["z"] == pytest.approx(before["z"])


def test_one_call_shows_both_and_says_interval_and_count_of_a_cell(monkeypatch):
    shown = []
    monkeypatch.setattr(_surface, "display", lambda *parts: shown.extend(parts))
    both = surface()
    both._ipython_display_()
    assert shown == list(both)
    tip = both[1].to_dict()["layer"][0]["encoding"]["tooltip"]
    assert [line["title"] for line in tip][-4:] == [
        "click accuracy", "95 % interval from", "to", "fields",
    ]  # fmt: skip
    # A long name is shortened along the scene, which has no room, and whole everywhere else.
    long = surface(TABLE.with_columns(fields=pl.lit("a name of twenty letters")))
    assert long[0].to_dict()["layout"]["scene"]["xaxis"]["ticktext"] == ["a name of twe…"]
