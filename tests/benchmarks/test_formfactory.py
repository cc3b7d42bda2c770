import json
from collections import Counter

from formlab import benchmarks
from formlab.benchmarks.formfactory import split_texts

from ..made_formfactory import make

# Document, path, value, page, first corner, and the items to enter.
GOLD = [
    # The option of a radio button that is meant.
    ("A12-01", "/Gender", "Female", 1, 10, 85, [("Female", [[1, 10, 85, 20, 95]])]),
    # A list may be clicked on its input and on the option.
    ("F12-01", "/Availability", "Weekends", 1, 10, 40, [
        ("Weekends", [[1, 10, 40, 100, 60], [2, 10, 40, 100, 60], [2, 10, 70, 100, 80]])]),
    # With a box to leave alone there is nothing to do.
    ("A12-01", "/Subscribe to Newsletter", "false", None, None, None, []),
    ("A12-02", "/Subscribe to Newsletter", "true", 1, 110, 70, [("true", [[1, 110, 70, 120, 80]])]),
]  # fmt: skip
FLAWS = {
    "malformed box lines": 1, "malformed box line F12_1.txt:2": 1,
    "boxes named for another screenshot": 1, "boxes beyond their screenshot": 1,
    "instances without a text": 1, "values under a label that the form does not have": 1,
    # Age lost its box to the malformed line; nickname is no field of the form.
    "values whose field has no box": 2, "forms without a gold file": 23,
}  # fmt: skip


def test_made_forms_are_read_and_what_is_odd_is_counted(tmp_path):
    corpus = benchmarks.load("formfactory", root=make(tmp_path / "formfactory"))
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
    assert corpus.flaws.items() >= FLAWS.items()
    for doc_id, path, *expected, items in GOLD:
        (row,) = corpus.records.filter(doc_id=doc_id, path=path).iter_rows(named=True)
        assert [row[name] for name in ("value", "page", "x0", "y0")] == expected
        found = json.loads(row["meta"])["items"]
        assert [(item["value"], item["targets"]) for item in found] == items
    assert "Yes" in row["accepted"]


def test_texts_are_told_by_the_values_they_hold():
    text = "1. We need\n1. rope\n2. tar\nfor Ada\n2. Bo needs none\n4. stray"
    flaws = Counter()
    assert split_texts(text, [["Ada"], ["Bo"], ["Cy"]], flaws) == [
        "We need\n1. rope\n2. tar\nfor Ada", "Bo needs none\n4. stray", None,
    ]  # fmt: skip
    assert flaws["instances without a text"] == 1
    assert flaws["numbered texts without an instance"] == 1
