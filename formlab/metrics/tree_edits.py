"""The edit script of a form tree: nodes kept, renamed, deleted, inserted, moved and reordered."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from formlab.metrics.tree import Tree, TreePair

OPS = ("kept", "renamed", "deleted", "inserted", "moved", "reordered")


@dataclass(frozen=True)
class Edit:
    """What became of a node; the side it is not on has null.

    `op` is one of `OPS`; `depth` is that of the gold node, or else of the predicted one.
    """

    op: str
    gold_path: str | None
    pred_path: str | None
    label: str
    pred_label: str | None
    depth: int
    cost: float


def edit_script(
    gold: Tree, pred: Tree, *, costs: str = "depth", values: bool = False
) -> list[Edit]:
    """A cheapest edit of the gold tree into the predicted one, node by node, in reading order.

    The costs add up to `tree_edit_distance`. Of several cheapest edits one that renames least is
    given, the same one every time. A deleted and an inserted node of the same label and value
    are then one edit: ``moved`` to another parent, or ``reordered`` below the same one (its
    parents are kept or renamed into each other); it costs what the two did. Where several could
    be paired, the first deleted one goes with the first inserted one.

    See `tree_edit_distance` for the parameters and errors.

    Examples
    --------
    >>> from formlab.trees import Node
    >>> gold = Node("form", children=[Node("A", children=[Node("Name", "Ann")]), Node("B")])
    >>> pred = Node("form", children=[Node("A"), Node("B", children=[Node("Name", "Ann")])])
    >>> [(edit.op, edit.label, round(edit.cost, 3)) for edit in edit_script(gold, pred)]
    [('kept', 'form', 0.0), ('kept', 'A', 0.0), ('moved', 'Name', 0.667), ('kept', 'B', 0.0)]
    """
    pair = TreePair(gold, pred, costs, values)
    partners = pair.partners().tolist()
    moves = _moves(pair, partners)
    added = deque(sorted(set(range(len(pair.pred))) - {*partners, *moves.values()}))
    edits = []
    for index, partner in enumerate(partners):
        # Partners keep the order of documents, so what stands before one is inserted before it.
        while partner >= 0 and added and added[0] < partner:
            edits.append(_edit(pair, "inserted", None, added.popleft()))
        if partner >= 0:
            same = pair.gold_label[index] == pair.pred_label[partner]
            edits.append(_edit(pair, "kept" if same else "renamed", index, partner))
        elif index in moves:
            above, above_partner = pair.gold.parent[index], pair.pred.parent[moves[index]]
            stayed = above >= 0 and above_partner >= 0 and partners[above] == above_partner
            edits.append(_edit(pair, "reordered" if stayed else "moved", index, moves[index]))
        else:
            edits.append(_edit(pair, "deleted", index, None))
    return edits + [_edit(pair, "inserted", None, index) for index in added]


def _edit(pair: TreePair, op: str, ours: int | None, theirs: int | None) -> Edit:
    """The edit of a gold and a predicted node, by place; what is renamed costs by both depths."""
    gold = None if ours is None else pair.gold.nodes[ours]
    pred = None if theirs is None else pair.pred.nodes[theirs]
    depth = int(pair.gold.depth[ours] if gold else pair.pred.depth[theirs])
    cost = 0.0
    if op == "renamed":
        cost = float(pair.swap[depth + pair.pred.depth[theirs]])
    elif op != "kept":
        cost += float(pair.gold_cost[ours]) if gold else 0.0
        cost += float(pair.pred_cost[theirs]) if pred else 0.0
    return Edit(
        op, gold.path if gold else None, pred.path if pred else None, (gold or pred).label,
        pred.label if pred else None, depth, cost,
    )  # fmt: skip


def _moves(pair: TreePair, partners: list[int]) -> dict[int, int]:
    """Deleted nodes with the inserted ones they turn up as, by place."""
    taken = set(partners)
    free: defaultdict[tuple[str, str | None], deque[int]] = defaultdict(deque)
    for index, node in enumerate(pair.pred.nodes):
        if index not in taken:
            free[node.label, node.value].append(index)
    moves = {}
    for index, node in enumerate(pair.gold.nodes):
        candidates = free.get((node.label, node.value)) if partners[index] < 0 else None
        if candidates:
            moves[index] = candidates.popleft()
    return moves
