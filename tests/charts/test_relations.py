import polars as pl

from formlab.analysis import Finding
from formlab.charts import (
    Caption,
    relation_caption,
    relation_cards,
    relation_dots,
    relation_figures,
    relation_heatmap,
    relation_pairs,
    strictness_figures,
)
from formlab.tables import LADDER

PRINTED = pl.DataFrame(
    {
        "system": ["P", "P", "Q"], "metric": ["vqa_accuracy", "consistency_accuracy", "f1"],
        "value": [0.8, 0.4, 0.1],
    }
)  # fmt: skip


def datasets(chart):
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_each_cell_has_its_count_and_empty_cells_are_not_there(relation_cases):
    cells = {
        (row["task"], row["scope"], row["complexity"]): (row["count"], row["accuracy"])
        for row in datasets(relation_heatmap(relation_cases))
    }
    # Single and cross modality are one cell here: one of two simple questions is right.
    assert cells == {
        ("questions", "intra-group", "simple"): ("1 of 2", 0.5),
        ("questions", "cross-page", "chained"): ("1 of 1", 1.0),
        ("consistency checks", "inter-group", "compound"): ("0 of 1", 0.0),
    }


def test_heat_map_says_its_numbers_in_words(relation_cases):
    text = relation_heatmap(relation_cases).to_dict()["description"]
    assert "questions, intra-group, constraint, simple: 1 of 2" in text


def test_dots_are_of_one_axis_and_not_of_its_combinations(summary_of):
    summary = summary_of(
        ("vqa_accuracy", "scope=intra-group", 0.5),
        ("vqa_accuracy", "scope=intra-group&reference=constraint&complexity=simple", 0.1),
        ("consistency_accuracy", "scope=intra-group", 0.25),
        ("vqa_accuracy", "modal=cross-modality", 0.75),
    )
    shown = {(row["task"], row["label"]): row["value"] for row in datasets(
        relation_dots(summary, by="scope")
    )}  # fmt: skip
    assert shown == {("questions", "intra-group"): 0.5, ("consistency checks", "intra-group"): 0.25}


def test_pairs_tell_measured_from_published(summary_of):
    summary = summary_of(("vqa_accuracy", "all", 0.5), ("consistency_accuracy", "all", 0.25))
    chart = relation_pairs(summary, PRINTED)
    dots = {(r["system"], r["task"]): r["kind"] for r in datasets(chart)}
    assert dots == {
        ("P", "questions"): "published", ("P", "consistency checks"): "published",
        ("x on b:s", "questions"): "measured here",
        ("x on b:s", "consistency checks"): "measured here",
    }  # fmt: skip
    assert "P (published), questions: 0.80" in chart.to_dict()["description"]
    filled = {r["kind"]: r["fill"] == "transparent" for r in datasets(chart) if "fill" in r}
    assert filled == {"published": True, "measured here": False}


def test_cards_compare_relations_only_where_a_test_did(summary_of):
    summary = summary_of(
        ("vqa_accuracy", "all", 0.5),
        ("vqa_accuracy", "reference=constraint", 0.25),
        ("vqa_accuracy", "reference=direct-link", 0.75),
    )
    said = relation_cards(summary)
    assert [card.value for card in said.cards] == [0.5]
    assert said.finding == "x gets 0.50 of the questions right."
    tested = Finding("Links are ahead", "kinds")
    assert relation_cards(summary, tested).finding.endswith("right. Links are ahead.")


def test_where_all_is_right_one_sentence_says_that_nothing_can_be_told_apart(summary_of):
    summary = summary_of(("vqa_accuracy", "all", 1.0), ("consistency_accuracy", "all", 1.0))
    assert relation_cards(summary, Finding("Not this", "kinds")).finding.startswith(
        "x gets all 4 questions and 4 consistency checks right, so kinds of relation cannot be "
        "told apart. "
    )
    wrong = summary_of(("vqa_accuracy", "all", 0.0))
    assert relation_cards(wrong).finding.startswith("x gets all 4 questions wrong")


def test_checks_that_only_reading_answered_are_not_sold_as_reasoning(summary_of):
    # Such as a system that extracts fields and answers neither questions nor checks.
    summary = summary_of(
        ("consistency_accuracy", "all", 1.0),
        ("consistency_accuracy", "scope=intra-group", 1.0),
        ("consistency_accuracy", "scope=inter-group", 1.0),
    )
    for said in (relation_cards(summary).finding, relation_caption(summary, say="X.").text):
        assert "shows reading and no reasoning. No question was answered." in said
        assert "lowest" not in said
    asked = summary_of(("vqa_accuracy", "all", 0.5))
    assert "reading" not in relation_caption(asked, say="X.").text


def test_caption_has_both_skills_their_settings_and_the_citation(summary_of):
    summary = summary_of(("vqa_accuracy", "all", 0.5), ("consistency_accuracy", "all", 0.25))
    printed = PRINTED.with_columns(pl.lit("Paper, Table 4").alias("source"))
    said = relation_caption(summary, say="X.", printed=printed)
    assert "questions 0.500 (95 %" in said.text
    assert "consistency checks 0.250 (95 %" in said.text
    assert said.text.endswith("Paper, Table 4.")
    assert said.settings == (
        "b:s|vqa_accuracy|level=question; b:s|consistency_accuracy|level=check"
    )
    assert "No answer was scored" in relation_caption(summary_of(), say="X.").text


def test_without_answers_notes_say_so_and_published_figures_stay(relation_cases, summary_of):
    none = summary_of(("cer", "all", 0.5))
    for shown in (relation_heatmap(relation_cases.clear()), relation_dots(none, by="modal")):
        assert isinstance(shown, Caption)
        assert "answer none" in shown.text
    assert "Only published figures" in relation_cards(none).finding
    assert {row["system"] for row in datasets(relation_pairs(none, PRINTED))} == {"P"}
    assert isinstance(relation_pairs(none, PRINTED.clear()), Caption)


def test_figures_are_one_sentence_where_all_is_right(relation_cases, summary_of):
    right = summary_of(("vqa_accuracy", "all", 1.0), ("vqa_accuracy", "scope=cross-page", 1.0))
    (said,) = relation_figures(right, relation_cases)
    assert said.text.startswith("Every item is right, so no kind of relation differs")
    mixed = summary_of(("vqa_accuracy", "all", 0.5), ("vqa_accuracy", "scope=cross-page", 0.5))
    assert len(relation_figures(mixed, relation_cases)) == 10
    (none,) = relation_figures(summary_of(), relation_cases.clear())
    assert none.label == "Note"


def test_strictness_is_a_note_only_where_every_rung_has_all(summary_of):
    rungs = [(f"{rung}_accuracy", "task=vqa", 1.0) for rung in LADDER]
    (said,) = strictness_figures(summary_of(("vqa_accuracy", "all", 1.0), *rungs))
    assert said.label == "Note"
    less = [("exact_accuracy", "task=vqa", 0.5), *rungs[1:]]
    assert len(strictness_figures(summary_of(("vqa_accuracy", "all", 1.0), *less))) == 2
