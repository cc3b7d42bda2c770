import dataclasses
import json

import numpy as np
import polars as pl
import pytest

from formlab import benchmarks, tables
from formlab.metrics import METRICS
from formlab.readers import read_predictions, splits
from formlab.readers.published import SUFFIX
from formlab.scoring.tasks import entities
from formlab.tables import only, slice_name

from ...made_vrdu import SPLIT, make, one, put
from .conftest import scored_by

GOLD = [
    ["who", [one("Ann Lee"), one("A. Lee")]], ["day", [one("1/22/20")]],
    [["what", "sum"], [[one("tea"), one("(5)")]]],
    [["what", "sum"], [[one("jam"), one("6")]]],
]  # fmt: skip


@pytest.fixture
def root(tmp_path):
    return make(tmp_path / "data")


OF = ("level", "slice_by", "slice_value")


def results(folder, corpus, entities_, doc="a.pdf"):
    file = folder / f"{SPLIT}{SUFFIX}"
    file.write_text(json.dumps({"meta": {}, "results": {doc: entities_}}))
    return read_predictions(file, corpus)


def scored(corpus, predictions, mode="official"):
    found = scored_by(entities, corpus, predictions, mode)
    for name in ("cases", "scores"):
        tables.check(name, getattr(found, name))
    return found


def summed(scores):
    """Value by slice and metric, from the parts summed over documents."""
    ready = scores.filter(pl.col("level") == "document")
    return {
        (slice_name(dict(zip(OF, key, strict=True))), metric): float(
            METRICS[metric].score_in(mode)(np.array(part["stats"].to_list()).sum(axis=0))
        )
        for (*key, metric, mode), part in ready.group_by(*OF, "metric", "mode")
    }


@pytest.mark.parametrize(
    ("sure", "taken"),
    [
        ((None, None, None), "Bea"),  # no confidences: the first
        ((0.2, 0.9, 0.4), "A. Lee"),
        ((0.9, 0.2, 0.4), "Bea"),
        ((None, 0.1, None), "A. Lee"),  # what says nothing is less sure than what does
        ((0.5, 0.5, 0.5), "Bea"),
    ],
)
def test_of_an_unrepeated_entity_the_most_confident_value_counts(root, tmp_path, sure, taken):
    put(root, GOLD)
    corpus = benchmarks.load("vrdu", split=SPLIT, root=root)
    found = results(tmp_path, corpus, [["who", one(name)] for name in ("Bea", "A. Lee", "Cy")])
    records = found.records.with_columns(confidence=pl.Series(sure, dtype=pl.Float64))
    found = dataclasses.replace(found, records=records)
    done = scored(corpus, found)
    who = done.cases.filter(pl.col("kind") == "who", pl.col("outcome") != "unscored")
    assert who["pred"].to_list() == [taken]
    assert done.cases.filter(outcome="unscored").height == 2


def test_cases_set_values_side_by_side_and_lose_none(root, tmp_path):
    put(root, GOLD)
    corpus = benchmarks.load("vrdu", split=SPLIT, root=root)
    predictions = results(tmp_path, corpus, [
        ["who", one("Ann")], ["who", one("Bea")], ["tag", one("x")],
        ["what", one("tea")], ["sum", one("5")], ["what", one("jelly")], ["sum", one("6")],
    ])  # fmt: skip
    cases = scored(corpus, predictions).cases
    rows = cases.select("path", "pred_path", "gold", "pred", "outcome").rows()
    assert rows == [
        ("/who", "/who", "Ann Lee", "Ann", "mismatch"),
        ("/day", None, "1/22/20", None, "missing"),
        ("/line_item/0/what", "/line_item/0/what", "tea", "tea", "match"),
        ("/line_item/0/sum", "/line_item/0/sum", "(5)", "5", "match"),
        ("/line_item/1/what", "/line_item/1/what", "jam", "jelly", "mismatch"),
        ("/line_item/1/sum", "/line_item/1/sum", "6", "6", "match"),
        ("/who/1", "/who/1", None, "Bea", "unscored"),
        ("/tag/0", "/tag/0", None, "x", "spurious"),
    ]
    assert dict(cases.select("path", "cause").rows())["/line_item/0/sum"] == "sign"
    assert dict(cases.select("path", "kind").rows())["/line_item/0/sum"] == "sum"


def test_values_that_the_gold_says_nothing_about_are_not_scored(root, tmp_path):
    (root / "main" / "dataset.jsonl").unlink()
    (root / "deepform-2020-labels.csv").write_text("file_id,who,day\na,Ann,\n")
    corpus = benchmarks.load("vrdu", split=SPLIT, root=root)
    entities_ = [["who", one("Ann")], ["day", one("1/1/20")], ["tag", one("x")]]
    found = scored(corpus, results(tmp_path, corpus, entities_))
    assert summed(found.scores)["all", "micro_f1"] == 1
    assert sum(found.notes.values()) == 2
    assert found.cases["outcome"].value_counts().sort("outcome").rows() == [
        ("match", 1),
        ("unscored", 3),
    ]


def test_published_evaluator_is_reproduced_figure_by_figure(shared):
    root = shared / "golden/vrdu"
    expected = json.loads((root / "expected.json").read_text())
    heads = {"all": "", "group=unrepeated": "unrepeated_"}
    for split in splits(root / "predictions"):
        corpus = benchmarks.load("vrdu", split=split, root=root)
        given = read_predictions(root / "predictions", corpus)
        here = pl.col("doc_id").is_in(corpus.documents["doc_id"].implode())
        given = type(given)(given.records.filter(here), given.responses, given.system)
        found = {
            heads.get(place, f"{place.removeprefix('entity=')}_") + metric: value
            for (place, metric), value in summed(scored(corpus, given).scores).items()
        }
        assert found == pytest.approx(expected.pop(split), abs=1e-12)
    assert not expected


@pytest.mark.parametrize(
    ("others", "right"),
    # The document's own dates say which of day and month comes first, or nothing does.
    [(["x"], ()), (["31/12/19"], ["2020-02-01"]), (["12/31/19"], ["2020-01-02"])],
)
def test_day_and_month_are_one_date_only_as_the_document_writes_them(root, tmp_path, others, right):
    tags = [["tag", [one(text)]] for text in others]
    put(root, [["day", [one("1/2/20")]], *tags])
    corpus = benchmarks.load("vrdu", split=SPLIT, root=root)
    for said in ("2020-01-02", "2020-02-01", "2/1/20", "1/2/20", "2020-01-03"):
        found = scored(corpus, results(tmp_path, corpus, [["day", one(said)]]), "fixed")
        same = said == "1/2/20" or said in right
        assert summed(found.scores)["entity=day", "f1"] == same
        case = only(found.cases, path="/day").row(0, named=True)
        assert case["typed"] == same
        # Another day is another date, whatever the order.
        assert case["ambiguous"] == (not same and said != "2020-01-03")
