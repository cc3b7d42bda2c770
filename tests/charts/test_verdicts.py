import dataclasses

import polars as pl
import pytest

from formlab import analysis, benchmarks, charts, decisions
from formlab.formats import read_predictions
from formlab.tables import Evaluation

KEY = {"benchmark": "funsd", "split": "test", "doc_id": "a", "task": "text"}
WRONG = KEY | {"path": "/entities/1", "label": "Ada Berg", "reviewer": "ada"}


@pytest.fixture
def one(funsd_root, tmp_path):
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    file = tmp_path / "x.jsonl"
    file.write_text('{"doc_id": "a", "path": "/entities/1", "value": "Ada Borg"}\n')
    return analysis.evaluate(corpus, read_predictions(file, corpus))


def test_without_verdicts_there_is_only_a_note(one, tmp_path):
    (tmp_path / "empty").mkdir()
    for nothing in ("", tmp_path / "gone", tmp_path / "empty"):
        (note,) = charts.with_and_without(one, nothing)
        assert note.label == "Note"


def test_scores_stand_with_and_without_the_labels_found_wrong(one, tmp_path):
    file = tmp_path / "verdicts" / "ada.jsonl"
    decisions.record(file, WRONG | {"decision": "label_error", "value": "Ada Borg"})
    caption, table = charts.with_and_without(one, file.parent, resamples=20)
    assert "labels corrected: 1; found label error: 1" in caption.text
    assert f"verdicts={decisions.version(decisions.read(file))}" in caption.settings
    row = table.frame.filter(pl.col("metric") == "accuracy, exact").to_dicts()[0]
    # Of four labels the blank alone was right, then Ada Borg as well.
    assert (row["as labelled"], row["without label errors"], row["change"]) == (0.25, 0.5, 0.25)
    assert (row["n as labelled"], row["n without label errors"]) == (4, 4)


def test_ambiguous_labels_have_a_column_of_their_own(one, tmp_path):
    file = tmp_path / "ada.jsonl"
    decisions.record(file, WRONG | {"decision": "ambiguous"})
    _, table = charts.with_and_without(one, file, resamples=0)
    row = table.frame.filter(pl.col("metric") == "accuracy, exact").to_dicts()[0]
    assert (row["without label errors"], row["without ambiguous labels too"]) == (0.25, 1 / 3)


def test_verdicts_on_another_benchmark_or_an_evaluation_alone_give_a_note(one, tmp_path):
    file = tmp_path / "ada.jsonl"
    decisions.record(file, WRONG | {"benchmark": "sroie", "decision": "wrong"})
    (note,) = charts.with_and_without(one, file)
    assert "no verdicts on labels of this benchmark" in note.text
    decisions.record(file, WRONG | {"decision": "wrong"})
    bare = Evaluation(one.documents, one.cases, one.scores, "funsd", "test", "x")
    (note,) = charts.with_and_without(bare, file)
    assert "does not hold what it scored" in note.text


def test_each_evaluation_with_verdicts_is_shown_under_its_name(one, tmp_path):
    file = tmp_path / "verdicts" / "ada.jsonl"
    decisions.record(file, WRONG | {"decision": "label_error", "value": "Ada Borg"})
    other = dataclasses.replace(one, benchmark="sroie")
    shown = charts.each_with_and_without([one, other], file.parent, resamples=20)
    assert len(shown) == 2
    assert shown[0].text.startswith(f"{one.system} on funsd:test. Scores with and without")
    assert charts.each_with_and_without([other], file.parent)[0].label == "Note"
    assert charts.each_with_and_without([one], "")[0].label == "Note"
