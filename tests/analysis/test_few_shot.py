import math

import polars as pl
import pytest
from scipy import stats

from formlab import analysis, tables
from formlab.analysis.few_shot import NESTED, SIMPLE, WHOLE

from ..made_splits import DAY, JAM, TEA, WHO, evaluations


@pytest.fixture
def few(tmp_path):
    answers = {
        ("mixed", 10, 0): [WHO, DAY, *TEA, *JAM],
        ("mixed", 10, 1): [WHO, DAY, *TEA],
        ("mixed", 50, 0): [WHO, DAY, *TEA, *JAM],
        ("unseen", 10, 0): [WHO],
    }
    return analysis.few_shot(evaluations(tmp_path, answers), resamples=50)


def row(table, **equal):
    found = tables.only(table, **equal)
    assert found.height == 1
    return found.row(0, named=True)


def test_seeds_are_averaged_with_a_t_interval(few):
    # Seed 0 finds all 4 entities (F1 1), seed 1 misses one: 2·3 / (4 + 3) = 6/7.
    found = row(few, task="mixed", train_size=10, part=WHOLE, metric="micro_f1")
    assert found["value"] == pytest.approx((1 + 6 / 7) / 2)
    assert (found["interval"], found["n_splits"], found["n_docs"]) == ("splits", 2, 2)
    # Half the distance of two values is their standard error; t of one degree is 12.7.
    half = stats.t.ppf(0.975, 1) * (1 / 7) / 2
    assert half > 0.9
    assert found["ci_low"] == pytest.approx(max(0, found["value"] - half))
    assert found["ci_high"] == 1
    assert found["split"] == "Made, mixed, 2 splits"
    assert found["settings"]["interval"].startswith("t,splits")


def test_one_split_keeps_its_own_score_and_interval(few):
    # 1 of 4 entities found, nothing else predicted: 2 / (4 + 1).
    found = row(few, task="unseen", part=WHOLE, metric="micro_f1")
    assert found["value"] == pytest.approx(0.4)
    assert (found["interval"], found["n_splits"]) == ("documents", 1)
    # One document gives no interval over documents.
    assert math.isnan(found["ci_low"])


def test_line_items_stand_beside_simple_entities(few):
    found = row(few, task="mixed", train_size=10, part=NESTED)
    # Both items, then one of two: (1 + 2/3) / 2.
    assert found["value"] == pytest.approx((1 + 2 / 3) / 2)
    assert row(few, task="mixed", train_size=10, part=SIMPLE)["value"] == 1
    assert few["task"].unique().sort().to_list() == ["mixed", "unseen"]


def test_splits_without_a_task_are_left_out_only_beside_others(tmp_path):
    ones = evaluations(tmp_path, {("mixed", 10, 0): [WHO], ("mixed", 10, 1): [WHO]})
    plain = ones[1].documents.with_columns(
        pl.col("meta").str.replace('"task": "mixed"', '"task": null')
    )
    untasked = type(ones[1])(**{**vars(ones[1]), "documents": plain})
    assert analysis.few_shot_only([ones[0], untasked]) == [ones[0]]
    assert analysis.few_shot_only([untasked]) == [untasked]
    assert analysis.few_shot([untasked])["task"].unique().to_list() == ["all documents"]


def test_evaluation_of_another_benchmark_gives_nothing(evaluate):
    assert analysis.few_shot([evaluate({"doc_id": "a", "text": "x"})]).is_empty()
