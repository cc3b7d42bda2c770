import math

import polars as pl
import pytest

from formlab import charts
from formlab.analysis.cross import AGREEMENT, FACTS, headlines
from formlab.charts.published import OWN, PUBLISHED

KEY = {"benchmark": "funsd", "split": "test", "system": "x"}


@pytest.fixture
def heads(summary_of):
    return headlines(
        summary_of(
            ("normalised_accuracy", "fields", 0.5), ("tree_similarity", "all", 0.25),
        )
    )  # fmt: skip


def agreement(*rows):
    base = {"benchmark": "b", "split": "s", "system": "x", "unit": "document", "p": 0.5, "n": 9}
    return pl.DataFrame(
        [base | {"metric": m, "other": o, "tau": t, "ci_low": t - 0.1, "ci_high": t + 0.1}
         for m, o, t in rows],
        schema=AGREEMENT,
    )  # fmt: skip


def test_published_figures_are_shares_without_intervals():
    printed = charts.published_levels()
    assert printed["value"].is_between(0, 1).all()
    assert printed["ci_low"].is_null().all()
    assert printed["source"].null_count() == 0
    # FORMCRAFT table 4, FinCriticalED table 4.
    values = dict(printed.select("name", "value").rows())
    assert values["GPT-5 on formcraft"] == pytest.approx(0.7913, abs=5e-5)
    assert values["DeepSeek-OCR on fincriticaled"] == 0.7715


def test_level_shows_own_filled_with_interval_and_published_open(heads):
    points = charts.level_points(heads, charts.published_levels())
    chart = charts.level_dots(points, level="reading").to_dict()
    rows = next(iter(chart["datasets"].values()))
    own = [row for row in rows if row["kind"] == OWN]
    assert [(row["name"], row["value"], row["ci_low"]) for row in own] == [("x on b:s", 0.5, 0.4)]
    assert all(row["ci_low"] is None for row in rows if row["kind"] == PUBLISHED)
    assert "x on b:s 0.500 (measured here)" in chart["description"]


def test_level_without_a_score_is_a_note(heads):
    note = charts.level_dots(charts.level_points(heads), level="acting")
    assert note.label == "Note"


def test_cards_name_the_weakest_level_and_those_not_measured(heads):
    cards = charts.level_cards(heads)
    assert [card.value for card in cards.cards] == [0.5, 0.25]
    assert cards.finding.startswith(
        "Structuring is the weakest level measured here: x reaches 0.25"
    )
    assert cards.finding.endswith("nothing measures locating or relating or acting.")
    assert charts.level_cards(heads.clear()).finding == "Nothing was scored."


def test_agreement_is_drawn_by_pair_and_can_be_of_chosen_metrics():
    table = agreement(("cer", "wer", 0.9), ("wer", "bleu", 0.2), ("cer", "bleu", math.nan))
    chart = charts.agreement_dots(table, about=["cer"]).to_dict()
    pairs = [row["pair"] for rows in chart["datasets"].values() for row in rows if "pair" in row]
    assert len(pairs) == 1
    assert "CER" in chart["description"].upper()
    assert charts.agreement_dots(table.clear()).label == "Note"


def test_caption_names_the_pair_that_agrees_least():
    table = agreement(("cer", "wer", 0.9), ("wer", "bleu", 0.2))
    text = charts.agreement_caption(table, say="Alike?").text
    assert "BLEU" in text
    assert "τ 0.20 (95 % interval 0.10 to 0.30, n = 9 documents)" in text
    assert "No pair" in charts.agreement_caption(table.clear(), say="Alike?").text


def test_ladder_is_a_line_for_each_evaluation(summary_of):
    rows = summary_of(("exact_accuracy", "fields", 0.5), ("fuzzy_accuracy", "fields", 0.75))
    shown = rows.with_columns(rung=pl.col("metric").str.strip_suffix("_accuracy"))
    chart = charts.rung_lines(shown).to_dict()
    assert "x on b:s exact 0.500; x on b:s fuzzy 0.750" in chart["description"]
    assert charts.rung_lines(shown.clear()).label == "Note"


def test_table_says_what_a_benchmark_cannot_say():
    row = KEY | {"documents": 2, "published": 50, "values": 9, "with_box": 1.0}
    facts = pl.DataFrame([{name: row.get(name) for name in FACTS}], schema=FACTS)
    shown = charts.can_say_table(facts).frame.row(0, named=True)
    assert shown["can say"] == "reading, structuring"
    assert shown["cannot say"] == "locating, relating, acting"
