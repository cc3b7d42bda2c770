import json

import polars as pl
import pytest

from formlab.benchmarks import omniai as benchmark
from formlab.errors import DataBroken
from formlab.formats import omniai
from formlab.scoring.tasks import jsonvalue

ENTRY = {
    "fileUrl": "https://files.example/f3.png", "ocrModel": "m1", "extractionModel": "m2",
    "directImageExtraction": False, "predictedMarkdown": "Bill 9.00",
    "predictedJson": {"total": 9.0, "name": "a"},
    "usage": {"duration": 4100, "inputTokens": 800, "outputTokens": 60, "totalCost": 0.0026},
}  # fmt: skip


@pytest.fixture
def corpus(tmp_path):
    root = tmp_path / "gold"
    root.mkdir()
    for name, url in (("a", "https://files.example/f3.png"), ("b", "https://other.example/f4.png")):
        item = {"imageUrl": url, "trueJsonOutput": {"total": 9.5, "name": "a"}}
        (root / f"{name}.json").write_text(json.dumps(item))
    return benchmark.read("test", root)


def write(tmp_path, entries):
    file = tmp_path / "results.json"
    file.write_text(json.dumps(entries))
    return file


def test_entries_become_page_text_and_whole_json(tmp_path, corpus):
    failed = {"error": {}, "predictedJson": None, "predictedMarkdown": None}
    write(tmp_path, [ENTRY, ENTRY | failed | {"fileUrl": "file:///x/f4.png"}])
    assert omniai.is_one(tmp_path)
    assert omniai.is_one(tmp_path / "results.json")
    predictions = omniai.read(tmp_path, corpus).check()
    assert predictions.system == "m1 + m2"
    assert predictions.records.select("doc_id", "path", "value", "status").rows() == [
        ("a", None, "Bill 9.00", "ok"),
        ("a", "/", '{"total": 9.0, "name": "a"}', "ok"),
        ("b", None, None, "api_error"),
    ]
    assert predictions.responses["seconds"].to_list() == [4.1, 4.1]
    scored = jsonvalue.score(corpus, predictions, mode="official", threshold=0.8)
    # a: one of two leaves changed; b failed and counts as nothing found, it is not left out.
    assert scored.scores.select("doc_id", "hits", "total", "status").rows() == [
        ("a", 1, 2, "ok"),
        ("b", 0, 2, "api_error"),
    ]


def test_several_models_and_double_entries_are_errors(tmp_path, corpus):
    with pytest.raises(DataBroken, match=r"m1 \+ m2, m3"):
        omniai.read(write(tmp_path, [ENTRY, {"ocrModel": "m3"}]), corpus)
    with pytest.raises(DataBroken, match="two entries for 'a'"):
        omniai.read(write(tmp_path, [ENTRY, ENTRY]), corpus)
    with pytest.raises(DataBroken, match=r"a list expected, got an object .*results\.json"):
        omniai.read(write(tmp_path, {"fileUrl": 1}), corpus)
    with pytest.raises(DataBroken, match=r"0/predictedMarkdown: a text or null expected.*results"):
        omniai.read(write(tmp_path, [ENTRY | {"predictedMarkdown": 7}]), corpus)


def test_odd_entries_are_read_to_valid_tables(tmp_path, corpus):
    odd = ENTRY | {"fileUrl": "http://[", "predictedJson": "no JSON", "predictedMarkdown": None,
                   "usage": {"duration": "x", "inputTokens": 1e40}}  # fmt: skip
    predictions = omniai.read(write(tmp_path, [odd]), corpus).check()
    assert predictions.records.filter(pl.col("path") == "/")["value"].to_list() == ["no JSON"]
