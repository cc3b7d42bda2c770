"""FUNSD and SROIE read as forms of FORMCRAFT, with the relations that rules find on the page."""

import json
import re
from collections import Counter
from decimal import Decimal

import polars as pl
import pytest

from formlab import benchmarks
from formlab.benchmarks.formcraft import item_meta
from formlab.trees import from_records

from ...conftest import entity

# Each row of the receipt, and what stands in it from left to right.
RECEIPT = (
    ("TEA & CO SDN BHD",),
    ("DATE: 03/02/2018 9:13",),
    ("ITEM", "QTY", "PRICE", "AMOUNT"),
    ("GREEN TEA", "2", "4.50", "9.00 SR"),
    ("CUP", "1", "RM 1.05", "RM 1.05"),
    ("SUB TOTAL:", "10.05"),
    ("GST 6%", "0.60"),
    ("ROUNDING ADJ", "-0.05"),
    ("TOTAL", "RM 10.60"),
    ("CASH", "20.00"),
    ("CHANGE", "9.40"),
    ("SR @ 6%", "10.00", "0.60"),
    ("PRINTED 03/02/2018",),
    ("THANK YOU",),
)
KEYS = {"company": "TEA & CO SDN BHD", "date": "03/02/2018", "address": "", "total": "10.60"}


def receipt(root, rows):
    for name in ("key", "box", "img"):
        (root / name).mkdir(exist_ok=True)
    (root / "key" / "000.json").write_text(json.dumps(KEYS))
    lines = []
    for number, row in enumerate(rows):
        y0, y1 = 20 * number, 20 * number + 14
        for place, text in enumerate(row):
            x0, x1 = 100 * place, 100 * place + 8 * len(text)
            lines.append(f"{x0},{y0},{x1},{y0},{x1},{y1},{x0},{y1},{text}")
    (root / "box" / "000.csv").write_text("\n".join(lines))
    return benchmarks.load("formcraft", root=root, split="train")


def relations(corpus, task="consistency"):
    rows = corpus.records.filter(pl.col("task") == task).iter_rows(named=True)
    return {row["path"].rpartition("/")[2]: row | {"item": item_meta(row)} for row in rows}


def test_receipt_has_header_items_totals_and_footer(tmp_path):
    corpus = receipt(tmp_path, RECEIPT)
    fields = corpus.records.filter(~pl.col("task").is_in(["vqa", "consistency"]))
    groups = fields.filter(pl.col("kind") == "group")["path"].to_list()
    assert groups == [
        "/header", "/items", "/items/GREEN TEA", "/items/CUP", "/totals", "/footer",
        "/footer/SR @ 6%",
    ]  # fmt: skip
    values = fields.filter(pl.col("kind") != "group").select("path", "value").rows()
    assert dict(values) == {
        "/header/company": "TEA & CO SDN BHD", "/header/date": "03/02/2018",
        "/items/GREEN TEA/quantity": "2", "/items/GREEN TEA/unit price": "4.50",
        "/items/GREEN TEA/amount": "9.00",
        "/items/CUP/quantity": "1", "/items/CUP/unit price": "1.05", "/items/CUP/amount": "1.05",
        "/totals/SUB TOTAL": "10.05", "/totals/GST 6%": "0.60", "/totals/ROUNDING ADJ": "-0.05",
        "/totals/TOTAL": "10.60", "/totals/CASH": "20.00", "/totals/CHANGE": "9.40",
        "/footer/SR @ 6%/taxed amount": "10.00", "/footer/SR @ 6%/tax": "0.60",
        "/footer/PRINTED": "03/02/2018",
    }  # fmt: skip
    # "9.00 SR" has 7 characters over 56 pixels from 300 on; the amount is the first four.
    amount = fields.row(by_predicate=pl.col("path") == "/items/GREEN TEA/amount", named=True)
    assert (amount["x0"], amount["x1"]) == (300, 332)
    tree = from_records(fields.to_dicts())
    assert [child.label for child in tree.children] == ["header", "items", "totals", "footer"]


def test_relations_on_a_receipt_name_their_fields(tmp_path):
    checks = relations(receipt(tmp_path, RECEIPT))
    found = {
        name: (check["item"].dependent, check["value"], check["complexity"], check["scope"])
        for name, check in checks.items()
    }
    # 9.00 + 1.05 = 10.05; 10.05 + 0.60 - 0.05 = 10.60; 20.00 - 10.60 = 9.40; 2 * 4.50 = 9.00.
    assert found == {
        "date-1": ("/footer/PRINTED", "03/02/2018", "simple", "inter-group"),
        "items-1": ("/totals/SUB TOTAL", "10.05", "chained", "inter-group"),
        "total-1": ("/totals/TOTAL", "10.60", "chained", "intra-group"),
        "change-1": ("/totals/CHANGE", "9.40", "chained", "intra-group"),
        "quantity-1": ("/items/GREEN TEA/amount", "9.00", "compound", "intra-group"),
        "tax-1": ("/footer/SR @ 6%/tax", "0.60", "simple", "intra-group"),
    }
    derivation = checks["total-1"]["item"].derivation
    assert derivation == {
        "rule": "total", "formula": "base + a0 + a1",
        "fields": {"base": "/totals/SUB TOTAL", "a0": "/totals/GST 6%",
                   "a1": "/totals/ROUNDING ADJ"},
    }  # fmt: skip
    questions = relations(receipt(tmp_path, RECEIPT), "vqa")
    assert questions["change-1"]["item"].question == (
        "Going by “CASH” and “TOTAL”, what must “CHANGE” be?"
    )
    asked = "Going by the amounts of the items, what must “SUB TOTAL” be?"
    assert questions["items-1"]["item"].question == asked


@pytest.mark.parametrize(
    ("row", "place", "value", "lost"),
    [(3, 3, "9.10 SR", {"items-1", "quantity-1"}), (7, 1, "-0.15", {"total-1"}),
     (10, 1, "9.60", {"change-1"}), (12, 0, "PRINTED 04/02/2018", {"date-1"}),
     (11, 2, "0.70", {"tax-1"})],
)  # fmt: skip
def test_number_that_is_changed_takes_its_relations_with_it(tmp_path, row, place, value, lost):
    rows = [list(texts) for texts in RECEIPT]
    whole = set(relations(receipt(tmp_path, rows)))
    rows[row][place] = value
    corpus = receipt(tmp_path, rows)
    assert whole - set(relations(corpus)) == lost
    # Another date is no contradiction: only what labels claim can fail.
    failed = corpus.flaws.get("relations by labels that the numbers do not bear out", 0)
    assert failed == len(lost - {"date-1"})


def test_form_of_links_has_groups_fields_and_their_relations(tmp_path):
    def at(x, y):
        return [100 * x, 20 * y, 100 * x + 60, 20 * y + 14]

    head, rows = ["SOLD", "SPOILT"], ["Box of tea", "Box of rice", "TOTAL"]
    entities = [entity(n, text, at(n + 1, 0), "question") for n, text in enumerate(head)]
    entities += [entity(10 + n, text, at(0, n + 1), "question") for n, text in enumerate(rows)]
    for row, numbers in enumerate((("3", "1"), ("4", "2"), ("7", "4"))):
        for column, number in enumerate(numbers):
            links = [(column, 20 + 2 * row + column), (10 + row, 20 + 2 * row + column)]
            cell = at(column + 1, row + 1)
            entities.append(entity(20 + 2 * row + column, number, cell, "answer", links))
    for n, (title, name) in enumerate((("SENDER", "Ada"), ("RECEIVER", "Bo"))):
        y, links = 10 + 3 * n, [(30 + n, 40 + n)]
        entities.append(entity(30 + n, title, at(0, y), "header", links))
        entities.append(entity(40 + n, "Name:", at(0, y + 1), "question", [(40 + n, 50 + n)]))
        entities.append(entity(50 + n, name, at(1, y + 1), "answer"))
    entities.append(entity(60, "Signature", at(0, 20), "question"))
    folder = tmp_path / "testing_data" / "annotations"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(json.dumps({"form": entities}))
    corpus = benchmarks.load("formcraft", root=tmp_path)
    fields = corpus.records.filter(pl.col("task") == "text").select("path", "value").rows()
    assert fields[-3:] == [("/Signature", ""), ("/SENDER/Name:", "Ada"), ("/RECEIVER/Name:", "Bo")]
    checks = relations(corpus)
    # 3 + 4 = 7 sold; 1 + 2 are not the 4 that are spoilt, which is counted.
    assert [check["value"] for check in checks.values()] == ["7"]
    assert checks["sum-1"]["item"].derivation["fields"] == {"n0": "/SOLD", "n1": "/SOLD#2"}
    assert corpus.flaws["relations by labels that the numbers do not bear out"] == 1
    asked = {row["item"].question: row["value"] for row in relations(corpus, "vqa").values()}
    assert asked["What stands in the row “Box of rice” under “SPOILT”?"] == "2"
    assert asked["Under “RECEIVER”, what is filled in for “Name:”?"] == "Bo"
    assert len(asked) == 6 + 2 + 1


def test_relations_on_published_receipts_hold_and_are_counted(shared, tmp_path):
    # Every fourth one; docs/relations.md has the counts over all.
    (tmp_path / "box").symlink_to((shared / "data/sroie/box").resolve())
    (tmp_path / "key").mkdir()
    for file in sorted((shared / "data/sroie/key").glob("*.json"))[::4]:
        (tmp_path / "key" / file.name).symlink_to(file.resolve())
    corpus = benchmarks.load("formcraft", root=tmp_path, split="train")
    rows = corpus.records.select("doc_id", "path", "value").rows()
    values = {row[:2]: (row[2] or "").replace(",", "") for row in rows}
    rules, documents = Counter(), set()
    for row in corpus.records.filter(pl.col("task") == "consistency").iter_rows(named=True):
        derivation = item_meta(row).derivation
        rules[derivation["rule"]] += 1
        documents.add(row["doc_id"])
        formula = derivation.get("formula", "")
        if re.fullmatch(r"-?\w+(?: [+-] \w+)*", formula):
            # Added up term by term, in another way than the reader does.
            terms = [
                Decimal(sign + "1") * Decimal(values[row["doc_id"], derivation["fields"][name]])
                for sign, name in re.findall(r"([+-]?) ?([a-z]\w*)", formula)
            ]
            assert sum(terms) == Decimal(row["value"].replace(",", "")), row["path"]
    assert len(documents) == 147
    assert rules == {
        "change": 88, "date": 35, "items": 87, "payment": 22, "quantity": 13, "tax": 63,
        "total": 87,
    }  # fmt: skip
