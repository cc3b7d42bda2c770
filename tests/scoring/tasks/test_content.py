import math

import polars as pl
import pytest

from formlab.scoring.tasks.content import TASKS

from .conftest import ANSWER, GOLD


@pytest.fixture
def score(score_formcraft):
    return lambda answers: score_formcraft(answers, *TASKS)


def values(scored, metric, doc=None):
    rows = scored.scores.filter(pl.col("doc_id") == doc if doc else True, metric=metric)
    return {
        path: (hits, total) for path, hits, total in rows.select("path", "hits", "total").rows()
    }


def test_each_modality_is_scored_by_its_measure(score):
    scored = score({"a.json": ANSWER})
    # "ada burg" for "ada berg": one edit of eight characters, one of two words.
    assert values(scored, "cer", "a") == {"/Name": (1, 8), "/Order/Stamp": (4, 4)}
    assert values(scored, "wer", "a") == {"/Name": (1, 2), "/Order/Stamp": (1, 1)}
    # Gold {tea, milk}, predicted {milk, rusk, jam}; one spurious box that says yes.
    assert values(scored, "mark_precision", "a") == {
        "/Order/Drinks": (1, 3),
        "/Order/Other": (0, 1),
    }
    assert values(scored, "mark_recall", "a") == {"/Order/Drinks": (1, 2), "/Order/Other": (0, 0)}
    assert values(scored, "mark_f1", "a") == {"/Order/Drinks": (2, 5), "/Order/Other": (0, 1)}
    assert values(scored, "cross_accuracy", "a") == {"/Order/Paid": (1, 1)}
    assert scored.scores.filter(pl.col("metric") == "bleu").height == 6
    rules = scored.scores["settings"].struct.field("rules").cast(pl.String)
    assert rules.str.contains("match=path,label+box>=0.5", literal=True).all()


def test_no_document_is_lost_whatever_became_of_it(score):
    scored = score({"a.json": ANSWER, "b.txt": "I refuse."})
    for doc, status in (("b", "bad_json"), ("c", "missing")):
        cases = scored.cases.filter(pl.col("doc_id") == doc)
        assert cases.height == 4
        assert set(cases["status"]) == {status}
        assert set(cases["outcome"]) == {"missing"}
        assert values(scored, "cer", doc) == {"/Name": (8, 8), "/Order/Stamp": (4, 4)}
        assert values(scored, "mark_recall", doc) == {"/Order/Drinks": (0, 2)}
        assert values(scored, "cross_accuracy", doc) == {"/Order/Paid": (0, 1)}


def test_gold_against_itself_is_best(score):
    scored = score(dict.fromkeys(("a.json", "b.json", "c.json"), GOLD))
    values = pl.col("value")
    best = scored.scores.group_by("metric").agg(low=values.min(), high=values.max())
    found = {name: ends for name, *ends in best.rows()}
    errors = ("cer", "wer", "spurious_rate")
    assert [found.pop(name) for name in errors] == [[0, 0]] * 3
    # Names and a stamp are too short for BLEU to speak of.
    assert all(map(math.isnan, found.pop("bleu")))
    assert found.pop("bleu_of_fields") == [0, 0]
    assert all(ends == [1, 1] for ends in found.values())
    assert set(scored.cases["outcome"]) == {"match"}
