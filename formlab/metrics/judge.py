"""An LLM judge's answers: read, checked as the released code does, verified, summed to scores.

An answer has the released form: verdicts in a list `ENTRIES`, each with `number` or `type`,
`value` and `context_hint`, with the flags `found_in_prediction` and `correct`, and `matched_text`;
beside it `structure_score`, `overall_score` and, where there are no verdicts, counts.

In mode `official` the released checks hold: a value that the judge did not place is found, and
correct, wherever it is part of the text, also "5" in "2015". In mode `fixed` a fact that the judge
skipped is missing, and one it calls correct is so only where it stands in whole tokens. The entity
score is five times the accuracy, which mode `official` rounds to two decimals first, as the paper
asks; the overall score is twice the structure score plus the entity score, within 0 to 10. Scores
that the answer leaves undefined are NaN. Tested against the released code in `test_audit.py`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from formlab.benchmarks.fincriticaled import FACTS
from formlab.metrics.facts import MISSING, FactVerdict
from formlab.metrics.places import Places, tokens
from formlab.text.answers import LONGEST, MARKS, repair
from formlab.text.markup import SILENT, events, shown_texts, written_events

ENTRIES = "entity_diagnostics"
# Published name of each type, and its part of the keys of counts; in those of rates in lower case.
TYPES = {name: name.replace(" ", "_") for name, _ in FACTS.values()}
_KINDS = {tag: kind for tag, (_, kind) in FACTS.items()}
_KINDS |= {kind.replace("_", ""): kind for kind in _KINDS.values()}
# An answer has one of these: its verdicts, or figures without them.
_TELLING = (ENTRIES, "structure_score", "overall_score", "entity_accuracy", "correct_entities")
_STATED = re.compile(r"(correct|total)_entities(?:_with_(.+)_type)?", re.IGNORECASE)
_LONGEST = 300_000
_STEPS = [(re.compile(form), new) for form, new in MARKS["judge"]["plain"]]
# A judge's answer as it came or one of its entries, and the facts that were judged.
Raw, Facts = Mapping[str, Any], Sequence[Mapping[str, str]]
Answer = dict[str, Any]
Tallies = dict[tuple[str, str], tuple[float, float]]


def parse(text: str) -> tuple[Answer | None, str]:
    """A judge's answer from its text and its status: ok, repaired or bad_json."""
    try:
        answer, status = json.loads(text), "ok"
    except (ValueError, RecursionError):
        try:
            answer, status = repair(text[:LONGEST])[0], "repaired"
        except ValueError:
            return None, "bad_json"
    has = isinstance(answer, dict) and any(answer.get(key) is not None for key in _TELLING)
    return (answer, status) if has else (None, "bad_json")


def plain_text(prediction: str) -> str:
    """A prediction as the released code gives it to the judge and searches it."""
    # Beyond this length Python's parser, which the released code uses, may take minutes.
    read = written_events if len(prediction) <= _LONGEST else events
    shown = shown_texts(read(prediction), SILENT)
    # Of white space alone nothing is left but whether a line ends there.
    text = " ".join(p if p.strip(" \n\t\r\f") else "\n" if "\n" in p else " " for p in shown)
    for pattern, new in _STEPS:
        text = pattern.sub(new, text)
    return text.strip()


def official(raw: Raw, facts: Facts, text: str) -> Answer:
    """A judge's answer after the released code's checks on a page's `plain_text`, bit for bit."""
    answer = json.loads(json.dumps(raw))
    entries = _overruled(_entries(answer), text)
    # A type that is a list or an object is none of those that are counted.
    kinds = {"total": Counter(str(fact["type"]) for fact in facts)}
    for word, key in (("found", "found_in_prediction"), ("correct", "correct")):
        kinds[word] = Counter(str(entry.get("type", "")) for entry in entries if entry.get(key))
    kinds["not_found"] = kinds["total"].copy()
    kinds["not_found"].subtract(kinds["found"])
    for word, counts in kinds.items():
        answer[f"{word}_entities"] = counts.total()
        for name, key in TYPES.items():
            answer[f"{word}_entities_with_{key}_type"] = counts[name]
    return answer


def by_substring(values: Sequence[str], prediction: str) -> list[FactVerdict]:
    """Verdicts of the released code's checks alone, where a judge placed nothing (`official`)."""
    blank = {"found_in_prediction": False, "correct": False, "misplaced": False, "matched_text": ""}
    entries = _overruled([blank | {"value": value} for value in values], plain_text(prediction))
    return [FactVerdict(*(entry[name] for name in blank)) for entry in entries]


def _overruled(entries: list[Answer], text: str) -> list[Answer]:
    text = text.lower()
    packed = "".join(text.split())
    for entry in entries:
        value, matched = str(entry.get("value") or ""), str(entry.get("matched_text") or "")
        if value and not (entry.get("found_in_prediction") and matched):
            joined = "".join(value.lower().split())
            if value.lower() in text or (len(joined) >= 4 and joined in packed):
                entry["found_in_prediction"] = True
                if not matched:
                    entry["matched_text"] = matched = value
        if _same(matched, value):
            entry["correct"] = True
    return entries


def _same(first: str, second: str) -> bool:
    first, second = (" ".join(text.split()).lower() for text in (first, second))
    return bool(first) and first == second


def performance(answers: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The released code's figures over checked answers, in percent, bit for bit."""
    answers, rates, missing, errors = list(answers), {}, {}, {}
    for name, suffix in ("", ""), *((key.lower(), f"_with_{key}_type") for key in TYPES.values()):
        total, found, correct = (
            sum(int(answer.get(f"{word}_entities{suffix}") or 0) for answer in answers)
            for word in ("total", "found", "correct")
        )
        # In spite of its name, an error is about correct over gold, from two rounded figures.
        entity = "" if name == "reporting_entity" else "_entity"
        rate = round(correct / found * 100, 2) if found else 0.0
        lost = round((total - found) / total * 100, 2) if total else 0.0
        rates[f"{name}{entity}_acc".lstrip("_")] = rate
        missing[f"{name}_missing_rate".lstrip("_")] = lost
        errors[f"{name or 'entity'}_error"] = round(rate * (1 - lost / 100), 2)
    return rates | missing | errors


def settled(raw: Raw, facts: Facts, pred: Places, notes: Counter[str]) -> list[FactVerdict]:
    """One verdict per fact from a judge's answer (mode `fixed`); `notes` count what is odd."""
    verdicts = [MISSING] * len(facts)
    for number, entry in entries_of(raw, facts, notes).items():
        value, matched = facts[number]["value"], entry.get("matched_text")
        words, matched = tokens(value), matched if isinstance(matched, str) else ""
        stands, claimed = bool(pred.find(words) or pred.run_together(words)), entry.get("correct")
        correct = stands and (claimed is True or _same(matched, value))
        notes["judge: called correct, not in the prediction"] += claimed is True and not stands
        found = stands or entry.get("found_in_prediction") is True
        verdicts[number] = FactVerdict(found, correct, False, matched or (value if stands else ""))
    return verdicts


def _entries(raw: Raw) -> list[Answer]:
    entries = raw[ENTRIES] if isinstance(raw.get(ENTRIES), list) else []
    return [entry for entry in entries if isinstance(entry, dict)]


def entries_of(raw: Raw, facts: Facts, notes: Counter[str]) -> dict[int, Raw]:
    """The entry of each fact that has one; they are paired by number, else value, type and hint."""
    entries: dict[int, Raw] = {}
    for entry in _entries(raw):
        index = _fact_of(entry, facts, entries)
        if index is None:
            notes["judge: entries for no fact"] += 1
        elif index in entries:
            notes["judge: facts listed twice"] += 1
        else:
            entries[index] = entry
    notes["judge: facts skipped"] += len(facts) - len(entries)
    return entries


def _fact_of(entry: Raw, facts: Facts, taken: Mapping[int, Any]) -> int | None:
    number = entry.get("number")
    if type(number) is int:
        return number - 1 if 0 < number <= len(facts) else None
    same = [n for n, fact in enumerate(facts) if _same(str(entry.get("value")), fact["value"])]
    for key, fact_key in (("type", "type"), ("context_hint", "hint")):
        same = [n for n in same if facts[n].get(fact_key) == entry.get(key)] or same
    return next((n for n in same if n not in taken), same[0] if same else None)


def _kind_of(name: Any) -> str | None:
    """The kind of a type by any of its names: that of its tag, published, or formlab's."""
    return _KINDS.get(re.sub(r"[\W_]+", "", str(name).lower()))


def _stated_counts(answer: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """A judge's counts, correct and total, by kind; of all facts under the empty name."""
    counts: dict[str, dict[str, float]] = {}
    for key, value in answer.items():
        match, figure = _STATED.fullmatch(key), _figure(value)
        kind = match and (_kind_of(match[2]) if match[2] else "")
        if kind is not None and np.isfinite(figure):
            counts.setdefault(kind, {}).setdefault(match[1].lower(), figure)
    pairs = ((kind, of.get("correct", -1), of.get("total", -1)) for kind, of in counts.items())
    return {kind: (correct, total) for kind, correct, total in pairs if 0 <= correct <= total}


def _figure(value: Any) -> float:
    """A number in an answer, also one written as text; NaN for anything else."""
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(value, bool) and np.isfinite(number := float(value)):
            return number
    return np.nan


def page_scores(raw: Raw, facts: Facts, pred: Places, *, mode: str, notes: Counter[str]) -> Tallies:
    """The tally of each metric on one page, by its name and the kind of facts, empty for all."""
    notes = notes if mode == "official" else Counter()
    kinds = _by_kind(raw, facts, pred, mode)
    correct, total = kinds.setdefault("", (np.nan, np.nan))
    structure = _within(raw, "structure_score", 2, notes)
    stated = _within(raw, "overall_score", 10, notes)
    share = correct / total if total else np.nan
    score = 5 * (round(share, 2) if mode == "official" else share)
    overall = float(np.clip(2 * structure + score, 0, 10))
    values = {"structure": structure, "entity_score": score}
    values |= {"overall": overall, "overall_stated": stated}
    tallies = {(f"judge_{name}", ""): (value, 1.0) for name, value in values.items()}
    return tallies | {("judge_entity_accuracy", kind): counts for kind, counts in kinds.items()}


def _by_kind(raw: Raw, facts: Facts, pred: Places, mode: str) -> dict[str, tuple[float, float]]:
    """Correct and all facts by kind, of every kind under the empty name."""
    kinds = [_kind_of(fact["type"]) or fact["type"] for fact in facts]
    golds = Counter([*kinds, *[""] * len(facts)])
    if not raw.get(ENTRIES):
        stated = _stated_counts(raw)
        over = golds if mode == "fixed" else {kind: total for kind, (_, total) in stated.items()}
        return {kind: (min(of[0], over[kind]), float(over[kind])) for kind, of in stated.items()}
    if mode == "official":
        entries = entries_of(raw, facts, Counter())
        correct = [entries.get(n, {}).get("correct") is True for n in range(len(facts))]
    else:
        correct = [verdict.correct for verdict in settled(raw, facts, pred, Counter())]
    right = Counter(kind for kind, is_right in zip(kinds, correct, strict=True) if is_right)
    right[""] = sum(correct)
    return {kind: (float(right[kind]), float(count)) for kind, count in golds.items()}


def _within(raw: Raw, name: str, high: float, notes: Counter[str]) -> float:
    value = _figure(raw.get(name))
    odd = name in raw and not 0 <= value <= high
    notes[f"judge: {name} that is no number from 0 to {high}"] += odd
    return np.nan if odd else value
