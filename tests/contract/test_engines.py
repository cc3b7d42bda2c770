"""What cloud services and OCR engines write: keys and words with boxes, of a small form by each."""

import json
from pathlib import Path

import polars as pl
import pytest

import formlab
from tests.contract.doors import SCORE, cli, rows, value

# A page of 200 x 100 pixels: "Name: Ada Bérg", "Total: $88.20" and a box that is ticked.
FILES = json.loads(Path(__file__).with_name("data").joinpath("engines.json").read_text("utf-8"))
PAGE = "Name: Ada Bérg\nTotal: $88.20"
WORDS = [("Name:", 10, 10, 60, 30), ("Ada", 70, 10, 100, 30), ("Bérg", 110, 10, 150, 30)]
WORDS += [("Total:", 10, 50, 60, 70), ("$88.20", 70, 50, 130, 70)]
ENGINES = sorted({name.partition("/")[0] for name in FILES})
KEYED = [name for name in ENGINES if name.startswith(("azure", "textract", "document"))]
# What stands at other keys than Name, Total and Agree; a receipt has no box to tick.
OTHERS = {"textract expense": ["/line_items/0/ITEM"], "document ai": ["/item/0/name"]}
# The gold says that the box is not ticked.
GOLD = "doc_id,path,value\na,Name,Ada Bérg\na,Total,88.20\na,Agree,false\n"
XML = '<!DOCTYPE alto [<!ENTITY a "b">]><alto><Page WIDTH="&a;"/></alto>'


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / name).write_text(text, "utf-8")
    Path("truth.csv").write_text(GOLD)


@pytest.mark.parametrize("engine", KEYED)
def test_t01_to_t06_values_stand_at_their_keys(engine, folders):
    others, ticked = OTHERS.get(engine, []), "expense" not in engine
    # Two fields of three are right; one that is ticked is wrong on both sides, others claim more.
    claims = 2 + ticked + len(others)
    assert value(rows(*SCORE, engine), "match_f1") == pytest.approx(2 * 2 / (3 + claims))
    found = formlab.evaluate("truth.csv", Path(engine)).predictions.records.sort("path")
    assert set(found["path"]) == {"/Name", "/Total", *others, *["/Agree"][:ticked]}
    total = found.filter(path="/Total").select("value", "page", "confidence").row(0)
    assert total == ("$88.20", 1, pytest.approx(0.85, abs=0.06))


@pytest.mark.parametrize("engine", ENGINES)
def test_t07_to_t16_words_and_lines_stand_on_the_page_of_the_gold(engine, folders):
    gold = {"doc_id": "a", "path": None, "value": PAGE, "width": 400, "height": 200}
    gold = pl.DataFrame([gold, gold | {"path": "Name", "value": "Ada Bérg"}])
    evaluation = formlab.evaluate(gold, Path(engine))
    assert evaluation.scores.filter(metric="cer", level="page")["value"].to_list() == [0]
    words = evaluation.predictions.records.filter(kind="word")
    if "expense" not in engine:
        assert words["value"].to_list() == [text for text, *_ in WORDS]
        boxes = words.select("x0", "y0", "x1", "y1").to_numpy().ravel().tolist()
        assert boxes == pytest.approx([2 * side for _, *box in WORDS for side in box])
        assert words["confidence"].to_list() == pytest.approx([0.9] * len(words))


def test_t17_a_broken_file_of_many_is_a_document_that_failed(folders):
    Path("alto/b.xml").write_text(XML)
    Path("truth.csv").write_text("doc_id,path,value\na,t,Ada Bérg\nb,t,Ada Bérg\n")
    evaluation = formlab.evaluate("truth.csv", Path("alto"))
    outcomes = evaluation.fields.select("status", "outcome").rows()
    assert outcomes == [("ok", "match"), ("api_error", "missing")]
    assert "entities" in evaluation.predictions.responses["error"][0]
    Path("alto/a.xml").unlink()
    assert "entities" in cli(*SCORE, "alto", code=2)[1]
