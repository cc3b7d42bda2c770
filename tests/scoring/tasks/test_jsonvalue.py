import json

import pytest

from formlab import analysis, tables
from formlab.folders import Corpus, Predictions
from formlab.tables import only

GOLD = {"a": 1, "items": [{"b": "x"}, {"b": "y"}]}


@pytest.fixture
def scored():
    def score(*answers, mode=None):
        base = {"benchmark": "omniai", "split": "test"}
        gold = [
            base | {"doc_id": d, "role": "gold", "task": "value", "path": "/", "status": "ok",
                    "value": json.dumps(GOLD)}
            for d in ("1", "2")
        ]  # fmt: skip
        rows = [
            base | {"role": "prediction", "system": "m", "task": "value", "path": "/"}
            | {"doc_id": doc, "value": text, "status": status}
            for doc, text, status in answers
        ]  # fmt: skip
        corpus = Corpus(
            tables.table("documents", [base | {"doc_id": d} for d in ("1", "2")]),
            tables.table("records", gold), benchmark="omniai", split="test",
        )  # fmt: skip
        given = Predictions(
            tables.table("records", rows), tables.table("responses", []), system="m"
        )
        result = analysis.evaluate(corpus, given, mode=mode)
        rows = only(result.scores, metric="json_accuracy").sort("doc_id")
        return rows.select("hits", "total", "status").rows()

    return score


def test_changed_leaf_costs_its_share_and_a_missing_document_all(scored):
    # The truth has three leaves; one of them differs.
    changed = json.dumps(GOLD | {"a": 2})
    assert scored(("1", changed, "ok")) == [(2, 3, "ok"), (0, 3, "missing")]


def test_order_of_a_list_does_not_matter(scored):
    turned = json.dumps({"a": 1, "items": [{"b": "y"}, {"b": "x"}]})
    assert scored(("1", turned, "ok"))[0] == (3, 3, "ok")


@pytest.mark.parametrize("text", ["{", "[" * 100_000, None])
def test_answer_that_is_no_json_has_lost_every_leaf(scored, text):
    assert scored(("1", text, "ok"))[0][:2] == (0, 3)


def test_refused_answer_counts_as_nothing_found(scored):
    assert scored(("1", json.dumps(GOLD), "refused"))[0] == (0, 3, "refused")
