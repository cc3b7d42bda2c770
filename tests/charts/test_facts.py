import math

import polars as pl
import pytest

from formlab import analysis, charts, tables
from formlab.charts.facts import upto_one
from tests.made_slices import of

NAN = math.nan


def row(metric, part, value, low=NAN, high=NAN, n=4):
    return {
        "benchmark": "fincriticaled", "split": "test", "system": "m", "metric": metric,
        **of(part), "value": value, "ci_low": low, "ci_high": high, "n_docs": 2, "n_cases": n,
        "n_missing": 0, "n_undefined": 0, "settings": {},
    }  # fmt: skip


@pytest.fixture
def summary():
    rows = [
        row("fact_accuracy", "fields", 0.75, 0.5, 1.0),
        row("fact_accuracy_of_found", "fields", 0.9, 0.6, 1.0),
        row("fact_accuracy", "kind=number", 0.5, 0.25, 0.75, n=8),
        row("fact_accuracy_of_found", "kind=number", 1.0),
        row("fact_accuracy", "kind=temporal", 1.0, n=2),
        row("fact_accuracy_of_found", "kind=temporal", NAN, n=2),
        row("macro_rouge1_stem", "all", 0.98),
    ]
    return tables.table("summary", rows)


@pytest.fixture
def pages():
    columns = ("doc_id", "domain", "facts", "found", "correct", "wrong", "fact_accuracy")
    rows = [("a", "tax form", 4, 3, 2, 2, 0.5, 0.9, 0), ("b", None, 0, 0, 0, 0, NAN, 0.8, 2)]
    return pl.DataFrame(rows, schema=(*columns, "general", "structure"), orient="row")


def values(chart):
    (only,) = chart.to_dict()["datasets"].values()
    return only


def test_finding_gives_facts_and_text_and_compares_kinds_only_by_a_test(summary):
    said = charts.fact_cards(summary).finding
    assert said == (
        "m gets 75.0 % of the facts right; the text of its pages has a ROUGE-1 of 0.980."
    )
    tested = analysis.Finding("Dates are ahead", "kinds")
    assert charts.fact_cards(summary, tested).finding == f"{said} Dates are ahead."


def test_cards_without_facts_say_so():
    assert charts.fact_cards(tables.table("summary", [])).finding == (
        "No financial fact was scored."
    )


def test_both_definitions_are_drawn_and_undefined_ones_are_left_out(summary):
    chart = charts.accuracy_dots(summary)
    shown = {(v["kind"], v["divided"]): v["value"] for v in values(chart)}
    assert shown == {
        ("number", "by gold facts (paper)"): 0.5,
        ("number", "by facts found (released code)"): 1.0,
        ("temporal", "by gold facts (paper)"): 1.0,
    }
    assert "number 0.500 by gold facts" in chart.to_dict()["description"]


def test_table_and_caption_carry_both_definitions_with_their_settings(summary):
    frame = charts.accuracy_table(summary).frame
    assert frame["kind"].to_list() == ["all", "number", "temporal"]
    assert frame.row(1)[2:] == pytest.approx((0.5, 0.25, 0.75, 1.0, NAN, NAN), nan_ok=True)
    caption = charts.accuracy_caption(summary, say="Both.")
    assert ":test|fact_accuracy|" in caption.settings
    assert ":test|fact_accuracy_of_found|" in caption.settings


def test_a_page_without_facts_is_no_dot(pages):
    assert [v["doc_id"] for v in values(charts.page_dots(pages))] == ["a"]


def test_structure_counts_every_level_also_those_without_a_page(pages):
    counts = [v["pages"] for v in values(charts.structure_bars(pages))]
    assert counts == [1, 0, 1]


@pytest.mark.parametrize(
    "draw",
    [
        lambda summary, _: charts.accuracy_dots(summary),
        lambda _, pages: charts.page_dots(pages),
        lambda _, pages: charts.structure_bars(pages),
    ],
)
def test_nothing_to_show_is_a_note(summary, pages, draw):
    assert draw(summary.clear(), pages.clear()).label == "Note"


def test_axis_ends_at_one_and_begins_below_the_least_value():
    low, high = upto_one(pl.Series([0.5, 1.0])).to_dict()["domain"]
    assert (low, high) == (pytest.approx(0.45), 1)
    assert upto_one(pl.Series([0.0])).to_dict()["domain"][0] == 0
