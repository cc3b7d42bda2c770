"""Whole runs of a model over a corpus, finished or not, and what is scored of them."""

import pytest

from formlab import analysis, benchmarks, readers
from tests.systems.chat.made_runs import FORM, kept, killed
from tests.systems.scripted_server import serving


@pytest.fixture(scope="module")
def corpus():
    return benchmarks.load("formcraft")


def test_of_a_run_that_was_killed_the_answers_count_and_the_rest_is_missing(tmp_path, corpus):
    with serving(then=FORM, delay=0.2) as server:
        calls = killed(server, tmp_path, calls=5)
        found = readers.read_predictions(tmp_path, corpus)
        # Reading asks nothing.
        assert len(server.calls) == calls
    answered = kept(tmp_path)
    assert 0 < answered <= calls
    counts = dict(found.responses["status"].value_counts().iter_rows())
    assert counts == {"ok": answered, "missing": corpus.documents.height - answered}
    missing = found.responses.filter(status="missing")
    assert set(missing["error"]) == {"not asked: no answer yet"}
    assert found.notes["not asked: no answer yet"] == missing.height
    # No document is lost on the way to the scores.
    evaluation = analysis.evaluate(corpus, found)
    assert evaluation.scores["doc_id"].n_unique() == corpus.documents.height
