import math

import pytest
from scipy import stats

from formlab import analysis, tables
from formlab.analysis.splits import NESTED, SIMPLE, WHOLE

from ..made_splits import DAY, JAM, TEA, WHO, evaluations
from ..made_vrdu import one


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


def test_one_split_keeps_its_own_score_and_line_items_stand_beside_simple_entities(few):
    # 1 of 4 entities found, nothing else predicted: 2 / (4 + 1).
    found = row(few, task="unseen", part=WHOLE, metric="micro_f1")
    assert (found["value"], found["interval"], found["n_splits"]) == (0.4, "documents", 1)
    # One document gives no interval over documents.
    assert math.isnan(found["ci_low"])
    # Both items, then one of two: (1 + 2/3) / 2.
    values = [
        row(few, task="mixed", train_size=10, part=part)["value"] for part in (NESTED, SIMPLE)
    ]
    assert values == pytest.approx([(1 + 2 / 3) / 2, 1])
    assert few["task"].unique().sort().to_list() == ["mixed", "unseen"]


def test_evaluation_of_another_benchmark_gives_nothing(evaluate):
    other = [evaluate({"doc_id": "a", "text": "x"})]
    for function in (analysis.few_shot, analysis.by_entity, analysis.changed_entities):
        assert function(other).is_empty()


@pytest.fixture
def splits(tmp_path):
    answers = {
        ("mixed", 10, 0): [WHO, DAY, *TEA, *JAM],
        ("mixed", 10, 1): [["who", one("Ann")], DAY, *TEA, ["tag", one("x")]],
    }
    return evaluations(tmp_path, answers)


def test_one_document_of_two_splits_counts_for_both_and_is_drawn_once(splits):
    assert analysis.merge_splits(splits[:1]) is splits[0]
    whole = analysis.merge_splits(splits).check()
    assert whole.documents.height == 1
    assert whole.cases.height == sum(one.cases.height for one in splits)
    summary = analysis.summarise(whole, by=["kind"], resamples=20)
    found = tables.only(summary, metric="micro_f1", slice_by=None).row(0, named=True)
    # 4 of 4, then 2 of 4 with 4 predicted: 2·6 / (8 + 8).
    assert found["value"] == pytest.approx(12 / 16)
    assert (found["n_docs"], found["n_cases"]) == (1, 2)
    said = tables.settings_text(found)
    assert said.startswith("vrdu:Made, 2 splits|micro_f1|level=document|mode=official")


def test_entities_have_their_type_and_count_over_all_splits(splits):
    found = analysis.by_entity(splits, resamples=20)
    f1 = {
        tables.slice_name(row): (row["value"], row["n_gold"], row["type"])
        for row in tables.only(found, metric="f1").to_dicts()
    }
    # who: right, then cut short; tag (string as well): predicted once, in no gold.
    assert f1["entity=who"] == (0.5, 2, "string")
    assert f1["entity=day"] == (1, 2, "date")
    # 2 of 2 items, then 1 of 2: 2·3 / (4 + 3).
    (items,) = (row for row in f1.values() if row[2] == "line items")
    assert items == (pytest.approx(6 / 7), 4, "line items")
    assert set(found["corpus"]) == {"Made"}


SPLIT = ("mixed", 10, 0)


def test_nothing_changes_where_all_is_right_in_both(tmp_path):
    tags = [["who", [one("Ann Lee")]], ["tag", [one("x")]], ["day", [one("1/22/20")]]]
    items = [[["what", "sum"], [[one("jam"), one("6")]]]]
    answers = [WHO, ["tag", one("x")], DAY, *JAM]
    ones = evaluations(tmp_path, {SPLIT: answers}, gold=[*tags, *items])
    assert analysis.changed_entities(ones).is_empty()
