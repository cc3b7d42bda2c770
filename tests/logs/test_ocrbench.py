import json

import pytest

from formlab import logs
from formlab.errors import DataBroken
from formlab.logs import ocrbench

KIE = "key information extraction en"
SAMPLES = [
    {"dataset_name": "d", "type": "text VQA", "id": 7, "image_path": "a.png", "question": "Total?",
     "answers": ["9.00", "9"], "predict": "9", "score": 1},
    {"dataset_name": "d", "type": KIE, "id": 8, "image_path": "b.png", "question": "Fields?",
     "answers": [{"company": ["Ada Foods"], "total": ["9.00"]}],
     "predict": '```json\n{"company": "Ada Foods", "total": "8.00"}\n```', "score": 0.5},
    {"dataset_name": "d", "type": KIE, "id": 9, "image_path": "c.png", "question": "Fields?",
     "answers": ["{'company': 'Bo'}"], "predict": None},
]  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(SAMPLES))
    return path


def test_every_answer_is_accepted(file):
    assert ocrbench.detect(file)
    evaluation = logs.open_log(file)
    case = evaluation.fields.filter(doc_id="7").row(0, named=True)
    assert (case["outcome"], case["accepted"], case["type"]) == ("match", ["9.00", "9"], "text VQA")


def test_object_is_read_by_its_fields_also_out_of_a_code_fence(file):
    evaluation = logs.open_log(file)
    cases = evaluation.fields.filter(doc_id="8").select("path", "gold", "pred", "status", "outcome")
    assert cases.rows() == [
        ("/company", "Ada Foods", "Ada Foods", "repaired", "match"),
        ("/total", "9.00", "8.00", "repaired", "mismatch"),
    ]
    # An object written as a Python text is one too; it was not answered.
    assert evaluation.fields.filter(doc_id="9").select("gold", "status").rows() == [
        ("Bo", "missing")
    ]


def test_file_that_was_scored_in_part_has_figures_by_type(file):
    (run,) = logs.read(file)
    assert [(f["metric"], f["value"], f["n"]) for f in run.headline] == [
        (f"mean of {KIE}", 0.5, 1), ("mean of text VQA", 1.0, 1),
    ]  # fmt: skip
    assert run.notes[ocrbench.UNSCORED] == 1


def test_what_is_no_list_of_samples_is_an_error(file):
    file.write_text(json.dumps([SAMPLES[0], 5]))
    with pytest.raises(DataBroken, match="a list of objects"):
        logs.read(file)
