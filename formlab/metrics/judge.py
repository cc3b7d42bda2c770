"""Checks of an LLM judge: its verdicts on facts are verified and the counts made anew from them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from formlab.benchmarks.fincriticaled import FACTS
from formlab.metrics._judge_answers import ENTRIES, released_form
from formlab.metrics._places import Places, tokens
from formlab.metrics.facts import MISSING, FactVerdict
from formlab.text.answers import LONGEST, repair
from formlab.text.markup import SILENT, Event, events, is_html, written_events

# Published name of each type, and its part of the keys of counts; in those of rates in lower case.
TYPES = {name: name.replace(" ", "_") for name, _ in FACTS.values()}
# Beyond this length Python's parser, which the released code uses, may take minutes.
_LONGEST = 300_000
_SPACE = re.compile(r"\s+")
_STEPS = (
    (re.compile(r"\\[()]"), " "),
    (re.compile(r"\\[\[\]]"), " "),
    (re.compile(r"\\([%$])"), r"\1"),
    (re.compile(r"\n\s*\n+"), "\n"),
    (re.compile(r" {2,}"), " "),
)
Answer = dict[str, Any]


def plain_text(prediction: str) -> str:
    r"""A prediction as the released code gives it to the judge and searches it.

    Examples
    --------
    >>> plain_text("<td>10\\%</td><td>5</td>")
    '10% 5'
    """
    stream: Iterable[Event] = [Event("text", prediction)]
    if len(prediction) <= _LONGEST:
        stream = written_events(prediction)
    elif is_html(prediction):
        stream = events(prediction)
    pieces, silent = [], 0
    for what, data, _ in stream:
        if what == "text" and not silent:
            blank = not data.strip(" \n\t\r\f")
            pieces.append(("\n" if "\n" in data else " ") if blank else data)
        elif data in SILENT:
            silent = max(0, silent + (1 if what == "start" else -1))
    text = " ".join(pieces)
    for pattern, new in _STEPS:
        text = pattern.sub(new, text)
    return text.strip()


def official(raw: Mapping[str, Any], facts: Sequence[Mapping[str, str]], text: str) -> Answer:
    """A judge's answer on one page after the released code's checks, bit for bit.

    Its verdicts are overruled and its counts recounted. `text` is the prediction, as from
    `plain_text`: a value that the judge did not place is found, and correct, wherever it is part
    of the text, also "5" in "2015".
    """
    answer = json.loads(json.dumps(raw))
    listed = answer.get(ENTRIES)
    entries = [e for e in listed if isinstance(e, dict)] if isinstance(listed, list) else []
    lower = text.lower()
    packed = _SPACE.sub("", lower)
    for entry in entries:
        _overrule(entry, lower, packed)
    _recount(answer, "total", Counter(str(fact["type"]) for fact in facts))
    for word, key in (("found", "found_in_prediction"), ("correct", "correct")):
        # A type that is a list or an object is none of those that are counted.
        kinds = Counter(str(entry.get("type", "")) for entry in entries if entry.get(key))
        _recount(answer, word, kinds)
    for suffix in ("", *(f"_with_{key}_type" for key in TYPES.values())):
        total, found = answer[f"total_entities{suffix}"], answer[f"found_entities{suffix}"]
        answer[f"not_found_entities{suffix}"] = total - found
    return answer


def by_substring(values: Sequence[str], prediction: str) -> list[FactVerdict]:
    """Verdicts of the released code's checks alone, where a judge placed nothing (mode `official`).

    Examples
    --------
    >>> [verdict.correct for verdict in by_substring(["5", "6"], "in 2015")]
    [True, False]
    """
    lower = plain_text(prediction).lower()
    packed = _SPACE.sub("", lower)
    verdicts = []
    for value in values:
        entry: Answer = {"value": value}
        _overrule(entry, lower, packed)
        flags = entry.get("found_in_prediction", False), entry.get("correct", False)
        verdicts.append(FactVerdict(*flags, False, entry.get("matched_text", "")))
    return verdicts


def _overrule(entry: Answer, lower: str, packed: str) -> None:
    value, matched = str(entry.get("value") or ""), str(entry.get("matched_text") or "")
    if value and not (entry.get("found_in_prediction") and matched):
        joined = _SPACE.sub("", value.lower())
        if value.lower() in lower or (len(joined) >= 4 and joined in packed):
            entry["found_in_prediction"] = True
            if not matched:
                entry["matched_text"] = matched = value
    if matched and _same(matched, value):
        entry["correct"] = True


def _same(first: str, second: str) -> bool:
    first, second = (_SPACE.sub(" ", text).strip().lower() for text in (first, second))
    return bool(first) and first == second


def _recount(answer: Answer, word: str, counts: Counter[str]) -> None:
    answer[f"{word}_entities"] = counts.total()
    for name, key in TYPES.items():
        answer[f"{word}_entities_with_{key}_type"] = counts[name]


def performance(answers: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The released code's figures over checked answers, in percent, bit for bit.

    ``*_acc`` is correct over found, ``*_missing_rate`` not found over gold; ``*_error``, in
    spite of its name, is about correct over gold, from the two rounded figures. 0 where nothing
    is there to divide by.

    Examples
    --------
    >>> counts = {"total_entities": 4, "found_entities": 2, "correct_entities": 1}
    >>> [performance([counts])[name] for name in ("entity_acc", "missing_rate", "entity_error")]
    [50.0, 50.0, 25.0]
    """
    answers = list(answers)
    parts = {"": ""} | {key.lower(): f"_with_{key}_type" for key in TYPES.values()}
    rates, missing = {}, {}
    for name, suffix in parts.items():
        total, found, correct = (
            sum(int(answer.get(f"{word}_entities{suffix}") or 0) for answer in answers)
            for word in ("total", "found", "correct")
        )
        rates[name] = round(correct / found * 100, 2) if found else 0.0
        missing[name] = round((total - found) / total * 100, 2) if total else 0.0
    figures = {_rate(name): value for name, value in rates.items()}
    figures |= {f"{name}_missing_rate".lstrip("_"): value for name, value in missing.items()}
    return figures | {
        f"{name or 'entity'}_error": round(rates[name] * (1 - missing[name] / 100), 2)
        for name in parts
    }


def _rate(name: str) -> str:
    return f"{name}_acc" if name == "reporting_entity" else f"{name}_entity_acc".lstrip("_")


def parse(text: str) -> tuple[Answer | None, str]:
    """A judge's answer from its text, in the released form, and its status.

    The status is ok, repaired or bad_json. Any schema that names facts or figures is read; of an
    answer that breaks off, what can be read is kept.

    Examples
    --------
    >>> parse('{"entity_diagnostics": [{"value": "5", "correct": true}')
    ({'entity_diagnostics': [{'value': '5', 'correct': True}]}, 'repaired')
    >>> parse("I cannot help with that.")
    (None, 'bad_json')
    """
    try:
        answer, status = json.loads(text), "ok"
    except (ValueError, RecursionError):
        try:
            answer, status = repair(text[:LONGEST])[0], "repaired"
        except ValueError:
            answer, status = None, "bad_json"
    answer = released_form(answer)
    return (answer, status) if answer else (None, "bad_json")


def settled(
    raw: Mapping[str, Any] | None,
    facts: Sequence[Mapping[str, str]],
    pred: Places,
    notes: Counter[str] | None = None,
) -> list[FactVerdict]:
    """One verdict per fact from a judge's answer (mode `fixed`).

    Entries are matched to facts by `number` (from 1), else by value, type and hint, each once. A
    fact that the judge skipped is missing; entries for facts that are not there, and second
    entries for one fact, are counted in `notes` and left out. What the judge calls correct must
    be found; the value must stand in the prediction in whole tokens.

    Examples
    --------
    >>> from formlab.text.flow import read
    >>> fact = {"type": "Number", "value": "5", "hint": "page 5"}
    >>> entry = fact | {"found_in_prediction": True, "correct": True, "matched_text": "5"}
    >>> settled({"entity_diagnostics": [entry]}, [fact], Places(read("in 2015")))[0].correct
    False
    """
    notes = Counter() if notes is None else notes
    entries = matched(raw or {}, facts, notes)
    return [_verdict(entries.get(n), fact, pred, notes) for n, fact in enumerate(facts)]


def matched(
    raw: Mapping[str, Any], facts: Sequence[Mapping[str, str]], notes: Counter[str]
) -> dict[int, Mapping[str, Any]]:
    """The entry of each fact that has one, by its place."""
    entries: dict[int, Mapping[str, Any]] = {}
    listed = raw.get(ENTRIES)
    for entry in listed if isinstance(listed, list) else ():
        index = _fact_of(entry, facts, entries) if isinstance(entry, dict) else None
        if index is None:
            notes["judge: entries for no fact"] += 1
        elif index in entries:
            notes["judge: facts listed twice"] += 1
        else:
            entries[index] = entry
    notes["judge: facts skipped"] += len(facts) - len(entries)
    return entries


def _fact_of(
    entry: Mapping[str, Any], facts: Sequence[Mapping[str, str]], taken: Mapping[int, Any]
) -> int | None:
    number = entry.get("number")
    if isinstance(number, int) and not isinstance(number, bool):
        return number - 1 if 0 < number <= len(facts) else None
    same = [n for n, fact in enumerate(facts) if _same(str(entry.get("value")), fact["value"])]
    kind, hint = kind_of(entry.get("type")), entry.get("context_hint")
    same = [n for n in same if kind_of(facts[n]["type"]) == kind] or same
    close = [n for n in same if facts[n].get("hint") == hint] or same
    return next((n for n in close if n not in taken), close[0] if close else None)


def kind_of(name: Any) -> str | None:
    """The kind of a type by any of its names: that of its tag, published, or formlab's.

    Examples
    --------
    >>> kind_of("Date"), kind_of("Monetary_Unit"), kind_of("Colour")
    ('temporal', 'monetary_unit', None)
    """
    word = re.sub(r"[\W_]+", "", str(name).lower())
    names = {**FACTS, **{kind.replace("_", ""): (kind, kind) for _, kind in FACTS.values()}}
    return names.get(word, (None, None))[1]


def _verdict(
    entry: Mapping[str, Any] | None, fact: Mapping[str, str], pred: Places, notes: Counter[str]
) -> FactVerdict:
    if entry is None:
        return MISSING
    there = bool(pred.find(tokens(fact["value"]))) or bool(pred.run_together(tokens(fact["value"])))
    matched = entry.get("matched_text")
    matched = matched if isinstance(matched, str) else ""
    claimed = entry.get("correct") is True
    correct = there and (claimed or _same(matched, fact["value"]))
    notes["judge: called correct, not in the prediction"] += claimed and not there
    found = correct or there or entry.get("found_in_prediction") is True
    return FactVerdict(found, correct, False, matched or (fact["value"] if there else ""))
