"""An LLM judge's answers: read in any schema, verified against the facts, and summed to scores.

Answers are brought into the form of the released code, whatever schema they were asked for in. Its
verdicts on facts are verified and its counts made anew from them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from formlab.benchmarks.fincriticaled import FACTS
from formlab.metrics.facts import MISSING, FactVerdict
from formlab.metrics.metric import family
from formlab.metrics.places import Places, tokens
from formlab.text.answers import LONGEST, repair
from formlab.text.markup import SILENT, Event, events, is_html, written_events

ENTRIES = "entity_diagnostics"
# Published name of each type, and its part of the keys of counts; in those of rates in lower case.
TYPES = {name: name.replace(" ", "_") for name, _ in FACTS.values()}
# The released key of a column, and what else judges call it; the first that is there counts.
_COLUMNS = {
    "number": "number fact_number",
    "type": "type entity_type kind category",
    "value": "value entity fact gold_value gold expected text",
    "context_hint": "context_hint hint context",
    "matched_text": "matched_text matched predicted_value prediction predicted generated actual",
    "correct": "correct is_correct match is_match matched verdict status result outcome",
    "found_in_prediction": "found_in_prediction found is_found present",
}
_FIGURES = {
    "structure_score": "structure_score structure",
    "total_entities": "total_entities total_facts total",
    "correct_entities": "correct_entities correct_facts correct",
    "entity_accuracy": "entity_accuracy fact_accuracy accuracy",
    "entity_score": "entity_score",
    "overall_score": "overall_score overall score",
}
_KNOWN = {name for names in (*_COLUMNS.values(), *_FIGURES.values()) for name in names.split()}
_FLAGS = ("correct", "found_in_prediction")
_RIGHT = ("correct", "true", "yes", "match", "matched", "exact", "right", "1")
# What a verdict says, by its word: whether the fact is correct, and found, where that is said.
_WORDS = {
    **dict.fromkeys(_RIGHT, (True, True)),
    **dict.fromkeys(["incorrect", "wrong", "partial", "mismatch", "altered"], (False, True)),
    **dict.fromkeys(["missing", "absent", "omitted", "not_found"], (False, False)),
    **dict.fromkeys(["false", "no", "fail", "0"], (False,)),
}
_DEEPEST = 3
# Beyond this length Python's parser, which the released code uses, may take minutes.
_LONGEST = 300_000
_SPACE = re.compile(r"\s+")
_FIGURE = re.compile(r"[+-]?\d{1,15}(\.\d{0,15})?%?", re.ASCII)
_STEPS = (
    (re.compile(r"\\[()\[\]]"), " "),
    (re.compile(r"\\([%$])"), r"\1"),
    (re.compile(r"\n\s*\n+"), "\n"),
    (re.compile(r" {2,}"), " "),
)
Answer = dict[str, Any]
Fact = Mapping[str, str]
Tallies = dict[str, tuple[float, float]]


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
    >>> released_form({"weather": "fine"})
    {}
    """
    answer = {"": answer} if isinstance(answer, list) else answer
    if not isinstance(answer, dict):
        return {}
    if isinstance(listed := answer.get(ENTRIES), list):
        objects = [item for item in listed if isinstance(item, dict)]
        if any(item.keys() & set(_FLAGS) for item in objects) or not any(map(_entry, objects)):
            return answer
    entries = next((found for part in _objects(answer) if (found := _entries(part))), [])
    figures = {
        name: next(answer[alias] for alias in aliases.split() if _is_figure(answer.get(alias)))
        for name, aliases in _FIGURES.items()
        if any(_is_figure(answer.get(alias)) for alias in aliases.split())
    }
    return {**answer, **figures, ENTRIES: entries} if entries or figures else {}


def _figure(value: Any) -> float | None:
    """A number in an answer, also one written as text or in percent; None for what is none."""
    if not _is_figure(value):
        return None
    text = str(value).strip()
    return float(text.rstrip("%")) / (100 if text.endswith("%") else 1)


def _is_figure(value: Any) -> bool:
    is_plain = isinstance(value, int | float | str) and not isinstance(value, bool)
    return is_plain and _FIGURE.fullmatch(str(value).strip()) is not None


def _objects(answer: Answer, depth: int = 0) -> Iterator[Answer]:
    """The answer, and the objects in it."""
    yield answer
    for value in answer.values() if depth < _DEEPEST else ():
        if isinstance(value, dict):
            yield from _objects(value, depth + 1)


def _entries(answer: Answer) -> list[Answer]:
    for value in answer.values():
        listed = [_entry(item) for item in value] if isinstance(value, list) else []
        if any(listed):
            return list(filter(None, listed))
    lists = [(key, items) for key, items in answer.items() if isinstance(items, list)]
    entries = [
        {"value": item} | verdict
        for key, items in lists
        if (verdict := _verdict(key) or _verdict(key.split("_")[0]))
        for item in items
        if isinstance(item, str)
    ]
    return entries or _by_fact(answer)


def _by_fact(answer: Answer) -> list[Answer]:
    """Entries of an object from a fact, its value or its number, to a verdict."""
    numbered = [*answer] == [str(n) for n in range(1, len(answer) + 1)]
    entries = []
    for key, value in answer.items():
        entry = _entry(value) if isinstance(value, dict) else _verdict(value)
        if not entry or key in _KNOWN or (isinstance(value, int) and not isinstance(value, bool)):
            return []
        entries.append(({"number": int(key)} if numbered else {"value": key}) | entry)
    return entries


def _entry(item: Any) -> Answer:
    """One verdict with the released keys; empty for what is none."""
    entry: Answer = {}
    for column, aliases in _COLUMNS.items() if isinstance(item, dict) else ():
        for value in map(item.get, aliases.split()):
            if column == "correct":
                entry = entry | _verdict(value) | entry
            elif column == "found_in_prediction":
                entry |= {column: said["correct"]} if (said := _verdict(value)) else {}
            elif type(value) is (int if column == "number" else str):
                entry.setdefault(column, value)
    return entry if entry.keys() & set(_FLAGS) else {}


def _verdict(value: Any) -> Answer:
    """What a word or flag says of a fact; empty for what is no verdict."""
    if not isinstance(value, bool | int | str) or (isinstance(value, str) and value.isdigit()):
        return {}
    word = re.sub(r"[\s_-]+", "_", str(value).strip().lower())
    return dict(zip(_FLAGS, _WORDS.get(word, ()), strict=False))


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


def official(raw: Mapping[str, Any], facts: Sequence[Fact], text: str) -> Answer:
    """A judge's answer on one page after the released code's checks, bit for bit.

    Its verdicts are overruled and its counts recounted. `text` is the prediction, as from
    `plain_text`: a value that the judge did not place is found, and correct, wherever it is part
    of the text, also "5" in "2015".
    """
    answer = json.loads(json.dumps(raw))
    entries = [entry for entry in _listed(answer) if isinstance(entry, dict)]
    _overrule(entries, text)
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
    """Verdicts of the released code's checks alone, where a judge placed nothing (mode `official`).

    Examples
    --------
    >>> [verdict.correct for verdict in by_substring(["5", "6"], "in 2015")]
    [True, False]
    """
    entries = [{"value": value} for value in values]
    _overrule(entries, plain_text(prediction))
    flags = [[entry.get(key, False) for key in reversed(_FLAGS)] for entry in entries]
    return [
        FactVerdict(*pair, False, entry.get("matched_text", ""))
        for pair, entry in zip(flags, entries, strict=True)
    ]


def _overrule(entries: list[Answer], text: str) -> None:
    text = text.lower()
    packed = _SPACE.sub("", text)
    for entry in entries:
        value, matched = str(entry.get("value") or ""), str(entry.get("matched_text") or "")
        if value and not (entry.get("found_in_prediction") and matched):
            joined = _SPACE.sub("", value.lower())
            if value.lower() in text or (len(joined) >= 4 and joined in packed):
                entry["found_in_prediction"] = True
                if not matched:
                    entry["matched_text"] = matched = value
        if matched and _same(matched, value):
            entry["correct"] = True


def _same(first: str, second: str) -> bool:
    first, second = (_SPACE.sub(" ", text).strip().lower() for text in (first, second))
    return bool(first) and first == second


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
    answers, rates, missing, errors = list(answers), {}, {}, {}
    for name, suffix in ("", ""), *((key.lower(), f"_with_{key}_type") for key in TYPES.values()):
        total, found, correct = (
            sum(int(answer.get(f"{word}_entities{suffix}") or 0) for answer in answers)
            for word in ("total", "found", "correct")
        )
        entity = "" if name == "reporting_entity" else "_entity"
        rate = round(correct / found * 100, 2) if found else 0.0
        lost = round((total - found) / total * 100, 2) if total else 0.0
        rates[f"{name}{entity}_acc".lstrip("_")] = rate
        missing[f"{name}_missing_rate".lstrip("_")] = lost
        errors[f"{name or 'entity'}_error"] = round(rate * (1 - lost / 100), 2)
    return rates | missing | errors


def settled(
    raw: Mapping[str, Any] | None,
    facts: Sequence[Fact],
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
    entries, verdicts = _matched(raw or {}, facts, notes), []
    for number, fact in enumerate(facts):
        if (entry := entries.get(number)) is None:
            verdicts.append(MISSING)
            continue
        words = tokens(fact["value"])
        there = bool(pred.find(words) or pred.run_together(words))
        matched = entry.get("matched_text")
        matched = matched if isinstance(matched, str) else ""
        claimed = entry.get("correct") is True
        correct = there and (claimed or _same(matched, fact["value"]))
        notes["judge: called correct, not in the prediction"] += claimed and not there
        found = correct or there or entry.get("found_in_prediction") is True
        text = matched or (fact["value"] if there else "")
        verdicts.append(FactVerdict(found, correct, False, text))
    return verdicts


def _listed(raw: Mapping[str, Any]) -> list:
    listed = raw.get(ENTRIES)
    return listed if isinstance(listed, list) else []


def _matched(
    raw: Mapping[str, Any], facts: Sequence[Fact], notes: Counter[str]
) -> dict[int, Mapping[str, Any]]:
    """The entry of each fact that has one, by its place."""
    entries: dict[int, Mapping[str, Any]] = {}
    for entry in _listed(raw):
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
    entry: Mapping[str, Any], facts: Sequence[Fact], taken: Mapping[int, Any]
) -> int | None:
    number = entry.get("number")
    if isinstance(number, int) and not isinstance(number, bool):
        return number - 1 if 0 < number <= len(facts) else None
    same = [n for n, fact in enumerate(facts) if _same(str(entry.get("value")), fact["value"])]
    kind, hint = _kind_of(entry.get("type")), entry.get("context_hint")
    same = [n for n in same if _kind_of(facts[n]["type"]) == kind] or same
    close = [n for n in same if facts[n].get("hint") == hint] or same
    return next((n for n in close if n not in taken), close[0] if close else None)


def _kind_of(name: Any) -> str | None:
    """The kind of a type by any of its names: that of its tag, published, or formlab's."""
    word = re.sub(r"[\W_]+", "", str(name).lower())
    kinds = {kind.replace("_", ""): kind for _, kind in FACTS.values()}
    return kinds.get(word) or FACTS.get(word, (None, None))[1]


def _stated_counts(answer: Mapping[str, Any]) -> Tallies:
    """What a judge counted, correct and total, by kind; of all facts under the empty name."""
    suffixes = {"": ""}
    for tag, (name, kind) in FACTS.items():
        for word in (name.replace(" ", "_"), tag.capitalize()):
            suffixes |= {f"_with_{spelling}_type": kind for spelling in (word, word.lower())}
    counts: Tallies = {}
    for suffix, kind in suffixes.items():
        pair = [_figure(answer.get(f"{word}_entities{suffix}")) for word in ("correct", "total")]
        if None not in pair and 0 <= pair[0] <= pair[1]:
            counts.setdefault(kind, (pair[0], pair[1]))
    return counts


def page_scores(
    raw: Mapping[str, Any],
    facts: Sequence[Fact],
    pred: Places,
    *,
    mode: str,
    notes: Counter[str],
) -> tuple[Tallies, Tallies]:
    """The tally of each metric of `METRICS` on one page, and its correct and all facts by kind.

    In mode `official` facts are correct by the judge's own verdicts, in mode `fixed` by its
    verified ones (`settled`); a judge's counts without verdicts count in both, in `fixed` over the
    gold facts. The entity score is five times the accuracy, which mode `official` rounds to two
    decimals first, as the paper asks. The overall score is twice the structure score plus the
    entity score, within 0 to 10; what the judge states stands beside it. What the answer leaves
    undefined is NaN. Mode `official` counts in `notes` where the judge's figures do not follow from
    its own parts, and scores that are out of range.

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
    structure = _within(raw, "structure_score", 2, notes)
    stated = _within(raw, "overall_score", 10, notes)
    share = counts[0] / counts[1] if counts[1] else np.nan
    score = 5 * (round(share, 2) if mode == "official" else share)
    own, accuracy = _figure(raw.get("entity_score")), _figure(raw.get("entity_accuracy"))
    if own is None:
        own = score if accuracy is None else 5 * accuracy
    # Parts are stated with two decimals.
    overall, parts = (np.clip(2 * structure + entities, 0, 10) for entities in (score, own))
    notes["judge: overall score that its own parts do not make"] += abs(stated - parts) > 0.06
    values = (structure, np.nan, score, overall, stated)
    tallies = {name: (float(value), 1.0) for name, value in zip(METRICS, values, strict=True)}
    return tallies | {"judge_entity_accuracy": counts}, kinds


def _by_kind(
    raw: Mapping[str, Any], facts: Sequence[Fact], pred: Places, mode: str, notes: Counter[str]
) -> Tallies:
    """Correct and all facts by kind, of every kind under the empty name."""
    stated = _stated_counts(raw)
    kinds = [_kind_of(fact["type"]) or fact["type"] for fact in facts]
    golds = Counter([*kinds, *[""] * len(facts)])
    if not raw.get(ENTRIES):
        over = {kind: stated[kind][1] if mode == "official" else golds[kind] for kind in stated}
        return {kind: (min(stated[kind][0], over[kind]), float(over[kind])) for kind in stated}
    if mode == "official":
        entries = _matched(raw, facts, Counter())
        correct = [entries.get(n, {}).get("correct") is True for n in range(len(facts))]
    else:
        correct = [verdict.correct for verdict in settled(raw, facts, pred)]
    right = Counter(kind for kind, is_right in zip(kinds, correct, strict=True) if is_right)
    right[""] = sum(correct)
    odd = stated.get("", (right[""], golds[""])) != (right[""], golds[""])
    notes["judge: counts that its own verdicts do not make"] += odd
    return {kind: (float(right[kind]), float(count)) for kind, count in golds.items()}


def _within(raw: Mapping[str, Any], name: str, high: float, notes: Counter[str]) -> float:
    value = _figure(raw.get(name))
    odd = name in raw and (value is None or not 0 <= value <= high)
    notes[f"judge: {name} that is no number from 0 to {high}"] += odd
    return np.nan if odd or value is None else value


_OVERALL = "2 × structure + entity score, mean over pages"
_STATED, _POINTS = "overall score as the judge states it", "points of 10, mean over pages"
METRICS = family(
    ("judge_structure", "structure score of the judge", "points of 2, mean over pages"),
    ("judge_entity_accuracy", "facts right by the judge", "correct per fact"),
    ("judge_entity_score", "entity score of the judge", "5 × facts right, mean over pages"),
    ("judge_overall", "overall score of the judge", _OVERALL, {"high": 10.0}),
    ("judge_overall_stated", _STATED, _POINTS, {"high": 10.0}),
    source="He et al., arXiv:2511.14998v1, appendix C",
    units=("page",),
    tasks=("fact",),
)
for _name, _high in (("judge_structure", 2.0), ("judge_entity_score", 5.0)):
    METRICS[_name] = replace(METRICS[_name], high=_high)
