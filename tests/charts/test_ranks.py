import polars as pl
import pytest

from formlab import charts, tables
from formlab.charts.published import OWN, PUBLISHED
from formlab.charts.ranks import NOTHING
from tests.made_slices import of


def row(metric, part, value):
    return {
        "benchmark": "fincriticaled", "split": "test", "system": "<b>m", "metric": metric,
        **of(part), "value": value, "n_docs": 2, "n_cases": 4, "settings": {},
    }  # fmt: skip


@pytest.fixture
def summary():
    rows = [
        row("macro_rouge1_stem", "all", 0.9), row("macro_rougeL_stem", "all", 0.6),
        row("macro_edit_distance", "all", 0.1), row("fact_accuracy", "fields", 0.7),
        row("fact_accuracy", "kind=number", 0.8),
    ]  # fmt: skip
    return tables.table("summary", rows)


def test_printed_figures_give_the_ranks_that_the_paper_prints(summary):
    printed = charts.published("fincriticaled_table4")
    compared = charts.general_and_facts(summary, printed).filter(kind=PUBLISHED)
    assert compared["general_rank"].to_list() == [int(n) for n in printed["general_rank"]]
    assert compared["fact_rank"].to_list() == [int(n) for n in printed["fact_rank"]]


def test_own_system_stands_beside_without_a_rank(summary):
    compared = charts.general_and_facts(summary, charts.published("fincriticaled_table4"))
    (own,) = compared.filter(kind=OWN).to_dicts()
    # (0.9 + 0.6 + 1 - 0.1) / 3
    assert own["general"] == pytest.approx(0.8)
    assert (own["number_accuracy"], own["temporal_accuracy"]) == (0.8, None)
    assert (own["general_rank"], own["fact_rank"]) == (None, None)


def test_a_summary_without_rows_leaves_the_published_figures():
    printed = charts.published("fincriticaled_leaderboard")
    compared = charts.general_and_facts(tables.table("summary", []), printed)
    assert compared.height == printed.height
    assert set(compared["kind"]) == {PUBLISHED}


def test_slopes_have_two_ends_a_system_and_tell_who_moved(summary):
    compared = charts.general_and_facts(summary, charts.published("fincriticaled_table4"))
    spec = charts.rank_slopes(compared).to_dict()
    (shown,) = spec["datasets"].values()
    assert len(shown) == 2 * 7
    assert {v["moved"] for v in shown if v["system"] == "GPT-5"} == {"facts rank higher"}
    assert "GPT-5 5 and 1" in spec["description"]


def test_only_what_was_measured_here_is_filled_and_named(summary):
    compared = charts.general_and_facts(summary, charts.published("fincriticaled_table4"))
    dots, names = charts.text_and_facts(compared).to_dict()["layer"]
    assert dots["encoding"]["fill"]["scale"]["range"][1] == "transparent"
    assert names["transform"] == [{"filter": {"field": "kind", "equal": OWN}}]


def test_the_table_puts_the_best_facts_on_top_and_the_caption_cites(summary):
    printed = charts.published("fincriticaled_table4")
    frame = charts.compared_table(charts.general_and_facts(summary, printed)).frame
    assert frame["system"][0] == "GPT-5"
    assert "arXiv:2511.14998" in charts.cited(printed, say="Systems.").text


def test_nothing_published_is_a_note(summary):
    empty = charts.general_and_facts(summary, charts.published("fincriticaled_table4")).clear()
    assert charts.rank_slopes(empty).text == NOTHING
    assert charts.text_and_facts(empty.with_columns(pl.lit(None, pl.Float64).alias("general")))


def test_systems_of_one_rank_share_a_label(summary):
    compared = charts.general_and_facts(summary, charts.published("fincriticaled_leaderboard"))
    (shown,) = charts.rank_slopes(compared).to_dict()["datasets"].values()
    second = [v["names"] for v in shown if v["by"] == "by facts" and v["rank"] == 2]
    assert sorted(second) == ["", "GLM-OCR, Llama-4-Maverick"]
