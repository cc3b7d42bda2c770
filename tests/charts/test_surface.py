import polars as pl
import pytest

from formlab import charts

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
