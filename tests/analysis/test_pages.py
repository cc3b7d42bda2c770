import pytest

from formlab import analysis
from formlab.analysis.pages import PAGES


def test_pages_come_by_word_errors_and_the_parts_sum(evaluate):
    # Form a: "name: ada berg"; two of three words are read, "berg" is lost. Form b: none is read.
    result = evaluate({"doc_id": "a", "text": "Name: Ada"}, {"doc_id": "b", "text": ""})
    pages = analysis.worst_pages(result)
    assert list(pages.columns) == list(PAGES)
    first, second = pages.to_dicts()
    assert (first["doc_id"], first["wer"], first["omitted"], first["words"]) == ("b", 1, 1, 2)
    assert (second["doc_id"], second["wer"]) == ("a", pytest.approx(1 / 3))
    assert second["omitted"] == pytest.approx(1 / 3)
    # "Name:" is found; "Ada Berg" is not; the empty field is rightly empty.
    assert (second["fields"], second["wrong"], second["missed"]) == (3, 1, 1)
    assert analysis.worst_pages(result, limit=1)["doc_id"].to_list() == ["b"]


def test_predictions_of_fields_alone_score_no_page_and_say_so(evaluate):
    result = evaluate({"doc_id": "a", "path": "/entities/0", "value": "Name:"})
    assert not analysis.worst_pages(result).height
    assert result.notes["pages not scored: the predictions give no text of a page"] == 2
