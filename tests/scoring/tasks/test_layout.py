from formlab.tables import only

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
