"""Numbers that cells of notebooks compute, on frames made by hand."""

import math
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import nbformat
import polars as pl
import pytest

from formlab import analysis, charts, metrics, tables
from formlab.analysis.splits import FEW_SHOT, TASK_TITLES, WHOLE

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def run(notebook, cells, **given):
    """What cells of a notebook leave behind, `shown` among it, where `given` stands before."""
    shown = []
    space = {"pl": pl, "analysis": analysis, "charts": charts, "metrics": metrics}
    space |= {"tables": tables}
    space |= {"display": lambda *parts: shown.extend(parts), "shown_parts": shown} | given
    for cell in nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4).cells:
        if cell.id in cells:
            with mock.patch("formlab.charts.words.display", space["display"]):
                exec(compile(cell.source, cell.id, "exec"), space)
    return space


def whole_and_kinds(*rows):
    """A summary from rows of metric, value, kind (None for all) and average."""
    key = {"benchmark": "b", "split": "test", "system": "m", "n_docs": 2, "n_cases": 4}
    return tables.table("summary", [
        key | {"metric": metric, "value": value, "level": "field", "slice_value": kind}
        | {"average": average[0] if average else "pooled"}
        | {"slice_by": kind and "kind", "settings": tables.Settings()}
        for metric, value, kind, *average in rows
    ])  # fmt: skip


def text_and_facts(*rows):
    scored = whole_and_kinds(*rows)
    stub = SimpleNamespace(
        side_by_side=lambda _, names, **__: scored.filter(pl.col("metric").is_in(names))
    )
    cells = ["good-text-score-1", "good-text-score-ranks"]
    draws = {"resamples": 0, "permutations": 0, "seed": 0}
    return run("60_financial_facts", cells, analysis=stub, systems=[], **draws)


def test_published_systems_are_ranked_by_text_and_by_facts_and_own_ones_among_themselves():
    space = text_and_facts(
        ("rouge1_stem", 0.9, None, "macro"), ("rougeL_stem", 0.6, None, "macro"),
        ("edit_distance", 0.1, None, "macro"), ("edit_distance", 0.3, None),
        ("rouge1_html", 0.4, None, "macro"), ("rougeL_html", 0.3, None, "macro"),
        ("edit_distance_html", 0.7, None, "macro"),
        ("fact_accuracy", 0.7, None), ("fact_accuracy", 0.8, "number"),
        ("number_date_accuracy", 0.6, None),
    )  # fmt: skip
    table4, compared = space["printed"]["HTML"], space["compared"]
    of_html = compared.filter(of="HTML")
    ranks = table4.join(of_html, on="system", maintain_order="left")
    # The paper's own figures put Gemma third and GPT-4o first, as its column says.
    assert ranks["general_rank_right"].to_list() == [int(n) for n in table4["general_rank"]]
    assert ranks["fact_rank_right"].to_list() == [int(n) for n in table4["fact_rank"]]
    # GPT-5 is fifth by its text and first by its facts.
    gpt = of_html.filter(system="GPT-5").select("general_rank", "fact_rank")
    assert gpt.row(0) == (5, 1)
    html, text = compared.filter(kind="measured here").sort("of").to_dicts()
    # (0.9 + 0.6 + 1 - 0.1) / 3 of visible text, (0.4 + 0.3 + 1 - 0.7) / 3 of HTML.
    assert (html["of"], text["of"]) == ("HTML", "visible text")
    assert (html["general"], text["general"]) == pytest.approx((1 / 3, 0.8))
    # Table 4 is of numbers and dates, the leaderboard of facts of every kind.
    for own, share in ((html, 0.6), (text, 0.7)):
        assert (own["number_accuracy"], own["fact_accuracy"]) == (0.8, share)
        assert (own["general_rank"], own["fact_rank"]) == (1, 1)
    # The leaderboard is of visible text and stands nowhere beside HTML.
    assert set(of_html["system"]) == {*table4["system"], "m"}


def test_own_and_published_figures_of_forms_stand_in_one_table_as_shares():
    summary = whole_and_kinds(
        ("click_accuracy", 0.4, None), ("click_accuracy", 0.5, "string"),
        ("click_accuracy", 0.0, "checkbox"), ("value_found_accuracy", 0.8, "string"),
        ("value_placed_accuracy", 0.3, None), ("description_bleu", 0.7, "description"),
        ("value_found_accuracy", math.nan, "description"), ("episodic_click", 0.45, None),
        ("episodic_value", 0.85, None),
    )  # fmt: skip
    space = agents_and_paper(summary)
    table = space["points"]
    own = table.filter(origin="measured here")
    assert set(own.select("kind", "side", "value").rows()) == {
        ("String", "click", 0.5), ("Check", "click", 0.0), ("String", "value", 0.8),
        ("Description", "value", 0.7), ("Episodic", "click", 0.45), ("Episodic", "value", 0.85),
    }  # fmt: skip
    theirs = table.filter(system="GPT 4o")
    values = {(kind, side): v for kind, side, v in theirs.select("kind", "side", "value").rows()}
    # The paper prints 2.2 percent, and 0.8407 of BLEU.
    assert values["String", "click"] == pytest.approx(0.022)
    assert values["Description", "value"] == 0.8407
    assert table.filter(origin="published").height == space["printed"].height
    assert table["value"].is_between(0, 1).all()
    assert table["kind"].unique(maintain_order=True)[:2].to_list() == ["String", "Drop-down List"]


def agents_and_paper(rows=None):
    """What notebook 40 draws of these rows of one agent, beside the published figures."""
    rows = whole_and_kinds() if rows is None else rows
    rows = rows.with_columns(mark=pl.lit(None, pl.String))
    stub = SimpleNamespace(side_by_side=lambda *_, **__: rows)
    result = SimpleNamespace(system="demo")
    cells = ["type-field-fails-own", "type-field-fails-rows"]
    cells += ["type-field-fails-1", "type-field-fails-2"]
    return run("40_form_filling", cells, analysis=stub, results=[result], options={}, whole=rows)


def few_shot(*rows):
    base = dict.fromkeys(FEW_SHOT) | {
        "task": "mixed", "train_size": 10, "system": "demo", "part": WHOLE, "metric": "micro_f1",
        "value": 0.25, "n_splits": 1, "n_docs": 7,
    }  # fmt: skip
    return pl.DataFrame([base | row for row in rows], schema=FEW_SHOT)


def test_own_few_shot_scores_stand_with_those_of_the_same_forms_in_the_paper():
    curves = few_shot(
        {"corpus": "DeepForm", "lowest": 0.2, "highest": 0.3}, {"corpus": "Made"},
        {"corpus": "DeepForm", "task": "all documents", "train_size": None},
    )  # fmt: skip
    given = {"curves": curves, "TASK_TITLES": TASK_TITLES}
    cells = ["systems-compare-rows", "learning-curves-points"]
    space = run("50_entity_extraction", cells, **given)
    assert space["ours"].filter(corpus="DeepForm").select("system", "column", "forms").rows() == [
        ("demo", "all documents micro_f1", "ad-buy forms"),
        ("demo, 10", "mixed micro_f1", "ad-buy forms"),
    ]
    here = space["beside"].filter(kind="measured here")
    assert here.select("forms", "lowest", "value", "system").rows() == [
        ("ad-buy forms", 0.2, 0.25, "demo (measured here)"),
        ("Made", None, 0.25, "demo (measured here)"),
    ]
    # 3 systems, 4 sizes, 2 tasks of ad-buy forms, 2 metrics; nobody read registration forms.
    theirs = space["beside"].filter(kind="published")
    assert theirs.height == 3 * 4 * 2 * 2
    # LayoutLM with 10 documents of mixed templates: 20.20 and 48.13 in the paper.
    cell = theirs.filter(task="mixed", train_size=10, system="LayoutLM (published)")
    assert dict(cell.select("metric", "value").rows()) == {"micro_f1": 0.202, "macro_f1": 0.4813}


def test_gap_is_known_minus_unseen_with_the_mover_interval():
    scores = few_shot(
        {"value": 0.8, "ci_low": 0.77, "ci_high": 0.83},
        {"task": "unseen", "value": 0.5, "ci_low": 0.46, "ci_high": 0.54},
        {"train_size": 50, "value": 0.9},
        {"task": "single", "value": 0.9, "ci_low": 0.87, "ci_high": 0.93},
    )
    gaps = run("50_entity_extraction", ["an-unseen-template-gaps"], curves=scores)["gaps"]
    # Symmetric intervals of half widths 0.03 and 0.04 give one of 0.05.
    gaps = gaps.rows_by_key("task", named=True, unique=True)
    assert set(gaps) == {"mixed", "single"}
    gap = gaps["mixed"]
    assert [round(gap[n], 9) for n in ("value", "ci_low", "ci_high")] == [0.3, 0.25, 0.35]
    assert round(gaps["single"]["value"], 9) == 0.4


def test_tables_of_modalities_are_those_of_the_paper_with_its_figures_beneath():
    """A row of a table of FORMCRAFT's paper has its own columns, in its order."""
    subtypes = ("machine-printed", "handwritten", "mixed", "checkbox")
    rows = [
        {"system": "m", "metric": metric, "value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "mark": None,
         "slice_by": "subtype", "slice_value": subtype,
         "average": "macro" if metric == "mark_f1" else "pooled"}
        for subtype in subtypes for metric in ("cer", "wer", "bleu_of_fields", "mark_f1")
        if (metric == "mark_f1") == (subtype == "checkbox")
    ]  # fmt: skip
    systems = pl.DataFrame(rows)
    result = SimpleNamespace(system="m", fields=pl.DataFrame({"modality": ["x"], "subtype": ["x"]}))
    stub = SimpleNamespace(side_by_side=lambda *_, **__: systems)
    titles = {"cer": "CER", "wer": "WER", "exact_accuracy": "exact"}
    given = {"analysis": stub, "result": result, "results": [result], "titles": titles}
    given |= {"resamples": 0, "seed": 0, "averaged": pl.lit(True), "pooled_marks": False}
    cells = ["systems-scores", "paper-columns", "paper-tables"]
    shown = run("10_content_modality", cells, **given)["shown_parts"]
    texts, others, marked = (part for part in shown if isinstance(part, charts.Table))
    assert [title.replace("\u00a0", " ") for title in texts.titles.values()] == [
        f"{part}: {name}" for part in ("machine-printed", "handwritten")
        for name in ("CER ↓", "WER ↓", "BLEU ↑")
    ]  # fmt: skip
    assert texts.frame.row(0) == ("m", *["0.50 [0.40, 0.60]"] * 6)
    # Printed of GPT-5: 0.21 0.29 0.15 of machine-printed text, 0.41 0.55 0.03 of handwriting.
    figures = ("0.21", "0.29", "0.15", "0.41", "0.55", "0.03")
    assert texts.frame.row(1) == ("GPT-5 (published)", *figures)
    # Beneath the systems stand the published rows, and what metric and average each column is of.
    assert texts.aside == (1, 2, 3, 4, 5, 6)
    assert others.frame["system"].to_list() == ["m", "metric", "average"]
    assert marked.frame.filter(system="Claude 4 Sonnet (published)").row(0)[1:4] == (
        "0.75", "0.78", "0.79",
    )  # fmt: skip
