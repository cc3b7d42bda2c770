"""A user's own gold: its types, its pages, and what the answers to it are."""

import datetime
import decimal
import json
import unicodedata
from collections import Counter
from typing import Literal

import polars as pl
import pytest
from PIL import Image
from pydantic import BaseModel, Field

import formlab
from formlab import readers
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.readers import gold as gold_room
from formlab.readers.types import TYPES, FieldType, FieldTypes, rule_of


class Item(BaseModel):
    name: str = Field(json_schema_extra={"comparator": "fuzzy"})
    price: decimal.Decimal = Field(json_schema_extra={"tolerance": 0.01})


class Invoice(BaseModel):
    total: float = Field(
        description="What is the total?", json_schema_extra={"weight": 2, "tolerance": 0.5}
    )
    day: datetime.date | None = None
    paid: bool = False
    state: Literal["open", "closed"] = "open"
    items: list[Item] = []


YAML = """
fields:
  total: {type: number, weight: 2, tolerance: 0.5, question: "What is the total?"}
  day: date
  paid: boolean
  state: {type: choice, choices: [open, closed]}
  /items/*/name: {type: string, comparator: fuzzy}
  items/0/price: {type: number, tolerance: 0.01}
"""


def test_types_are_the_same_from_yaml_json_schema_and_a_model(tmp_path):
    (tmp_path / "t.yaml").write_text(YAML)
    (tmp_path / "t.json").write_text(json.dumps(Invoice.model_json_schema()))
    schema = {"name": "invoice", "strict": True, "schema": Invoice.model_json_schema()}
    asked = {"type": "json_schema", "json_schema": schema}
    for source in (tmp_path / "t.yaml", tmp_path / "t.json", Invoice, schema, asked):
        types = FieldTypes.read(source)
        kinds = {"/total": "number", "/day": "date", "/paid": "checkbox", "/state": "choice"}
        kinds |= {"/items/*/name": "string", "/items/*/price": "number"}
        assert {path: TYPES.get(field.type) for path, field in types.fields.items()} == kinds
        total = types.of("/total")
        assert (total.weight, total.tolerance) == (2.0, 0.5)
        assert total.question == "What is the total?"
        assert types.of("/items/7/name").comparator == "fuzzy"
        assert types.of("/state").choices == ("open", "closed")
        assert types.of("/nothing") == FieldType()
    schema = types.json_schema()
    inner, items = schema["properties"], schema["properties"]["items"]["items"]
    assert (schema["required"], schema["additionalProperties"]) == ([*inner], False)
    assert inner["total"] == {"type": ["number", "null"], "description": "What is the total?"}
    assert inner["state"] == {"type": ["string", "null"], "enum": ["open", "closed", None]}
    assert items["properties"]["price"] == {"type": ["number", "null"]}


INFERRED = {
    ("2024-05-01", "1 May 2024"): "date", ("9.50", "1,200"): "number", ("yes", "No"): "checkbox",
    ("20240501", "12"): "number", ("$9.50", "12"): "money", ("007", "12"): "string",
    ("12", "Ada"): "string", ("", None): "string",
}  # fmt: skip


def test_types_are_inferred_by_all_values_of_a_field():
    for values, kind in INFERRED.items():
        paths = [f"/i/{n}/x" for n in range(2)]
        corpus = readers.corpus(pl.DataFrame({"doc_id": "a", "path": paths, "value": values}))
        assert corpus.records.drop_nulls("path")["kind"].to_list() == [kind] * 2
        assert corpus.flaws == {f"types inferred: {kind.replace('checkbox', 'boolean')}": 1}


def test_rules_stand_in_records_and_types_in_documents_and_are_saved(tmp_path):
    gold = [
        {"doc_id": "a", "total": 9, "note": "x", "items": [{"name": "Tea"}]},
        {"doc_id": "b", "note": "-"},
    ]
    corpus = readers.corpus(gold, types=Invoice)
    # The notes alone are not declared.
    assert "types inferred: string, values '-', compared as text: leave" in ", ".join(corpus.flaws)
    saved = type(corpus).load(corpus.save(tmp_path / "corpus"))
    rules = {p: rule_of(m) for p, m in saved.records.select("path", "meta").rows() if p}
    assert rules == {
        "/total": FieldType(tolerance=0.5, weight=2.0), "/note": FieldType(),
        "/items/0/name": FieldType(comparator="fuzzy"),
    }  # fmt: skip
    types = FieldTypes.read(json.loads(saved.documents["meta"][0])["types"])
    assert types.fields == FieldTypes.read(Invoice).fields | {"/note": FieldType(type="string")}
    lines = {"type": "array", "items": {"properties": {"price": {"tolerance": "1 %"}}}}
    node = {"ordered": True, "items": {"properties": {"lines": lines}}}
    types = FieldTypes.read({"properties": {"pages": node, "other": lines}})
    rule = FieldType(tolerance=0.01, relative=True, ordered=True)
    assert rule_of(types.rule("/pages/3/lines/0/price")) == rule
    assert not types.of("/other/0/price").ordered


CIRCLE = {"$ref": "#/$defs/A", "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}}
BROKEN = [
    ({"t": "dat"}, UnknownName, "'date'"),
    ({"t": {"typ": "date"}}, UnknownName, "'type'"),
    ({"t": {"comparator": "same"}}, UnknownName, "comparator"),
    ({"t": {"weight": 0}}, DataBroken, "above 0"),
    ({"t": {"weight": "inf"}}, DataBroken, "above 0"),
    ({"t": {"tolerance": "-1%"}}, DataBroken, "or per cent"),
    ({"t": {"tolerance": "wide"}}, DataBroken, "a tolerance is a number"),
    ({}, DataBroken, "types are"),
    (3, DataBroken, "types are"),
    ("no.yaml", DataMissing, "no such file"),
    (CIRCLE, DataBroken, "refers to itself"),
]


@pytest.mark.parametrize(("source", "error", "message"), BROKEN)
def test_broken_types_are_one_error(source, error, message, tmp_path):
    with pytest.raises(error, match=message):
        FieldTypes.read(source)
    (tmp_path / "t.yaml").write_text("total: money\ndate: [\n")
    with pytest.raises(DataBroken, match=r"t\.yaml:3"):
        FieldTypes.read(tmp_path / "t.yaml")


COPIES = "documents with several files of one name: the first is read"
# Files in a folder, documents, the files of each document's pages in order, and what is counted.
PAGES = [
    (["a.png"], "a", {"a": ["a.png"]}, {}),
    (["x/y/a.JPG"], "a", {"a": ["x/y/a.JPG"]}, {}),
    (["a.pdf"], ["a.pdf"], {"a.pdf": ["a.pdf"]}, {}),
    (["x/a.png"], ["scans/a.png"], {"scans/a.png": ["x/a.png"]}, {}),
    (["a.png", "a_2.png", "a_10.png"], "a", {"a": ["a.png", "a_2.png", "a_10.png"]}, {}),
    (["a page 2.tif", "a-p1.tif"], "a", {"a": ["a page 2.tif", "a-p1.tif"]}, {}),
    (["a/1.png", "a/10.png", "a/2.png"], "a", {"a": ["a/1.png", "a/2.png", "a/10.png"]}, {}),
    ([unicodedata.normalize("NFD", "é") + ".png"], "é", {"é": ["e\u0301.png"]}, {}),
    (["x/1.png", "y/1.png"], ["y/1"], {"y/1": ["y/1.png"]}, {}),
    (["a.png", "a_1.png", "a_2.png", "x/b.png", "y/b.png", "c.png", "c.pdf", ".d.png"],
     ["a", "a_1", "b", "c", "d"],
     {"a": ["a.png", "a_2.png"], "a_1": ["a_1.png"], "b": ["x/b.png"], "c": ["c.png"]},
     {COPIES: 2}),
]  # fmt: skip


@pytest.mark.parametrize(("names", "documents", "expected", "counted"), PAGES)
def test_pages_are_called_like_their_document(names, documents, expected, counted, tmp_path):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    flaws = Counter()
    assert gold_room.find(tmp_path, list(documents), flaws) == expected
    assert +flaws == counted


def test_names_that_leave_the_folder_open_nothing_and_texts_are_found(tmp_path):
    Image.new("L", (9, 9)).save(tmp_path / "secret.png")
    (tmp_path / "scans/b").mkdir(parents=True)
    (tmp_path / "scans/b/c.txt").write_bytes("Zoë".encode("latin-1"))
    shown = {"../secret": None, "b": "../secret.png", "b/c": "no.png", "d": "\0"}
    gold = [{"doc_id": n, "path": "t", "value": "1", "image": i} for n, i in shown.items()]
    corpus = readers.corpus(gold, images=tmp_path / "scans", types={"t": "number"})
    assert corpus.documents["image"].to_list() == [None, None, "no.png", None]
    assert corpus.documents["context"].to_list() == [None, None, "Zoë", None]
    outside = "images outside of their folder"
    assert corpus.flaws == {"documents without an image": 1, "images missing": 1, outside: 2}
    with pytest.raises(DataMissing, match="--images"):
        readers.corpus(gold, images=tmp_path / "no")


GOLD = [
    {"doc_id": "a", "path": "total", "value": "9.00", "scanner": "X", "template": "W-2"},
    {"doc_id": "a", "path": "party", "value": "Ada", "scanner": "X"},
    {"doc_id": "a", "path": "party", "value": "Bo", "scanner": "Y"},
    {"doc_id": "b", "path": "total", "value": "7", "scanner": "X"},
    {"doc_id": "b", "path": "note", "value": None},
]
# Answers to it, and some outcomes by document and path.
OUTCOMES = {
    "nothing is lost": (
        [{"doc_id": "a", "total": "9.00", "party": ["Ada", "Cy"], "date": "today"},
         {"doc_id": "c", "total": "1"}],
        {"a/total": "match", "a/party/0": "match", "a/party/1": "mismatch", "a/date": "spurious",
         "b/total": "missing", "b/note": "missing", "c/total": "unscored"}),
    "a blank is right": ([{"doc_id": "b", "total": "7", "note": None}], {"b/note": "match"}),
    "a blank is filled": ([{"doc_id": "b", "note": "x"}], {"b/note": "spurious"}),
    "by file names and lists": (
        [{"file": "scans/a.png", "field": "/total/0", "answer": "9.00"},
         {"file": "scans/a.png", "field": "party", "answer": "Ada"},
         {"file": "B.png", "field": "total", "answer": "7"},
         {"file": "A", "field": "total", "answer": "7"}],
        {"a/total": "match", "a/party/0": "match", "b/total": "match", "A/total": "unscored"}),
    "by a page": ([{"doc_id": "a", "text": "Ada, Bo: Total 8.00"}],
                  {"a/party/0": "match", "a/total": "mismatch"}),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTCOMES)
def test_answers_meet_the_gold(name):
    answers, expected = OUTCOMES[name]
    fields = formlab.evaluate(GOLD, answers).fields
    place = pl.format("{}{}", "doc_id", pl.coalesce("path", "pred_path"))
    assert expected.items() <= dict(fields.select(place, "outcome").rows()).items()


def test_own_columns_slice_and_a_system_is_named_by_column_file_or_caller(tmp_path):
    answers = [{"doc_id": "a", "path": "total", "value": "9.00", "scanner": "Z", "mode": "fast"}]
    result = formlab.evaluate(GOLD, answers)
    row = result.fields.filter(doc_id="a", path="/total").row(0, named=True)
    assert (row["scanner"], row["answer_scanner"], row["own_mode"]) == ("X", "Z", "fast")
    assert result.documents["template"].to_list() == ["W-2", None]
    summary = formlab.summarise(result, by=["scanner", "template"], resamples=0)
    assert {"X", "Y", "W-2"} <= set(summary["slice_value"])
    wide = readers.corpus([{"doc_id": "a", "total": "9", "batch": "x"}], columns={"batch": "batch"})
    assert wide.records.drop_nulls("path").select("path", "batch").rows() == [("/total", "x")]
    corpus, rows = readers.corpus(GOLD), [answers[0] | {"system": "m1"}]
    assert readers.read_predictions(rows, corpus).system == "m1"
    assert readers.read_predictions(rows, corpus, name="n").system == "n"
    (tmp_path / "model.csv").write_text("doc_id,total\na,9.00\n")
    assert readers.read_predictions(tmp_path / "model.csv", corpus).system == "model"
    blank = [{"doc_id": "a", "total": "", "x": None}, {"doc_id": "b", "total": None}]
    found = readers.read_predictions(blank, corpus).records.select("doc_id", "path", "status")
    assert found.rows() == [("a", "/total", "ok"), ("b", None, "missing")]


def test_columns_of_either_side_are_named():
    gold = pl.DataFrame({"id": ["a"], "key": ["total"], "target": ["9"], "expected": ["0"]})
    answers = pl.DataFrame({"doc": ["a"], "key": ["total"], "output": ["9"], "text": ["0"]})
    columns = {"path": "key", "gold": "target", "prediction": "output"}
    fields = formlab.evaluate(gold.to_pandas(), answers, columns=columns).fields
    assert fields["outcome"].to_list() == ["match"]
    with pytest.raises(UnknownName, match="'output'"):
        formlab.evaluate(gold, answers, columns={"value": "outputs"})


def test_gold_is_loaded_by_name(tmp_path):
    (tmp_path / "gold.csv").write_text("doc_id,total\na,9.00\n")
    corpus = formlab.load("own", root=tmp_path / "gold.csv")
    assert (corpus.benchmark, corpus.split, corpus.documents.height) == ("own", "gold", 1)
    assert set(corpus.sources) == {"gold.csv"}
