"""The generic charts: what they draw equals the frame, and nothing in a frame can break them."""

import json
import math

import polars as pl
import pytest

from formlab import charts

NAN = math.nan
EVIL = "<script>alert(1)</script>\x00 a.b[0]'\"\\"
FRAME = pl.DataFrame(
    {
        "label": ["a", "b", "c"], "group": ["x", "y", "x"], "value": [0.5, 0.25, NAN],
        "ci_low": [0.4, NAN, 0.0], "ci_high": [0.75, NAN, 1.0], "n_cases": [1200, 8, 3],
        "size": [1, 2, 3],
    }
)  # fmt: skip


def draw(name, frame=FRAME, **more):
    """One of the generic charts of a frame."""
    columns = {
        "lines": ["label"], "heatmap": ["label", "group"], "surface": ["label", "group"],
    }.get(name, [])  # fmt: skip
    if name == "stacked":
        name, more = "bars", {"colour": "group"} | more
    shown = getattr(charts, name)(frame, *columns, **more)
    return shown[-1] if name == "surface" else shown


ALTAIR = ["dots", "bars", "stacked", "lines", "heatmap", "surface"]


def rows(chart):
    spec = chart.to_dict()
    return next(iter(spec["datasets"].values()))


def layers(chart, mark):
    spec = chart.to_dict()
    spec = spec.get("spec", spec)
    return [part for part in spec["layer"] if part["mark"]["type"] == mark]


@pytest.mark.parametrize("name", ALTAIR)
def test_drawn_and_described_values_are_the_defined_ones_of_the_frame(name):
    chart = draw(name)
    assert {row["label"]: row["value"] for row in rows(chart)} == {"a": 0.5, "b": 0.25}
    description = chart.to_dict()["description"]
    assert description.startswith("value")
    assert "a" in description
    json.dumps(chart.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("name", "frame"),
    [("table", FRAME.clear()), *((name, FRAME.clear()) for name in ALTAIR)]
    + [(name, FRAME.with_columns(value=pl.lit(NAN))) for name in ALTAIR],
)
def test_nothing_to_draw_is_one_line(name, frame):
    shown = draw(name, frame, empty="Nothing here.")
    assert (shown.label, shown.text) == ("Note", "Nothing here.")


@pytest.mark.parametrize("name", ALTAIR)
def test_hostile_text_is_text(name):
    shown = draw(name, FRAME.with_columns(label=pl.Series([EVIL, "x" * 5_000_000, "c"])))
    assert len(json.dumps(shown.to_dict())) < 50_000
    assert EVIL in {row.get("label") for row in rows(shown)}


@pytest.mark.parametrize(
    ("values", "metric", "domain"),
    [
        ([0.2, 0.9], "exact_accuracy", [0, 1]),
        # All is far below the metric's own end: the axis ends near the data, and begins at zero.
        ([0.01, 0.1], "exact_accuracy", [0, 0.105]),
        # An error rate above 1 is on its axis.
        ([0.5, 1.4], "cer", [0, 1.47]),
        ([-2.0, 4.0], None, [-2.3, 4.3]),
    ],
)
@pytest.mark.parametrize("name", ["dots", "bars"])
def test_axes_begin_at_zero_and_end_with_the_metric(name, values, metric, domain):
    frame = pl.DataFrame({"label": ["a", "b"], "value": values})
    mark = "bar" if name == "bars" else "point"
    (marks,) = layers(draw(name, frame, metric=metric), mark)
    assert marks["encoding"]["x"]["scale"]["domain"] == pytest.approx(domain)
