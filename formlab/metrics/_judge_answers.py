"""A judge's answer in whatever schema it was asked for, in the form of the released code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from formlab.benchmarks.fincriticaled import FACTS

Answer = dict[str, Any]
ENTRIES = "entity_diagnostics"
# The released key of a column, and what else judges call it; the first that is there counts.
_COLUMNS = {
    "number": ("number", "fact_number"),
    "type": ("type", "entity_type", "kind", "category"),
    "value": ("value", "entity", "fact", "gold_value", "gold", "expected", "text"),
    "context_hint": ("context_hint", "hint", "context"),
    "matched_text": ("matched_text", "matched", "predicted_value", "prediction", "predicted",
                     "generated", "actual"),
    "correct": ("correct", "is_correct", "match", "is_match", "matched", "verdict", "status",
                "result", "outcome"),
    "found_in_prediction": ("found_in_prediction", "found", "is_found", "present"),
}  # fmt: skip
_FIGURES = {
    "structure_score": ("structure_score", "structure"),
    "total_entities": ("total_entities", "total_facts", "total"),
    "correct_entities": ("correct_entities", "correct_facts", "correct"),
    "entity_accuracy": ("entity_accuracy", "fact_accuracy", "accuracy"),
    "entity_score": ("entity_score",),
    "overall_score": ("overall_score", "overall", "score"),
}
_RIGHT = {"correct": True, "found_in_prediction": True}
_WRONG = {"correct": False, "found_in_prediction": True}
_ABSENT = {"correct": False, "found_in_prediction": False}
_UNKNOWN = {"correct": False}
# What a verdict says, by its word.
_WORDS: dict[str, Answer] = {
    **dict.fromkeys(("correct", "true", "yes", "match", "matched", "exact", "right", "1"), _RIGHT),
    **dict.fromkeys(("incorrect", "wrong", "partial", "mismatch", "altered"), _WRONG),
    **dict.fromkeys(("false", "no", "fail", "0"), _UNKNOWN),
    **dict.fromkeys(("missing", "absent", "omitted", "not_found"), _ABSENT),
}
_DEEPEST = 3


def released_form(answer: Any) -> Answer:
    """The answer with its verdicts in `ENTRIES` and its figures under the released names.

    Verdicts may be a list of objects, an object by fact, or lists of facts by verdict. An answer
    in the released form comes back as it is; one that names neither facts nor figures is empty.

    Examples
    --------
    >>> released_form({"facts": [{"fact": "5", "verdict": "missing"}]})[ENTRIES]
    [{'value': '5', 'correct': False, 'found_in_prediction': False}]
    >>> released_form({"correct": ["5"]})[ENTRIES]
    [{'value': '5', 'correct': True, 'found_in_prediction': True}]
    >>> stated_counts(released_form({"total_facts": 4, "correct_facts": 3}))
    {'': (3.0, 4.0)}
    >>> released_form({"weather": "fine"})
    {}
    """
    answer = {"": answer} if isinstance(answer, list) else answer
    if not isinstance(answer, dict):
        return {}
    listed = answer.get(ENTRIES)
    keys = {"correct", "found_in_prediction"}
    if isinstance(listed, list) and (
        any(isinstance(item, dict) and keys & item.keys() for item in listed)
        or not any(map(_entry, listed))
    ):
        return answer
    entries = next((found for each in _objects(answer) if (found := _entries(each))), [])
    figures: Answer = {}
    for name, aliases in _FIGURES.items():
        values = [answer[alias] for alias in aliases if figure(answer.get(alias)) is not None]
        if values:
            figures[name] = values[0]
    return {**answer, **figures, ENTRIES: entries} if entries or figures else {}


def figure(value: Any) -> float | None:
    """A number in an answer, also one written as text or in percent; None for what is none.

    Examples
    --------
    >>> figure("61%"), figure(2), figure(True), figure("two")
    (0.61, 2.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    if not re.fullmatch(r"[+-]?\d{1,15}(\.\d{0,15})?%?", text, re.ASCII):
        return None
    return float(text.rstrip("%")) / (100 if text.endswith("%") else 1)


def stated_counts(answer: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """What a judge counted, correct and total, by kind; of all facts under the empty name.

    Examples
    --------
    >>> stated_counts({"correct_entities": 3, "total_entities": 4})
    {'': (3.0, 4.0)}
    """
    suffixes = {"": ""}
    for tag, (name, kind) in FACTS.items():
        for word in (name.replace(" ", "_"), tag.capitalize()):
            suffixes[f"_with_{word}_type"] = kind
            suffixes[f"_with_{word.lower()}_type"] = kind
    counts: dict[str, tuple[float, float]] = {}
    for suffix, kind in suffixes.items():
        pair = [figure(answer.get(f"{word}_entities{suffix}")) for word in ("correct", "total")]
        if None not in pair and 0 <= pair[0] <= pair[1]:
            counts.setdefault(kind, (pair[0], pair[1]))
    return counts


def _objects(answer: Answer, depth: int = 0) -> Iterator[Answer]:
    """The answer, and the objects in it."""
    yield answer
    if depth < _DEEPEST:
        for value in answer.values():
            if isinstance(value, dict):
                yield from _objects(value, depth + 1)


def _entries(answer: Answer) -> list[Answer]:
    for value in answer.values():
        listed = [_entry(item) for item in value] if isinstance(value, list) else []
        if any(listed):
            return [entry for entry in listed if entry]
    entries = [
        {"value": item} | verdict
        for key, items in answer.items()
        if isinstance(items, list) and (verdict := _verdict(key) or _verdict(key.split("_")[0]))
        for item in items if isinstance(item, str)
    ]  # fmt: skip
    return entries or _by_fact(answer)


def _by_fact(answer: Answer) -> list[Answer]:
    """Entries of an object from a fact, its value or its number, to a verdict."""
    known = {name for names in (*_COLUMNS.values(), *_FIGURES.values()) for name in names}
    numbered = [*answer] == [str(n) for n in range(1, len(answer) + 1)]
    entries = []
    for key, value in answer.items():
        entry = _entry(value) if isinstance(value, dict) else _verdict(value)
        if not entry or key in known or (isinstance(value, int) and not isinstance(value, bool)):
            return []
        entries.append(({"number": int(key)} if numbered else {"value": key}) | entry)
    return entries


def _entry(item: Any) -> Answer:
    """One verdict with the released keys; empty for what is none."""
    if not isinstance(item, dict):
        return {}
    entry: Answer = {}
    for column, aliases in _COLUMNS.items():
        for alias in aliases:
            value = item.get(alias)
            if column in ("correct", "found_in_prediction"):
                verdict = _verdict(value)
                if verdict and column == "correct":
                    entry |= verdict | entry
                elif verdict:
                    entry[column] = verdict["correct"]
            elif type(value) is (int if column == "number" else str):
                entry.setdefault(column, value)
    return entry if "correct" in entry or "found_in_prediction" in entry else {}


def _verdict(value: Any) -> Answer:
    """What a word or flag says of a fact; empty for what is no verdict."""
    if not isinstance(value, bool | int | str) or (isinstance(value, str) and value.isdigit()):
        return {}
    return dict(_WORDS.get(re.sub(r"[\s_-]+", "_", str(value).strip().lower()), {}))
