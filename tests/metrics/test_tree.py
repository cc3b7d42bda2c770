"""Tree edit distance: by hand, beside zss, and what must hold of any two trees."""

import math
import random

import numpy as np
import pytest
import zss

from formlab.errors import DataBroken, UnknownName
from formlab.metrics import tree
from formlab.metrics.tree import METRICS, tree_edit_distance, tree_edit_tallies, tree_similarity
from formlab.trees import MAX_LEVELS, Node, flatten

WEIGHTS = [("depth", lambda depth: 1 / (1 + depth)), ("unit", lambda _: 1.0)]


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


def random_pair(rng, most=30):
    sizes = [1 + int((most - 1) * rng.random() ** 3) for _ in "ab"]
    options = {"labels": rng.choice(["a", "abc", "abcdefgh"]), "reach": rng.choice([None, 1, 3, 9])}
    return tuple(random_tree(rng, size, **options) for size in sizes)


def by_zss(gold, pred, weight):
    """The distance with zss; `weight` is the cost of an edit by its depth."""
    depths = {}
    for flat in (flatten(gold), flatten(pred)):
        depths |= {id(node): int(d) for node, d in zip(flat.nodes, flat.depth, strict=True)}

    def alone(node):
        return weight(depths[id(node)])

    def renamed(a, b):
        return 0 if a.label == b.label else weight((depths[id(a)] + depths[id(b)]) / 2)

    return zss.distance(gold, pred, lambda node: node.children, alone, alone, renamed)


@pytest.mark.parametrize(
    ("gold", "pred", "depth", "unit"),
    [
        ("f", "f", 0, 0),
        # one root renamed at depths 0 and 0: 1 / (1 + 0)
        ("f", "g", 1, 1),
        # a deleted at depth 1: 1/2
        ("f(a b)", "f(b)", 1 / 2, 1),
        # c deleted at depth 2: 1/3
        ("f(a(c))", "f(a)", 1 / 3, 1),
        # the group goes, at depth 1: 1/2; n and m are kept though they move up
        ("f(g(n m))", "f(n m)", 1 / 2, 1),
        # a renamed at depths 2 and 2: 1 / (1 + 2)
        ("f(g(a))", "f(g(b))", 1 / 3, 1),
        # h inserted at depth 1, 1/2, and b renamed at depths 1 and 2, 1 / (1 + 1.5) = 2/5
        ("f(a b)", "f(h(a c))", 1 / 2 + 2 / 5, 2),
        # siblings swapped: one goes at depth 1 and comes at depth 1: 1/2 + 1/2; two renamed: 1
        ("f(a b)", "f(b a)", 1, 2),
        # n from one group to the other, at depth 2: 1/3 + 1/3
        ("f(g(n) h)", "f(g h(n))", 2 / 3, 2),
        # Zhang and Shasha's own example: c is deleted at depth 2, 1/3, and inserted at 1, 1/2
        ("f(d(a c(b)) e)", "f(c(d(a b)) e)", 1 / 3 + 1 / 2, 2),
    ],
)
def test_hand_counts(gold, pred, depth, unit):
    assert tree_edit_distance(grow(gold), grow(pred)) == pytest.approx(depth, abs=1e-12)
    assert tree_edit_distance(grow(gold), grow(pred), costs="unit") == unit


@pytest.mark.parametrize(("costs", "weight"), WEIGHTS)
def test_distance_equals_zss_on_random_trees(costs, weight):
    rng = random.Random(0)
    pairs = [random_pair(rng) for _ in range(500)]
    pairs += [random_pair(rng, most=80) for _ in range(20)]
    for gold, pred in pairs:
        ours = tree_edit_distance(gold, pred, costs=costs)
        assert ours == pytest.approx(by_zss(gold, pred, weight), abs=1e-9)


def test_both_sides_a_tree_can_be_read_from_give_the_same_distance():
    rng = random.Random(1)
    for _ in range(200):
        gold, pred = random_pair(rng)
        before = tree_edit_distance(gold, pred)
        for node in (*flatten(gold).nodes, *flatten(pred).nodes):
            node.children.reverse()
        assert tree_edit_distance(gold, pred) == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("costs", ["depth", "unit"])
def test_distance_is_zero_to_itself_symmetric_and_bounded(costs):
    rng = random.Random(2)
    for _ in range(300):
        gold, pred = random_pair(rng)
        distance = tree_edit_distance(gold, pred, costs=costs)
        everything = tree_edit_distance(gold, None, costs=costs)
        everything += tree_edit_distance(None, pred, costs=costs)
        assert tree_edit_distance(gold, gold, costs=costs) == 0
        assert tree_edit_distance(pred, gold, costs=costs) == pytest.approx(distance, abs=1e-9)
        assert 0 <= distance <= everything + 1e-9


def test_triangle_inequality_holds_for_unit_costs():
    rng = random.Random(3)
    for _ in range(300):
        (a, b), (c, _) = random_pair(rng), random_pair(rng)
        ab, bc, ac = (tree_edit_distance(*pair, costs="unit") for pair in ((a, b), (b, c), (a, c)))
        assert ac <= ab + bc


def test_triangle_inequality_does_not_hold_for_depth_costs():
    # Twenty fields renamed in place, at depth 1: 20 / 2 = 10.
    # By way of a group around them (1/2), they are renamed at depths 2 and 1: 20 / 2.5 = 8,
    # while the group goes again (1/2): 9 in all.
    before = Node("f", children=[Node("a") for _ in range(20)])
    around = Node("f", children=[Node("g", children=[Node("a") for _ in range(20)])])
    after = Node("f", children=[Node("b") for _ in range(20)])
    assert tree_edit_distance(before, after) == pytest.approx(10)
    assert tree_edit_distance(before, around) == pytest.approx(0.5)
    assert tree_edit_distance(around, after) == pytest.approx(8.5)


def test_missing_tree_costs_all_of_the_other():
    # depths 0, 1, 1, 2: 1 + 1/2 + 1/2 + 1/3
    gold = grow("f(a b(c))")
    for pair in ((gold, None), (None, gold)):
        assert tree_edit_distance(*pair) == pytest.approx(7 / 3)
    assert tree_edit_distance(None, None) == 0
    with pytest.raises(UnknownName, match="depth"):
        tree_edit_distance(None, None, costs="dept")


def test_similarity_by_hand():
    # Gold weighs 1/2 + 1/2 and the prediction 1/2 without their roots; one b of 1/2 is deleted.
    tally = tree_similarity(grow("f(a b)"), grow("f(a)"))
    assert tally.parts == pytest.approx((1.0, 1.5))
    # The roots differ and count: 1 + 1/2 each; the root is renamed for 1.
    tally = tree_similarity(grow("f(a)"), grow("g(a)"))
    assert tally.parts == pytest.approx((2.0, 3.0))


def test_similarity_is_one_to_itself_and_zero_to_nothing():
    rng = random.Random(4)
    for _ in range(100):
        gold = random_tree(rng, rng.randint(2, 40))
        assert tree_similarity(gold, gold).value == 1
        assert tree_similarity(gold, None).value == 0
        assert tree_similarity(None, gold).value == 0
        assert tree_similarity(gold, Node(gold.label)).value == 0


def test_similarity_of_nothing_to_nothing_is_undefined():
    for pair in ((None, None), (Node("form"), Node("form"))):
        assert math.isnan(tree_similarity(*pair).value)
    assert tree_similarity(Node("form"), None).value == 0


@pytest.mark.parametrize("costs", ["depth", "unit"])
def test_similarity_stays_in_its_range(costs):
    rng = random.Random(5)
    pairs = [random_pair(rng) for _ in range(1_000)]
    pairs += [(grow("f(a(b(c(d))))"), grow("f(v w x y)")), (Node("a"), Node("b"))]
    for pair in pairs:
        hits, total = tree_similarity(*pair, costs=costs).parts
        assert 0 <= hits <= total
        distance = tree_edit_distance(*pair, costs=costs)
        assert hits == pytest.approx(total - distance, abs=1e-6)


@pytest.mark.parametrize("costs", tree.COSTS.values(), ids=tree.COSTS)
def test_costs_are_positive_and_renaming_is_no_dearer_than_replacing(costs):
    depths = np.arange(MAX_LEVELS)
    assert (costs(depths) > 0).all()
    some = depths[::37]
    both = costs(some)[:, None] + costs(some)[None, :]
    assert (costs((some[:, None] + some[None, :]) / 2) <= both).all()


def test_tallies_of_many_pairs_are_those_of_each():
    rng = random.Random(6)
    pairs = [(None, None), (grow("f(a)"), None), *(random_pair(rng) for _ in range(20))]
    golds, preds = zip(*pairs, strict=True)
    rows = tree_edit_tallies(golds, preds)
    assert rows.shape == (22, 3)
    for row, pair in zip(rows, pairs, strict=True):
        assert row.tolist() == [tree_edit_distance(*pair), *tree_similarity(*pair).parts]
    assert tree_edit_tallies([], []).shape == (0, 3)
    with pytest.raises(ValueError, match="shorter"):
        tree_edit_tallies(golds, preds[1:])


def test_metrics_pool_documents_by_their_sums():
    golds = [grow("f(a b)"), grow("f(a b)")]
    preds = [grow("f(a)"), grow("f")]
    # Distances 1/2 and 1: their mean is 3/4. Similarities 1 of 3/2 and 0 of 1: 1 of 5/2.
    distance, similarity = METRICS["tree_edit_distance"], METRICS["tree_similarity"]
    assert distance.score(distance.tallies(golds, preds).sum(axis=0)) == pytest.approx(0.75)
    assert similarity.score(similarity.tallies(golds, preds).sum(axis=0)) == pytest.approx(0.4)
    assert (distance.direction, similarity.direction) == ("down", "up")


def test_star_of_five_thousand_children_against_a_form():
    star = Node("f", children=[Node("a") for _ in range(5_000)])
    form = grow("f(a a b)")
    # At depth 1: two kept, one renamed to b and 4,997 deleted: 4,998 / 2
    assert tree_edit_distance(star, form) == pytest.approx(2_499)


def test_trees_too_large_to_compare_are_refused_at_once(monkeypatch):
    star = Node("f", children=[Node("a") for _ in range(6_000)])
    with pytest.raises(DataBroken, match=r"6,001 and 6,001 nodes are too large"):
        tree_edit_distance(star, star)
    monkeypatch.setattr(tree, "MAX_STEPS", 10)
    with pytest.raises(DataBroken, match=r"4 and 4 nodes are too large"):
        tree_edit_distance(grow("f(a b c)"), grow("f(a b c)"))


def test_hostile_labels_are_compared_as_they_are():
    labels = ["\x00", "\ud800", "<b>", "\x1b[2J", "a\u2028b", "é", "e\u0301", "日本語", ""]
    gold = Node("f", children=[Node(label) for label in labels])
    assert tree_edit_distance(gold, gold) == 0
    # Composed and decomposed é are different labels: one renaming at depth 1.
    other = Node("f", children=[Node("é" if label == "e\u0301" else label) for label in labels])
    assert tree_edit_distance(gold, other) == 0.5


def test_longest_chains_are_compared():
    def chain(label):
        root = node = Node("f")
        for _ in range(MAX_LEVELS - 1):
            node.children.append(Node(label))
            node = node.children[0]
        return root

    # Each level renamed at its own depth: 1/2 + 1/3 + … + 1/2000
    expected = math.fsum(1 / (1 + depth) for depth in range(1, MAX_LEVELS))
    assert tree_edit_distance(chain("a"), chain("b")) == pytest.approx(expected, abs=1e-9)
