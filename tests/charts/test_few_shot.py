import json
import math

import polars as pl
import pytest

from formlab.analysis.few_shot import FEW_SHOT, NESTED, SIMPLE, WHOLE
from formlab.charts import (
    Caption,
    few_shot_caption,
    few_shot_chart,
    published,
    published_curves,
    published_curves_caption,
    published_scores_table,
)


def table(*rows):
    base = {
        "corpus": "Made", "task": "mixed", "train_size": 10, "system": "demo", "part": WHOLE,
        "metric": "micro_f1", "value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "interval": "documents",
        "n_splits": 1, "n_docs": 7, "settings": {},
    }  # fmt: skip
    return pl.DataFrame([base | row for row in rows], schema=FEW_SHOT)


def data(chart):
    (rows,) = chart.to_dict()["datasets"].values()
    return rows


def marks(chart):
    return {layer["mark"]["type"] for layer in chart.to_dict()["spec"]["layer"]}


def test_one_size_a_task_gives_bars_and_several_give_curves():
    bars = few_shot_chart(table({}, {"task": "unseen", "train_size": 50}))
    assert marks(bars) == {"bar", "rule", "text"}
    assert [row["label"] for row in data(bars)] == [
        "mixed templates, 10 training documents", "unseen template, 50 training documents",
    ]  # fmt: skip
    curves = few_shot_chart(table({}, {"train_size": 50}))
    assert marks(curves) == {"line", "point", "rule"}
    assert curves.to_dict()["description"].startswith("micro F1: Made, mixed templates, 10")


def test_split_of_no_task_has_a_bar_without_a_size():
    rows = data(few_shot_chart(table({"task": "all documents", "train_size": None})))
    assert rows[0]["label"] == "all documents"


def test_undefined_scores_and_intervals_never_reach_the_page():
    shown = table({"ci_low": math.nan, "ci_high": math.nan}, {"task": "unseen", "value": math.nan})
    chart = few_shot_chart(shown)
    assert len(data(chart)) == 1
    json.dumps(chart.to_dict(), allow_nan=False)
    assert isinstance(few_shot_chart(table()), Caption)


def test_parts_are_told_apart_by_colour():
    rows = [{"part": part, "metric": "f1"} for part in (SIMPLE, NESTED)]
    chart = few_shot_chart(table(*rows), metric="f1", parts=(SIMPLE, NESTED))
    scale = chart.to_dict()["spec"]["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == [SIMPLE, NESTED]
    assert len(set(scale["range"])) == 2


def test_caption_names_few_scores_and_the_range_of_many():
    said = few_shot_caption(table({}), say="Shown.")
    assert said.text == (
        "Shown. micro F1 of all entities: Made, mixed templates with 10 training documents 0.500 "
        "(0.400 to 0.600); n = 7 documents in 1 split. 95 % intervals over documents (bootstrap)."
    )
    many = few_shot_caption(
        table(
            *(
                {"train_size": n, "value": n / 10, "benchmark": "vrdu", "split": str(n)}
                for n in range(1, 6)
            )
        ),
        say="Shown.",
    )
    assert "from 0.100 (0.400 to 0.600) on Made, mixed templates with 1 " in many.text
    assert "n = 35 documents in 5 splits" in many.text
    assert many.settings == "vrdu:5 splits or groups of them|micro_f1"


@pytest.fixture
def printed():
    return published("vrdu_table3")


def test_published_scores_are_marked_cited_and_beside_their_own_data_set(printed):
    own = table({"corpus": "DeepForm", "value": 0.25}, {"corpus": "Made"})
    chart = published_curves(own, printed)
    here = [row for row in data(chart) if row["kind"] == "measured here"]
    assert [(row["corpus"], row["value"], row["system"]) for row in here] == [
        ("ad-buy-form", 0.25, "demo (measured here)")
    ]
    theirs = [row for row in data(chart) if row["kind"] == "published"]
    # 3 systems, 4 sizes, 2 tasks of ad-buy forms and 3 of registration forms.
    assert len(theirs) == 3 * 4 * 5
    assert all(row["system"].endswith("(published)") for row in theirs)
    dashed = [layer for layer in chart.to_dict()["spec"]["layer"] if "strokeDash" in layer["mark"]]
    assert len(dashed) == 1
    said = published_curves_caption(own, printed, say="Shown.")
    assert "Wang et al., KDD 2023" in said.text
    assert "DeepForm, mixed templates with 10 training documents 0.250" in said.text


def test_other_data_is_not_among_the_published_and_the_caption_says_so(printed):
    own = table({}, {"corpus": "DeepForm", "task": "all documents", "train_size": None})
    assert {row["kind"] for row in data(published_curves(own, printed))} == {"published"}
    assert "on other documents" in published_curves_caption(own, printed, say="Shown.").text


def test_published_table_has_own_columns_only_for_the_same_cells(printed):
    other = published_scores_table(table({}), printed).frame
    assert other.height == 4 * 5
    assert other.columns[3:] == [
        "LayoutLM micro", "LayoutLM macro", "LayoutLMv2 micro", "LayoutLMv2 macro",
        "FormNet micro", "FormNet macro",
    ]  # fmt: skip
    mine = published_scores_table(table({"corpus": "DeepForm", "value": 0.25}), printed).frame
    # LayoutLM with 10 documents of mixed templates: 20.20 and 48.13 in the paper.
    cell = mine.filter(corpus="ad-buy-form", task="mixed templates", train_size=10).row(
        0, named=True
    )
    assert (cell["here micro"], cell["LayoutLM micro"], cell["LayoutLM macro"]) == (
        0.25, 0.202, 0.4813,
    )  # fmt: skip
    assert mine["here micro"].count() == 1
