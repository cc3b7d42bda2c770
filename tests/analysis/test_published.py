"""Own scores beside published ones, in one table."""

import math

import polars as pl
import pytest

from formlab import analysis, charts, tables
from formlab.analysis.few_shot import FEW_SHOT, WHOLE

KEY = {"benchmark": "b", "split": "test", "system": "m", "n_docs": 2, "n_cases": 4}


def summary(*rows):
    """Rows of metric, value and the kind that they are of, None for none."""
    return tables.table("summary", [
        KEY | {"metric": metric, "value": value, "level": "field", "slice_value": kind}
        | {"slice_by": kind and "kind", "settings": tables.Settings()}
        for metric, value, kind in rows
    ])  # fmt: skip


FACTS = (
    ("macro_rouge1_stem", 0.9, None), ("macro_rougeL_stem", 0.6, None),
    ("macro_edit_distance", 0.1, None), ("fact_accuracy", 0.7, None),
    ("fact_accuracy", 0.8, "number"),
)  # fmt: skip


@pytest.fixture
def table4():
    return charts.published("fincriticaled_table4")


def test_printed_figures_give_the_ranks_that_the_paper_prints(table4):
    compared = analysis.text_and_facts(summary(*FACTS), table4).filter(kind="published")
    # The paper's own figures put Gemma third and GPT-4o first, as its column says.
    assert compared["general_rank"].to_list() == [int(n) for n in table4["general_rank"]]
    assert compared["fact_rank"].to_list() == [int(n) for n in table4["fact_rank"]]
    moved = dict(compared.select("system", "moved").rows())
    # GPT-5 is fifth by its text and first by its facts.
    assert moved["GPT-5"] == "facts rank higher"


def test_own_system_stands_beside_without_a_rank(table4):
    (own,) = (
        analysis.text_and_facts(summary(*FACTS), table4).filter(kind="measured here").to_dicts()
    )
    # (0.9 + 0.6 + 1 - 0.1) / 3
    assert own["general"] == pytest.approx(0.8)
    assert (own["number_accuracy"], own["temporal_accuracy"]) == (0.8, None)
    assert (own["general_rank"], own["fact_rank"], own["moved"]) == (None, None, None)


def test_a_summary_without_rows_leaves_the_published_figures():
    printed = charts.published("fincriticaled_leaderboard")
    compared = analysis.text_and_facts(summary(), printed)
    assert compared.height == printed.height
    assert set(compared["kind"]) == {"published"}
    assert analysis.table_2(summary(), charts.published("formfactory_table2"))["origin"].unique(
    ).to_list() == ["published"]  # fmt: skip


def test_own_and_published_figures_of_forms_stand_in_one_table_as_shares():
    own = summary(
        ("click_accuracy", 0.4, None), ("click_accuracy", 0.5, "string"),
        ("click_accuracy", 0.0, "checkbox"), ("value_found_accuracy", 0.8, "string"),
        ("value_placed_accuracy", 0.3, None), ("description_bleu", 0.7, "description"),
        ("value_found_accuracy", math.nan, "description"), ("episodic_click", 0.45, None),
        ("episodic_value", 0.85, None),
    )  # fmt: skip
    printed = charts.published("formfactory_table2")
    table = analysis.table_2(own, printed)
    own = table.filter(pl.col("origin") == "measured here")
    assert set(own.select("kind", "metric", "value").rows()) == {
        ("String", "click", 0.5), ("Check", "click", 0.0), ("String", "value", 0.8),
        ("Description", "value", 0.7), ("Episodic", "click", 0.45), ("Episodic", "value", 0.85),
    }  # fmt: skip
    theirs = table.filter(pl.col("system") == "GPT 4o")
    values = {(kind, side): v for kind, side, v in theirs.select("kind", "metric", "value").rows()}
    # The paper prints 2.2 percent, and 0.8407 of BLEU.
    assert values["String", "click"] == pytest.approx(0.022)
    assert values["Description", "value"] == 0.8407
    assert table.filter(pl.col("origin") == "published").height == printed.height
    assert table["value"].is_between(0, 1).all()
    assert table["kind"].unique(maintain_order=True)[:2].to_list() == ["String", "Drop-down List"]


def few_shot(*rows):
    base = dict.fromkeys(FEW_SHOT) | {
        "task": "mixed", "train_size": 10, "system": "demo", "part": WHOLE, "metric": "micro_f1",
        "value": 0.25, "n_splits": 1, "n_docs": 7,
    }  # fmt: skip
    return pl.DataFrame([base | row for row in rows], schema=FEW_SHOT)


def test_own_few_shot_scores_stand_only_beside_their_own_data_set_and_size():
    printed = charts.published("vrdu_table3")
    own = few_shot(
        {"corpus": "DeepForm"}, {"corpus": "Made"},
        {"corpus": "DeepForm", "task": "all documents", "train_size": None},
    )  # fmt: skip
    beside = analysis.few_shot_beside(own, printed)
    here = beside.filter(kind="measured here")
    assert here.select("corpus", "value", "system").rows() == [
        ("ad-buy-form", 0.25, "demo (measured here)")
    ]
    # 3 systems, 4 sizes, 2 tasks of ad-buy forms and 3 of registration forms, 2 metrics.
    theirs = beside.filter(kind="published")
    assert theirs.height == 3 * 4 * 5 * 2
    # LayoutLM with 10 documents of mixed templates: 20.20 and 48.13 in the paper.
    cell = theirs.filter(
        corpus="ad-buy-form", task="mixed", train_size=10, system="LayoutLM (published)"
    )
    assert dict(cell.select("metric", "value").rows()) == {"micro_f1": 0.202, "macro_f1": 0.4813}
