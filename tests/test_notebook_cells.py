"""Numbers that cells of notebooks compute, on frames made by hand."""

from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import nbformat
import polars as pl
import pytest

from formlab import analysis, charts, metrics, tables
from formlab.analysis.splits import FEW_SHOT, WHOLE

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
    cells = [f"good-text-score-{name}" for name in ("1", "views", "ranks", "ranks-of")]
    draws = {"permutations": 0, "draws": {"resamples": 0, "seed": 0}}
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


def few_shot(*rows):
    base = dict.fromkeys(FEW_SHOT) | {
        "task": "mixed", "train_size": 10, "system": "demo", "part": WHOLE, "metric": "micro_f1",
        "value": 0.25, "n_splits": 1, "n_docs": 7,
    }  # fmt: skip
    return pl.DataFrame([base | row for row in rows], schema=FEW_SHOT)


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
