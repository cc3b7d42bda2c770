import json
from collections import Counter

import pytest

from formlab import benchmarks
from formlab.benchmarks.formfactory import split_texts
from formlab.tables import only

from ..made_formfactory import make


@pytest.fixture
def root(tmp_path):
    return make(tmp_path / "formfactory")


def gold(corpus, doc_id, path):
    return only(corpus.records, doc_id=doc_id, path=path).row(0, named=True)


def items(row):
    return json.loads(row["meta"])["items"]


def test_made_forms_are_read(root):
    corpus = benchmarks.load("formfactory", split="all", root=root)
    assert corpus.documents["doc_id"].to_list() == ["A12-01", "A12-02", "F12-01"]
    assert corpus.records.height == 6 + 6 + 4
    first = corpus.documents.row(0, named=True)
    assert first["domain"] == "Academic & Research"
    assert (first["width"], first["height"], first["n_fields"]) == (200, 100, 6)
    assert first["image"] == "labeled-images/A/A12.png"
    assert first["context"].startswith("Ada Berg, born")
    # The list within the first text is numbered in the style of the file and stays in it.
    assert first["context"].endswith("2. some tea")
    assert corpus.documents["context"][1] == "Bo Dahl (bo@example.org), born 1990/12/24."


def test_option_of_a_radio_button_is_the_one_that_is_meant(root):
    row = gold(benchmarks.load("formfactory", split="all", root=root), "A12-01", "/Gender")
    assert (row["kind"], row["x0"], row["y0"]) == ("radio", 10, 85)
    assert items(row) == [{"value": "Female", "targets": [[1, 10, 85, 20, 95]]}]


def test_list_may_be_clicked_on_its_input_and_on_the_option(root):
    row = gold(benchmarks.load("formfactory", split="all", root=root), "F12-01", "/Availability")
    places = [[1, 10, 40, 100, 60], [2, 10, 40, 100, 60], [2, 10, 70, 100, 80]]
    assert items(row) == [{"value": "Weekends", "targets": places}]


def test_box_to_leave_alone_has_nothing_to_do(root):
    corpus = benchmarks.load("formfactory", split="all", root=root)
    row = gold(corpus, "A12-01", "/Subscribe to Newsletter")
    assert (row["value"], items(row), row["page"]) == ("false", [], None)
    ticked = gold(corpus, "A12-02", "/Subscribe to Newsletter")
    assert items(ticked) == [{"value": "true", "targets": [[1, 110, 70, 120, 80]]}]
    assert "Yes" in ticked["accepted"]


def test_what_is_odd_is_counted_and_nothing_is_dropped(root):
    flaws = benchmarks.load("formfactory", split="all", root=root).flaws
    assert flaws["malformed box lines"] == 1
    assert flaws["malformed box line F12_1.txt:2"] == 1
    assert flaws["boxes named for another screenshot"] == 1
    assert flaws["boxes beyond their screenshot"] == 1
    assert flaws["instances without a text"] == 1
    assert flaws["values under a label that the form does not have"] == 1
    # Age lost its box to the malformed line; nickname is no field of the form.
    assert flaws["values whose field has no box"] == 2
    assert flaws["forms without a gold file"] == 23


def test_texts_are_told_by_the_values_they_hold():
    text = "1. We need\n1. rope\n2. tar\nfor Ada\n2. Bo needs none\n4. stray"
    flaws = Counter()
    assert split_texts(text, [["Ada"], ["Bo"], ["Cy"]], flaws) == [
        "We need\n1. rope\n2. tar\nfor Ada", "Bo needs none\n4. stray", None,
    ]  # fmt: skip
    assert flaws["instances without a text"] == 1
    assert flaws["numbered texts without an instance"] == 1
