import json
from pathlib import Path

import pytest

from formlab.benchmarks import vrdu
from formlab_baselines import pdf_rules
from formlab_baselines.keywords import RULES, Run, entities

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "vrdu"


ADVERTISER = ("Advertiser:", 10, 10), ("Friends of", 100, 10), ("Ada Quill", 100, 20)


@pytest.mark.parametrize(
    ("runs", "values"),
    [
        # A value stands inside, right of or below its label.
        ([("Contract # 26804224", 10, 10)], {"contract_num": "26804224"}),
        (
            [("Advertiser", 10, 10), ("Ada Quill", 120, 10), ("Product", 10, 22)],
            {"advertiser": "Ada Quill"},
        ),
        (
            [("Contract Dates", 10, 10), ("04/24/20 - 04/30/20", 10, 22)],
            {"flight_from": "04/24/20", "flight_to": "04/30/20"},
        ),
        # A longer label is another label, and a label is no value.
        (
            [("Advertiser Code", 10, 10), ("769", 120, 10), ("Agency Ref", 10, 22)],
            {"advertiser": None, "agency": None},
        ),
        # A name goes on in the line right below, unless that has a label.
        (ADVERTISER, {"advertiser": "Friends of Ada Quill"}),
        ([*ADVERTISER, ("Product", 10, 20)], {"advertiser": "Friends of"}),
        # An amount must look like one.
        (
            [("Gross Total", 10, 10), ("pending", 100, 10), ("Totals", 10, 40),
             ("$1,200.50", 100, 40)],
            {"gross_amount": "$1,200.50"},
        ),
    ],
)  # fmt: skip
def test_value_stands_where_its_rule_says(runs, values):
    read = entities([Run(t, 1, x, y, x + 6 * len(t), y + 9) for t, x, y in runs], list(values))
    assert {name: read[name].text if name in read else None for name in values} == values


def test_sample_is_read_from_text_layer_and_from_scans():
    corpus = vrdu.read("MadeFilings-pdfs", SAMPLE)
    read = pdf_rules.start(pdf_rules.DEFAULTS, 1)
    gold = {
        row["path"]: row
        for row in corpus.records.to_dicts()
        if row["doc_id"] == corpus.documents["doc_id"][-1]
    }
    # The last document is a scan: RapidOCR reads it.
    for document in (corpus.documents.row(0, named=True), corpus.documents.row(-1, named=True)):
        records = read(document, SAMPLE)
        assert {row["path"] for row in records} == {
            f"/{name}" for name in RULES if f"/{name}" in gold
        }
    number = next(row for row in records if row["path"] == "/registration_num")
    gold_number = gold["/registration_num"]
    assert number["value"] in gold_number["accepted"] + [gold_number["value"]]
    # It is where one of its surface forms was drawn, in pixels of the page.
    width, height = corpus.documents.select("width", "height").row(-1)
    drawn = [(box[1] * width, box[2] * height) for box in json.loads(gold_number["meta"])["boxes"]]
    assert any((number["x0"], number["y0"]) == pytest.approx(place, abs=5) for place in drawn)
