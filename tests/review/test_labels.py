import dataclasses

import polars as pl
import pytest

import formlab_review as review
from formlab import tables

from ..made_readings import read_as

KEY = {"benchmark": "b", "split": "s", "task": "text", "decision": "accept", "label": "x"}


def decided(reviewer, words, **more):
    return [
        KEY | {"doc_id": str(at // 2), "path": f"/{at}", "reviewer": reviewer, "decision": word}
        | more
        for at, word in enumerate(words)
    ]  # fmt: skip


def test_kappa_of_two_reviewers_by_hand():
    ada = ["accept", "accept", "edit", "reject", "accept", "edit"]
    ben = ["accept", "edit", "edit", "reject", "accept", "accept"]
    table = tables.table("decisions", [*decided("ada", ada), *decided("ben", ben)])
    (row,) = review.reviewer_agreement(table, resamples=50).to_dicts()
    # 4 of 6 alike; by chance (3·3 + 2·2 + 1·1) / 36 = 14/36: (24 - 14) / (36 - 14).
    assert (row["kappa"], row["n_items"], row["n_same"]) == (pytest.approx(10 / 22), 6, 4)


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


__all__ = ["read_as"]


def test_labels_that_most_systems_contradict_alike_come_first(read_as):
    labels = review.proposals(
        [
            read_as("x", a1="Ada Borg", b0="Total 8.00", a0="NAME:"),
            read_as("y", a1="ada  borg", b0="Total 7.00", a2="smudge"),
            read_as("z", a1="Ada Bug", b0=""),
        ]
    )
    # Ada Borg by x and y (case and space aside) of three; then one of three each, in the order
    # of documents: the blank read as a smudge by y, b0 by x. NAME: differs in form alone.
    assert labels.select("doc_id", "path", "n_agree", "n_systems").rows() == [
        ("a", "/entities/1", 2, 3), ("a", "/entities/2", 1, 3), ("b", "/entities/0", 1, 3),
    ]  # fmt: skip
    assert labels["systems"][0].to_list() == ["x", "y"]
    assert labels["pred"].to_list() == ["Ada Borg", "smudge", "Total 8.00"]


def test_an_answer_that_depends_on_the_reading_rule_says_nothing_against_a_label(read_as):
    evaluation, other = read_as("x", a1="Borg"), read_as("y", a1="Borg")
    ruled = evaluation.cases.with_columns(
        cause=pl.when(pl.col("path") == "/entities/1", pl.col("doc_id") == "a")
        .then(pl.lit("reader"))
        .otherwise("cause")
    )
    (row,) = review.proposals([dataclasses.replace(evaluation, cases=ruled), other]).to_dicts()
    assert (row["systems"], row["n_agree"], row["n_systems"]) == (["y"], 1, 2)
