import polars as pl
import pytest

from formlab.analysis.tasks import content

from .conftest import ANSWER, GOLD


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
    assert found.pop("cer") == found.pop("wer") == (0, 0)
    assert set(found.values()) == {(1, 1)}
    assert set(scored.cases["outcome"]) == {"match"}


def test_the_rule_of_matching_stands_in_the_settings(score):
    scored = score({"a.json": ANSWER})
    assert all("match=path,label+box>=0.5" in said for said in scored.scores["settings"])


def test_answers_alone_leave_the_fields_unscored(score):
    scored = score({"a.json": {"vqa": {"q1": "9"}}})
    assert (scored.cases.height, scored.scores.height) == (0, 0)
    assert scored.notes == {"gold fields not scored: the predictions give none": 12}


def test_page_text_alone_is_searched_for_what_is_written():
    import polars as pl

    from formlab import analysis, benchmarks
    from tests.made_pages import page_texts

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
    assert "read=page-text" in result.scores["settings"][0]
