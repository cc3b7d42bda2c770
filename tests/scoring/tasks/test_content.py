import json
import math

import polars as pl
import pytest

from formlab import tables
from formlab.benchmarks import load
from formlab.readers import read_predictions
from formlab.scoring.tasks import content

from .conftest import ANSWER, GOLD, scored_by


@pytest.fixture
def score(score_formcraft):
    return lambda answers: score_formcraft(answers, content)


def values(scored, metric, doc=None):
    rows = scored.scores.filter(pl.col("metric") == metric)
    rows = rows.filter(pl.col("doc_id") == doc) if doc else rows
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
    best = scored.scores.group_by("metric").agg(
        pl.col("value").min(), pl.col("value").max().alias("most")
    )
    found = {name: (low, high) for name, low, high in best.rows()}
    errors = ("cer", "wer", "spurious_rate")
    assert {found.pop(name) for name in errors} == {(0, 0)}
    # Names and a stamp are too short for BLEU to speak of.
    assert all(map(math.isnan, found.pop("bleu")))
    assert found.pop("bleu_of_fields") == (0, 0)
    assert set(found.values()) == {(1, 1)}
    assert set(scored.cases["outcome"]) == {"match"}


def test_each_word_of_a_page_goes_to_one_field_of_that_page_whatever_its_kind(tmp_path):
    low, box = [0, 0, 100, 10], [40, 0, 60, 10]
    form = {"fields": [
        {"label": "Name", "modality": "Textual", "modality_subtype": "Printed", "value": "Ada Berg",
         "box": low, "page": 1},
        {"label": "Paid", "modality": "Marking", "modality_subtype": "Checkbox", "value": "Paid",
         "box": box, "page": 1},
        {"label": "Town", "modality": "Textual", "modality_subtype": "Printed", "value": "Rye",
         "box": low, "page": 2},
    ]}  # fmt: skip
    (tmp_path / "test" / "forms").mkdir(parents=True)
    (tmp_path / "test" / "forms" / "a.json").write_text(json.dumps(form))
    corpus = load("formcraft", root=tmp_path, split="test")
    words = [("Ada", 0, 1), ("Paid", 42, 1), ("Berg", 70, 1), ("Rye", 0, 2)]
    rows = [
        {"doc_id": "a", "task": "layout", "kind": "word", "path": f"/ocr/{x}/{page}", "value": text,
         "page": page, "x0": x, "x1": x + 18, "y0": 0, "y1": 10}
        for text, x, page in words
    ]  # fmt: skip
    file = tmp_path / "words.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    seen = read_predictions(file, corpus)
    scored = scored_by(content, corpus, seen)
    # The word of the box stands in the text's box as well, but the smaller box has it.
    assert scored.cases.select("path", "pred", "pred_page", "outcome").rows() == [
        ("/Name", "Ada Berg", 1, "match"),
        ("/Paid", None, None, "missing"),
        ("/Town", "Rye", 2, "match"),
    ]
    assert (
        tables.readable(scored.scores)["settings"].str.contains("|read=centre,", literal=True).all()
    )
    # Under ``cut`` each box has what stands in it, so that field depends on the rule.
    assert scored.cases["cause"].to_list() == ["reader", "missed", None]
    again = scored_by(content, corpus, seen, reader="cut")
    assert again.cases["pred"].to_list() == ["Ada Paid Berg", None, "Rye"]
