"""Labels that systems contradict, on FUNSD's two tiny forms."""

import dataclasses

import polars as pl

import formlab_review as review

from ..made_readings import read_as

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


def test_a_share_asks_for_a_majority(read_as):
    ones = [read_as("x", a1="Borg"), read_as("y", a1="Borg", b0="?"), read_as("z")]
    assert review.proposals(ones, share=0.5)["path"].to_list() == ["/entities/1"]


def test_proposals_agree_with_a_count_by_hand_over_all_cases(read_as):
    ones = [read_as("x", a1="Borg", b0="T"), read_as("y", a1="borg", b0="t", a0="N")]
    votes = {}
    for evaluation in ones:
        for case in evaluation.cases.to_dicts():
            if case["path"] and case["gold"] is not None and case["outcome"] == "mismatch":
                key = case["doc_id"], case["path"], case["pred"].lower()
                votes.setdefault(key, set()).add(evaluation.system)
    labels = review.proposals(ones).to_dicts()
    assert {(p["doc_id"], p["path"], p["pred"].lower()): p["n_agree"] for p in labels} == {
        key: len(systems) for key, systems in votes.items()
    }


def test_proposals_are_counted_and_shown_short(read_as):
    proposed = review.proposals([read_as("x", a1="Ada Borg")])
    assert review.by_majority(proposed).height == 1
    caption, _ = review.proposals_table(proposed)
    assert "n = 1: 1 by a majority" in caption.text
    _, table = review.proposals_table(proposed.with_columns(pred=pl.lit("x" * 500)))
    assert table.frame["agree"].to_list() == ["1 of 1"]
    assert len(table.frame["read as"].item()) == 81
    assert review.proposals_table(proposed.clear())[1].label == "Note"


def test_cards_show_how_far_a_review_has_got(read_as):
    progress = pl.DataFrame({"task": ["text", "vqa"], "accept": [2, 0], "open": [1, 4]})
    progress = progress.with_columns(
        edit=0, reject=1, items=pl.sum_horizontal("accept", "open") + 1
    )
    proposed = review.proposals([read_as("x", a1="Ada Borg")])
    cards = review.review_cards(progress, proposed, reviewer="ada")
    assert cards.finding.endswith(" with the same value; 4 of 9 items are decided by ada.")
    # A decision that nobody took has no card.
    assert [card.value for card in cards.cards] == [4, 1, 2, 2]
