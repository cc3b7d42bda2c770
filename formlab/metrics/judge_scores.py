"""Scores of pages by an LLM judge: structure, facts right, and what the paper makes of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from formlab.metrics._judge_answers import ENTRIES, figure, stated_counts
from formlab.metrics._places import Places
from formlab.metrics._spec import Metric
from formlab.metrics.judge import kind_of, matched, settled

Tallies = dict[str, tuple[float, float]]


def page_scores(
    raw: Mapping[str, Any],
    facts: Sequence[Mapping[str, str]],
    pred: Places,
    *,
    mode: str,
    notes: Counter[str],
) -> tuple[Tallies, Tallies]:
    """The tally of each metric of `METRICS` on one page, and its correct and all facts by kind.

    In mode `official` facts are correct by the judge's own verdicts, in mode `fixed` by its
    verified ones (`settled`). Where a judge gives counts and no verdicts, these count in both
    modes, in `fixed` over the gold facts. The entity score is five times the accuracy, which mode
    `official` rounds to two decimals first, as the paper asks. The overall score is twice the
    structure score plus the entity score, within 0 to 10, whatever the judge calls it; its own
    stands beside it. What the answer leaves undefined is NaN. Mode `official` counts in `notes`
    where the judge's figures do not follow from its own parts, and scores that are out of range.

    Examples
    --------
    >>> from formlab.text.flow import read
    >>> answer = {"correct_entities": 17, "total_entities": 28, "structure_score": 1}
    >>> fact, notes = {"type": "Number", "value": "5"}, Counter()
    >>> page, kinds = page_scores(answer, [fact], Places(read("5")), mode="official", notes=notes)
    >>> page["judge_entity_score"], page["judge_overall"], kinds
    ((3.05, 1.0), (5.05, 1.0), {})
    """
    notes = notes if mode == "official" else Counter()
    kinds = _by_kind(raw, facts, pred, mode, notes)
    counts = kinds.pop("", (np.nan, np.nan))
    structure, stated = _within(raw, "structure_score", 2, notes), _within(raw, _STATED, 10, notes)
    share = counts[0] / counts[1] if counts[1] else np.nan
    score = 5 * (round(share, 2) if mode == "official" else share)
    overall = np.clip(2 * structure + score, 0, 10)
    accuracy = figure(raw.get("entity_accuracy"))
    own = figure(raw.get("entity_score"))
    own = 5 * accuracy if own is None and accuracy is not None else score if own is None else own
    # Parts are stated with two decimals.
    parts = np.clip(2 * structure + own, 0, 10)
    notes["judge: overall score that its own parts do not make"] += abs(stated - parts) > 0.06
    values = (structure, np.nan, score, overall, stated)
    tallies = {name: (float(value), 1.0) for name, value in zip(METRICS, values, strict=True)}
    return tallies | {"judge_entity_accuracy": counts}, kinds


def _by_kind(
    raw: Mapping[str, Any], facts: Sequence[Mapping[str, str]], pred: Places, mode: str,
    notes: Counter[str],
) -> Tallies:  # fmt: skip
    """Correct and all facts by kind, of every kind under the empty name."""
    stated = stated_counts(raw)
    kinds = [kind_of(fact["type"]) or fact["type"] for fact in facts]
    golds = Counter([*kinds, *[""] * len(facts)])
    if not raw.get(ENTRIES):
        over = {kind: stated[kind][1] if mode == "official" else golds[kind] for kind in stated}
        return {kind: (min(stated[kind][0], over[kind]), float(over[kind])) for kind in stated}
    if mode == "official":
        entries = matched(raw, facts, Counter())
        correct = [entries.get(n, {}).get("correct") is True for n in range(len(facts))]
    else:
        correct = [verdict.correct for verdict in settled(raw, facts, pred)]
    right = Counter(kind for kind, yes in zip(kinds, correct, strict=True) if yes)
    right[""] = sum(correct)
    odd = stated.get("", (right[""], golds[""])) != (right[""], golds[""])
    notes["judge: counts that its own verdicts do not make"] += odd
    return {kind: (float(right[kind]), float(count)) for kind, count in golds.items()}


def _within(raw: Mapping[str, Any], name: str, high: float, notes: Counter[str]) -> float:
    value = figure(raw.get(name))
    odd = name in raw and (value is None or not 0 <= value <= high)
    notes[f"judge: {name} that is no number from 0 to {high}"] += odd
    return np.nan if odd or value is None else value


_STATED = "overall_score"
_PAPER = "He et al., arXiv:2511.14998v1, appendix C"
METRICS = {
    name: Metric(
        name=name, title=title, high=high, unit=unit, source=_PAPER, view="counts",
        units=("page",), tasks=("fact",),
    )
    for name, title, high, unit in (
        ("judge_structure", "structure score of the judge", 2.0, "points of 2, mean over pages"),
        ("judge_entity_accuracy", "facts right by the judge", 1.0, "correct per fact"),
        ("judge_entity_score", "entity score of the judge", 5.0,
         "5 × facts right, mean over pages"),
        ("judge_overall", "overall score of the judge", 10.0,
         "2 × structure + entity score, mean over pages"),
        ("judge_overall_stated", "overall score as the judge states it", 10.0,
         "points of 10, mean over pages"),
    )
}  # fmt: skip
