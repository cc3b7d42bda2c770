import itertools

import numpy as np

from formlab.scoring.page_text import out_of_order

# Two rows of two columns, row by row.
BOXES = np.array([[0, 0, 9, 9], [20, 0, 29, 9], [0, 10, 9, 19], [20, 10, 29, 19]])
ROWS = np.arange(4)


def test_rows_and_columns_are_both_sensible():
    assert not out_of_order(BOXES, ROWS, np.array([0, 2, 1, 3])).any()
    assert not out_of_order(BOXES, ROWS, ROWS).any()


def test_what_the_gold_text_has_in_another_order_too_is_no_fault():
    places = np.array([3, 2, 1, 0])
    assert not out_of_order(BOXES, places, places).any()


def test_fewest_fields_are_named():
    """Against every subset: none smaller leaves a text without a pair in the wrong order."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(2, 7))
        corner = rng.integers(0, 3, size=(count, 2)) * 20.0
        boxes = np.concatenate([corner, corner + 10 + rng.integers(0, 9, size=(count, 2))], axis=1)
        gold, places = (rng.permutation(count) for _ in range(2))

        def wrong(kept, boxes=boxes, gold=gold, places=places):
            kept = list(kept)
            return out_of_order(boxes[kept], gold[kept], places[kept]).any()

        named = np.flatnonzero(out_of_order(boxes, gold, places))
        # What two fields alone say, so that what follows from a third is left out: in pairs.
        pairs = {
            pair for pair in itertools.combinations(range(count), 2) if wrong(pair)
        }  # fmt: skip
        left = set(range(count)) - set(named.tolist())
        assert not any(set(pair) <= left for pair in pairs)
        if not pairs:
            continue
        least = next(
            size
            for size in range(count + 1)
            for chosen in itertools.combinations(range(count), size)
            if all(set(pair) & set(chosen) for pair in pairs)
        )
        assert len(named) >= least
