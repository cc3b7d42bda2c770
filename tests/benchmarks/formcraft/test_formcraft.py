import json

import polars as pl
import pytest

from formlab import benchmarks
from formlab.benchmarks.formcraft import MODALITIES, RELATIONS, canonical

FORM = {
    "fields": [
        {"label": "Name", "modality": "Textual", "modality_subtype": "Handwritten",
         "value": "Ada Berg", "page": 1, "box": [1, 2, 30, 14]},
    ],
    "groups": [
        {"label": "A/B", "fields": [
            {"label": "Paid", "modality": "Marking", "modality_subtype": "Radio Buttons",
             "value": "yes"},
            {"label": "Paid", "modality": "Cross", "modality_subtype": "any", "value": "[x] 9"},
        ], "groups": [{"label": "vqa", "fields": []}]},
        {"label": "vqa", "fields": []},
    ],
    "vqa": [
        {"id": "q1", "question": "?", "answers": ["9", "nine"], "options": ["9", "8"],
         "fields": ["/Name"], "scope": "Intra-Group", "reference": "Direct Link",
         "complexity": "Simple", "modal": "Single-Modality", "rationale": "because"},
        {"id": "q2", "question": "?", "answers": [], "scope": "weird"},
    ],
    "consistency": [
        {"id": "c1", "source": "/Name", "dependent": "/A~1B/Paid#2", "expected": "9",
         "confidence": 0.5, "scope": "Cross-Page/Document",
         "reference": "Domain-Specific / Knowledge-Driven",
         "complexity": "Hierarchical (Chained)", "modal": "Cross-Modality"},
    ],
}  # fmt: skip


@pytest.fixture
def root(tmp_path):
    (tmp_path / "forms").mkdir()
    (tmp_path / "forms" / "a.json").write_text(json.dumps(FORM))
    return tmp_path


def test_fields_groups_and_items_become_records(root):
    corpus = benchmarks.get("formcraft").load("test", root).check()
    rows = corpus.records.select("path", "task", "kind", "modality", "subtype", "value").rows()
    assert rows == [
        ("/Name", "text", "string", "textual", "handwritten", "Ada Berg"),
        ("/A~1B", "layout", "group", None, None, "A/B"),
        ("/A~1B/Paid", "marking", "checkbox", "marking", "checkbox", "yes"),
        ("/A~1B/Paid#2", "cross", "string", "cross", "cross", "[x] 9"),
        ("/A~1B/vqa", "layout", "group", None, None, "vqa"),
        # A group may be called vqa; the items keep their place.
        ("/vqa#2", "layout", "group", None, None, "vqa"),
        ("/vqa/q1", "vqa", "choice", None, None, "9"),
        ("/vqa/q2", "vqa", None, None, None, None),
        ("/consistency/c1", "consistency", None, None, None, "9"),
    ]
    name = corpus.records.row(0, named=True)
    assert [name[side] for side in ("x0", "y0", "x1", "y1", "page")] == [1, 2, 30, 14, 1]


def test_items_carry_their_labels_in_the_one_spelling(root):
    records = benchmarks.get("formcraft").load("test", root).records
    items = records.filter(pl.col("task").is_in(["vqa", "consistency"]))
    assert items.select(*RELATIONS).rows() == [
        ("intra-group", "direct-link", "simple", "single-modality"),
        (None, None, None, None),
        ("cross-page", "domain-specific", "chained", "cross-modality"),
    ]
    assert items["accepted"].to_list() == [["nine"], None, None]
    assert items["confidence"].to_list() == [None, None, 0.5]
    assert json.loads(items["meta"][2])["dependent"] == "/A~1B/Paid#2"


def test_flaws_are_counted_and_nothing_is_dropped(root):
    corpus = benchmarks.get("formcraft").load("test", root)
    assert corpus.flaws == {
        "images missing": 1,
        "items with an unknown complexity": 1,
        "items with an unknown modal": 1,
        "items with an unknown reference": 1,
        "items with an unknown scope": 1,
        "questions without an answer": 1,
    }
    assert corpus.records.filter(pl.col("path") == "/vqa/q2")["status"].to_list() == ["unscored"]


def test_every_spelling_of_the_paper_is_known():
    paper = {
        "modality": "Textual Marking Visual Cross Cross-modality",
        "subtype": "Machine-Printed Handwritten TextInDraw Mixed Checkbox Radio_Buttons Table/Grid "
        "Annotations Statistic_Image Chart Diagram Hand-Drawn Printed_Paint Circle "
        "Machine-Printed_Text Text_in_Drawings Checkboxes_and_Radio_Buttons Tables_and_Grids "
        "Annotations_and_Markings Static_Images_and_Illustrations Hand-Drawn_Sketches "
        "Machine-Printed_Paint Mixed_Printed_and_Handwritten_Text",
        "scope": "Intra-Group Inter-Group Cross-Page/Document",
        "reference": "Direct_Link Consistency_or_Constraint Domain-Specific_/_Knowledge-Driven",
        "complexity": "Simple Compound Chained Hierarchical_(Chained)",
        "modal": "Single-Modality Cross-Modality",
    }
    names = {"modality": set(MODALITIES), "subtype": {s for m in MODALITIES.values() for s in m}}
    names |= {axis: set(values) for axis, values in RELATIONS.items()}
    for axis, spellings in paper.items():
        found = {canonical(axis, one.replace("_", " ")) for one in spellings.split()}
        assert None not in found
        assert found <= names[axis]
        assert axis == "subtype" or found == names[axis]
    assert canonical("scope", "galactic") is None


def test_an_annotation_cannot_name_an_image_outside_its_folder(root):
    form = FORM | {"pages": ["../../../secret.png"]}
    (root / "forms" / "a.json").write_text(json.dumps(form))
    meta = json.loads(benchmarks.get("formcraft").load("test", root).documents["meta"][0])
    assert meta["pages"] == ["images/secret.png"]
