import math

import polars as pl

from formlab.analysis.compare import COMPARISON
from formlab.analysis.verdicts import RANKS
from formlab.charts.compare import (
    comparison_table,
    difference_dots,
    flip_table,
    not_shown,
    rank_dots,
)


def row(value, difference, low, high, *, by="kind", metric="cer", b="n", docs=30, p_holm=0.001):
    shown = p_holm <= 0.05 and (low > 0 or high < 0)
    better = ("m" if difference > 0 else b) if shown else None
    return dict.fromkeys(COMPARISON) | {
        "benchmark": "b", "split": "s", "metric": metric, "level": "field", "system_a": "m",
        "slice_by": by if value else None, "slice_value": value,
        "system_b": b, "value_a": 0.3, "value_b": 0.3 + difference, "difference": difference,
        "ci_low": low, "ci_high": high, "better": better, "p": 0.00001, "p_holm": p_holm,
        "least_difference": 0.05, "n_docs": docs, "n_cases": 90, "n_undefined": 0,
    }  # fmt: skip


def frame(*rows):
    return pl.DataFrame(list(rows), schema=COMPARISON)


TABLE = frame(
    row(None, -0.1, -0.15, -0.05), row("a", 0.02, -0.01, 0.05),
    row("b", math.nan, math.nan, math.nan), row("1", 0.2, 0.1, 0.3, by="length"),
)  # fmt: skip


def values(chart):
    return next(rows for rows in chart.to_dict()["datasets"].values() if "pair" in rows[0])


def test_dots_are_named_by_metric_and_slice_and_lead_to_the_cases_of_their_slice():
    shown = values(difference_dots(TABLE))
    assert [(r["what"], r["difference"], r["_cases"].split("&")[-1]) for r in shown] == [
        ("character error rate (CER), all fields", -0.1, "slice=level:field"),
        ("character error rate (CER), kind a", 0.02, "slice=kind:a"),
        ("character error rate (CER), length 1", 0.2, "slice=length:1"),
    ]


def test_dots_have_a_systems_colour_only_where_test_and_interval_agree():
    rows = [row("a", 0.1, -0.01, 0.2), row("b", 0.1, 0.05, 0.2, p_holm=0.06)]
    rows = [row(None, -0.1, -0.15, -0.05), *rows, row("c", 0.1, 0.05, 0.2)]
    shown = values(difference_dots(frame(*rows)))
    assert [r["better"] for r in shown] == ["n", "none was shown", "none was shown", "m"]


def test_dots_of_several_pairs_have_a_panel_each_and_lead_to_the_cases_of_their_pair():
    table = frame(row(None, 0.1, 0, 0.2), row("a", -0.1, -0.2, 0, b="o"))
    chart = difference_dots(table)
    assert chart.to_dict()["facet"]["field"] == "pair"
    lines = [r["_cases"] for r in values(chart)]
    assert lines[0].startswith("slice=pair:m")
    assert lines[1].endswith("&slice=kind:a")


def test_dots_leave_out_what_shares_no_axis_with_rates():
    table = frame(
        row(None, -0.1, -0.2, 0, metric="exact_accuracy"),
        row(None, -9, -10, 0, metric="click_distance"),
    )
    assert [r["metric"] for r in values(difference_dots(table))] == ["exact_accuracy"]
    assert difference_dots(table.tail(1)).label == "Note"


def test_what_shows_no_difference_is_one_line_with_what_would_have_been_seen():
    rows = [row(None, 0.1, -0.1, 0.2, p_holm=1), row("a", 0.1, -0.1, 0.2, p_holm=1)]
    text = not_shown(frame(*rows, row(None, 0.2, 0.1, 0.3, metric="wer"))).text
    assert text.endswith(
        "character error rate (CER), all fields (0.05); 1 slices and means over documents."
    )
    assert "WER" not in text
    both = [row(None, 0.1, -0.1, 0.2, p_holm=1), row(None, 0.2, 0.1, 0.3, b="o")]
    assert "all fields (0.05; m → n)." in not_shown(frame(*both)).text
    assert "was shown in all" in not_shown(frame(row(None, 0.2, 0.1, 0.3))).text


def test_table_warns_of_few_documents_and_leaves_out_what_all_rows_share():
    shown = comparison_table(frame(row(None, 0.1, 0, 0.2, docs=8)))
    assert "system_a" not in shown.frame.columns
    assert "trust p" in shown.note
    assert shown.frame["p"].to_list() == ["< 0.0001"]
    assert "trust p" not in comparison_table(TABLE).note
    assert comparison_table(TABLE).fold == "All 4 comparisons"


def flips(value, counts, *, by="kind", **more):
    right, a, b, wrong = counts
    n = sum(counts)
    return dict.fromkeys(COMPARISON) | {
        "metric": "outcome", "level": "field", "slice_value": value,
        "slice_by": by if value else None,
        "both_right": right, "only_a": a, "only_b": b, "both_wrong": wrong, "n_cases": n,
        "n_docs": 4, "value_a": (right + a) / n, "value_b": (right + b) / n,
        "difference": (b - a) / n, "ci_low": 0.1, "ci_high": 0.4, "p": 0.01, "p_holm": 0.02,
        "least_difference": 0.1, "system_a": "m",
        "system_b": "n",
    } | more  # fmt: skip


MATRIX_TABLE = pl.DataFrame(
    [
        flips(None, (4, 1, 3, 2)), flips("a", (1, 0, 3, 0)),
        flips("2", (0, 0, 1, 2), by="page"),
    ],
    schema=COMPARISON,
)  # fmt: skip


def test_flips_are_a_row_for_each_slice_with_the_names_of_the_systems():
    shown = flip_table(MATRIX_TABLE, by="kind")
    assert shown.frame.select("slice", "both_right", "only_a", "only_b", "both_wrong").rows() == [
        ("all fields", 4, 1, 3, 2), ("a", 1, 0, 3, 0),
    ]  # fmt: skip
    assert (shown.titles["only_a"], shown.titles["only_b"]) == ("only m", "only n")
    assert [line.rpartition("&")[2] for line in shown.cases] == [
        "slice=level:field",
        "slice=kind:a",
    ]
    assert flip_table(MATRIX_TABLE.clear(), by="kind").label == "Note"


def test_flips_of_several_pairs_name_the_pair():
    other = pl.DataFrame([flips(None, (1, 1, 1, 1), system_b="o")], schema=COMPARISON)
    shown = flip_table(pl.concat([MATRIX_TABLE, other]), by="kind")
    assert shown.frame["pair"].to_list() == ["m → n", "m → n", "m → o"]
    assert (shown.titles["only_a"], shown.titles["only_b"]) == ("only the first", "only the second")


def ranked(*groups):
    rows = [
        {"system": name, "rank": rank, "metric": "outcome", "value": 1 - rank / 10, "groups": own,
         "ci_low": 0.8 - rank / 10, "ci_high": 1.0, "n_docs": 9, "n_cases": 90}
        for rank, (name, own) in enumerate(zip("mno", groups, strict=False))
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=RANKS)


def test_a_bar_joins_the_systems_that_no_test_separates():
    spec = rank_dots(ranked([1], [1, 2], [2])).to_dict()
    sets = [rows for rows in spec["datasets"].values() if "first" in rows[0]]
    assert sorted((r["first"], r["last"]) for rows in sets for r in rows) == [
        ("m", "n"),
        ("n", "o"),
    ]
    alone = rank_dots(ranked([], [], [])).to_dict()
    assert not [rows for rows in alone["datasets"].values() if "first" in rows[0]]
    assert rank_dots(ranked()).label == "Note"
