"""Why a drafted question or consistency check cannot be right, told from the annotation alone."""

from collections.abc import Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from formlab import text
from formlab.benchmarks.formcraft import (
    RELATIONS,
    NoFormulaError,
    NotAFormError,
    canonical,
    is_written_as,
    item_of,
    label_of,
    modality_of,
    number_in,
    value_of,
)

Row = dict[str, Any]
Fields = Mapping[str, Row]


def faults(task: str, item: Row, fields: Fields) -> tuple[str, ...]:
    """The faults of an item of ``vqa`` or ``consistency``; empty if it is sound.

    `item` is as in the form's JSON; a check with ``"determined": false`` is only a constraint.
    `fields` are the form's annotated fields by path: rows with `value`, `kind` and `accepted`.

    Examples
    --------
    >>> fields = {"/A": {"value": "5"}, "/B": {"value": "7"}}
    >>> check = {"id": "1", "source": "/A", "dependent": "/B", "expected": "8", "confidence": 0.9,
    ...          "rationale": "B is A and 2.", "scope": "intra-group", "reference": "direct-link",
    ...          "complexity": "simple", "modal": "single-modality"}
    >>> faults("consistency", check, fields)
    ("expected '8', and the annotation of /B says '7'",)
    """
    try:
        parsed = item_of(task, item)
    except NotAFormError as error:
        return (f"not of the schema: {error}",)
    named = parsed.fields if task == "vqa" else [parsed.source, parsed.dependent]
    why = [f"no field at {path}" for path in dict.fromkeys(named) if path not in fields]
    why += [
        f"{axis} {getattr(parsed, axis)!r} is none of {', '.join(words)}"
        for axis, words in RELATIONS.items()
        if canonical(axis, getattr(parsed, axis)) is None
    ]
    why += [] if parsed.rationale.strip() else ["no reason is given"]
    if why:
        return tuple(why)
    fault = _of_question(parsed, fields) if task == "vqa" else _of_check(parsed, item, fields)
    return (fault,) if fault else ()


def field_faults(modality: str | None, subtype: str | None) -> tuple[str, ...]:
    """Why the words of the taxonomy on a field cannot be right; empty if both are known.

    Examples
    --------
    >>> field_faults("textual", "handwritten"), field_faults("textual", "checkbox")
    ((), ('its modality subtype is not known',))
    """
    large, small = modality_of(modality, subtype)
    if large is None:
        return ("its modality is not known",)
    return ("its modality subtype is not known",) if small is None else ()


def _of_question(made: SimpleNamespace, fields: Fields) -> str:
    answer = next((answer for answer in made.answers if answer.strip()), "")
    if not made.question.strip():
        return "no question"
    if not made.fields:
        return "no field is named that it is about"
    if not answer:
        return "no answer"
    if made.options:
        options = {text.normalise(option) for option in made.options}
        chosen = text.choices(answer)
        among = text.normalise(answer) in options or (chosen and chosen <= options)
        return "" if among else f"the answer {answer!r} is none of the options"
    values = [fields[path]["value"] or "" for path in made.fields]
    if len(values) == 1 and text.normalise(values[0]) == text.normalise(answer):
        return "it only asks what one field says: nothing is cross-referenced"
    if _stands(answer, fields):
        return ""
    wrong = _miscounted(answer, made.derivation, fields)
    return f"the answer {answer!r} does not stand on the form, and {wrong}" if wrong else ""


def _of_check(made: SimpleNamespace, item: Row, fields: Fields) -> str:
    if item.get("determined") is False:
        return "a mere constraint: the value does not follow from the other field"
    if made.source == made.dependent:
        return "source and dependent are one field"
    if not made.expected.strip():
        return "no value is expected"
    if made.confidence is None or not 0 <= made.confidence <= 1:
        return "the confidence is no number from 0 to 1"
    if not (fields[made.source]["value"] or "").strip():
        return f"{made.source} is empty: nothing follows from it"
    gold = fields[made.dependent]
    if not (gold["value"] or "").strip():
        # What was left empty may be inferred all the same.
        return ""
    rungs = text.ladder(
        gold["value"], made.expected, kind=gold.get("kind"), accepted=gold.get("accepted") or (),
        order=text.date_order(row["value"] or "" for row in fields.values()),
    )  # fmt: skip
    why = f"expected {made.expected!r}, and the annotation of {made.dependent} says"
    return "" if rungs.typed else f"{why} {gold['value']!r}"


def _stands(answer: str, fields: Fields) -> bool:
    """Whether an answer, or each choice in it, is yes or no, or occurs in a value or label."""
    if text.checked(answer) is not None:
        return True
    texts = [text.normalise(row["value"] or "") for row in fields.values()]
    texts += [text.normalise(label_of(path)) for path in fields]
    choices = text.choices(answer) or frozenset({text.normalise(answer)})
    return all(any(choice in value for value in texts) for choice in choices)


def _miscounted(answer: str, derivation: Row | None, fields: Fields) -> str:
    """Why the formula of an item does not give its answer; empty if it does."""
    formula, names = ((derivation or {}).get(key) for key in ("formula", "fields"))
    if not formula or not isinstance(names, dict):
        return "no formula says how it follows"
    values: dict[str, Fraction] = {}
    for name, path in names.items():
        value = number_in((fields.get(str(path)) or {}).get("value") or "")
        if value is None:
            return f"its formula needs a number at {path}"
        values[name] = value
    try:
        exact = value_of(str(formula), values)
    except NoFormulaError as error:
        return f"its formula cannot be worked out: {error}"
    return "" if is_written_as(exact, answer) else f"its formula gives {float(exact):g}"
