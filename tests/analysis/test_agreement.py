import numpy as np
import polars as pl
import pytest

import formlab
from formlab import analysis
from formlab.errors import DataBroken
from tests.analysis.made_pairs import from_matrix, made
from tests.analysis.made_rasch import simulated
from tests.made_parts import cut


def evaluations_of(right, names="abcdefgh"):
    return [from_matrix(names[n], right[:, :, n]) for n in range(right.shape[-1])]


def test_tables_hold_what_was_simulated():
    right, _ = simulated(3, documents=20, fields=6)
    evaluations = evaluations_of(right)
    items = analysis.item_difficulty(evaluations)
    assert items.height == 120
    assert items["n_right"].to_list() == right.reshape(-1, 4).sum(axis=1).astype(int).tolist()
    separates = (items["n_right"] > 0) & (items["n_right"] < 4)
    assert items["separates"].equals(separates, check_names=False)
    table = analysis.abilities(evaluations)
    assert table["system"].to_list() == ["d", "c", "b", "a"]
    assert table["share"].to_list() == pytest.approx(right.mean(axis=(0, 1))[::-1].tolist())
    assert (table["ci_low"] < table["ability"]).all()
    parts = [cut(each, 3) for each in evaluations]
    assert analysis.item_difficulty(parts).equals(items)
    assert analysis.abilities(parts).equals(table)
    assert analysis.shared_failures(parts).equals(analysis.shared_failures(evaluations))


def test_groups_of_fields_by_hand():
    # Documents of two fields; three systems.
    right = np.array([[[0, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 1]], [[0, 1, 0], [1, 1, 1]]])
    rows = analysis.shared_failures(evaluations_of(right)).rows_by_key(
        "group", named=True, unique=True
    )
    assert {name: row["n_items"] for name, row in rows.items() if row["n_items"]} == {
        "none right": 2, "only c wrong": 1, "only b right": 1, "all right": 2,
    }  # fmt: skip
    none = rows["none right"]
    # The systems are right on 3, 4 and 2 of 6.
    assert none["expected"] == pytest.approx(3 / 6 * 2 / 6 * 4 / 6)
    assert none["excess"] == pytest.approx(2 / 6 - none["expected"])
    assert none["n_docs"] == 2
    assert none["ci_low"] <= 2 / 6 <= none["ci_high"]
    assert sum(row["expected"] for row in rows.values()) == pytest.approx(1.0)
    two = analysis.shared_failures(evaluations_of(right[:, :, :2]))
    assert two["group"].to_list() == ["none right", "only a wrong", "only b wrong", "all right"]


def test_independent_failures_leave_no_excess_and_shared_ones_do():
    holds = 0
    for seed in range(20):
        drawn = np.random.default_rng(seed)
        right = (drawn.random((30, 10, 3)) < [0.5, 0.7, 0.8]).astype(float)
        row = analysis.shared_failures(evaluations_of(right), resamples=200).row(0, named=True)
        holds += row["excess_low"] <= 0 <= row["excess_high"]
        if seed < 3:
            right[:, :2] = 0
            row = analysis.shared_failures(evaluations_of(right), resamples=200).row(0, named=True)
            assert row["excess_low"] > 0
    # At 95 %, 3 misses of 20 or more have a chance of 8 %.
    assert holds >= 17


def test_the_planted_hard_kind_and_form_are_the_hardest():
    rows = {
        system: [
            (f"{doc:02}", f"/{n}", int(draw[doc, n] < odds - 0.5 * (n == 0) - 0.6 * (doc == 7)),
             {"kind": "date" if n == 0 else "word"})
            for doc in range(20) for n in range(8)
        ]
        for (system, odds), draw in zip(
            [("a", 0.8), ("b", 0.9), ("c", 0.95)], np.random.default_rng(0).random((3, 20, 8)),
            strict=True,
        )
    }  # fmt: skip
    items = analysis.item_difficulty([made(system, own) for system, own in rows.items()])
    kinds = analysis.hardest(items, "kind")
    assert kinds["kind"].to_list() == ["date", "word"]
    assert kinds["ci_low"][0] > kinds["ci_high"][1]
    forms = analysis.hardest(items)
    assert forms["doc_id"][0] == "07"
    assert forms["ci_low"].is_nan().all()
    assert forms.select("n_items", "n_docs").row(0) == (8, 1)


def test_edges():
    gold = {"a": {"x": "1", "y": "2"}, "b": {"x": "3", "y": "4"}}
    whole = formlab.evaluate(gold, gold)
    half = formlab.evaluate(gold, {"a": {"x": "1", "y": "9"}, "b": {"x": "3", "y": "9"}})
    table = analysis.abilities([whole, half])
    assert table["ability"].is_nan().all()
    assert table["share"].to_list() == [1.0, 0.5]
    assert analysis.item_difficulty([whole, half])["difficulty"].is_nan().all()
    assert analysis.hardest(analysis.item_difficulty([whole, half]).clear()).height == 0
    with pytest.raises(DataBroken, match="two evaluations"):
        analysis.abilities([whole])
    with pytest.raises(DataBroken, match="gold"):
        analysis.abilities([whole, formlab.evaluate({"a": {"x": "7"}, "b": {"x": "3"}}, gold)])
    # Both agree on everything: the spread has no end, and no field separates them.
    same = analysis.item_difficulty([half, half])
    assert same["separates"].any() is False
    assert same.filter(pl.col("path") == "/x")["difficulty"].max() < 0
