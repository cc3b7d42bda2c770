import json
import shutil

import pytest

from formlab import benchmarks, resources

KIE = "key information extraction en"
# Self-made rows in the published layout, about a page of the sample.
ROWS = [
    {"image_path": "EN_part/kie/invoice.png", "question": "Find the keys.", "dataset_name": "SROIE",
     "type": KIE, "id": 1, "answers": [
         "{'company': [\"BERG & CO'S\"], 'a/b': ['LOT 1, \"X\"', 'LOT 1'], 'none': []}"]},
    {"image_path": "EN_part/kie/invoice.png", "question": "What is due?", "dataset_name": "SROIE",
     "type": "reasoning VQA en", "id": 2, "answers": ["9.00", "RM 9.00"]},
    {"image_path": "EN_part/kie/invoice.png", "question": "Where?", "dataset_name": "SROIE",
     "type": "text grounding en", "id": 3, "answers": [1, 2, 30, 40]},
    {"image_path": "EN_part/page/other.png", "question": "Read it all.", "dataset_name": "FUNSD",
     "type": "full-page OCR en", "id": 4, "answers": ["All of it"]},
    {"image_path": "../secret.png", "question": "Keys?", "dataset_name": "FUNSD", "type": KIE,
     "id": 5, "answers": ["no keys"]},
]  # fmt: skip


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "ocrbench"
    folder = root / "EN_part" / "kie"
    folder.mkdir(parents=True)
    images = resources.folder("data/sample/funsd/testing_data/images")
    shutil.copy(sorted(images.glob("*.png"))[0], folder / "invoice.png")
    shutil.copy(folder / "invoice.png", tmp_path / "secret.png")
    (root / "OCRBench_v2.json").write_text(json.dumps(ROWS))
    return root


def test_keys_questions_and_pages_become_records(root):
    corpus = benchmarks.load("ocrbench_v2", root=root)
    rows = corpus.records.select("doc_id", "task", "path", "value", "accepted", "status").rows()
    assert rows == [
        ("invoice", "text", "/company", "BERG & CO'S", None, "ok"),
        ("invoice", "text", "/a~1b", 'LOT 1, "X"', ["LOT 1"], "ok"),
        ("invoice", "text", "/none", None, None, "unscored"),
        ("invoice", "vqa", "/vqa/2", "9.00", ["RM 9.00"], "ok"),
        ("invoice", "vqa", "/vqa/3", "1", ["2", "30", "40"], "unscored"),
        ("other", "text", None, "All of it", None, "ok"),
        ("secret", "vqa", "/vqa/5", "no keys", None, "ok"),
    ]
    assert corpus.flaws == {
        "answers that are places, tables or formulas: not scored": 1,
        "entries whose keys cannot be read": 1,
        # The third image is there, outside of the folder, and is not opened.
        "images missing": 2,
    }
    assert corpus.documents["image"].to_list() == ["EN_part/kie/invoice.png", None, None]
