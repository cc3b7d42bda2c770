import json

import pytest

from formlab import analysis, benchmarks
from formlab.formats import read_predictions


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
