import json
import shutil
from pathlib import Path

import pytest

from formlab import logs
from formlab.errors import DataBroken
from formlab.logs import stickler

DATA = Path(__file__).parent / "data"


@pytest.fixture
def file(tmp_path):
    for name in ("stickler.jsonl", "stickler_metrics.json"):
        shutil.copy(DATA / name, tmp_path)
    return tmp_path / "stickler.jsonl"


def test_lines_of_the_bulk_evaluator_are_read(file):
    assert stickler.detect(file)
    (run,) = logs.read(file)
    assert run.format == "stickler"
    gold = dict(run.gold.filter(doc_id="bill_1").select("path", "value").rows())
    assert gold["/number"] == "A-17"
    assert gold["/items/1/name"] == "jam"
    # Right are number, vendor and jam; wrong the tea and the other number; three were not found.
    assert {f["metric"]: f["value"] for f in run.headline}["cm_f1"] == pytest.approx(6 / 11)


def test_answer_stands_where_stickler_paired_it(file):
    (run,) = logs.read(file)
    answers = dict(run.answers.filter(doc_id="bill_1").select("path", "value").rows())
    # The answer has jam first; the gold has it second.
    assert (answers["/items/0/name"], answers["/items/1/name"]) == ("jam", "tea")
    scores = run.scores.filter(doc_id="bill_1", scorer="match")
    assert dict(scores.select("path", "value").rows()) == {
        "/number": 1, "/vendor": 1, "/items/0/name": 1, "/items/0/price": 1,
        # tea is below the threshold of its item, so that its fields were not compared.
        "/items/1/name": None, "/items/1/price": None,
    }  # fmt: skip
    assert run.notes[stickler.WHOLE_ITEMS] == 2 + 4


def test_similar_text_counts_for_stickler_and_not_for_formlab(file):
    evaluation = logs.open_log(file)
    rows = logs.differences(evaluation).filter(path="/vendor", doc_id="bill_1").to_dicts()
    assert [(r["log_score"], r["formlab"], r["why"]) for r in rows] == [
        (1.0, 0.0, "the log's own rule accepts it: clipped")
    ]


def test_document_that_raised_has_no_line_and_is_missing(file):
    metrics = file.with_name("stickler_metrics.json")
    stated = json.loads(metrics.read_text())
    metrics.write_text(json.dumps(stated | {"errors": [{"doc_id": "bill_3", "error": "x"}]}))
    assert logs.join_report(logs.open_log(file))["missing"] == 1


def test_line_without_compared_fields_is_counted(file):
    file.write_text('{"doc_id": "a", "comparison_result": {"overall_score": 1.0}}\n')
    assert logs.LOGS["stickler"].detect(file)
    with pytest.raises(DataBroken, match="the log has no samples"):
        logs.read(file)
    file.write_text('{"doc_id": "a", "comparison_result": 5}\n')
    with pytest.raises(DataBroken, match=r"a line has doc_id and comparison_result .*jsonl:1"):
        logs.read(file)
