import math

import pytest

from formlab import analysis
from formlab.tables import only

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
