"""The character differences of two values, as runs to read."""

from __future__ import annotations

import itertools

from rapidfuzz.distance import Levenshtein

Runs = list[tuple[str, str]]
# Below this similarity the common characters are chance, and a diff through them is confetti.
UNRELATED = 0.35


def diff(gold: str | None, pred: str | None) -> Runs:
    """Runs of ``equal``, ``delete`` (only in gold) and ``insert`` (only predicted).

    Joined, the runs that are not ``insert`` give gold, and those that are not ``delete`` give the
    prediction. Takes O(len(gold) · len(pred) / 64): the caller cuts long texts first.
    """
    gold, pred = gold or "", pred or ""
    if gold != pred and Levenshtein.normalized_similarity(gold, pred) < UNRELATED:
        return [(op, text) for op, text in (("delete", gold), ("insert", pred)) if text]
    runs: Runs = []
    # Between two equal runs stands one deletion and one insertion.
    opcodes = Levenshtein.opcodes(gold, pred)
    for equal, group in itertools.groupby(opcodes, lambda step: step.tag == "equal"):
        steps = list(group)
        old = gold[steps[0].src_start : steps[-1].src_end]
        new = pred[steps[0].dest_start : steps[-1].dest_end]
        changes = [("equal", old)] if equal else [("delete", old), ("insert", new)]
        runs += [(op, text) for op, text in changes if text]
    return runs
