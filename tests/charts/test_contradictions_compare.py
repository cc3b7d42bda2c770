"""Sentences on comparisons and few-shot scores against their own table."""

import numpy as np
import polars as pl
import pytest

from formlab import analysis, charts, tables
from formlab.analysis.compare import COMPARISON
from formlab.analysis.few_shot import FEW_SHOT, WHOLE
from formlab.analysis.flips import MATRIX
from tests.charts.test_contradictions import SEEDS, check, counts, ends, values

PAIR = {"system_a": "fox", "system_b": "owl", "level": "field"}


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


def matrix_of(draw):
    """Random flips with a test that agrees with them or not; sometimes none at all."""
    rows = []
    for by, value in ((None, None), ("kind", "ant"), ("kind", "bee"), ("cause_a", "digit")):
        right, a, b, wrong = (int(x) for x in draw.integers(0, draw.choice([1, 4, 90]), 4))
        n = right + a + b + wrong
        if not n:
            continue
        gain = (b - a) / n
        rows.append(dict.fromkeys(MATRIX) | PAIR | {
            "slice_by": by, "slice_value": value, "both_right": right, "only_a": a, "only_b": b,
            "both_wrong": wrong, "n_cases": n, "n_docs": max(1, n // 3), "value_a": (right + a) / n,
            "value_b": (right + b) / n, "difference": gain, "p": float(draw.random()),
            "p_holm": float(draw.random()) ** 3, "p_mcnemar": float(draw.random()),
            "least_difference": float(draw.random()),
        } | ends(draw, gain))  # fmt: skip
    return pl.DataFrame(rows, schema=MATRIX)


def comparison_of(draw):
    rows = []
    for value in draw.permutation(("", "ant", "bee"))[: draw.integers(0, 4)]:
        first, second = values(draw, 2)
        gain = second - first
        row = dict.fromkeys(COMPARISON) | PAIR | {
            "benchmark": "b", "split": "s", "metric": "cer", "value_a": first, "value_b": second,
            "slice_by": "kind" if value else None, "slice_value": str(value) or None,
            "difference": gain, "p": float(draw.random()) ** 4, "p_holm": float(draw.random()) ** 4,
            "least_difference": 0.1, "n_undefined": 0,
        } | counts(draw) | ends(draw, gain)  # fmt: skip
        shown = row["p_holm"] <= 0.05 and (row["ci_low"] > 0 or row["ci_high"] < 0)
        rows.append(row | {"better": ("fox" if gain > 0 else "owl") if shown else None})
    return pl.DataFrame(rows, schema=COMPARISON)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_system_is_named_better_only_where_holm_over_all_rows_says_so(seed):
    table = comparison_of(np.random.default_rng(seed))
    named = analysis.over_metrics(table)["better"].to_list()
    for row, name in zip(table.to_dicts(), named, strict=True):
        # Holm by its definition: the k-th smallest of n counts n - k + 1 times, none below another.
        before = sorted(p for p in table["p"] if p <= row["p"])
        holm = max((table.height - place) * p for place, p in enumerate(before))
        assert name == (row["better"] if holm <= 0.05 else None)
