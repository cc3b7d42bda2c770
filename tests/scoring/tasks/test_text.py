import math

import polars as pl
import pytest

from formlab import analysis, benchmarks, metrics, tables
from formlab.folders import Predictions
from formlab.tables import only, readable
from tests import made_parts

from ..conftest import FIELDS, PAGE, value


def test_whole_page_is_compared_without_case_and_white_space_and_without_a_cap(evaluate):
    result = evaluate(PAGE, {"doc_id": "b", "text": "Total 9.00" + "x" * 20})
    values = [value(result, name, doc_id="a", level="page") for name in ("cer", "wer", "bleu")]
    assert values == [0, 0, pytest.approx(1)]
    assert value(result, "cer", doc_id="b", level="page") == 2


def test_empty_gold_read_as_empty_is_undefined_for_error_rates_and_counted(evaluate):
    result = evaluate(*FIELDS)
    assert math.isnan(value(result, "cer", doc_id="a", path="/entities/2"))
    summary = analysis.summarise(result, average="pooled")
    row = only(summary, metric="cer", level="field", slice_by=None).row(0, named=True)
    # Edits 0 + 1 + 10 over characters 5 + 8 + 10; one of the four fields is undefined.
    assert row["value"] == pytest.approx(11 / 23)
    assert (row["n_docs"], row["n_cases"], row["n_missing"], row["n_undefined"]) == (2, 4, 1, 1)


def test_gold_against_itself_is_best_on_every_metric(corpus, evaluate):
    gold = corpus.records.filter(pl.col("task") == "text", pl.col("value") != "")
    rows = gold.select("doc_id", "path", "value").to_dicts()
    summary = analysis.summarise(evaluate(*rows))
    for row in summary.filter(pl.col("slice_by").is_null()).to_dicts():
        down = metrics.get(row["metric"]).direction == "down"
        # BLEU cannot speak of fields shorter than four words.
        if row["level"] == "field" and row["metric"] == "bleu":
            assert math.isnan(row["value"])
        elif "bleu" not in row["metric"]:
            assert row["value"] == pytest.approx(0 if down else 1), row


def test_a_field_that_the_gold_leaves_empty_is_in_no_error_rate_and_spurious_if_filled(evaluate):
    filled = evaluate(*FIELDS[:2], FIELDS[2] | {"value": "392 edits"})
    summary = analysis.summarise(filled, average="pooled")
    row = only(summary, metric="cer", level="field", slice_by=None).row(0, named=True)
    # As if nothing had been read there: edits 0 + 1 + 10 over characters 5 + 8 + 10.
    assert (row["value"], row["n_undefined"]) == (pytest.approx(11 / 23), 1)
    assert "|gold=not empty" in row["settings"]["rules"]
    # Of three values given one is spurious.
    row = only(summary, metric="spurious_rate", level="field", slice_by=None).row(0, named=True)
    assert (row["value"], row["n_undefined"]) == (pytest.approx(1 / 3), 1)
    # Every table that is made of scores says the same.
    own = only(filled.scores, metric="cer", doc_id="a", path="/entities/2")
    assert own.select("hits", "total").row(0) == (0, 0)


def test_bleu_of_perfectly_read_short_fields_is_undefined_and_counted(evaluate):
    summary = analysis.summarise(evaluate(*FIELDS), average="pooled")
    row = only(summary, metric="bleu", level="field", slice_by=None)
    assert math.isnan(row["value"].item())
    assert row.select("n_cases", "n_undefined").row(0) == (4, 4)
    assert "|gold>=4 words" in row["settings"].item()["rules"]
    page = only(evaluate(PAGE).scores, metric="bleu", level="page", doc_id="a")
    # A page of three words counts as sacrebleu has it.
    assert page["value"].item() == pytest.approx(1)
    assert "words" not in page["settings"].item()["rules"]


def test_settings_say_how_the_score_was_made(evaluate):
    scores = evaluate(PAGE, *FIELDS).scores
    page = readable(only(scores, level="page", metric="cer"))["settings"][0]
    rules = "norm=nfc,space,lower|gold=not empty"
    assert page.startswith(f"funsd:test|cer|level=page|mode=fixed|{rules}|formlab=")
    rung = only(scores, level="field", metric="fuzzy_accuracy")["settings"][0]
    assert rung["rules"].startswith("fuzzy>=0.8|")


def test_every_metric_stays_in_its_range_on_real_pages(shared):
    corpus = benchmarks.load("funsd", root=shared / "data/funsd", split="test")
    corpus = made_parts.only(corpus, corpus.documents["doc_id"].head(12))
    page = corpus.records.filter(pl.col("path").is_null())
    # Every page gets the text of the next one: as wrong as real text can be.
    wrong = page.with_columns(
        role=pl.lit("prediction"), system=pl.lit("m"),
        value=pl.col("value").shift(-1, fill_value=page["value"][0]),
    )  # fmt: skip
    predictions = Predictions(wrong, tables.table("responses", []), system="m")
    scores = analysis.evaluate(corpus, predictions).scores
    for (name,), group in scores.group_by("metric"):
        metric = metrics.get(str(name))
        high = metric.high if metric.high is not None else float("inf")
        # A field without a value has no rate.
        assert group["value"].drop_nans().is_between(metric.low, high).all(), name
