"""The generic charts: what they draw equals the frame, and nothing in a frame can break them."""

import json
import math

import polars as pl
import pytest

from formlab import charts, registry
from formlab.charts import theme
from formlab.errors import UnknownName

NAN = math.nan
EVIL = "<script>alert(1)</script>\x00 a.b[0]'\"\\"
FRAME = pl.DataFrame(
    {
        "label": ["a", "b", "c"], "group": ["x", "y", "x"], "value": [0.5, 0.25, NAN],
        "ci_low": [0.4, NAN, 0.0], "ci_high": [0.75, NAN, 1.0], "n_cases": [1200, 8, 3],
        "size": [1, 2, 3],
    }
)  # fmt: skip


KINDS = FRAME.with_columns(kind=pl.Series([charts.OWN, charts.PUBLISHED, charts.OWN]))


def draw(name, frame=FRAME, **more):
    """One of the generic charts of a frame."""
    columns = {
        "lines": ["label"], "heatmap": ["label", "group"], "slope": ["value", "size", "label"],
        "stacked": ["label", "value"], "surface": ["label", "group"],
    }.get(name, [])  # fmt: skip
    if name == "stacked":
        more = {"colour": "group"} | more
    shown = getattr(charts, name)(frame, *columns, **more)
    return shown[-1] if name == "surface" else shown


ALTAIR = ["dots", "bars", "stacked", "lines", "heatmap", "surface", "slope"]
OF_VALUES = ALTAIR[:-1]


def rows(chart):
    spec = chart.to_dict()
    return next(iter(spec["datasets"].values()))


def layers(chart, mark):
    spec = chart.to_dict()
    spec = spec.get("spec", spec)
    return [part for part in spec["layer"] if part["mark"]["type"] == mark]


@pytest.mark.parametrize("name", ALTAIR)
def test_drawn_and_described_values_are_the_defined_ones_of_the_frame(name):
    chart = draw(name, say="Demo")
    if name != "slope":
        assert {row["label"]: row["value"] for row in rows(chart)} == {"a": 0.5, "b": 0.25}
    description = chart.to_dict()["description"]
    assert description.startswith("Demo: ")
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


@pytest.mark.parametrize("name", [*ALTAIR, "table"])
def test_hostile_text_is_text(name, monkeypatch):
    monkeypatch.setenv(theme.REPORT_VARIABLE, "1")
    shown = draw(name, FRAME.with_columns(label=pl.Series([EVIL, "x" * 5_000_000, "c"])))
    if name != "table":
        assert len(json.dumps(shown.to_dict())) < 50_000
        assert EVIL in {row.get("label") for row in rows(shown)} or name == "slope"
    assert "text/html" not in shown._repr_mimebundle_()


@pytest.mark.parametrize("name", ["dots", "bars", "lines"])
def test_columns_may_have_any_name(name):
    frame = FRAME.rename({"label": EVIL, "value": "a.b[0]"})
    shown = getattr(charts, name)(frame, EVIL, "a.b[0]")
    encoding = layers(shown, "bar" if name == "bars" else "point")[0]["encoding"]
    assert encoding["y" if name == "lines" else "x"]["field"] == r"a\.b\[0\]"


@pytest.mark.parametrize("name", [*OF_VALUES, "table"])
def test_unknown_column_is_named(name):
    more = {"colour": "group"} if name == "stacked" else {}
    second = {"heatmap": ["group"], "surface": ["group"], "stacked": ["value"]}.get(name, [])
    with pytest.raises(UnknownName, match=r"'labl'.*label"):
        getattr(charts, name)(FRAME, "labl", *second, **more)


def test_only_known_intervals_are_drawn_and_rows_keep_their_order():
    (span,) = layers(charts.dots(FRAME), "rule")
    assert [span["encoding"][side]["field"] for side in ("x", "x2")] == ["ci_low", "ci_high"]
    (known,) = span["transform"]
    assert known == {"filter": 'isValid(datum["ci_low"]) && isValid(datum["ci_high"])'}
    assert not layers(charts.dots(FRAME.drop("ci_low")), "rule")
    # The order of the frame, or the one asked for.
    frame = FRAME.sort("label", descending=True)
    for options, order in (({}, ["b", "a"]), ({"order": ["a", "z", "b"]}, ["a", "z", "b"])):
        (point,) = layers(charts.dots(frame, **options), "point")
        assert point["encoding"]["y"]["sort"] == order


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


def test_systems_and_statuses_have_the_colours_and_the_order_of_the_theme():
    frame = FRAME.drop_nans("value").with_columns(system=pl.Series(["ocr", "chat"]))
    (marks,) = layers(charts.dots(frame, colour="system"), "point")
    fill, shape = (marks["encoding"][name]["scale"] for name in ("fill", "shape"))
    colours = theme.system_colours(["chat", "ocr"])
    assert dict(zip(fill["domain"], fill["range"], strict=True)) == colours
    assert shape["range"] == list(theme.system_shapes(colours).values())
    frame = pl.DataFrame({"label": ["a"] * 3, "value": [0.5, 0.25, 0.25],
                          "status": ["missing", "ok", "refused"]})  # fmt: skip
    chart = charts.stacked(frame, x="value", colour="status")
    (bar,) = layers(chart, "bar")
    scale = bar["encoding"]["color"]["scale"]
    assert scale["domain"] == ["ok", "refused", "missing"]
    assert scale["range"] == [theme.STATUS_COLOURS[name] for name in scale["domain"]]
    assert bar["encoding"]["x"]["scale"]["domain"] == [0, 1]
    # Parts stand in the order of the legend.
    turns = {row["status"]: row["turn"] for row in rows(chart)}
    assert turns == {"ok": 0, "refused": 1, "missing": 2}


def test_published_figures_are_open_and_measured_ones_filled():
    (marks,) = layers(charts.dots(KINDS, kind="kind"), "point")
    fill = marks["encoding"]["fill"]["scale"]
    assert dict(zip(fill["domain"], fill["range"], strict=True)) == {
        charts.OWN: theme.GOLD, charts.PUBLISHED: "transparent",
    }  # fmt: skip
    both = layers(charts.dots(KINDS, kind="kind", colour="group"), "point")[0]["encoding"]
    assert both["fillOpacity"]["scale"]["range"] == [1.0, 0.0]
    assert both["strokeDash"]["legend"]["orient"] == "top"


def test_several_colours_of_a_row_stand_apart_unless_a_line_joins_them():
    twice = pl.concat([FRAME, FRAME.with_columns(group=pl.lit("z"))])
    apart = layers(charts.dots(twice, colour="group"), "point")[0]["encoding"]
    assert apart["yOffset"]["field"] == "group"
    joined = charts.dots(twice, colour="group", join=True)
    assert "yOffset" not in layers(joined, "point")[0]["encoding"]
    assert layers(joined, "rule")[0]["transform"][0]["groupby"] == ["label"]


def test_ticks_zero_facets_names_above_counts_and_scatter_are_drawn():
    chart = charts.dots(
        FRAME.with_columns(rest=0.3), tick="rest", zero=True, facet="group", above=True
    ).to_dict()
    marks = [layer["mark"]["type"] for layer in chart["spec"]["layer"]]
    assert marks == ["rule", "rule", "point", "tick", "text", "text"]
    assert chart["facet"]["sort"] == ["x", "y"]
    scatter = layers(charts.dots(FRAME, "size", size="n_cases"), "point")[0]["encoding"]
    assert (scatter["y"]["type"], scatter["size"]["field"]) == ("quantitative", "n_cases")
    # n is of the cases that a ratio is taken over.
    first = FRAME.head(1).with_columns(metric=pl.lit("cer"), n_undefined=pl.lit(200))
    assert rows(charts.dots(first))[0]["n_cases"] == 1000
    shown = charts.dots(first).to_dict()["layer"][-1]
    assert shown["transform"][-1]["calculate"] == "'n = ' + format(datum.n, ',')"


def test_lines_go_through_names_in_order_or_numbers_with_panels():
    named = charts.lines(FRAME, "label", colour="group", band=True)
    assert [part["mark"]["type"] for part in named.to_dict()["layer"]] == ["area", "line", "point"]
    chart = charts.lines(KINDS, "size", log=True, row="group", kind="kind")
    assert [line["mark"]["strokeDash"] for line in layers(chart, "line")] == [[1, 0], [4, 3]]


@pytest.mark.parametrize(("count", "marked"), [(25, True), (26, False)])
def test_an_axis_of_numbers_marks_the_points_unless_they_are_many(count, marked):
    frame = pl.DataFrame({"x": [float(n) for n in range(count)], "value": [0.5] * count})
    axis = layers(charts.lines(frame, "x"), "line")[0]["encoding"]["x"]["axis"]
    assert ("values" in axis) == marked


def test_slope_joins_ranks_and_systems_of_one_rank_share_a_line_of_text():
    ranks = pl.DataFrame({"system": ["a", "b", "c"], "text": [1, 1, 3], "facts": [2, 1, 3]})
    drawn = {(row["system"], row["by"]): row for row in rows(charts.slope(ranks, "text", "facts"))}
    assert drawn["a", "text"]["names"] == "a, b   1"
    assert drawn["b", "text"]["names"] is None
    assert drawn["b", "facts"]["rank"] == 1


def test_heat_map_has_a_square_a_value_and_panels():
    chart = charts.heatmap(FRAME, "label", "group", n="n_cases", xs=["a", "b", "empty"]).to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["rect", "text", "text"]
    assert chart["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["a", "b", "empty"]
    assert chart["layer"][0]["encoding"]["color"]["scale"]["scheme"] == theme.SCORES
    panels = charts.heatmap(FRAME, "label", "group", column="group").to_dict()
    assert panels["facet"]["column"]["field"] == "group"


def test_table_has_the_house_headings_p_as_one_writes_it_and_no_empty_column():
    frame = FRAME.with_columns(p=pl.Series([1e-9, 0.25, NAN]), blank=pl.lit(None, pl.String))
    shown = charts.table(frame, "label", "n_cases", "p", "blank", sparse=True, note_below="So.")
    assert [column.title for column in shown.columns] == ["label", "fields", "p"]
    assert shown.frame["p"].to_list() == ["< 0.0001", "0.2500", None]
    assert "So." in str(shown._repr_mimebundle_())
    assert charts.table(frame, titles={"n_cases": "questions"}).titles["n_cases"] == "questions"


def test_a_chart_from_outside_is_found_by_its_name():
    @registry.register("charts", "violin")
    def violin(frame):
        return charts.dots(frame)

    assert charts.violin is charts.CHARTS["violin"] is violin
    with pytest.raises(AttributeError, match="viola"):
        _ = charts.viola


def of_published(values, names):
    """Points of one row: the first measured here, the others published."""
    kinds = [charts.OWN] + [charts.PUBLISHED] * (len(values) - 1)
    return charts.dots(pl.DataFrame({"label": ["a"] * len(values), "value": values, "kind": kinds,
                                     "system": names}), kind="kind", domain=[0, 1])  # fmt: skip


def test_published_points_are_named_in_full_where_there_is_room():
    chart = of_published([0.5, 0.1, 0.9], ["ocr", "GPT-5", "Grok"])
    assert {row["system"]: row["_name"] for row in rows(chart)} == {
        "ocr": None, "GPT-5": "GPT-5", "Grok": "Grok",
    }  # fmt: skip
    assert "title" not in chart.to_dict()
    # Of the 230 pixels counted on each label takes some; three layers for its three sides.
    assert len(layers(chart, "text")) == 3
    # Rows that have their system's name need no other.
    by_name = charts.dots(KINDS.with_columns(system="label"), "system", kind="kind")
    assert "_name" not in rows(by_name)[0]


def test_published_points_too_near_for_names_have_numbers_and_a_key():
    names = ["ocr", "GPT-5", "Grok 3", "Qwen", "Gemini"]
    chart = of_published([0.5, 0.31, 0.3, 0.305, 0.9], names)
    # From left to right: Grok 3 (2), Qwen (3), GPT-5 (1) at one place; Gemini (4) far from them.
    assert sorted(row["_name"] for row in rows(chart) if row["_name"]) == ["2, 3, 1", "4"]
    key = chart.to_dict()["title"]["text"]
    assert key.startswith("1 GPT-5; 2 Grok 3; 3 Qwen; 4 Gemini. ")
    many = of_published([0.5] + [0.3] * 7, ["ocr", *"abcdefg"])
    assert [row["_name"] for row in rows(many) if row["_name"]] == ["1–7"]


def test_a_smoothed_line_says_so_and_stands_where_its_points_stand():
    frame = FRAME.with_columns(smooth=pl.Series([0.3, 0.4, 0.5]))
    chart = charts.lines(frame, "label", colour="group", smooth="smooth")
    (line,), (point,) = layers(chart, "line"), layers(chart, "point")
    assert (line["encoding"]["y"]["field"], point["encoding"]["y"]["field"]) == ("smooth", "value")
    assert "mean of neighbouring points" in line["encoding"]["y"]["title"]
    assert line["encoding"]["xOffset"] == point["encoding"]["xOffset"]
    # Without intervals and smoothing points and lines share the place of the name.
    plain = charts.lines(FRAME.drop("ci_low"), "label", colour="group")
    assert "xOffset" not in layers(plain, "line")[0]["encoding"]
