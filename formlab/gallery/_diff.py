"""Where an answer differs from the gold value, as runs to read."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from rapidfuzz.distance import Indel, Levenshtein

Runs = list[tuple[str, str]]
# Words this similar are compared by character; of others the common characters are chance.
ALIKE = 0.5
# Values that share less than this of the shorter one are two different values.
RELATED = 0.35
_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")


def diff(gold: str | None, pred: str | None) -> Runs:
    """Runs of ``equal``, ``delete`` (only in gold) and ``insert`` (only in the answer).

    Words are aligned first; those that changed into similar ones are compared by character. Values
    that hardly have anything in common are one deletion and one insertion. Joined, the runs that
    are not ``insert`` give gold, and those that are not ``delete`` give the answer. Takes O(n²) of
    the words and of each changed stretch: the caller cuts long texts first.

    Examples
    --------
    >>> diff("Rheumatic fever", "fever")
    [('delete', 'Rheumatic '), ('equal', 'fever')]
    >>> diff("Mr. Smith", "Mr. Smyth")
    [('equal', 'Mr. Sm'), ('delete', 'i'), ('insert', 'y'), ('equal', 'th')]
    """
    gold, pred = gold or "", pred or ""
    runs = list(_joined(_runs(_TOKENS.findall(gold), _TOKENS.findall(pred))))
    same = sum(len(text) for op, text in runs if op == "equal")
    if same < RELATED * min(len(gold), len(pred)):
        runs = [("delete", gold), ("insert", pred)]
    return [(op, text) for op, text in runs if text]


def _runs(gold: Sequence[str], pred: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Runs of two lists of words, or of two texts as lists of characters."""
    words = isinstance(gold, list)
    # Of words as many as possible are kept; of characters as few as possible are changed.
    opcodes = (Indel if words else Levenshtein).opcodes(gold, pred)
    for equal, group in itertools.groupby(opcodes, lambda step: step.tag == "equal"):
        steps = list(group)
        old = gold[steps[0].src_start : steps[-1].src_end]
        new = pred[steps[0].dest_start : steps[-1].dest_end]
        deleted, inserted = "".join(old), "".join(new)
        if equal:
            yield "equal", deleted
        elif words and Levenshtein.normalized_similarity(deleted, inserted) >= ALIKE:
            yield from _runs(deleted, inserted)
        else:
            yield "delete", deleted
            yield "insert", inserted


def _joined(runs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Between two equal runs one deletion and one insertion; blanks between changes are changed."""
    listed = list(runs)
    for at in range(1, len(listed) - 1):
        op, text = listed[at]
        lonely = op == "equal" and not any(sign.isalnum() for sign in text)
        if lonely and all(listed[at + side][0] != "equal" for side in (-1, 1)):
            listed[at] = ("changed", text)
    for equal, group in itertools.groupby(listed, lambda run: run[0] == "equal"):
        members = list(group)
        if equal:
            yield "equal", "".join(text for _, text in members)
            continue
        for op in ("delete", "insert"):
            yield op, "".join(text for of, text in members if of in (op, "changed"))
