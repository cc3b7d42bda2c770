"""Types from a schema, a model, YAML or the values themselves are the same types."""

import datetime
import decimal
import json
from typing import Literal

import polars as pl
import pytest
from pydantic import BaseModel, Field

from formlab import own
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab.own.types import Rule


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
  total: {type: number, weight: 2, tolerance: 0.5, required: true, question: "What is the total?"}
  day: date
  paid: boolean
  state: {type: choice, choices: [open, closed]}
  /items/*/name: {type: string, comparator: fuzzy}
  items/0/price: {type: number, tolerance: 0.01}
"""


def sources(folder):
    (folder / "t.yaml").write_text(YAML)
    (folder / "t.json").write_text(json.dumps(Invoice.model_json_schema()))
    yield from (folder / "t.yaml", folder / "t.json", Invoice, Invoice.model_json_schema())


def test_types_are_the_same_from_yaml_json_schema_and_a_model(tmp_path, monkeypatch):
    (tmp_path / "forms.py").write_text(
        "from pydantic import BaseModel\nclass Form(BaseModel):\n    total: int\n"
    )
    monkeypatch.chdir(tmp_path)
    assert own.FieldTypes.read("forms:Form").of("/total").type == "integer"
    for source in sources(tmp_path):
        types = own.FieldTypes.read(source)
        assert {path: one.kind for path, one in types.fields.items()} == {
            "/total": "number", "/day": "date", "/paid": "checkbox", "/state": "choice",
            "/items/*/name": "string", "/items/*/price": "number",
        }  # fmt: skip
        total = types.of("/total")
        assert (total.weight, total.tolerance, total.required) == (2.0, 0.5, True)
        assert total.question == "What is the total?"
        assert types.of("/items/7/name").comparator == "fuzzy"
        assert types.of("/items/7/price").tolerance == 0.01
        assert types.of("/state").choices == ("open", "closed")
        assert types.of("/nothing") == own.FieldType()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("2024-05-01", "1 May 2024"), "date"),
        (("9.50", "1,200"), "number"),
        (("20240501", "12"), "number"),
        (("$9.50", "12"), "money"),
        (("yes", "No"), "checkbox"),
        (("007", "12"), "string"),
        (("12", "Ada"), "string"),
        (("", None), "string"),
    ],
)
def test_types_are_inferred_by_all_values_of_a_field(values, kind):
    frame = pl.DataFrame({"path": [f"/i/{n}/x" for n in range(2)], "value": values})
    corpus = own.corpus(frame.with_columns(doc_id=pl.lit("a")))
    assert corpus.records.filter(pl.col("path").is_not_null())["kind"].to_list() == [kind] * 2
    name = "boolean" if kind == "checkbox" else kind
    assert corpus.flaws == {f"types inferred: {name}": 1}


def test_declared_rules_stand_in_records_and_types_in_documents_and_are_saved(tmp_path):
    gold = [
        {"doc_id": "a", "total": 9, "note": "x", "items": [{"name": "Tea"}]},
        {"doc_id": "b", "note": "y"},
    ]
    corpus = own.corpus(gold, types=Invoice)
    # The notes alone are not declared; "b" lacks the total.
    assert corpus.flaws == {"types inferred: string": 1, "required fields without a value": 1}
    saved = type(corpus).load(corpus.save(tmp_path / "corpus"))
    rules = {p: own.rule_of(m) for p, m in saved.records.select("path", "meta").rows() if p}
    assert rules == {
        "/total": Rule(tolerance=0.5, weight=2.0, required=True), "/note": Rule(),
        "/items/0/name": Rule(comparator="fuzzy", required=True),
    }  # fmt: skip
    types = own.FieldTypes.of_document(saved.documents.row(0, named=True))
    assert types.fields == own.FieldTypes.read(Invoice).fields | {
        "/note": own.FieldType(type="string")
    }


def test_kind_of_the_user_stands_before_the_type():
    rows = [{"doc_id": "a", "path": "t", "value": "1", "kind": "money"}]
    assert own.corpus(rows).records.filter(path="/t")["kind"].item() == "money"


def test_types_make_the_schema_of_an_answer():
    schema = own.FieldTypes.read(Invoice).json_schema()
    assert schema["required"] == ["total", "day", "paid", "state", "items"]
    assert schema["additionalProperties"] is False
    inner = schema["properties"]
    assert inner["total"] == {"type": ["number", "null"], "description": "What is the total?"}
    assert inner["state"] == {"type": ["string", "null"], "enum": ["open", "closed", None]}
    items = inner["items"]["items"]
    assert items["properties"]["price"] == {"type": ["number", "null"]}
    assert items["required"] == ["name", "price"]


CIRCLE = {"$ref": "#/$defs/A", "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}}


@pytest.mark.parametrize(
    ("source", "error", "what"),
    [
        ({"t": "dat"}, UnknownName, "'date'"),
        ({"t": {"typ": "date"}}, UnknownName, "'type'"),
        ({"t": {"comparator": "same"}}, UnknownName, "comparator"),
        ({"t": {"weight": 0}}, DataBroken, "above 0"),
        ({"t": {"weight": "inf"}}, DataBroken, "above 0"),
        ({"t": {"tolerance": "-1%"}}, DataBroken, "or per cent"),
        ({"t": {"tolerance": "wide"}}, DataBroken, "a tolerance is a number"),
        ({}, DataBroken, "types are"),
        (3, DataBroken, "cannot be read from int"),
        ("no.yaml", DataMissing, "no such file"),
        ("no_such_module:Form", NotAvailable, "no model"),
        (CIRCLE, DataBroken, "refers to itself"),
    ],
)  # fmt: skip
def test_broken_types_are_one_error(source, error, what):
    with pytest.raises(error, match=what):
        own.FieldTypes.read(source)


def test_tolerance_in_per_cent_and_lists_that_keep_their_order():
    share = own.FieldTypes.read({"total": {"type": "money", "tolerance": "1.5 %"}}).of("/total")
    assert (share.tolerance, share.relative) == (0.015, True)
    price = {"type": "number", "tolerance": "1%"}
    lines = {"type": "array", "items": {"properties": {"price": price}}}
    node = {"type": "array", "ordered": True, "items": {"properties": {"lines": lines}}}
    schema = {"properties": {"pages": node, "other": lines}}
    types = own.FieldTypes.read(schema)
    rule = own.Rule(tolerance=0.01, relative=True, ordered=True)
    assert own.rule_of(own.types.rule_text(types.of("/pages/3/lines/0/price"))) == rule
    assert not types.of("/other/0/price").ordered


def test_broken_yaml_is_an_error_with_its_line(tmp_path):
    (tmp_path / "t.yaml").write_text("total: money\ndate: [\n")
    with pytest.raises(DataBroken, match=r"t\.yaml:3"):
        own.FieldTypes.read(tmp_path / "t.yaml")
