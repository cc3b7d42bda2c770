"""Tree edit distance by hand and beside zss; its edits add up to it and use every node once."""

import itertools
import math
import random
from collections import Counter

import pytest
import zss

from formlab.errors import DataBroken
from formlab.metrics import METRICS, tree
from formlab.metrics.tree import TreePair
from formlab.trees import MAX_LEVELS, Flat, Node, from_records


def grow(text):
    """A tree from brackets: ``"f(a b(c))"``; a label ends at a space or bracket."""
    root = Node("")
    open_nodes = [root]
    for piece in text.replace("(", " ( ").replace(")", " ) ").split():
        if piece == "(":
            open_nodes.append(open_nodes[-1].children[-1])
        elif piece == ")":
            open_nodes.pop()
        else:
            open_nodes[-1].children.append(Node(piece))
    return root.children[0]


def random_tree(rng, size, *, labels="abc", reach=None):
    """Each node below one of the last `reach` nodes, among its children anywhere."""
    nodes = [Node(rng.choice(labels))]
    for _ in range(size - 1):
        node, above = Node(rng.choice(labels)), rng.choice(nodes[-(reach or size) :])
        above.children.insert(rng.randrange(len(above.children) + 1), node)
        nodes.append(node)
    return nodes[0]


def random_pairs(count, seed, most=30):
    """Pairs of trees whose nodes have paths that tell them apart."""
    rng = random.Random(seed)
    for _ in range(count):
        options = {"labels": rng.choice(["a", "abc", "abcdefgh"])}
        options["reach"] = rng.choice([None, 1, 3, 9])
        sizes = [1 + int((most - 1) * rng.random() ** 3) for _ in "ab"]
        pair = tuple(random_tree(rng, size, **options) for size in sizes)
        for root in pair:
            for number, node in enumerate(Flat(root).nodes):
                node.path = f"/{number}"
        yield pair


def by_zss(gold, pred):
    """The distance with zss; `weight` is the cost of an edit by its depth."""
    depths = {}
    for flat in (Flat(gold), Flat(pred)):
        depths |= {id(node): int(d) for node, d in zip(flat.nodes, flat.depth, strict=True)}

    def weight(depth):
        return 1 / (1 + depth)

    def alone(node):
        return weight(depths[id(node)])

    def renamed(a, b):
        return 0 if a.label == b.label else weight((depths[id(a)] + depths[id(b)]) / 2)

    return zss.distance(gold, pred, lambda node: node.children, alone, alone, renamed)


@pytest.mark.parametrize(
    ("gold", "pred", "depth"),
    [
        ("f", "f", 0),
        # one root renamed at depths 0 and 0: 1 / (1 + 0)
        ("f", "g", 1),
        # a deleted at depth 1: 1/2
        ("f(a b)", "f(b)", 1 / 2),
        # c deleted at depth 2: 1/3
        ("f(a(c))", "f(a)", 1 / 3),
        # the group goes, at depth 1: 1/2; n and m are kept though they move up
        ("f(g(n m))", "f(n m)", 1 / 2),
        # a renamed at depths 2 and 2: 1 / (1 + 2)
        ("f(g(a))", "f(g(b))", 1 / 3),
        # h inserted at depth 1, 1/2, and b renamed at depths 1 and 2, 1 / (1 + 1.5) = 2/5
        ("f(a b)", "f(h(a c))", 1 / 2 + 2 / 5),
        # siblings swapped: one goes at depth 1 and comes at depth 1: 1/2 + 1/2; two renamed: 1
        ("f(a b)", "f(b a)", 1),
        # n from one group to the other, at depth 2: 1/3 + 1/3
        ("f(g(n) h)", "f(g h(n))", 2 / 3),
        # Zhang and Shasha's own example: c is deleted at depth 2, 1/3, and inserted at 1, 1/2
        ("f(d(a c(b)) e)", "f(c(d(a b)) e)", 1 / 3 + 1 / 2),
    ],
)
def test_hand_counts(gold, pred, depth):
    assert TreePair(grow(gold), grow(pred)).distance == pytest.approx(depth, abs=1e-12)


def test_distance_equals_zss_and_is_zero_to_itself_symmetric_and_bounded():
    for gold, pred in (*random_pairs(150, seed=0), *random_pairs(8, seed=1, most=80)):
        distance = TreePair(gold, pred).distance
        assert distance == pytest.approx(by_zss(gold, pred), abs=1e-9)
        assert TreePair(pred, gold).distance == pytest.approx(distance, abs=1e-9)
        assert TreePair(gold, gold).distance == 0
        everything = TreePair(gold, None).distance + TreePair(None, pred).distance
        assert 0 <= distance <= everything + 1e-9


def test_missing_tree_costs_all_of_the_other():
    # depths 0, 1, 1, 2: 1 + 1/2 + 1/2 + 1/3
    gold = grow("f(a b(c))")
    for pair in ((gold, None), (None, gold)):
        assert TreePair(*pair).distance == pytest.approx(7 / 3)
    assert TreePair(None, None).distance == 0


def test_similarity_by_hand():
    # Gold weighs 1/2 + 1/2 and the prediction 1/2 without their roots; one b of 1/2 is deleted.
    tally = METRICS["tree_similarity"](grow("f(a b)"), grow("f(a)"))
    assert tally.parts == pytest.approx((1.0, 1.5))
    # The roots differ and count: 1 + 1/2 each; the root is renamed for 1.
    tally = METRICS["tree_similarity"](grow("f(a)"), grow("g(a)"))
    assert tally.parts == pytest.approx((2.0, 3.0))


def test_similarity_of_nothing_to_nothing_is_undefined():
    for pair in ((None, None), (Node("form"), Node("form"))):
        assert math.isnan(METRICS["tree_similarity"](*pair).value)
    assert METRICS["tree_similarity"](Node("form"), None).value == 0


def test_metrics_pool_documents_by_their_sums():
    golds = [grow("f(a b)"), grow("f(a b)")]
    preds = [grow("f(a)"), grow("f")]
    # Distances 1/2 and 1: their mean is 3/4. Similarities 1 of 3/2 and 0 of 1: 1 of 5/2.
    distance, similarity = METRICS["tree_edit_distance"], METRICS["tree_similarity"]
    assert distance.score(distance.tallies(golds, preds).sum(axis=0)) == pytest.approx(0.75)
    assert similarity.score(similarity.tallies(golds, preds).sum(axis=0)) == pytest.approx(0.4)
    assert (distance.direction, similarity.direction) == ("down", "up")


def test_trees_too_large_to_compare_are_refused_at_once(monkeypatch):
    star = Node("f", children=[Node("a") for _ in range(6_000)])
    with pytest.raises(DataBroken, match=r"6,001 and 6,001 nodes are too large"):
        tree.tree_tallies([star], [star])
    monkeypatch.setattr(tree, "MAX_STEPS", 10)
    with pytest.raises(DataBroken, match=r"4 and 4 nodes are too large"):
        tree.tree_tallies([grow("f(a b c)")], [grow("f(a b c)")])


def test_longest_chains_are_compared():
    def chain(label):
        root = node = Node("f")
        for _ in range(MAX_LEVELS - 1):
            node.children.append(Node(label))
            node = node.children[0]
        return root

    # Each level renamed at its own depth: 1/2 + 1/3 + … + 1/2000
    expected = math.fsum(1 / (1 + depth) for depth in range(1, MAX_LEVELS))
    assert TreePair(chain("a"), chain("b")).distance == pytest.approx(expected, abs=1e-9)


def form(*groups):
    """A form of groups, each a label and the labels of its fields."""
    rows = []
    for group, fields in groups:
        rows.append({"path": f"/{group}", "kind": "group", "value": group})
        rows += [{"path": f"/{group}/{field}"} for field in fields]
    return from_records(rows)


def told(gold, pred):
    return [(e.op, e.label, round(e.cost, 3)) for e in TreePair(gold, pred).edits]


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


def is_above(flat, above, below):
    return above < below < above + flat.size[above]


def test_edits_have_every_node_once_cost_the_distance_and_keep_order_and_ancestors():
    for gold, pred in random_pairs(100, seed=2, most=50):
        edits, flats = TreePair(gold, pred).edits, (Flat(gold), Flat(pred))
        assert TreePair(gold, pred).edits == edits
        total = math.fsum(edit.cost for edit in edits)
        assert total == pytest.approx(TreePair(gold, pred).distance, abs=1e-9)
        for flat, side in zip(flats, ("gold_path", "pred_path"), strict=True):
            paths = Counter(getattr(edit, side) for edit in edits)
            del paths[None]
            assert paths == Counter(node.path for node in flat.nodes)
        for edit in edits:
            assert edit.op in ("kept", "renamed", "deleted", "inserted", "moved", "reordered")
            assert (edit.gold_path is None) == (edit.op == "inserted")
            assert (edit.pred_path is None) == (edit.op == "deleted")
            assert (edit.cost == 0) == (edit.op == "kept")
            if edit.op in ("kept", "moved", "reordered"):
                assert edit.label == edit.pred_label
        # A path is the node's place in its tree.
        pairs = [
            (int(edit.gold_path[1:]), int(edit.pred_path[1:]))
            for edit in edits
            if edit.op in ("kept", "renamed")
        ]
        for (a, b), (c, d) in itertools.product(pairs, pairs):
            assert (a < c) == (b < d)
            assert is_above(flats[0], a, c) == is_above(flats[1], b, d)
