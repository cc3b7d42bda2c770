import pytest

from formlab import analysis
from formlab.tables import only

from ..conftest import FIELDS, PAGE, value


def test_whole_page_is_compared_without_case_and_white_space_and_without_a_cap(evaluate):
    result = evaluate(PAGE, {"doc_id": "b", "text": "Total 9.00" + "x" * 20})
    values = [value(result, name, doc_id="a", level="page") for name in ("cer", "wer", "bleu")]
    assert values == [0, 0, pytest.approx(1)]
    assert value(result, "cer", doc_id="b", level="page") == 2


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
