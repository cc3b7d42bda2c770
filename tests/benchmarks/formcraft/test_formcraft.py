import json
from fractions import Fraction

import pytest

from formlab import benchmarks
from formlab.benchmarks.formcraft import (
    MODALITIES,
    RELATIONS,
    NoFormulaError,
    canonical,
    value_of,
)


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


def test_an_annotation_cannot_name_an_image_outside_its_folder(tmp_path):
    form = {"fields": [], "pages": ["../../../secret.png"]}
    (tmp_path / "forms").mkdir()
    (tmp_path / "forms" / "a.json").write_text(json.dumps(form))
    meta = json.loads(benchmarks.load("formcraft", root=tmp_path).documents["meta"][0])
    assert meta["pages"] == ["images/secret.png"]


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("a + b", 10),
        ("-a * (b - 1)", -18),
        ("a / b", Fraction(3, 2)),
        ("0.1 + 0.2", Fraction(3, 10)),
    ],
)
def test_formulas_are_worked_out_in_exact_fractions(formula, value):
    assert value_of(formula, {"a": Fraction(6), "b": Fraction(4)}) == value


@pytest.mark.parametrize(
    "formula",
    ["", "a +", "c + 1", "a / (b - 4)", "a ** 9999999", "__import__('os')", "a.real",
     "(lambda: 1)()", "True + 1", "'a' * 9", "a if b else 1", "\0", "(" * 150],
)  # fmt: skip
def test_anything_else_is_no_formula_and_runs_nothing(formula):
    with pytest.raises(NoFormulaError):
        value_of(formula, {"a": Fraction(6), "b": Fraction(4)})
