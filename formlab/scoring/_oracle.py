"""Pair predicted with gold fields, all values being known: the least error of any pairing."""

from __future__ import annotations

import numpy as np
import polars as pl
import scipy
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.metrics.marking import all_constituents, mark_counts, marks, predicted_marks

# How values are compared where edits are counted.
NORM = ("nfc", "space", "lower")
# Fields that a model in a loop lists after these are paired with none.
_MOST = 2_000
_WRITTEN = ("textual", "visual")


def best_pairs(gold: pl.DataFrame, pred: pl.DataFrame) -> list[tuple[int, int]]:
    """Places of gold and predicted fields of one document, paired for the least error.

    Each family of modalities is paired for itself, since each has a measure of its own: written
    fields for the fewest edits, marks for the most right ones (then the fewest wrong), cross-modal
    fields for the most that are wholly right.

    `gold` has modality, subtype, kind and value of its fields, `pred` the value.

    Examples
    --------
    >>> none = {"modality": "textual", "subtype": None, "kind": None}
    >>> gold = pl.DataFrame([none | {"value": "Ada Berg"}, none | {"value": "1980"}])
    >>> best_pairs(gold, pl.DataFrame({"value": ["1981", "Ada Borg"]}))
    [(0, 1), (1, 0)]
    """
    answers = pred["value"].fill_null("").to_list()[:_MOST]
    pairs = []
    for family in (_WRITTEN, ("marking",), ("cross",)):
        fields = gold.with_row_index("place").filter(pl.col("modality").is_in(family))
        if not fields.height or not answers:
            continue
        gain = _written(fields, answers) if family is _WRITTEN else _judged(fields, answers)
        rows, columns = scipy.optimize.linear_sum_assignment(np.maximum(gain, 0.0), maximize=True)
        pairs += [
            (fields["place"][row], column)
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
            if gain[row, column] > 0
        ]
    return sorted(pairs)


def _written(fields: pl.DataFrame, answers: list[str]) -> np.ndarray:
    """How many edits each pair saves over a field that is not found."""
    golds, preds = (
        [text.normalise(value or "", NORM) for value in side] for side in (fields["value"], answers)
    )
    edits = process.cdist(
        golds, preds, scorer=Levenshtein.distance, dtype=np.int64, workers=1
    ).astype(float)
    # An empty prediction costs what no prediction does.
    return np.array([len(value) for value in golds], dtype=float)[:, None] - edits


def _judged(fields: pl.DataFrame, answers: list[str]) -> np.ndarray:
    gain = np.zeros((fields.height, len(answers)))
    rows = fields.select("modality", "value", "subtype", "kind").rows()
    for row, (modality, value, subtype, kind) in enumerate(rows):
        own = marks(value or "", subtype=subtype, kind=kind)
        for column, answer in enumerate(answers):
            if modality == "cross":
                gain[row, column] = all_constituents(value or "", answer)
                continue
            other = predicted_marks(answer, value, subtype=subtype, kind=kind)
            hits, said_in_all, _ = mark_counts(own, other)
            gain[row, column] = hits - 0.25 * (said_in_all - hits)
    return gain
