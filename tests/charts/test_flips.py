import math

import polars as pl
import pytest

from formlab.analysis.flips import MATRIX
from formlab.charts import Caption
from formlab.charts.flips import compare_cards, flip_bars, flip_caption, flip_table


def row(name, counts, **more):
    right, a, b, wrong = counts
    n = sum(counts)
    base = {
        "slice": name, "both_right": right, "only_a": a, "only_b": b, "both_wrong": wrong,
        "n_cases": n, "n_docs": 4, "value_a": (right + a) / n, "value_b": (right + b) / n,
        "difference": (b - a) / n, "ci_low": 0.1, "ci_high": 0.4, "p": 0.01, "p_holm": 0.02,
        "p_bh": 0.02, "p_mcnemar": 0.00001, "least_difference": 0.1, "system_a": "m",
        "system_b": "n", "settings": "x",
    }  # fmt: skip
    return base | more


def frame(*rows):
    return pl.DataFrame(list(rows), schema=MATRIX)


TABLE = frame(
    row("all", (4, 1, 3, 2)), row("kind=a", (1, 0, 3, 0)), row("cause_a=digit", (0, 0, 1, 2))
)


def test_bars_hold_the_shares_of_each_slice():
    spec = flip_bars(TABLE, by="kind").to_dict()
    (rows,) = spec["datasets"].values()
    shares = {(r["label"], r["kind"]): r["share"] for r in rows}
    assert shares["all fields  (n = 10)", "only n"] == pytest.approx(0.3)
    assert shares["a  (n = 4)", "both right"] == pytest.approx(0.25)
    assert len(rows) == 8
    assert "all: both right 4, only m 1, only n 3, both wrong 2" in spec["description"]


def test_bars_of_several_pairs_name_the_pair():
    table = frame(row("all", (4, 1, 3, 2)), row("all", (4, 0, 0, 6), system_b="o"))
    (rows,) = flip_bars(table).to_dict()["datasets"].values()
    assert {r["label"] for r in rows} == {
        "m | n: all fields  (n = 10)",
        "m | o: all fields  (n = 10)",
    }
    assert {r["kind"] for r in rows} >= {"only the first", "only the second"}


def test_finding_names_the_better_system_and_the_flips():
    said = compare_cards(TABLE).finding
    assert said == (
        "n gets more fields right than m: 3 fields are right with n alone, 1 with m alone "
        "(p = 0.01)."
    )
    worse = frame(row("all", (4, 3, 1, 2), ci_low=-0.4, ci_high=-0.1))
    assert compare_cards(worse).finding.startswith("m gets more fields right than n: 3 fields")


def test_finding_does_not_name_a_winner_where_zero_lies_inside():
    for low, high in ((-0.1, 0.2), (math.nan, math.nan)):
        cards = compare_cards(frame(row("all", (4, 1, 3, 2), ci_low=low, ci_high=high)))
        assert "cannot be told apart" in cards.finding


def test_table_names_the_systems_and_both_tests():
    shown = flip_table(TABLE)
    assert shown.titles["only_a"] == "only m"
    assert shown.frame["p_mcnemar"].to_list() == ["< 0.0001"] * 3
    assert "McNemar" in shown.note


def test_caption_counts_the_flips():
    text = str(flip_caption(TABLE, say="So."))
    assert "Only m gets 1 fields right, only n 3; difference +0.200" in text


def test_nothing_to_show_is_said():
    assert isinstance(flip_bars(TABLE.clear()), Caption)
    assert "No field" in str(flip_caption(TABLE.clear(), say="So."))
    assert "No field" in compare_cards(TABLE.clear()).finding
