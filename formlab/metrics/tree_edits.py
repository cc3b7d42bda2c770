"""The edit script of a form tree: nodes kept, renamed, deleted, inserted, moved and reordered."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from formlab.metrics.tree import Pair, Tree
from formlab.tables import storable
from formlab.trees import Node

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


SCHEMA = {
    "op": pl.Enum(OPS), "gold_path": pl.String, "pred_path": pl.String, "label": pl.String,
    "pred_label": pl.String, "depth": pl.Int64, "cost": pl.Float64,
}  # fmt: skip


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
    >>> gold = Node("form", children=[Node("A", children=[Node("Name", "Ann")]), Node("B")])
    >>> pred = Node("form", children=[Node("A"), Node("B", children=[Node("Name", "Ann")])])
    >>> [(edit.op, edit.label, round(edit.cost, 3)) for edit in edit_script(gold, pred)]
    [('kept', 'form', 0.0), ('kept', 'A', 0.0), ('moved', 'Name', 0.667), ('kept', 'B', 0.0)]
    """
    pair = Pair(gold, pred, costs, values)
    partners = pair.partners().tolist()
    moves = _moves(pair, partners)
    taken = {place for place in partners if place >= 0}
    added = set(range(len(pair.pred))) - taken - set(moves.values())
    return list(_edits(pair, partners, moves, deque(sorted(added))))


def _edits(
    pair: Pair, partners: list[int], moves: dict[int, int], added: deque[int]
) -> Iterator[Edit]:
    for place, partner in enumerate(partners):
        # Partners keep the order of documents, so what stands before one is inserted before it.
        while partner >= 0 and added and added[0] < partner:
            yield _inserted(pair, added.popleft())
        if partner >= 0:
            yield _paired(pair, place, partner)
        elif place in moves:
            yield _moved(pair, place, moves[place], partners)
        else:
            yield _edit("deleted", pair.gold.nodes[place], None, *_at(pair, place))
    for place in added:
        yield _inserted(pair, place)


def _at(pair: Pair, place: int) -> tuple[int, float]:
    return int(pair.gold.depth[place]), float(pair.gold_cost[place])


def _inserted(pair: Pair, place: int) -> Edit:
    depth, cost = int(pair.pred.depth[place]), float(pair.pred_cost[place])
    return _edit("inserted", None, pair.pred.nodes[place], depth, cost)


def _paired(pair: Pair, place: int, partner: int) -> Edit:
    nodes = (pair.gold.nodes[place], pair.pred.nodes[partner])
    depth = int(pair.gold.depth[place])
    if pair.gold_label[place] == pair.pred_label[partner]:
        return _edit("kept", *nodes, depth, 0.0)
    return _edit("renamed", *nodes, depth, float(pair.swap[depth + pair.pred.depth[partner]]))


def _moved(pair: Pair, place: int, partner: int, partners: list[int]) -> Edit:
    above, above_partner = int(pair.gold.parent[place]), int(pair.pred.parent[partner])
    stayed = above >= 0 and above_partner >= 0 and partners[above] == above_partner
    depth, cost = _at(pair, place)
    nodes = (pair.gold.nodes[place], pair.pred.nodes[partner])
    cost += float(pair.pred_cost[partner])
    return _edit("reordered" if stayed else "moved", *nodes, depth, cost)


def _edit(op: str, gold: Node | None, pred: Node | None, depth: int, cost: float) -> Edit:
    return Edit(
        op=op,
        gold_path=gold.path if gold else None,
        pred_path=pred.path if pred else None,
        label=(gold or pred).label,
        pred_label=pred.label if pred else None,
        depth=depth,
        cost=cost,
    )


def _moves(pair: Pair, partners: list[int]) -> dict[int, int]:
    """Deleted nodes with the inserted ones they turn up as, by place."""
    taken = set(partners)
    free: defaultdict[tuple[str, str | None], deque[int]] = defaultdict(deque)
    for place, node in enumerate(pair.pred.nodes):
        if place not in taken:
            free[node.label, node.value].append(place)
    moves = {}
    for place, node in enumerate(pair.gold.nodes):
        found = free.get((node.label, node.value)) if partners[place] < 0 else None
        if found:
            moves[place] = found.popleft()
    return moves


def edit_frame(edits: Iterable[Edit]) -> pl.DataFrame:
    """The edits as a table, a row each; half of a surrogate pair becomes its escape.

    Examples
    --------
    >>> edit_frame(edit_script(Node("form"), None)).select("op", "label", "cost").rows()
    [('deleted', 'form', 1.0)]
    """
    rows = list(edits)
    columns = {name: [storable(getattr(edit, name)) for edit in rows] for name in SCHEMA}
    return pl.DataFrame(columns, schema=SCHEMA)
