"""The edits one by one: they add up to the distance, and turn gold into the prediction."""

import math
import random
from collections import Counter

import pytest

from formlab.metrics.tree import OPS, edit_script, tree_edit_distance
from formlab.trees import Node, flatten, from_records

from .test_tree import random_tree


def random_pairs(count, seed):
    """Pairs of trees whose nodes have paths that tell them apart."""
    rng = random.Random(seed)
    for _ in range(count):
        pair = tuple(
            random_tree(rng, rng.randint(1, 40), labels="abcd", reach=rng.choice([None, 1, 3, 9]))
            for _ in "ab"
        )
        for tree in pair:
            for number, node in enumerate(flatten(tree).nodes):
                node.path = f"/{number}"
        yield pair


def form(*groups):
    """A form of groups, each a label and the labels of its fields."""
    rows = []
    for group, fields in groups:
        rows.append({"path": f"/{group}", "kind": "group", "value": group})
        rows += [{"path": f"/{group}/{field}"} for field in fields]
    return from_records(rows)


def told(gold, pred, **options):
    return [(e.op, e.label, round(e.cost, 3)) for e in edit_script(gold, pred, **options)]


def test_each_kind_of_edit_by_hand():
    gold = form(("A", ["x", "y", "z"]), ("B", ["n"]), ("C", ["v"]))
    pred = form(("A", ["y", "x", "z"]), ("B", []), ("D", ["n", "v", "w"]))
    # Groups are at depth 1, fields at 2. C and D: renamed, 1 / (1 + 1). y: out of its place and
    # back before x, 1/3 + 1/3; n the same, to another group. w: inserted, 1/3.
    assert told(gold, pred) == [
        ("kept", "form", 0), ("kept", "A", 0), ("kept", "x", 0), ("reordered", "y", 0.667),
        ("kept", "z", 0), ("kept", "B", 0), ("moved", "n", 0.667), ("renamed", "C", 0.5),
        ("kept", "v", 0), ("inserted", "w", 0.333),
    ]  # fmt: skip
    assert told(form(("A", [])), form()) == [("kept", "form", 0), ("deleted", "A", 0.5)]


def test_edits_say_where_they_are_on_both_sides():
    renamed, inserted = edit_script(form(("A", [])), form(("B", ["n"])))[1:]
    assert (renamed.gold_path, renamed.pred_path) == ("/A", "/B")
    assert (renamed.label, renamed.pred_label, renamed.depth) == ("A", "B", 1)
    assert (inserted.gold_path, inserted.pred_path, inserted.depth) == (None, "/B/n", 2)


def test_a_field_with_another_value_has_not_moved():
    gold = Node("f", children=[Node("A", children=[Node("n", "1")]), Node("B")])
    pred = Node("f", children=[Node("A"), Node("B", children=[Node("n", "2")])])
    assert [edit.op for edit in edit_script(gold, pred)] == [
        "kept", "kept", "deleted", "kept", "inserted",
    ]  # fmt: skip


def test_what_moves_inside_a_moved_group_has_another_parent():
    gold = form(("A", ["p", "q"]), ("B", ["r", "s", "t"]))
    pred = form(("B", ["r", "s", "t"]), ("A", ["p", "q"]))
    # B and its three fields cost more to move than A and its two: A goes, 3 nodes twice.
    assert [(op, label) for op, label, _ in told(gold, pred) if op != "kept"] == [
        ("reordered", "A"), ("moved", "p"), ("moved", "q"),
    ]  # fmt: skip


@pytest.mark.parametrize("costs", ["depth", "unit"])
def test_costs_add_up_to_the_distance(costs):
    for gold, pred in random_pairs(300, seed=0):
        total = math.fsum(edit.cost for edit in edit_script(gold, pred, costs=costs))
        distance = tree_edit_distance(gold, pred, costs=costs)
        assert total == pytest.approx(distance, abs=1e-9)


def test_every_node_of_both_trees_is_in_one_edit():
    for gold, pred in random_pairs(300, seed=1):
        edits = edit_script(gold, pred)
        assert edit_script(gold, pred) == edits
        for tree, side in ((gold, "gold_path"), (pred, "pred_path")):
            paths = Counter(getattr(edit, side) for edit in edits)
            del paths[None]
            assert paths == Counter(node.path for node in flatten(tree).nodes)
        ops = Counter(edit.op for edit in edits)
        assert set(ops) <= set(OPS)
        for edit in edits:
            assert (edit.gold_path is None) == (edit.op == "inserted")
            assert (edit.pred_path is None) == (edit.op == "deleted")
            assert (edit.cost == 0) == (edit.op == "kept")
            if edit.op in ("kept", "moved", "reordered"):
                assert edit.label == edit.pred_label


def is_above(flat, above, below):
    return above < below < above + flat.size[above]


def test_paired_nodes_keep_their_order_and_their_ancestors():
    for gold, pred in random_pairs(150, seed=2):
        ours, theirs = flatten(gold), flatten(pred)
        here = {node.path: place for place, node in enumerate(ours.nodes)}
        there = {node.path: place for place, node in enumerate(theirs.nodes)}
        pairs = [
            (here[edit.gold_path], there[edit.pred_path])
            for edit in edit_script(gold, pred)
            if edit.op in ("kept", "renamed")
        ]
        for a, b in pairs:
            for c, d in pairs:
                assert (a < c) == (b < d)
                assert is_above(ours, a, c) == is_above(theirs, b, d)


def test_kept_and_inserted_nodes_come_in_the_order_of_the_prediction():
    for gold, pred in random_pairs(150, seed=3):
        edits = edit_script(gold, pred)
        places = {node.path: place for place, node in enumerate(flatten(pred).nodes)}
        order = [places[e.pred_path] for e in edits if e.op in ("kept", "renamed", "inserted")]
        assert order == sorted(order)
        gold_places = {node.path: place for place, node in enumerate(flatten(gold).nodes)}
        order = [gold_places[e.gold_path] for e in edits if e.op != "inserted"]
        assert order == sorted(order)


def test_no_deleted_node_is_left_beside_an_inserted_one_of_its_label_and_value():
    for gold, pred in random_pairs(150, seed=4):
        edits = edit_script(gold, pred)
        gone, come = (
            {edit.label for edit in edits if edit.op == op} for op in ("deleted", "inserted")
        )
        assert not gone & come


def test_missing_trees_are_all_deleted_or_all_inserted():
    tree = form(("A", ["n"]))
    assert told(tree, None) == [
        ("deleted", "form", 1), ("deleted", "A", 0.5), ("deleted", "n", 0.333),
    ]  # fmt: skip
    assert {edit.op for edit in edit_script(None, tree)} == {"inserted"}
    assert edit_script(None, None) == []


def test_hostile_labels_stay_as_they_are():
    odd = ["\x00", "\ud800", "<script>", "\x1b[2J", "a\u2028b", "日本語"]
    gold = Node("form", children=[Node(label, path=f"/{label}") for label in odd])
    assert [edit.label for edit in edit_script(gold, None)][1:] == odd
