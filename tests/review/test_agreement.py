import pytest

import formlab_review as review
from formlab import tables

KEY = {"benchmark": "b", "split": "s", "task": "text", "decision": "accept", "label": "x"}


def decided(reviewer, words, **more):
    return [
        KEY | {"doc_id": str(at // 2), "path": f"/{at}", "reviewer": reviewer, "decision": word}
        | more
        for at, word in enumerate(words)
    ]  # fmt: skip


def test_kappa_of_two_reviewers_by_hand_and_by_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    ada = ["accept", "accept", "edit", "reject", "accept", "edit"]
    ben = ["accept", "edit", "edit", "reject", "accept", "accept"]
    table = tables.table("decisions", [*decided("ada", ada), *decided("ben", ben)])
    (row,) = review.reviewer_agreement(table, resamples=200).to_dicts()
    # 4 of 6 alike; by chance (3·3 + 2·2 + 1·1) / 36 = 14/36: (24 - 14) / (36 - 14).
    assert row["kappa"] == pytest.approx(10 / 22)
    assert row["kappa"] == pytest.approx(metrics.cohen_kappa_score(ada, ben))
    assert (row["about"], row["raters"], row["n_items"], row["n_same"]) == (
        "review", "ada × ben", 6, 4,
    )  # fmt: skip
    assert row["ci_low"] <= row["kappa"] <= row["ci_high"]


def test_disagreements_are_in_the_decision_or_in_the_value_given():
    rows = [
        *decided("ada", ["accept", "edit", "edit", "reject"], value="1"),
        *decided("ben", ["accept", "edit", "reject"], value="1"),
    ]
    rows[5]["value"] = "2"
    differing = review.disagreements(tables.table("decisions", rows))
    assert differing.select("path", "ada", "ben").rows() == [
        ("/1", "edit: 1", "edit: 2"), ("/2", "edit: 1", "reject: 1"),
    ]  # fmt: skip
    assert differing["label"].to_list() == ["x", "x"]
