import json

import pytest

from formlab import analysis, benchmarks
from formlab.readers import read_predictions
from tests.conftest import entity
from tests.scoring.conftest import corpus, evaluate

__all__ = ["corpus", "evaluate"]


@pytest.fixture
def readers_of_pages(tmp_path):
    """Six forms of one field; `wide` draws its word so wide that the rule ``cut`` cuts it."""
    folder = tmp_path / "funsd" / "testing_data" / "annotations"
    folder.mkdir(parents=True)
    for n in range(6):
        form = {"form": [entity(0, "Total", [100, 10, 150, 30])]}
        (folder / f"{n}.json").write_text(json.dumps(form))
    corpus = benchmarks.load("funsd", root=tmp_path / "funsd", split="test")

    def scored(name, text, box):
        word = {"task": "layout", "kind": "word", "path": "/ocr/words/0", "page": 1, "value": text}
        word |= dict(zip(("x0", "y0", "x1", "y1"), box, strict=True))
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(json.dumps({"doc_id": str(n)} | word) + "\n" for n in range(6)))
        return analysis.evaluate(corpus, read_predictions(file, corpus))

    box = [100, 10, 150, 30]
    wide = scored("wide", "Total", [60, 10, 190, 30])
    return wide, scored("exact", "Total", box), scored("off", "T0tal", box)
