import json

import polars as pl
import pytest
from PIL import Image

from formlab import benchmarks
from formlab.benchmarks import omniai
from formlab.folders import Predictions
from formlab.scoring.tasks import jsonvalue
from formlab.tables import table
from tests.scoring.tasks.conftest import scored_by

TRUTH = {"total": 9.5, "paid": None, "items": [{"name": "tea/jam", "price": 4}]}
ITEM = {
    "imageUrl": "https://files.example/pages/f3.png?sig=1",
    "metadata": {"documentQuality": "scan", "format": "INVOICE"},
    "jsonSchema": {
        "type": "object",
        "properties": {
            "total": {"type": "number"},
            "paid": {"type": "boolean"},
            "items": {"type": "array", "items": {"type": "object", "properties": {
                "name": {"type": "string"}, "price": {"type": "number"}}}},
        },
    },
    "trueJsonOutput": TRUTH,
    "trueMarkdownOutput": "# Bill\n\n9.50",
}  # fmt: skip


@pytest.fixture
def root(tmp_path):
    (tmp_path / "one.json").write_text(json.dumps(ITEM))
    Image.new("L", (30, 20)).save(tmp_path / "f3.png")
    return tmp_path


def predicted(corpus, answers, status="ok"):
    rows = [
        {"benchmark": "omniai", "split": corpus.split, "doc_id": doc, "role": "prediction",
         "system": "m", "task": "value", "path": omniai.WHOLE, "value": value, "status": status}
        for doc, value in answers.items()
    ]  # fmt: skip
    return Predictions(records=table("records", rows), responses=table("responses", []), system="m")


def test_leaves_the_whole_and_the_page_become_records(root):
    corpus = benchmarks.get("omniai").load("test", root).check()
    assert corpus.records.select("path", "task", "kind", "value").rows() == [
        (None, "text", "page", "# Bill\n\n9.50"),
        ("/", "value", "json", json.dumps(TRUTH, sort_keys=True)),
        ("/total", "text", "number", "9.5"),
        ("/paid", "text", "checkbox", None),
        ("/items/0/name", "text", "string", "tea/jam"),
        ("/items/0/price", "text", "number", "4"),
    ]
    (document,) = corpus.documents.rows(named=True)
    assert (document["doc_id"], document["image"], document["width"]) == ("one", "f3.png", 30)
    assert document["domain"] == "INVOICE"
    assert corpus.flaws == {"true values of null": 1}


def test_lists_lines_and_truth_as_text_are_read(tmp_path):
    other = ITEM | {"imageUrl": "../../f4.png", "trueJsonOutput": json.dumps(TRUTH)}
    (tmp_path / "all.json").write_text(json.dumps([ITEM, other]))
    (tmp_path / "more.jsonl").write_text(json.dumps(ITEM | {"id": "x/1"}) + "\n")
    corpus = benchmarks.get("omniai").load("test", tmp_path).check()
    assert corpus.documents["doc_id"].to_list() == ["f3", "f4", "x_1"]
    whole = corpus.records.filter(pl.col("path") == "/")["value"]
    assert whole.n_unique() == 1
    assert corpus.flaws["images not in the folder"] == 3


def test_json_accuracy_of_documents_right_wrong_broken_and_missing(root):
    for name in ("two", "three", "four"):
        (root / f"{name}.json").write_text(json.dumps(ITEM))
    corpus = benchmarks.get("omniai").load("test", root)
    # Four leaves: total, paid, name, price. A changed total, and a null filled in.
    wrong = TRUTH | {"total": 9, "paid": True}
    given = {"one": json.dumps(TRUTH), "two": json.dumps(wrong), "three": "not JSON"}
    hits = {}
    for mode in ("official", "fixed"):
        scored = scored_by(jsonvalue, corpus, predicted(corpus, given), mode)
        rows = scored.scores.select("doc_id", "hits", "total", "status")
        hits[mode] = {doc: (h, t, s) for doc, h, t, s in rows.rows()}
    assert hits["fixed"] == {
        "one": (4, 4, "ok"), "two": (2, 4, "ok"), "three": (0, 4, "ok"), "four": (0, 4, "missing"),
    }  # fmt: skip
    assert hits["official"]["two"] == (3, 4, "ok")
