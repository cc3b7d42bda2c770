import asyncio
import dataclasses

import pytest

from formlab import analysis, benchmarks
from formlab.analysis import samples
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab.tables import only

from ..made_splits import WHO, evaluations


@pytest.fixture
def ones(tmp_path):
    return evaluations(tmp_path, {("mixed", 10, 0): [WHO], ("mixed", 10, 1): [WHO]})


def test_a_folder_for_each_split_gives_all_in_order(ones, tmp_path):
    for one in reversed(ones):
        one.save(tmp_path / "evals" / one.split)
    (tmp_path / "evals" / "notes").mkdir()
    found = analysis.open_evaluations(tmp_path / "evals")
    assert [one.split for one in found] == [one.split for one in ones]
    assert found[0].scores.equals(ones[0].scores)


def test_a_folder_without_any_is_named(tmp_path):
    with pytest.raises(DataMissing, match="no evaluation here"):
        analysis.open_evaluations(tmp_path)


def test_evaluations_that_do_not_belong_together_are_refused(ones, tmp_path):
    ones[0].save(tmp_path / "evals" / "a")
    dataclasses.replace(ones[1], mode="fixed").save(tmp_path / "evals" / "b")
    with pytest.raises(DataBroken, match="differ in their mode: fixed, official"):
        analysis.open_evaluations(tmp_path / "evals")


def test_every_reading_that_comes_with_formlab_is_opened_the_baseline_first():
    opened = analysis.open_compared(benchmark="formcraft", system=())
    assert len(opened) >= 3
    assert analysis.of_system(opened).system == opened[0].system == "rules"
    assert analysis.of_system(opened, opened[2].system).system == opened[2].system
    with pytest.raises(UnknownName, match="unknown system 'nobody'"):
        analysis.of_system(opened, "nobody")


def test_without_a_browser_forms_cannot_be_filled_in(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path))
    monkeypatch.setenv("FORMLAB_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(NotAvailable, match="FORMLAB_CHROMIUM names no executable"):
        analysis.open_evaluation(benchmark="formfactory", system="oracle(scale=0.5)")


@pytest.mark.browser
def test_sample_of_forms_is_filled_in_under_a_running_event_loop_and_only_once(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path))
    whole = benchmarks.load("formfactory")
    few = whole.documents.filter(whole.documents["template"] == "E12")
    small = dataclasses.replace(whole, documents=few)
    monkeypatch.setattr(samples.benchmarks, "load", lambda *_, **__: small)

    async def cell():
        return analysis.open_evaluation(benchmark="formfactory", system="oracle")

    done = asyncio.run(cell())
    assert (done.split, done.system, done.documents["doc_id"].to_list()) == (
        "arena", "oracle", ["E12-001"],
    )  # fmt: skip
    assert only(done.scores, metric="form_completed")["value"].to_list() == [1.0]
    times = [file.stat().st_mtime_ns for file in tmp_path.rglob("events.jsonl")]
    assert analysis.open_evaluation(benchmark="formfactory", system="oracle").scores.equals(
        done.scores
    )
    assert [file.stat().st_mtime_ns for file in tmp_path.rglob("events.jsonl")] == times


def test_a_name_with_settings_opens_a_sample_with_these(monkeypatch):
    asked = []
    kept = {"funsd": lambda _, system, changes: asked.append((system, changes))}
    monkeypatch.setattr(samples, "SAMPLES", kept)
    analysis.open_compared(benchmark="funsd", system=("a", "a(ruler=True,scale=2.0,texts=prose)"))
    assert asked == [("a", {}), ("a", {"ruler": True, "scale": 2.0, "texts": "prose"})]
