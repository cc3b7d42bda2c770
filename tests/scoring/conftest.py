import json

import pytest

from formlab import analysis, benchmarks
from formlab.readers import read_predictions
from formlab.tables import only

# The pages of the two forms, and the fields of the first.
PAGE = {"doc_id": "a", "text": "name: ADA  berg"}
FIELDS = [
    {"doc_id": "a", "path": "/entities/0", "value": "Name:"},
    {"doc_id": "a", "path": "/entities/1", "value": "Ada Borg"},
    {"doc_id": "a", "path": "/entities/2", "value": ""},
]


def value(evaluation, metric, **where):
    return only(evaluation.scores, metric=metric, **where)["value"].item()


@pytest.fixture
def corpus(funsd_root):
    return benchmarks.load("funsd", root=funsd_root, split="test")


@pytest.fixture
def evaluate(corpus, tmp_path):
    def scored(*rows):
        file = tmp_path / "m.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return analysis.evaluate(corpus, read_predictions(file, corpus))

    return scored
