"""The tree edit distance of Zhang and Shasha over arrays, compiled; zss is the oracle of its tests.

A tree here is in postorder: `left[i]` is the place of the leftmost leaf below node i, so the
subtree of i is `left[i]..i`. Read from the right (children mirrored) it is an ordered tree as
well, with the same distance but not with the same work; `sided` takes the cheaper side.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def _view(depth, size, mirrored):  # pragma: no cover
    """The tree in postorder, children from the left or, mirrored, from the right.

    Gives the document place of each node, `left`, the nodes that open a leftmost path of their
    own (the keyroots) in order, and the sum of their sizes.
    """
    count = len(depth)
    order = np.empty(count, dtype=np.int32)
    for index in range(count):
        # A node follows its subtree, and all that stands before it except its ancestors.
        post = count - 1 - index if mirrored else index - depth[index] + size[index] - 1
        order[post] = index
    left = np.empty(count, dtype=np.int32)
    last = np.full(count, -1, dtype=np.int32)
    for post in range(count):
        left[post] = post - size[order[post]] + 1
        last[left[post]] = post
    roots = np.sort(last[last >= 0])
    return order, left, roots, (roots - left[roots] + 1).sum()


@numba.njit(cache=True)
def sided(gold, pred):  # pragma: no cover
    """Both trees, read from the side on which fewer pairs of forests are compared.

    Takes (depth, size, label, cost) of each tree in document order. Gives (left, label, depth,
    cost) of each in postorder, the keyroots of each, the document place of each node of each,
    and the number of pairs of forests.
    """
    order_a, left_a, roots_a, cells_a = _view(gold[0], gold[1], False)
    order_b, left_b, roots_b, cells_b = _view(pred[0], pred[1], False)
    mirrored_a, mirrored_b = _view(gold[0], gold[1], True), _view(pred[0], pred[1], True)
    if mirrored_a[3] * mirrored_b[3] < cells_a * cells_b:
        order_a, left_a, roots_a, cells_a = mirrored_a
        order_b, left_b, roots_b, cells_b = mirrored_b
    ours = (left_a, gold[2][order_a], gold[0][order_a], gold[3][order_a])
    theirs = (left_b, pred[2][order_b], pred[0][order_b], pred[3][order_b])
    return ours, theirs, roots_a, roots_b, order_a, order_b, cells_a * cells_b


@numba.njit(cache=True)
def _change(i, j, gold, pred, swap):  # pragma: no cover
    return 0.0 if gold[1][i] == pred[1][j] else swap[gold[2][i] + pred[2][j]]


@numba.njit(cache=True)
def _fill(i0, j0, gold, pred, swap, subtree, table, beside):  # pragma: no cover
    """Fill `table`: cell (x, y) is for the first x and y nodes of the subtrees of i0 and j0.

    Where both forests are subtrees, the cell goes into `subtree` too; where not, what it costs to
    turn their last subtrees into one another is read from there, so smaller pairs come first.
    """
    left_a, label_a, depth_a, cost_a = gold
    left_b, label_b, depth_b, cost_b = pred
    start_a, start_b = left_a[i0], left_b[j0]
    width = j0 - start_b + 1
    table[0, 0] = 0.0
    for y in range(width):
        table[0, y + 1] = table[0, y] + cost_b[start_b + y]
        beside[y] = left_b[start_b + y] - start_b
    for x in range(1, i0 - start_a + 2):
        i = start_a + x - 1
        label, depth, cost = label_a[i], depth_a[i], cost_a[i]
        best = table[x - 1, 0] + cost
        table[x, 0] = best
        above = left_a[i] - start_a
        for y in range(width):
            j = start_b + y
            best += cost_b[j]
            deleted = table[x - 1, y + 1] + cost
            if above == 0 and beside[y] == 0:
                joined = table[x - 1, y]
                if label != label_b[j]:
                    joined += swap[depth + depth_b[j]]
                joined = joined if joined < deleted else deleted
                best = joined if joined < best else best
                subtree[i, j] = best
            else:
                joined = table[above, beside[y]] + subtree[i, j]
                joined = joined if joined < deleted else deleted
                best = joined if joined < best else best
            table[x, y + 1] = best


@numba.njit(cache=True)
def _subtrees(gold, pred, roots_a, roots_b, swap, table, beside):  # pragma: no cover
    subtree = np.empty((len(gold[0]), len(pred[0])))
    for i0 in roots_a:
        for j0 in roots_b:
            if gold[0][i0] == i0 and pred[0][j0] == j0:
                # Two leaves, the commonest pair by far in a form, need no table.
                either = gold[3][i0] + pred[3][j0]
                subtree[i0, j0] = min(_change(i0, j0, gold, pred, swap), either)
            else:
                _fill(i0, j0, gold, pred, swap, subtree, table, beside)
    return subtree


@numba.njit(cache=True)
def _space(gold, pred):  # pragma: no cover
    table = np.empty((len(gold[0]) + 1, len(pred[0]) + 1))
    # Unsigned, so that indexing need not look for negative places.
    return table, np.empty(len(pred[0]), dtype=np.uint32)


@numba.njit(cache=True)
def distance(gold, pred, roots_a, roots_b, swap):  # pragma: no cover
    """The cost of the cheapest edit of one tree into the other.

    `gold` and `pred` are (left, label, depth, cost) in postorder, of one node or more; `swap` is
    the cost of a renaming by the sum of the two depths.
    """
    table, beside = _space(gold, pred)
    return _subtrees(gold, pred, roots_a, roots_b, swap, table, beside)[-1, -1]


@numba.njit(cache=True)
def mapping(gold, pred, roots_a, roots_b, swap):  # pragma: no cover
    """For each gold node the one it becomes under a cheapest edit, -1 if it is deleted.

    Of edits that cost the same, one that pairs two nodes goes before one that deletes, and that
    before one that inserts. Only one table is held at a time: that of two subtrees is filled
    again when the way back enters them.
    """
    table, beside = _space(gold, pred)
    subtree = _subtrees(gold, pred, roots_a, roots_b, swap, table, beside)
    left_a, left_b = gold[0], pred[0]
    partner = np.full(len(left_a), -1, dtype=np.int32)
    waiting = [(len(left_a) - 1, len(left_b) - 1)]
    while len(waiting):
        i0, j0 = waiting.pop()
        _fill(i0, j0, gold, pred, swap, subtree, table, beside)
        start_a, start_b = left_a[i0], left_b[j0]
        x, y = i0 - start_a + 1, j0 - start_b + 1
        while x > 0 and y > 0:
            i, j = start_a + x - 1, start_b + y - 1
            above, next_to = left_a[i] - start_a, left_b[j] - start_b
            # The sums are those of _fill, to the bit: the least of them is equal, not near.
            if above == 0 and next_to == 0:
                change = _change(i, j, gold, pred, swap)
                if table[x, y] == table[x - 1, y - 1] + change:
                    partner[i] = j
                    x, y = x - 1, y - 1
                    continue
            elif table[x, y] == table[above, next_to] + subtree[i, j]:
                waiting.append((i, j))
                x, y = above, next_to
                continue
            if table[x, y] == table[x - 1, y] + gold[3][i]:
                x -= 1
            else:
                y -= 1
    return partner
