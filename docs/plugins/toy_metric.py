"""A metric of one's own: the share of a field's digits that were read right."""

import numpy as np

import formlab


@formlab.metric("digit_accuracy", title="digits read right", tasks=("text",), units=("field",))
def digit_accuracy(golds, preds):
    """For each field the digits read right, and the digits of its gold text."""
    counts = []
    for gold, pred in zip(golds, preds, strict=True):
        right, read = ([c for c in text if c.isdigit()] for text in (gold, pred))
        counts.append((sum(a == b for a, b in zip(right, read, strict=False)), len(right)))
    return np.array(counts, dtype=float).reshape(-1, 2)
