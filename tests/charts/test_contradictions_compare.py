"""Sentences on comparisons and few-shot scores against their own table."""

import numpy as np
import polars as pl
import pytest

from formlab import charts, tables
from formlab.analysis.splits import FEW_SHOT, WHOLE
from tests.charts.test_contradictions import SEEDS, check, counts, ends, values


@pytest.mark.parametrize("seed", SEEDS)
def test_cards_of_a_summary(seed):
    draw = np.random.default_rng(seed)
    metrics = ("click_accuracy", "value_found_accuracy", "form_completed")
    rows = tables.table("summary", [
        {
            "benchmark": "b", "split": "s", "system": "fox", "metric": metric, "level": "field",
            "value": value, "n_missing": 0, "n_undefined": 0, "settings": tables.Settings(),
        } | counts(draw) | ends(draw, value)
        for metric, value in zip(metrics, values(draw, 3), strict=True) if draw.random() > 1 / 6
    ])  # fmt: skip
    check(charts.score_cards(rows, dict(zip(metrics, "abc", strict=True))).finding, rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_captions_of_few_shot_scores(seed):
    draw = np.random.default_rng(seed)
    base = dict.fromkeys(FEW_SHOT) | {
        "corpus": "Ads", "task": "mixed", "system": "fox", "part": WHOLE, "metric": "micro_f1",
        "interval": "documents",
    }  # fmt: skip
    rows = []
    for value in values(draw, int(draw.integers(0, 7))):
        sizes = {"train_size": int(draw.integers(1, 99)), "n_splits": int(draw.integers(1, 4))}
        sizes["n_docs"] = counts(draw)["n_docs"]
        rows.append(base | {"value": value} | sizes | ends(draw, value))
    scores = pl.DataFrame(rows, schema=FEW_SHOT)
    # The name of the metric holds a number of its own.
    text = charts.few_shot_caption("So.", scores).text.replace("F1", "F")
    text = text.replace("the lowest and the highest are", "")
    check(text, scores, more=[f"{scores[name].sum():,}" for name in ("n_docs", "n_splits")])
    known = scores.filter(pl.col("value").is_finite())["value"]
    if len(rows) > 4 and known.len():
        assert f"{known.min():.3f}" in text
        assert f"{known.max():.3f}" in text
