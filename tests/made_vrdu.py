"""A tiny data set in VRDU's layout, for the tests that need one."""

import gzip
import json
from pathlib import Path

SPLIT = "Made-lv3-unk_Short-Form-train_10-test_2-valid_1-SD_4"
META = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
BOX = [0, 0.1, 0.2, 0.5, 0.4]


def one(text, box=BOX):
    return [text, box, [[0, len(text)]]]


def make(folder):
    """A data set of three documents, two of them in the split's test set."""
    (folder / "main" / "pdfs").mkdir(parents=True)
    (folder / "few_shot-splits").mkdir()
    (folder / "main" / "meta.json").write_text(json.dumps(META))
    put(folder, [])
    split = {"train": ["c.pdf"], "valid": [], "test": ["b.pdf", "a.pdf"]}
    (folder / "few_shot-splits" / f"{SPLIT}.json").write_text(json.dumps(split))
    return folder


def put(root, annotations, *, packed=False, **more):
    ocr = {"text": "…", "pages": [{"width": 1000, "height": 2000}]}
    lines = [
        {"filename": name, "file_path": f"pdfs/{name}", "ocr": ocr, "annotations": found}
        for name, found in {"a.pdf": annotations, "b.pdf": [], "c.pdf": []}.items()
    ]  # fmt: skip
    lines[0] |= more
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    file = root / "main" / ("dataset.jsonl.gz" if packed else "dataset.jsonl")
    file.write_bytes(gzip.compress(data) if packed else data)
    return file
