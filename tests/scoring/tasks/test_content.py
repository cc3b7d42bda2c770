import json
import math

import polars as pl
import pytest

from formlab import analysis, benchmarks, tables
from formlab.benchmarks import formcraft as benchmark
from formlab.folders import Evaluation
from formlab.readers import read_predictions
from formlab.scoring.tasks import content
from formlab.tables import only
from tests.made_pages import page_texts

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


def test_unmatched_fields_are_missing_or_spurious(score):
    cases = score({"a.json": ANSWER}).cases.filter(pl.col("doc_id") == "a")
    assert cases.select("path", "pred_path", "outcome").rows() == [
        ("/Name", "/Full name", "mismatch"),
        ("/Order/Drinks", "/Order/Drinks", "mismatch"),
        ("/Order/Paid", "/Order/paid", "mismatch"),
        ("/Order/Stamp", None, "missing"),
        ("/Order/Other", "/Order/Other", "spurious"),
    ]


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


def test_answers_alone_leave_the_fields_unscored(score):
    scored = score({"a.json": {"vqa": {"q1": "9"}}})
    assert (scored.cases.height, scored.scores.height) == (0, 0)
    assert scored.notes == {"gold fields not scored: the predictions give none": 12}


def test_the_mean_over_forms_of_a_mark_metric_stands_beside_the_pooled_one(score):
    scored = score({"a.json": ANSWER, "b.json": GOLD})
    base = {"benchmark": "formcraft", "split": "test"}
    documents = tables.table("documents", [base | {"doc_id": name} for name in "abc"])
    summary = analysis.summarise(
        Evaluation(documents, scored.cases, scored.scores, **base, system="m")
    )
    f1, mean = (
        only(summary, metric="mark_f1", average=average, slice_by=None).row(0, named=True)
        for average in ("pooled", "macro")
    )
    # Twice the hits over marks of both sides. Form a: 2/5 and the spurious 0/1; form b: 4/4; form
    # c, unanswered: 0/2. Pooled 6/12, by form 1/3, 1 and 0.
    assert f1["value"] == pytest.approx(6 / 12)
    assert mean["value"] == pytest.approx((1 / 3 + 1 + 0) / 3)
    assert mean["settings"]["average"] == "macro"


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
    corpus = benchmark.read("test", tmp_path)
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


def test_page_text_alone_is_searched_for_what_is_written():
    corpus = benchmarks.load("formcraft")
    written = corpus.records.filter(
        pl.col("task").is_in(["text", "visual"]), pl.col("path").is_not_null()
    )
    texts = {
        doc_id: "\n".join(group["value"].drop_nulls())
        for (doc_id,), group in written.group_by("doc_id", maintain_order=True)
    }
    result = analysis.evaluate(corpus, page_texts(corpus, texts))
    found = result.cases.filter(pl.col("gold").is_not_null())
    assert found.height == written.height
    assert (found["outcome"] == "match").mean() > 0.97
    marks = corpus.records.filter(
        pl.col("task").is_in(["marking", "cross"]), pl.col("path").is_not_null()
    )
    assert result.notes["gold fields not scored: a text shows no marks"] == marks.height
    assert set(result.scores["metric"]) >= {"cer", "wer", "exact_accuracy"}
    assert "page-text" in result.scores["settings"][0]["read"]
