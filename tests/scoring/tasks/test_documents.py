import json

import pytest

from formlab import analysis, tables
from formlab.folders import Corpus
from formlab.tables import only

from .conftest import predictions

GOLD = {"a": 1, "items": [{"b": "x"}, {"b": "y"}]}


@pytest.fixture
def scored():
    def score(*answers):
        base = {"benchmark": "omniai", "split": "test"}
        gold = [
            base | {"doc_id": d, "role": "gold", "task": "value", "path": "/", "status": "ok",
                    "value": json.dumps(GOLD)}
            for d in ("1", "2")
        ]  # fmt: skip
        documents = tables.table("documents", [base | {"doc_id": d} for d in ("1", "2")])
        base |= {"task": "value", "path": "/"}
        rows = [
            base | {"doc_id": doc, "value": text, "status": status} for doc, text, status in answers
        ]
        records = tables.table("records", gold)
        corpus = Corpus(documents, records, benchmark="omniai", split="test")
        result = analysis.evaluate(corpus, predictions(*rows))
        rows = only(result.scores, metric="json_accuracy").sort("doc_id")
        return rows.select("hits", "total", "status").rows()

    return score


@pytest.mark.parametrize(
    ("text", "status", "right"),
    [
        # The truth has three leaves; one of them differs.
        (json.dumps(GOLD | {"a": 2}), "ok", 2),
        # The order of a list does not matter.
        (json.dumps({"a": 1, "items": [{"b": "y"}, {"b": "x"}]}), "ok", 3),
        ("{", "ok", 0), ("[" * 100_000, "ok", 0), (None, "ok", 0),
        (json.dumps(GOLD), "refused", 0),
    ],
)  # fmt: skip
def test_leaves_that_survive_and_a_missing_document_loses_all(scored, text, status, right):
    assert scored(("1", text, status)) == [(right, 3, status), (0, 3, "missing")]
