"""Evaluations of made-up systems on FUNSD's two tiny forms."""

import json

import pytest

from formlab import analysis, benchmarks
from formlab.readers import read_predictions

# What the two forms say: a has Name:, Ada Berg and a blank; b has Total 9.00.
GOLD = {("a", 0): "Name:", ("a", 1): "Ada Berg", ("a", 2): "", ("b", 0): "Total 9.00"}


@pytest.fixture
def read_as(funsd_root, tmp_path):
    """An evaluation of a system that reads as given, and all else right."""
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")

    def scored(system, **wrong):
        rows = [
            {"doc_id": doc, "path": f"/entities/{n}", "value": wrong.get(f"{doc}{n}", value)}
            for (doc, n), value in GOLD.items()
        ]
        file = tmp_path / f"{system}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return analysis.evaluate(corpus, read_predictions(file, corpus))

    return scored
