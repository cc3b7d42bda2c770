import math

import polars as pl
import pytest
from scipy import stats

from formlab import analysis, tables
from formlab.analysis.splits import NESTED, SIMPLE, WHOLE
from formlab.errors import UnknownName
from formlab.tables import only, readable
from tests.analysis.made_pairs import built

from ..made_splits import DAY, JAM, TEA, WHO, evaluations
from ..made_vrdu import one


def evaluation(rows):
    """Field scores from rows of doc_id, path, kind, edits, length."""
    cases, scores = [], []
    for doc, path, kind, edits, length in rows:
        key = {"doc_id": doc, "path": path}
        case = {"kind": kind, "task": "text", "outcome": "mismatch", "gold": "x" * length}
        cases.append(key | case)
        counts = {"hits": float(edits), "total": float(length)}
        value = edits / length if length else float("nan")
        scores.append(key | counts | {"level": "field", "metric": "cer", "value": value})
    return built(cases, scores)


ROWS = [
    ("1", "/a", "name", 1, 10), ("1", "/b", "total", 0, 4),
    ("2", "/a", "name", 6, 10), ("2", "/b", "total", 2, 2),
    ("3", "/a", "name", 0, 0),
]  # fmt: skip


def get(summary, metric, part, column="value", average="pooled"):
    return only(readable(summary), metric=metric, average=average, slice=part)[column].item()


def test_pooled_value_sums_tallies_and_macro_takes_the_mean_of_documents():
    summary = analysis.summarise(evaluation(ROWS))
    # (1 + 0 + 6 + 2 + 0) / (10 + 4 + 10 + 2 + 0)
    assert get(summary, "cer", "fields") == pytest.approx(9 / 26)
    # Documents 1 and 2 have 1/14 and 8/12; the third is undefined.
    assert get(summary, "cer", "fields", average="macro") == pytest.approx((1 / 14 + 8 / 12) / 2)
    assert get(summary, "cer", "kind=total") == pytest.approx(2 / 6)
    assert get(summary, "cer", "kind=name", "n_undefined") == 1
    assert get(summary, "cer", "kind=name", "n_docs") == 3
    assert get(summary, "cer", "kind=total", "n_docs") == 2


def test_interval_holds_the_value_and_the_seed_decides_it():
    data = evaluation([(str(d), "/a", "x", d % 7, 5 + d) for d in range(20)])
    first = analysis.summarise(data, seed=0)
    assert first.equals(analysis.summarise(data, seed=0))
    columns = ["value", "ci_low", "ci_high"]
    other = analysis.summarise(data, seed=1).select(columns)
    assert not first.select(columns).equals(other)
    assert first.select(pl.col("value").is_between("ci_low", "ci_high").all()).item()


def test_one_document_has_no_interval_and_none_has_no_rows():
    alone = analysis.summarise(evaluation(ROWS[:2]))
    assert alone["ci_low"].is_nan().all()
    assert analysis.summarise(evaluation([])).height == 0


def test_every_metric_has_a_mean_over_documents_beside_what_is_a_mean_itself():
    # Per document 2/4 and 1/1, pooled 3/5; of VRDU's macro F1, a mean over entities, there is none.
    rows = [
        {"doc_id": doc, "path": "/a", "level": "field", "metric": name, "hits": hits,
         "total": total, "value": hits / total}
        for name in ("click_accuracy", "fact_accuracy", "mark_f1", "vqa_accuracy")
        for doc, hits, total in (("1", 2.0, 4.0), ("2", 1.0, 1.0))
    ]  # fmt: skip
    rows += [
        {"doc_id": doc, "level": "document", "metric": name, "stats": stats, "value": f1}
        for name in ("f1", "macro_f1")
        for doc, stats, f1 in (("1", [1.0, 2, 2], 0.5), ("2", [1.0, 1, 1], 1.0))
    ]
    cases = [{"doc_id": doc, "path": "/a", "kind": "x", "task": "text"} for doc in "12"]
    summary = analysis.summarise(built(cases, rows))
    for name in ("click_accuracy", "fact_accuracy", "mark_f1", "vqa_accuracy"):
        assert get(summary, name, "fields") == pytest.approx(3 / 5)
        mean = get(summary, name, "fields", average="macro")
        assert mean == pytest.approx((2 / 4 + 1) / 2)
    assert get(summary, "f1", "all") == pytest.approx(4 / 6)
    assert get(summary, "f1", "all", average="macro") == pytest.approx((0.5 + 1) / 2)
    assert get(summary, "macro_f1", "all") == pytest.approx(4 / 6)
    assert only(summary, metric="macro_f1", average="macro").height == 0


def made(forms, kinds=None):
    """An evaluation of forms: of each the number of fields, of types, and the fields' verdicts."""
    documents = [{"doc_id": name, "n_fields": f, "n_kinds": k} for name, (f, k, _) in forms.items()]
    cases, scores = [], []
    for name, (*_, verdicts) in forms.items():
        for place, right in enumerate(verdicts):
            kind = kinds[place] if kinds else "string"
            key = {"doc_id": name, "path": f"/{place}"}
            cases.append(key | {"task": "click", "outcome": "match", "kind": kind, "gold": "a"})
            value = float("nan") if right is None else float(right)
            counts = {"hits": float(right or 0), "total": float(right is not None), "value": value}
            scores.append(key | {"level": "field", "metric": "click_accuracy"} | counts)
    return built(cases, scores, documents)


FORMS = {
    "a": (4, 2, [1, 1, 0, 1]),
    "b": (4, 2, [0, 1, 0, 0]),
    "c": (8, 2, [1, 1]),
    "d": (8, 3, [0, 0, 1]),
}


@pytest.fixture
def filled():
    return made(FORMS)


def cell(table, x, y):
    return table.filter(pl.col("x_value") == x, pl.col("y_value") == y).row(0, named=True)


def test_empty_cell_is_null_and_counts_nothing(filled):
    empty = cell(analysis.surface(filled, "click_accuracy", "n_fields", "n_kinds"), "4", "3")
    assert [empty[name] for name in ("value", "ci_low", "ci_high")] == [None] * 3
    assert (empty["n_docs"], empty["n_cases"], empty["n_undefined"]) == (0, 0, 0)


def test_edges_cut_a_number_and_label_it(filled):
    table = analysis.surface(
        filled, "click_accuracy", "n_fields", "n_kinds", bins={"n_fields": [5, 9]}
    )
    assert table["x_value"].unique().sort().to_list() == ["under 5", "5–8"]


def test_columns_of_cases_and_unknown_values_have_cells_too():
    whole = made(FORMS, kinds=["date", "string", "date", None])
    table = analysis.surface(whole, "click_accuracy", "n_fields", "kind")
    assert table["y_value"].unique().sort().to_list() == ["date", "string", "unknown"]
    # Form a and b: dates /0 and /2 are right once in four, /3 is of no known kind.
    assert cell(table, "4", "date")["value"] == 0.25
    assert cell(table, "4", "unknown")["n_cases"] == 2
    assert table["n_cases"].sum() == 13


def test_undefined_scores_are_counted_and_not_pooled():
    whole = made({"a": (4, 2, [1, None, 0]), "b": (4, 2, [None])})
    row = cell(analysis.surface(whole, "click_accuracy", "n_fields", "n_kinds"), "4", "2")
    assert (row["value"], row["n_cases"], row["n_undefined"]) == (0.5, 4, 2)


def test_unknown_names_are_told(filled):
    with pytest.raises(UnknownName, match="metric"):
        analysis.surface(filled, "nothing", "n_fields", "n_kinds")
    with pytest.raises(UnknownName, match="column"):
        analysis.surface(filled, "click_accuracy", "n_field", "n_kinds")


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
