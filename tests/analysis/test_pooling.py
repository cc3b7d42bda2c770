import pytest

from formlab import analysis, tables

from ..made_splits import DAY, JAM, TEA, WHO, evaluations
from ..made_vrdu import one


@pytest.fixture
def splits(tmp_path):
    answers = {
        ("mixed", 10, 0): [WHO, DAY, *TEA, *JAM],
        ("mixed", 10, 1): [["who", one("Ann")], DAY, *TEA, ["tag", one("x")]],
    }
    return evaluations(tmp_path, answers)


def test_one_document_of_two_splits_counts_for_both_and_is_drawn_once(splits):
    whole = analysis.merge_splits(splits).check()
    assert whole.documents.height == 1
    assert whole.cases.height == sum(one.cases.height for one in splits)
    summary = analysis.summarise(whole, by=["kind"], average="pooled", resamples=20)
    found = tables.only(summary, metric="micro_f1", slice_by=None).row(0, named=True)
    # 4 of 4, then 2 of 4 with 4 predicted: 2·6 / (8 + 8).
    assert found["value"] == pytest.approx(12 / 16)
    assert (found["n_docs"], found["n_cases"]) == (1, 2)
    said = tables.settings_text(found)
    assert said.startswith("vrdu:Made, 2 splits|micro_f1|level=document|mode=official")


def test_a_single_split_stays_as_it_is(splits):
    assert analysis.merge_splits(splits[:1]) is splits[0]


def test_types_add_up_the_entities_that_have_them(splits):
    found = analysis.by_entity(splits, resamples=20)
    f1 = {
        tables.slice_name(row): (row["value"], row["n_gold"], row["type"])
        for row in tables.only(found, metric="f1", average="pooled").to_dicts()
    }
    # who: right, then cut short; tag (string as well): predicted once, in no gold.
    assert f1["entity=who"] == (0.5, 2, "string")
    assert f1["type=string"] == (pytest.approx(2 / (2 + 3)), 2, "string")
    assert f1["type=date"] == f1["entity=day"] == (1, 2, "date")
    # 2 of 2 items, then 1 of 2: 2·3 / (4 + 3).
    assert f1["type=line items"] == (pytest.approx(6 / 7), 4, "line items")
    assert set(found["corpus"]) == {"Made"}


def test_losses_come_by_cause_read_ones_first_and_once_a_document(splits):
    lost = analysis.errors_by_cause(analysis.merge_splits([*splits, *splits]).cases)
    assert lost.select("cause", "pred", "gold").rows() == [
        ("clipped", "Ann", "Ann Lee"), ("spurious", "x", None), ("missed", None, "6"),
        ("missed", None, "jam"),
    ]  # fmt: skip
    first = analysis.errors_by_cause(lost, each=1)
    assert first["cause"].to_list() == ["clipped", "spurious", "missed"]


def test_evaluation_of_another_benchmark_has_no_entities(evaluate):
    assert analysis.by_entity([evaluate({"doc_id": "a", "text": "x"})]).is_empty()
