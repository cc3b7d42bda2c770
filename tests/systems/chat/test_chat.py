"""Whole runs of a model over a corpus, finished or not, and what is scored of them."""

import polars as pl
import pytest

from formlab import analysis, benchmarks, readers
from tests.systems.chat import made_runs
from tests.systems.chat.made_runs import FORM, kept, killed
from tests.systems.scripted_server import serving


@pytest.fixture(scope="module")
def corpus():
    return benchmarks.load("formcraft")


def ran(server, corpus, out, **settings):
    settings = {"limit": 3, "attempts": 1, "concurrency": 1} | settings
    return made_runs.ran(server, out, corpus=corpus, **settings)


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


def test_an_unfinished_run_reads_as_the_finished_one_once_all_is_answered(tmp_path, corpus):
    with serving("truncated", "too_large", then=FORM) as server:
        whole = ran(server, corpus, tmp_path)
    (tmp_path / "predictions/manifest.json").unlink()
    found = readers.read_predictions(tmp_path, corpus)
    assert found.records.equals(whole.records)
    assert found.responses.equals(whole.responses)
    assert sorted(found.responses["status"]) == ["api_error", "ok", "truncated"]
    assert (found.settings, found.system) == (whole.settings, whole.system)


def test_the_status_of_every_answer_is_counted_by_task_and_over_all(tmp_path, corpus):
    # Three forms: one answer cut short, one refused, one repaired; nothing else was asked.
    with serving("truncated", "refused", then=f"Here: {FORM}") as server:
        found = ran(server, corpus, tmp_path)
    summary = analysis.summarise(analysis.evaluate(corpus, found), resamples=0)
    rows = summary.filter(slice_by="task", slice_value="layout")
    third = pytest.approx(1 / 3)
    expected = {
        "usable_answers": (third, 3), "valid_answers": (0, 3), "repaired_answers": (third, 3),
        "bad_json_answers": (0, 3), "refused_answers": (third, 3),
        "truncated_answers": (third, 3), "failed_calls": (0, 3),
    }  # fmt: skip
    # One answer a form, so that the mean over forms is the same.
    for average in ("pooled", "macro"):
        counted = rows.filter(average=average).select("metric", "value", "n_cases").rows()
        assert {name: tuple(numbers) for name, *numbers in counted} == expected
    whole = summary.filter(pl.col("slice_by").is_null(), metric="usable_answers", average="pooled")
    assert whole.select("n_cases", "n_missing", "n_undefined").row(0) == (3, 2, 0)
