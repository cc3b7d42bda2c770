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
from tests.made_slices import of


def row(name, difference, low, high, *, metric="cer", b="n", docs=30, p_holm=0.001):
    shown = p_holm <= 0.05 and (low > 0 or high < 0)
    better = ("m" if difference > 0 else b) if shown else None
    return {
        "benchmark": "b", "split": "s", "metric": metric, **of(name), "system_a": "m",
        "system_b": b, "value_a": 0.3, "value_b": 0.3 + difference, "difference": difference,
        "ci_low": low, "ci_high": high, "better": better, "p": 0.00001, "p_holm": p_holm,
        "p_bh": 0.1, "least_difference": 0.05, "n_docs": docs, "n_cases": 90, "n_undefined": 0,
        "settings": {},
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
    assert [r["sure"] for r in shown] == ["a difference was shown", "none was shown"]
    assert "all fields −0.100; a +0.020" in chart.to_dict()["description"]


def test_dots_have_a_systems_colour_only_where_test_and_interval_say_so():
    table = frame(
        row("fields", -0.1, -0.15, -0.05), row("kind=a", 0.1, -0.01, 0.2),
        row("kind=b", 0.1, 0.05, 0.2, p_holm=0.06), row("kind=c", 0.1, 0.05, 0.2),
    )  # fmt: skip
    chart = difference_dots(table, metric="cer", by="kind")
    assert [r["better"] for r in values(chart)] == ["n", "none was shown", "none was shown", "m"]
    scale = chart.to_dict()["layer"][2]["encoding"]["stroke"]["scale"]
    assert scale["domain"] == ["m", "n", "none was shown"]
    assert scale["range"][:2] == ["#0072B2", "#D55E00"]
    assert comparison_table(table).frame["better"].to_list() == ["n", None, None, "m"]


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
        *left_out_table({}),
    ):
        assert isinstance(shown, Caption)
        assert shown.label == "Note"


def test_power_shows_the_size_beside_what_would_be_found_in_shares_and_error_rates():
    table = frame(
        row("fields", -0.1, -0.2, 0, metric="exact_accuracy"),
        row("fields", -0.4, -0.5, 0, metric="cer"),
        row("fields", -9, -10, 0, metric="click_distance"),
    )
    text = power_dots(table).to_dict()["description"]
    assert "accuracy, exact 0.100 of 0.050" in text
    assert "(CER) 0.400 of 0.050" in text
    assert "distance" not in text


def test_power_of_pages_is_shown_where_no_field_was_scored():
    pages = frame(row("all", -0.4, -0.5, 0, docs=50))
    assert "(CER) 0.400" in power_dots(pages).to_dict()["description"]
    nothing = frame(row("all", -0.4, -0.5, 0, metric="click_distance", docs=50))
    assert "few documents" not in power_dots(nothing).text


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
    assert "No word error rate" in str(difference_caption(TABLE, metric="wer", say="So."))


def test_caption_of_fields_speaks_of_pages_where_only_they_were_scored():
    text = difference_caption(frame(row("all", -0.1, -0.2, 0)), metric="cer", say="So.").text
    assert text.startswith("So. Whole documents, character error rate (CER): ")
    assert "n 0.200" in text


def test_systems_are_listed_with_their_settings():
    one = made("m", [("1", "/a", 1)], settings={"threshold": 0.8, "system": {"scale": 2.0}})
    assert systems_table([one]).frame.to_dicts() == [
        {"system": "m", "settings": "scale 2.0", "documents": 1, "fields": 1, "unanswered": 0}
    ]
    assert left_out_table({"x": 3})[1].frame.rows() == [("x", 3)]
