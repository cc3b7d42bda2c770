import math

import polars as pl
import pytest

from formlab import tables
from formlab.analysis.splits import FEW_SHOT, WHOLE
from formlab.charts import Caption, few_shot_caption, few_shot_chart


def table(*rows):
    base = dict.fromkeys(FEW_SHOT) | {
        "corpus": "Made", "task": "mixed", "train_size": 10, "system": "demo", "part": WHOLE,
        "metric": "micro_f1", "value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "interval": "documents",
        "n_splits": 1, "n_docs": 7, "benchmark": "vrdu", "settings": {"rules": "x"},
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
    assert "line" in marks(few_shot_chart(table({}, {"train_size": 50})))
    # A split of no task has a bar without a size.
    rows = data(few_shot_chart(table({"task": "all documents", "train_size": None})))
    assert rows[0]["label"] == "all documents"


def test_undefined_scores_are_left_out():
    shown = table({"ci_low": math.nan, "ci_high": math.nan}, {"task": "unseen", "value": math.nan})
    assert len(data(few_shot_chart(shown))) == 1
    assert isinstance(few_shot_chart(table()), Caption)


@pytest.mark.parametrize("count", [1, 5])
def test_caption_names_few_scores_and_the_ends_of_many(count):
    rows = [{"train_size": n, "value": n / 10} for n in range(1, count + 1)]
    caption = few_shot_caption("Shown.", table(*rows))
    assert "Made, mixed templates, 1 training documents 0.100 (0.400 to 0.600)" in caption.text
    assert f"n = {7 * count} documents in {count} split" in caption.text
    assert ("0.300" in caption.text, "0.500" in caption.text) == (False, count == 5)
    assert caption.settings.split(" and ")[0] == tables.settings_text(table({}).row(0, named=True))
    assert "No micro F1" in few_shot_caption("Shown.", table()).text
