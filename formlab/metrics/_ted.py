"""The tree edit distance of Zhang and Shasha over arrays, compiled where numba is there.

A tree here is in postorder, as arrays (left, label, depth, cost): `left[i]` is the place of the
leftmost leaf below node i, so the subtree of i is `left[i]..i`. `swap` is the cost of a renaming by
the sum of the two depths. zss is the oracle of its tests.
"""

import numpy as np

try:
    from numba import njit
except ImportError:  # The extra `fast` is not installed: the same, slowly.

    def njit(**_):
        """The function as it is."""
        return lambda function: function


@njit(cache=True)
def _fill(i0, j0, gold, pred, swap, subtree, table):  # pragma: no cover
    """Fill `table`: cell (x, y) is for the first x and y nodes of the subtrees of i0 and j0."""
    # Where both forests are subtrees, the cell goes into `subtree` too; where not, what it costs to
    # turn their last subtrees into one another is read from there, so smaller pairs come first.
    left_a, label_a, depth_a, cost_a = gold
    left_b, label_b, depth_b, cost_b = pred
    start_a, start_b = left_a[i0], left_b[j0]
    table[0, 0] = 0.0
    for y in range(j0 - start_b + 1):
        table[0, y + 1] = table[0, y] + cost_b[start_b + y]
    for x in range(i0 - start_a + 1):
        i = start_a + x
        label, depth, cost = label_a[i], depth_a[i], cost_a[i]
        above = left_a[i] - start_a
        best = table[x, 0] + cost
        table[x + 1, 0] = best
        for y in range(j0 - start_b + 1):
            j = start_b + y
            beside = left_b[j] - start_b
            is_whole = above == 0 and beside == 0
            if is_whole:
                joined = table[x, y]
                if label != label_b[j]:
                    joined += swap[depth + depth_b[j]]
            else:
                joined = table[above, beside] + subtree[i, j]
            best = min(joined, table[x, y + 1] + cost, best + cost_b[j])
            table[x + 1, y + 1] = best
            if is_whole:
                subtree[i, j] = best


@njit(cache=True)
def mapping(gold, pred, roots_a, roots_b, swap):  # pragma: no cover
    """For each gold node the one it becomes under a cheapest edit, -1 if it is deleted."""
    # The roots are the nodes that open a leftmost path of their own (the keyroots), in order.
    subtree = np.empty((len(gold[0]), len(pred[0])))
    table = np.empty((len(gold[0]) + 1, len(pred[0]) + 1))
    for i0 in roots_a:
        for j0 in roots_b:
            _fill(i0, j0, gold, pred, swap, subtree, table)
    # Of edits that cost the same, one that pairs two nodes goes before one that deletes, and that
    # before one that inserts. One table is held: it is filled again for each pair of subtrees.
    left_a, label_a, depth_a, cost_a = gold
    left_b, label_b, depth_b, _ = pred
    partner = np.full(len(left_a), -1, dtype=np.int32)
    waiting = [(len(left_a) - 1, len(left_b) - 1)]
    while len(waiting):
        i0, j0 = waiting.pop()
        _fill(i0, j0, gold, pred, swap, subtree, table)
        start_a, start_b = left_a[i0], left_b[j0]
        x, y = i0 - start_a + 1, j0 - start_b + 1
        while x > 0 and y > 0:
            i, j = start_a + x - 1, start_b + y - 1
            above, beside = left_a[i] - start_a, left_b[j] - start_b
            # The sums are those of _fill, to the bit: the least of them is equal, not near.
            if above == 0 and beside == 0:
                change = 0.0 if label_a[i] == label_b[j] else swap[depth_a[i] + depth_b[j]]
                if table[x, y] == table[x - 1, y - 1] + change:
                    partner[i] = j
                    x, y = x - 1, y - 1
                    continue
            elif table[x, y] == table[above, beside] + subtree[i, j]:
                waiting.append((i, j))
                x, y = above, beside
                continue
            if table[x, y] == table[x - 1, y] + cost_a[i]:
                x -= 1
            else:
                y -= 1
    return partner
