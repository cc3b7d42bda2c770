import json

import pytest

from formlab import logs
from formlab.errors import DataBroken
from formlab.logs import omniai

SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}, "name": {"type": "string"}}}
ENTRY = {
    "fileUrl": "https://host.example/f3.png", "metadata": {"language": "EN"}, "jsonSchema": SCHEMA,
    "ocrModel": "m1", "extractionModel": "m2", "directImageExtraction": False,
    "trueMarkdown": "Bill 9.50 Ada", "trueJson": {"total": 9.5, "name": "Ada"},
    "predictedMarkdown": "Bill 9.50 Ada", "predictedJson": {"total": 9.0, "name": "Ada"},
    "levenshteinDistance": 1.0, "jsonAccuracy": 0.5, "usage": {"duration": 4100, "totalCost": 0.01},
}  # fmt: skip
# An error of JavaScript is written as {}, and the row has no accuracy.
FAILED = {
    key: value for key, value in ENTRY.items() if not key.startswith(("predicted", "json", "leven"))
} | {"fileUrl": "https://host.example/f4.png", "error": {}, "jsonSchema": SCHEMA}
DIRECT = ENTRY | {"directImageExtraction": True, "ocrModel": None}


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "2026-01-02-03-04-05"
    folder.mkdir()
    path = folder / "results.json"
    path.write_text(json.dumps([ENTRY, DIRECT, FAILED]))
    return path


def test_each_pair_of_models_is_a_run(file):
    assert omniai.detect(file)
    assert omniai.detect(file.parent)
    assert [run.system for run in logs.read(file)] == ["m1 + m2", "m2 (image)"]


def test_gold_of_the_log_is_that_of_the_benchmark(file):
    evaluation = logs.open_log(file, run="m1 + m2")
    assert (evaluation.benchmark, evaluation.split) == ("omniai", "2026-01-02-03-04-05")
    values = evaluation.fields.filter(doc_id="f3").select("path", "kind", "gold", "pred", "outcome")
    assert values.rows() == [
        ("/total", "number", "9.5", "9.0", "mismatch"), ("/name", "string", "Ada", "Ada", "match"),
    ]  # fmt: skip


def test_failed_row_is_in_no_mean_of_the_tool_and_earns_nothing_here(file):
    evaluation = logs.open_log(file, run="m1 + m2")
    rows = logs.headlines(evaluation).select("by", "measure", "over", "value", "n").rows()
    # The tool's mean is over f3 alone, where one of two leaves is right.
    assert rows == [
        ("log", "json_accuracy", "scored", 0.5, 1), ("log", "json_accuracy", "all", 0.25, 2),
        ("formlab", "json_accuracy", "scored", 0.5, 1),
        ("formlab", "json_accuracy", "all", 0.25, 2),
    ]  # fmt: skip
    assert logs.join_report(evaluation)["failed"] == 1
    (row,) = logs.differences(evaluation).to_dicts()
    assert row["why"].startswith("api_error: left out of the log's mean")


def test_distance_is_a_similarity_and_durations_are_milliseconds(file):
    run = logs.read(file)[0]
    assert run.scores.filter(scorer="levenshtein_similarity")["value"].to_list() == [1.0, None]
    assert run.responses["seconds"].to_list()[0] == 4.1


def test_official_rule_gives_the_accuracy_that_the_tool_stated(file):
    evaluation = logs.open_log(file, run="m1 + m2")
    scores = evaluation.scores.filter(metric="json_accuracy", doc_id="f3")
    assert evaluation.mode == "official"
    assert scores["value"].item() == ENTRY["jsonAccuracy"]


def test_what_is_no_list_of_entries_is_an_error(file):
    file.write_text(json.dumps([ENTRY, 5]))
    with pytest.raises(DataBroken, match="1: an object expected, got the number 5"):
        omniai.read(file)
