import math

import polars as pl
import pytest

from formlab.analysis import Finding
from formlab.analysis.compare import COMPARISON
from formlab.analysis.flips import MATRIX
from formlab.charts.compare import (
    compare_cards,
    comparison_table,
    difference_caption,
    difference_dots,
    flip_bars,
    power_dots,
)


def row(value, difference, low, high, *, by="kind", metric="cer", b="n", docs=30, p_holm=0.001):
    shown = p_holm <= 0.05 and (low > 0 or high < 0)
    better = ("m" if difference > 0 else b) if shown else None
    return dict.fromkeys(COMPARISON) | {
        "benchmark": "b", "split": "s", "metric": metric, "level": "field", "system_a": "m",
        "slice_by": by if value else None, "slice_value": value,
        "system_b": b, "value_a": 0.3, "value_b": 0.3 + difference, "difference": difference,
        "ci_low": low, "ci_high": high, "better": better, "p": 0.00001, "p_holm": p_holm,
        "p_bh": 0.1, "least_difference": 0.05, "n_docs": docs, "n_cases": 90, "n_undefined": 0,
    }  # fmt: skip


def frame(*rows):
    return pl.DataFrame(list(rows), schema=COMPARISON)


TABLE = frame(
    row(None, -0.1, -0.15, -0.05), row("a", 0.02, -0.01, 0.05),
    row("b", math.nan, math.nan, math.nan), row("1", 0.2, 0.1, 0.3, by="length"),
)  # fmt: skip


def values(chart):
    return next(rows for rows in chart.to_dict()["datasets"].values() if "pair" in rows[0])


def test_dots_show_the_whole_and_the_slices_of_one_column_that_are_defined():
    shown = values(difference_dots(TABLE, metric="cer", by="kind"))
    assert [(r["slice"], r["difference"]) for r in shown] == [("all fields", -0.1), ("a", 0.02)]


def test_dots_have_a_systems_colour_only_where_test_and_interval_agree():
    rows = [row("a", 0.1, -0.01, 0.2), row("b", 0.1, 0.05, 0.2, p_holm=0.06)]
    rows = [row(None, -0.1, -0.15, -0.05), *rows, row("c", 0.1, 0.05, 0.2)]
    shown = values(difference_dots(frame(*rows), metric="cer", by="kind"))
    assert [r["better"] for r in shown] == ["n", "none was shown", "none was shown", "m"]


def test_dots_of_several_pairs_have_a_panel_each():
    table = frame(row(None, 0.1, 0, 0.2), row(None, -0.1, -0.2, 0, b="o"))
    spec = difference_dots(table, metric="cer").to_dict()
    assert spec["facet"]["field"] == "pair"


def test_power_shows_the_size_beside_what_would_be_found_in_shares_and_error_rates():
    table = frame(
        row(None, -0.1, -0.2, 0, metric="exact_accuracy"),
        row(None, -0.4, -0.5, 0),
        row(None, -9, -10, 0, metric="click_distance"),
    )
    (shown,) = power_dots(table).to_dict()["datasets"].values()
    assert [(r["size"], r["least_difference"]) for r in shown] == [(0.1, 0.05), (0.4, 0.05)]


def test_table_warns_of_few_documents_and_leaves_out_what_all_rows_share():
    shown = comparison_table(frame(row(None, 0.1, 0, 0.2, docs=8)))
    assert "system_a" not in shown.frame.columns
    assert "trust p" in shown.note
    assert shown.frame["p"].to_list() == ["< 0.0001"]
    assert "trust p" not in comparison_table(TABLE).note


def test_caption_gives_values_difference_interval_and_n():
    text = str(difference_caption("So.", TABLE))
    assert "m 0.300, n 0.200, difference −0.100 (95 % interval −0.150 to −0.050" in text
    assert "n = 90 in 30 documents" in text
    assert "Nothing was scored" in str(difference_caption("So.", TABLE.clear()))


def flips(value, counts, *, by="kind", **more):
    right, a, b, wrong = counts
    n = sum(counts)
    return dict.fromkeys(MATRIX) | {
        "level": "field", "slice_by": by if value else None, "slice_value": value,
        "both_right": right, "only_a": a, "only_b": b, "both_wrong": wrong, "n_cases": n,
        "n_docs": 4, "value_a": (right + a) / n, "value_b": (right + b) / n,
        "difference": (b - a) / n, "ci_low": 0.1, "ci_high": 0.4, "p": 0.01, "p_holm": 0.02,
        "p_bh": 0.02, "p_mcnemar": 0.00001, "least_difference": 0.1, "system_a": "m",
        "system_b": "n",
    } | more  # fmt: skip


MATRIX_TABLE = pl.DataFrame(
    [
        flips(None, (4, 1, 3, 2)), flips("a", (1, 0, 3, 0)),
        flips("lost_separator", (0, 0, 1, 2), by="cause_a"),
    ],
    schema=MATRIX,
)  # fmt: skip


def test_bars_hold_the_shares_of_each_slice():
    rows = values(flip_bars(MATRIX_TABLE, by="kind"))
    shares = {(r["slice"], r["flip"]): r["share"] for r in rows}
    assert shares["all fields", "only n"] == pytest.approx(0.3)
    assert shares["a", "both right"] == pytest.approx(0.25)
    # Flips that no field has are left out.
    assert len(rows) == 6


def test_what_one_system_gets_wrong_is_not_drawn_beside_all_fields():
    rows = values(flip_bars(MATRIX_TABLE, by="cause_a"))
    assert {(r["slice"], r["flip"]) for r in rows} == {
        ("lost separator", "only n"), ("lost separator", "both wrong"),
    }  # fmt: skip


def test_cards_give_what_was_shown_before_what_was_not():
    shown, not_shown = Finding("n is ahead", "systems"), Finding("none", "systems", holds=False)
    assert compare_cards(MATRIX_TABLE, [not_shown, shown]).finding == "n is ahead."
    assert compare_cards(MATRIX_TABLE, [not_shown]).finding == "none."


def test_cards_without_a_test_only_count():
    finding = compare_cards(MATRIX_TABLE).finding
    assert finding == "Of 10 fields 1 are right with m alone and 3 with n alone."
    assert "Neither a field" in compare_cards(MATRIX_TABLE.clear()).finding


def test_pages_alone_are_cards_of_their_own():
    pages = Finding("n does better", "systems", system="m, n", metric="cer", effect=-0.2,
                    ci_low=-0.3, ci_high=-0.1, n_docs=9)  # fmt: skip
    (card,) = compare_cards(MATRIX_TABLE.clear(), [pages]).cards
    assert (card.value, card.note) == ("−0.200", "95 % interval −0.300 to −0.100, n = 9 documents")
