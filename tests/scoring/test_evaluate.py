import dataclasses
import json

import polars as pl
import pytest

from formlab import analysis, benchmarks, tables
from formlab.folders import Evaluation, Predictions
from formlab.readers import read_predictions
from formlab.tables import only
from tests.seeds import ALL

from .conftest import FIELDS, PAGE, value


def test_unusable_answer_counts_as_nothing_found_and_keeps_its_text(evaluate):
    result = evaluate({"doc_id": "a", "text": "name: ada berg", "status": "refused"})
    assert value(result, "cer", doc_id="a") == 1
    case = only(result.cases, doc_id="a").row(0, named=True)
    assert (case["status"], case["cause"], case["pred"]) == ("refused", "refused", "name: ada berg")


def test_failed_document_passes_its_status_to_its_fields(evaluate):
    result = evaluate({"doc_id": "a", "status": "bad_json", "text": None}, *FIELDS[:1])
    cases = only(result.cases, doc_id="a").sort("path")
    assert cases["status"].to_list() == ["bad_json", "ok", "bad_json", "bad_json"]


def test_word_of_a_field_that_the_system_names_is_not_read_for_another(corpus, evaluate):
    # Boxes are at 10 to 60 and 70 to 160. The centre, 71, is in the second, which is named; of
    # the width of 46 the first, which is not, holds 12: enough, were the second not there.
    word = {"doc_id": "a", "task": "layout", "kind": "word", "path": "/w/0", "value": "Berg"}
    word |= {"x0": 48, "x1": 94, "y0": 12, "y1": 28}
    named = {"doc_id": "a", "path": "/entities/1", "value": "Ada Burg"}
    fields = evaluate(word, named).cases.filter(pl.col("path").is_not_null(), doc_id="a")
    cases = {path: told for path, *told in fields.select("path", "pred", "readings").rows()}
    assert cases["/entities/1"] == ["Ada Burg", None]
    # Under ``cut`` its first character, whose centre is at 54, stands in the first box.
    assert cases["/entities/0"] == ["", ["", "B"]]


def test_pages_are_not_scored_for_a_system_that_gives_values_alone(evaluate):
    result = evaluate(*FIELDS)
    pages = result.cases.filter(pl.col("path").is_null())
    assert pages.select("outcome", "cause").rows() == [("unscored", None)] * 2
    assert only(result.scores, level="page").filter(metric="cer").height == 0
    assert result.notes["pages not scored: the predictions give no text of a page"] == 2
    assert not [one for one in analysis.findings([result]) if one.metric == "cer"]
    # One page of text, empty or not, and all pages count.
    empty = evaluate(*FIELDS, PAGE | {"text": ""})
    assert only(empty.scores, metric="cer", level="page").height == 2
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


@pytest.mark.parametrize("name", ["funsd", "formcraft", "vrdu", "fincriticaled", "formfactory"])
@pytest.mark.parametrize("repeated", ["everything", "strange values"] if ALL else ["everything"])
def test_what_a_model_gives_twice_is_scored_under_a_key_of_its_own(name, repeated, tmp_path):
    corpus = benchmarks.load(name)
    chosen = corpus.documents["doc_id"].to_list()[:2]
    right = corpus.records.filter(pl.col("doc_id").is_in(chosen)).with_columns(
        role=pl.lit("prediction"),
        system=pl.lit("m"),
        status=pl.lit("ok"),
        sure=pl.int_range(pl.len()),
    )
    again = right
    if repeated == "strange values":
        strange = right.drop_nulls("path").with_columns(pl.col("path") + "x")
        again = pl.concat([strange, strange])
    responses = tables.table("responses", [])
    once = analysis.evaluate(corpus, Predictions(right, responses, "m"), documents=chosen)
    twice = Predictions(pl.concat([right, again]), responses, "m")
    result = analysis.evaluate(corpus, twice, documents=chosen)
    assert not result.cases.select(tables.KEYS["cases"]).is_duplicated().any()
    assert set(once.cases["path"]) <= set(result.cases["path"])
    assert Evaluation.load(result.save(tmp_path / "e")).cases.equals(result.cases)
