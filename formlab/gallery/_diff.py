"""The character differences of two values, as runs to read."""

from __future__ import annotations

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
    if gold == pred:
        return [("equal", gold)] if gold else []
    if Levenshtein.normalized_similarity(gold, pred) < UNRELATED:
        runs = [("delete", gold), ("insert", pred)]
    else:
        runs = []
        for step in Levenshtein.opcodes(gold, pred):
            same = step.tag == "equal"
            runs.append(("equal" if same else "delete", gold[step.src_start : step.src_end]))
            runs.append(("insert", "" if same else pred[step.dest_start : step.dest_end]))
    return _joined(runs)


def _joined(runs: Runs) -> Runs:
    """Without empty runs, and with each stretch between equal runs as one delete and one insert."""
    joined: Runs = []
    change = {"delete": "", "insert": ""}
    for op, text in [*runs, ("equal", "")]:
        if op != "equal":
            change[op] += text
        else:
            joined += [(name, changed) for name, changed in change.items() if changed]
            change = {"delete": "", "insert": ""}
            joined += [(op, text)] if text else []
    return joined
