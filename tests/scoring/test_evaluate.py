import dataclasses
import json

import polars as pl
import pytest

from formlab import analysis, benchmarks, tables
from formlab.benchmarks.vrdu import UNREPEATED, Schema
from formlab.errors import UnknownName
from formlab.folders import Evaluation, Predictions
from formlab.readers import read_predictions
from formlab.tables import only

from .conftest import FIELDS, PAGE, value


def test_page_text_alone_is_judged_field_by_field(evaluate):
    result = evaluate(PAGE)
    cases = only(result.cases, doc_id="a").filter(pl.col("path").is_not_null())
    rows = cases.select("path", "pred", "at", "outcome").rows()
    # The last is empty in the gold; nothing stands for it.
    assert rows == [
        ("/entities/0", "name:", 0, "match"),
        ("/entities/1", "ADA berg", 6, "match"),
        ("/entities/2", "", None, "match"),
    ]


def test_fields_are_judged_on_the_ladder_with_cause(evaluate):
    cases = evaluate(*FIELDS).cases.filter(pl.col("path").is_not_null())
    rows = {
        (row["doc_id"], row["path"]): (row["outcome"], row["fuzzy"], row["cause"])
        for row in cases.to_dicts()
    }
    assert rows == {
        ("a", "/entities/0"): ("match", True, None),
        # One of eight characters differs: similarity 0.875.
        ("a", "/entities/1"): ("mismatch", True, "lookalike"),
        ("a", "/entities/2"): ("match", True, None),
        ("b", "/entities/0"): ("missing", False, "missing_document"),
    }


def test_value_that_no_gold_asks_for_is_spurious(evaluate):
    case = only(
        evaluate(*FIELDS, {"doc_id": "a", "path": "/new", "value": "x"}).cases, pred_path="/new"
    )
    assert case.select("outcome", "cause", "gold").row(0) == ("spurious", "hallucinated", None)


def test_unusable_answer_counts_as_nothing_found_and_keeps_its_text(evaluate):
    result = evaluate({"doc_id": "a", "text": "name: ada berg", "status": "refused"})
    assert value(result, "cer", doc_id="a") == 1
    case = only(result.cases, doc_id="a").row(0, named=True)
    assert (case["status"], case["cause"], case["pred"]) == ("refused", "refused", "name: ada berg")


def test_failed_document_passes_its_status_to_its_fields(evaluate):
    result = evaluate({"doc_id": "a", "status": "bad_json", "text": None}, *FIELDS[:1])
    cases = only(result.cases, doc_id="a").sort("path")
    assert cases["status"].to_list() == ["bad_json", "ok", "bad_json", "bad_json"]


def test_prediction_for_another_document_is_counted_and_kept(evaluate):
    result = evaluate(PAGE, {"doc_id": "stranger", "text": "x"})
    assert result.notes["predicted documents that are not in the corpus"] == 1
    assert only(result.cases, doc_id="stranger")["outcome"].to_list() == ["unscored"]
    assert "stranger" not in result.scores["doc_id"]


def test_hostile_values_pass_through_unchanged(evaluate):
    hostile = "<script>\x00\u202e\x1b[31m</script>" + "x" * 100_000
    result = evaluate(
        {"doc_id": "a", "text": hostile}, {"doc_id": "a", "path": "/<b>", "value": hostile}
    )
    assert only(result.cases, pred_path="/<b>", task="text")["pred"].item() == hostile


def test_word_of_a_field_that_the_system_names_is_not_read_for_another(corpus, evaluate):
    # Boxes are at 10 to 60 and 70 to 160. The centre, 71, is in the second, which is named; of
    # the width of 46 the first, which is not, holds 12: enough, were the second not there.
    word = {"doc_id": "a", "task": "layout", "kind": "word", "path": "/w/0", "value": "Berg"}
    word |= {"x0": 48, "x1": 94, "y0": 12, "y1": 28}
    named = {"doc_id": "a", "path": "/entities/1", "value": "Ada Burg"}
    cases = {
        path: (pred, readings)
        for path, pred, readings in evaluate(word, named)
        .cases.filter(pl.col("doc_id") == "a", pl.col("path").is_not_null())
        .select("path", "pred", "readings")
        .rows()
    }
    assert cases["/entities/1"] == ("Ada Burg", None)
    # Under ``cut`` its first character, whose centre is at 54, stands in the first box.
    assert cases["/entities/0"] == ("", ["", "B"])


@pytest.mark.parametrize(
    ("option", "message"),
    [({"mode": "official"}, "mode of funsd"), ({"reader": "nearest"}, "reading rule 'nearest'")],
)
def test_unknown_mode_or_reading_rule_is_refused(evaluate, option, message):
    result = evaluate(PAGE)
    with pytest.raises(UnknownName, match=message):
        analysis.evaluate(result.corpus, result.predictions, **option)


def test_pages_are_not_scored_for_a_system_that_gives_values_alone(evaluate):
    result = evaluate(*FIELDS)
    pages = result.cases.filter(pl.col("path").is_null())
    assert pages.select("outcome", "cause").rows() == [("unscored", None)] * 2
    assert only(result.scores, level="page").filter(metric="cer").height == 0
    assert result.notes["pages not scored: the predictions give no text of a page"] == 2
    assert not [one for one in analysis.findings([result]) if one.metric == "cer"]
    # One page of text, empty or not, and all pages count.
    assert (
        only(evaluate(*FIELDS, PAGE | {"text": ""}).scores, metric="cer", level="page").height == 2
    )
    # A system whose every answer is unusable was asked, and read nothing.
    failed = evaluate({"doc_id": "a", "path": "/entities/0", "value": None, "status": "refused"})
    assert only(failed.scores, metric="cer", level="page").height == 2


def test_own_columns_travel_from_documents_gold_and_predictions_to_every_slice(corpus, tmp_path):
    records = corpus.records.with_columns(
        effort=pl.when(pl.col("path") == "/entities/1").then(pl.lit("hard"))
    )
    documents = corpus.documents.with_columns(scanner=pl.lit("A"))
    own = dataclasses.replace(corpus, documents=documents, records=records)
    file = tmp_path / "m.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in FIELDS))
    given = read_predictions(file, corpus)
    tagged = given.records.with_columns(length_of_answer=pl.col("value").str.len_chars())
    given = dataclasses.replace(given, records=tagged)
    done = analysis.evaluate(own, given)
    again = Evaluation.load(done.save(tmp_path / "e"))
    assert again.own == ["scanner", "effort", "length_of_answer"]
    row = only(again.cases, path="/entities/1", task="text").row(0, named=True)
    assert (row["effort"], row["length_of_answer"]) == ("hard", 8)
    # Numbers are those without own columns.
    plain = analysis.evaluate(
        corpus, dataclasses.replace(given, records=tagged.drop("length_of_answer"))
    )
    assert plain.scores.equals(done.scores)

    summary = analysis.summarise(again, by=["effort", "scanner"], average="pooled")
    hard = only(summary, metric="exact_accuracy", slice_by="effort", slice_value="hard")
    assert hard["n_cases"].item() == 1
    other = dataclasses.replace(again, system="n")
    for metric in ("exact_accuracy", "outcome"):
        found = analysis.compare([again, other], metric=metric, by=["effort"])
        assert set(found["slice_value"].drop_nulls()) == {"hard", "none"}


@pytest.mark.parametrize("name", ["funsd", "formcraft", "vrdu", "fincriticaled", "formfactory"])
@pytest.mark.parametrize("repeated", ["everything", "values", "strange values"])
def test_what_a_model_gives_twice_is_scored_under_a_key_of_its_own(name, repeated, tmp_path):
    corpus = benchmarks.load(name)
    chosen = corpus.documents["doc_id"].to_list()[:2]
    right = corpus.records.filter(pl.col("doc_id").is_in(chosen)).with_columns(
        role=pl.lit("prediction"),
        system=pl.lit("m"),
        status=pl.lit("ok"),
        sure=pl.int_range(pl.len()),
    )
    again = right if repeated == "everything" else right.filter(pl.col("path").is_not_null())
    if repeated == "strange values":
        strange = again.with_columns(pl.col("path") + "x")
        again = pl.concat([strange, strange])
    responses = tables.table("responses", [])
    once = analysis.evaluate(corpus, Predictions(right, responses, "m"), documents=chosen)
    twice = Predictions(pl.concat([right, again]), responses, "m")
    result = analysis.evaluate(corpus, twice, documents=chosen)
    assert not result.cases.select(tables.KEYS["cases"]).is_duplicated().any()
    assert set(once.cases["path"]) <= set(result.cases["path"])
    assert Evaluation.load(result.save(tmp_path / "e")).cases.equals(result.cases)


def test_of_a_value_given_twice_the_first_counts_and_both_are_shown(tmp_path):
    corpus = benchmarks.load("vrdu")
    doc = corpus.documents["doc_id"][0]
    once = corpus.records.filter(pl.col("doc_id") == doc, pl.col("path").is_not_null())
    names = Schema.of(corpus).names(UNREPEATED)
    once = once.filter(pl.col("path").str.slice(1).is_in(names)).with_columns(
        role=pl.lit("prediction"), system=pl.lit("m"), status=pl.lit("ok")
    )
    assert once.height
    results = [
        analysis.evaluate(corpus, Predictions(rows, tables.table("responses", []), "m"))
        for rows in (once, pl.concat([once, once.with_columns(value=pl.lit("other"))]))
    ]
    whole = [only(one.scores, level="document").drop("settings") for one in results]
    assert whole[0].equals(whole[1])
    extra = results[1].cases.join(
        results[0].cases, on=["path", "pred_path"], how="anti", nulls_equal=True
    )
    assert set(extra["pred_path"]) == {f"{path}#2" for path in once["path"]}
    assert set(extra["outcome"]) == {"unscored"}
