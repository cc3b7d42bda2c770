"""Whole runs of a model over a corpus, finished or not, and what is scored of them."""

import json

import polars as pl
import pytest

from formlab import analysis, benchmarks, readers
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Corpus
from formlab.systems import chat
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


def test_an_unfinished_run_remembers_a_store_and_prompts_from_elsewhere(tmp_path, corpus):
    own = tmp_path / "prompts"
    own.mkdir()
    (own / "formcraft_extraction.md").write_text("Read it all.")
    with serving(then=FORM) as server:
        store = str(tmp_path / "shared.sqlite")
        ran(server, corpus, tmp_path / "run", store=store, prompts=str(own))
    (tmp_path / "run" / "predictions/manifest.json").unlink()
    found = readers.read_predictions(tmp_path / "run", corpus)
    assert set(found.responses["status"]) == {"ok"}
    # Of a prompt that has changed since nobody can tell what was asked.
    (own / "formcraft_extraction.md").write_text("Read some.")
    with pytest.raises(DataBroken, match="another run: settings"):
        readers.read_predictions(tmp_path / "run", corpus)


def test_a_run_of_before_there_were_further_bounds_goes_on(tmp_path, corpus):
    with serving(then=FORM) as server:
        ran(server, corpus, tmp_path)
        head = json.loads((tmp_path / "run.json").read_text())
        assert not {"image_pixels", "image_dpi"} & head["settings"].keys()
        (tmp_path / "run.json").write_text(json.dumps({k: head[k] for k in head if k != "prices"}))
        (tmp_path / "predictions/manifest.json").unlink()
        found = readers.read_predictions(tmp_path, corpus)
        assert set(found.responses["status"]) == {"ok"}
        assert ran(server, corpus, tmp_path).records.equals(found.records)
        assert len(server.calls) == 3


def test_an_unfinished_run_of_another_benchmark_is_refused(tmp_path, corpus):
    with serving(then=FORM) as server:
        ran(server, corpus, tmp_path)
    (tmp_path / "predictions/manifest.json").unlink()
    with pytest.raises(DataBroken, match="benchmark 'formcraft', now 'vrdu'"):
        readers.read_predictions(tmp_path, benchmarks.load("vrdu"))


def test_a_head_that_lacks_something_is_one_error(tmp_path, corpus):
    (tmp_path / "run.json").write_text(json.dumps({"system": "chat:m", "settings": {}}))
    with pytest.raises(DataBroken, match="lacks"):
        readers.read_predictions(tmp_path, corpus)


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


def test_answers_are_scored_and_documents_without_one_count_as_nothing_found(tmp_path, corpus):
    with serving("truncated", then=FORM) as server:
        found = ran(server, corpus, tmp_path, limit=None)
    evaluation = analysis.evaluate(corpus, found)
    assert evaluation.scores["doc_id"].n_unique() == corpus.documents.height
    assert "truncated" in set(evaluation.cases["status"])


def test_a_document_without_its_image_is_missing_and_not_asked(tmp_path, corpus):
    gone = corpus.documents.head(1).with_columns(
        image=pl.lit(None, pl.String), meta=pl.lit(None, pl.String)
    )
    bare = Corpus(gone, corpus.records, "formcraft", "test", corpus.root)
    with serving(then=FORM) as server:
        found = ran(server, bare, tmp_path, limit=None)
        assert not server.calls
    assert found.responses["status"].to_list() == ["missing"]


@pytest.mark.parametrize("name", ["chat:", "chat", "ocr"])
def test_a_name_without_a_model_is_an_error(name):
    with pytest.raises(UnknownName, match="no model"):
        chat.system(name)
