import pytest

from formlab import charts, decisions
from formlab.errors import DataMissing
from formlab.folders import Evaluation

from ..made_readings import read_as

__all__ = ["read_as"]
KEY = {"benchmark": "funsd", "split": "test", "doc_id": "a", "task": "text"}
WRONG = KEY | {"path": "/entities/1", "label": "Ada Berg", "reviewer": "ada"}


@pytest.fixture
def result(read_as):
    return read_as("x", a1="Ada Borg", b0="")


def test_without_verdicts_there_is_only_a_note(result, tmp_path):
    (note,) = charts.label_corrections(result, "")
    assert note.label == "Note"
    # Who names a path means a path that is there.
    with pytest.raises(DataMissing, match="gone"):
        charts.label_corrections(result, tmp_path / "gone")


def test_caption_counts_what_verdicts_did_and_names_their_version(result, tmp_path):
    file = tmp_path / "verdicts" / "ada.jsonl"
    decisions.record(file, WRONG | {"decision": "label_error", "value": "Ada Borg"})
    caption, table = charts.label_corrections([result], file.parent, resamples=0)
    assert "labels corrected: 1; found label error: 1" in caption.text
    assert f"verdicts={decisions.version(decisions.read(file))}" in caption.settings
    assert "of" not in table.frame.columns
    bare = Evaluation(result.documents, result.cases, result.scores, "funsd", "test", "x")
    (note,) = charts.label_corrections(bare, file)
    assert "does not hold what it scored" in note.text
    other = tmp_path / "other.jsonl"
    decisions.record(other, WRONG | {"benchmark": "sroie", "decision": "wrong"})
    (note,) = charts.label_corrections(result, other)
    assert "no verdicts" in note.text
