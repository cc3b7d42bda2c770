import json

import pytest

from formlab import tables
from formlab.folders import Corpus
from formlab.scoring.tasks import documents as module
from formlab.tables import only

from .conftest import predictions, scored_by

GOLD = {"a": 1, "items": [{"b": "x"}, {"b": "y"}]}


@pytest.fixture
def scored():
    def score(*answers):
        base, value = {"benchmark": "sroie", "split": "test"}, {"task": "value", "path": "/"}
        documents = [base | {"doc_id": doc_id} for doc_id in ("1", "2")]
        gold = {"role": "gold", "status": "ok", "value": json.dumps(GOLD)} | value
        gold = tables.table("records", [row | gold for row in documents])
        rows = [
            base | value | {"doc_id": doc, "value": text, "status": status}
            for doc, text, status in answers
        ]
        corpus = Corpus(tables.table("documents", documents), gold, **base)
        result = scored_by(module, corpus, predictions(*rows))
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


# Form `a` of the fixture: the question "Name:" (entity 0) linked to its answer (entity 1), and an
# answer without text (entity 2) that no question claims; `b` has one entity of another kind.
LINK = {"doc_id": "a", "path": "/links/0/1", "kind": "link", "task": "layout", "value": "0 1"}
ENTITIES = [
    {"doc_id": "a", "path": "/entities/0", "kind": "question", "value": "Name:"},
    {"doc_id": "a", "path": "/entities/1", "kind": "answer", "value": "Ada Berg"},
    {"doc_id": "a", "path": "/entities/2", "kind": "answer", "value": ""},
]


def rows(evaluation, metric):
    return {r["doc_id"]: r for r in only(evaluation.scores, metric=metric).to_dicts()}


def test_the_same_tree_has_distance_zero_and_a_missing_form_the_whole_tree(evaluate):
    result = evaluate(LINK, *ENTITIES)
    distance, similarity = rows(result, "tree_edit_distance"), rows(result, "tree_similarity")
    assert distance["a"]["value"] == 0
    assert similarity["a"]["value"] == 1
    # The one entity of `b` stands at depth 1 below the form: to insert it costs 1 / (1 + 1).
    assert (distance["b"]["value"], distance["b"]["status"]) == (0.5, "missing")
    assert similarity["b"]["value"] == 0


def test_predictions_without_groups_or_links_are_not_scored_and_counted(evaluate):
    result = evaluate(*ENTITIES)
    assert "tree_edit_distance" not in result.scores["metric"]
    assert result.notes["trees not compared: the predictions give no groups or links"] == 2


def test_unusable_answers_count_as_empty_forms_with_their_status(evaluate):
    result = evaluate({"doc_id": "a", "status": "refused", "text": "no"})
    found = [(r["status"], r["value"]) for r in rows(result, "tree_similarity").values()]
    assert sorted(found) == [("missing", 0), ("refused", 0)]
