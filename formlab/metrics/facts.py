"""Tagged facts of a page: found, correct, and in the right row, by rules without a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formlab.metrics._fact_alignment import MISSING, FactAlignment, FactVerdict, GoldFact
from formlab.metrics.metric import Metric
from formlab.metrics.places import Places, tokens

__all__ = ["METRICS", "MISSING", "FactVerdict", "GoldFact", "counts", "locate", "match_facts"]


def locate(gold: Places, kind: str, value: str, mark: int) -> GoldFact | None:
    """Where a tagged fact stands in its page; None if its tag holds no text that is shown.

    A tag on part of a number or word stands for all of it.
    """
    if mark not in gold.marks:
        return None
    first, last = gold.spanned(*gold.marks[mark])
    if last - first == 1 and gold.words[first] == value:
        return GoldFact(kind, value, first, last)
    words = tokens(value)
    if len(words) > last - first:
        # A currency sign that was given a number: the two stand together further on, if anywhere.
        near = [start for start in gold.find(words) if first <= start <= first + 200]
        first, last = (near[0], near[0] + len(words)) if near else (first, last)
    return GoldFact(kind, value, first, last) if last > first else None


def match_facts(gold: Places, facts: Sequence[GoldFact | None], pred: Places) -> list[FactVerdict]:
    """A verdict on each fact of one page.

    A fact is correct where the same tokens stand with the same sign, next to the same row label
    or words and in the same column; every place of a value in the gold competes for the places
    it has in the prediction. A whole number is one token, so it is never found inside another.

    Examples
    --------
    >>> from formlab.text.flow import read
    >>> gold = Places(read("Net sales 4,310\\nCosts (15)\\nShares 7"))
    >>> facts = [GoldFact("number", "4,310", 2, 3), GoldFact("number", "15", 5, 6)]
    >>> match_facts(gold, facts, Places(read("Net sales 4310\\nCosts (15)\\nShares 2015")))
    [FactVerdict(found=True, correct=False, misplaced=False, text='4310'), \
FactVerdict(found=True, correct=True, misplaced=False, text='15')]
    """
    match = FactAlignment(gold, pred)
    return [MISSING if fact is None else match.verdict(fact) for fact in facts]


def counts(verdicts: Sequence[FactVerdict]) -> dict[str, np.ndarray]:
    """Tallies of each metric that is of all facts, shape (facts, 2).

    Examples
    --------
    >>> {name: t.sum(axis=0).tolist() for name, t in counts([MISSING]).items()}
    {'fact_accuracy': [0.0, 1.0], 'fact_accuracy_of_found': [0.0, 0.0], \
'fact_missing_rate': [1.0, 1.0], 'fact_misplaced_rate': [0.0, 1.0]}
    """
    flags = np.array([verdict[:3] for verdict in verdicts], dtype=float).reshape(-1, 3)
    found, correct, misplaced = flags.T
    every = np.ones_like(found)
    parts = ((correct, every), (correct, found), (1 - found, every), (misplaced, every))
    return {name: np.stack(pair, axis=1) for name, pair in zip(METRICS, parts, strict=False)}


_PAPER = "He et al., arXiv:2511.14998v1, equations 6 to 9"
_RELEASE = "The-FinAI/FinCriticalED, evaluate_performance of the released notebook"
_ENTRIES = (
    ("fact_accuracy", "financial fact accuracy (FFA)", "up", "correct per gold fact", _PAPER),
    ("fact_accuracy_of_found", "FFA of facts found", "up", "correct per found fact", _RELEASE),
    ("fact_missing_rate", "facts missing", "down", "not found per gold fact", _RELEASE),
    ("fact_misplaced_rate", "facts in a wrong row", "down", "misplaced per gold fact", "formlab"),
    (
        "number_date_accuracy",
        "FFA of numbers and dates",
        "up",
        "correct per gold number or date",
        "He et al., arXiv:2511.14998v1, equations 4 and 6",
    ),
)
METRICS = {
    name: Metric(
        name=name, title=title, direction=direction, unit=unit, source=source, view="counts",
        units=("fact",),
    )
    for name, title, direction, unit, source in _ENTRIES
}  # fmt: skip
