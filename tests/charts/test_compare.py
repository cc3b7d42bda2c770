import math

import polars as pl

from formlab.analysis.compare import COMPARISON
from formlab.charts import Caption
from formlab.charts.compare import (
    comparison_table,
    difference_caption,
    difference_dots,
    left_out_table,
    p_words,
    power_dots,
    systems_table,
)
from tests.analysis.made_pairs import made


def row(name, difference, low, high, *, metric="cer", b="n", docs=30):
    better = "m" if difference > 0 else b
    return {
        "benchmark": "b", "split": "s", "metric": metric, "slice": name, "system_a": "m",
        "system_b": b, "value_a": 0.3, "value_b": 0.3 + difference, "difference": difference,
        "ci_low": low, "ci_high": high, "better": better, "p": 0.00001, "p_holm": 0.2, "p_bh": 0.1,
        "least_difference": 0.05, "n_docs": docs, "n_cases": 90, "n_undefined": 0, "settings": "x",
    }  # fmt: skip


def frame(*rows):
    return pl.DataFrame(list(rows), schema=COMPARISON)


TABLE = frame(
    row("fields", -0.1, -0.15, -0.05), row("kind=a", 0.02, -0.01, 0.05),
    row("kind=b", math.nan, math.nan, math.nan), row("length=1", 0.2, 0.1, 0.3),
)  # fmt: skip


def values(chart):
    return next(rows for rows in chart.to_dict()["datasets"].values() if "pair" in rows[0])


def test_dots_show_the_whole_and_the_slices_of_one_column_that_are_defined():
    chart = difference_dots(TABLE, metric="cer", by="kind")
    shown = values(chart)
    assert [r["label"] for r in shown] == ["all fields", "a"]
    assert [r["sure"] for r in shown] == ["0 outside the interval", "0 inside the interval"]
    assert "all fields −0.100; a +0.020" in chart.to_dict()["description"]


def test_dots_of_one_pair_have_the_colour_of_the_better_system():
    spec = difference_dots(TABLE, metric="cer", by="kind").to_dict()
    scale = spec["layer"][2]["encoding"]["stroke"]["scale"]
    assert scale == {"domain": ["m", "n"], "range": ["#0072B2", "#D55E00"]}


def test_dots_of_several_pairs_have_a_colour_and_a_place_each():
    table = frame(row("fields", 0.1, 0, 0.2), row("fields", -0.1, -0.2, 0, b="o"))
    spec = difference_dots(table, metric="cer").to_dict()
    encoding = spec["layer"][2]["encoding"]
    assert encoding["stroke"]["scale"]["domain"] == ["m → n", "m → o"]
    assert encoding["yOffset"]["field"] == "pair"


def test_nothing_to_show_is_a_note():
    for shown in (
        difference_dots(TABLE, metric="wer"),
        power_dots(TABLE.clear()),
        left_out_table({}),
    ):
        assert isinstance(shown, Caption)
        assert shown.label == "Note"


def test_power_shows_the_size_beside_the_least_and_leaves_unbounded_metrics_out():
    table = frame(
        row("fields", -0.1, -0.2, 0, metric="exact_accuracy"),
        row("fields", -9, -10, 0, metric="cer"),
    )
    text = power_dots(table).to_dict()["description"]
    assert "accuracy, exact 0.100 of 0.050" in text
    assert "CER" not in text


def test_table_says_when_documents_are_few_and_hides_what_all_rows_share():
    shown = comparison_table(frame(row("fields", 0.1, 0, 0.2, docs=8)), part="fields")
    assert "slice" not in shown.frame.columns
    assert "trust p" in shown.note
    assert shown.frame["p"].to_list() == ["< 0.0001"]
    assert "trust p" not in comparison_table(TABLE).note
    assert "slice" in comparison_table(TABLE).frame.columns


def test_small_p_is_said_to_be_small():
    assert p_words(pl.Series("p", [0.0001, 0.00009, None])).to_list() == [
        "0.0001", "< 0.0001", None,
    ]  # fmt: skip


def test_caption_tells_values_difference_interval_and_n():
    text = str(difference_caption(TABLE, metric="cer", say="So."))
    assert "m 0.300, n 0.200, difference −0.100 (95 % interval −0.150 to −0.050" in text
    assert "n = 90 in 30 documents" in text
    assert "Nothing was scored" in str(difference_caption(TABLE, metric="wer", say="So."))


def test_systems_are_listed_with_their_settings():
    one = made("m", [("1", "/a", 1)], settings={"threshold": 0.8, "system": {"scale": 2.0}})
    assert systems_table([one]).frame.to_dicts() == [
        {"system": "m", "settings": "scale 2.0", "documents": 1, "fields": 1, "unanswered": 0}
    ]
    assert left_out_table({"x": 3}).frame.rows() == [("x", 3)]
