import polars as pl

from formlab.analysis.compare import COMPARISON
from formlab.analysis.verdicts import RANKS
from formlab.charts.compare import (
    difference_dots,
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
        "p_bh": 0.1, "least_difference": 0.05, "n_docs": docs, "n_cases": 90, "n_undefined": 0,
    }  # fmt: skip


def frame(*rows):
    return pl.DataFrame(list(rows), schema=COMPARISON)


def values(chart):
    return next(rows for rows in chart.to_dict()["datasets"].values() if "pair" in rows[0])


def test_dots_have_a_systems_colour_only_where_test_and_interval_agree():
    rows = [row("a", 0.1, -0.01, 0.2), row("b", 0.1, 0.05, 0.2, p_holm=0.06)]
    rows = [row(None, -0.1, -0.15, -0.05), *rows, row("c", 0.1, 0.05, 0.2)]
    shown = values(difference_dots(frame(*rows)))
    assert [r["better"] for r in shown] == ["n", "none was shown", "none was shown", "m"]


def flips(value, counts, *, by="kind", **more):
    right, a, b, wrong = counts
    n = sum(counts)
    return dict.fromkeys(COMPARISON) | {
        "metric": "outcome", "level": "field", "slice_value": value,
        "slice_by": by if value else None,
        "both_right": right, "only_a": a, "only_b": b, "both_wrong": wrong, "n_cases": n,
        "n_docs": 4, "value_a": (right + a) / n, "value_b": (right + b) / n,
        "difference": (b - a) / n, "ci_low": 0.1, "ci_high": 0.4, "p": 0.01, "p_holm": 0.02,
        "p_bh": 0.02, "p_mcnemar": 0.00001, "least_difference": 0.1, "system_a": "m",
        "system_b": "n",
    } | more  # fmt: skip


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
