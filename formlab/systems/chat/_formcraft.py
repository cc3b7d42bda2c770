"""FORMCRAFT's tasks for a model: the form as it is, its questions, its consistency checks."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from formlab.benchmarks.formcraft import MODALITIES, answers, item_meta
from formlab.benchmarks.formcraft.answers import ITEMS
from formlab.systems.chat import _ask
from formlab.systems.chat._ask import Ask, Place, Row, WrongShape
from formlab.tables import BOX

_SUBTYPES = sorted({word for words in MODALITIES.values() for word in words})
_FIELD = _ask.closed(
    label=_ask.TEXT, value=_ask.TEXT, modality={"type": "string", "enum": list(MODALITIES)},
    modality_subtype={"type": "string", "enum": _SUBTYPES}, page=_ask.PAGE, box=_ask.BOX,
)  # fmt: skip
_GROUPS = _ask.listed({"$ref": "#/$defs/group"})
_GROUP = _ask.closed(
    label=_ask.TEXT, page=_ask.PAGE, box=_ask.BOX, fields=_ask.listed(_FIELD), groups=_GROUPS
)
FORM = _ask.closed(fields=_ask.listed(_FIELD), groups=_GROUPS) | {"$defs": {"group": _GROUP}}
_ANSWER = {"id": _ask.TEXT, "answer": _ask.TEXT, "confidence": _ask.NUMBER}
_READ = _ask.closed(path=_ask.TEXT, value=_ask.TEXT)
_LISTS = {
    "vqa": _ask.closed(answers=_ask.listed(_ask.closed(**_ANSWER))),
    "consistency": _ask.closed(
        answers=_ask.listed(_ask.closed(**_ANSWER, reason=_ask.TEXT, fields=_ask.listed(_READ)))
    ),
}
_NAMES = {"vqa": "QUESTIONS", "consistency": "CHECKS"}
_SHOWN = {"vqa": ("question", "options"), "consistency": ("source", "dependent")}


def extraction(_document: Row, _gold: list[Row]) -> Ask:
    """The whole form; nothing of the gold is shown."""
    return Ask({}, FORM, form_rows, [{"task": "text", "path": None, "kind": "form"}])


def items(task: str, _document: Row, gold: list[Row]) -> Ask | None:
    """All questions or checks of one form; None if it has none.

    Examples
    --------
    >>> gold = [{"task": "vqa", "path": "/vqa/q1", "meta": '{"question": "Who signed?"}'}]
    >>> items("vqa", {}, gold).asked
    {'QUESTIONS': [{'id': 'q1', 'question': 'Who signed?'}]}
    """
    questions = [row for row in gold if row["task"] == task]
    if not questions:
        return None
    root = ITEMS[task]
    asked = []
    for row in questions:
        meta = item_meta(row)._asdict()
        shown = {name: meta[name] for name in _SHOWN[task] if meta[name]}
        if task == "consistency":
            shown["fields"] = list(item_meta(row).relevant)
        asked.append({"id": row["path"].removeprefix(f"{root}/")} | shown)
    blank = [{"task": task, "path": row["path"]} for row in questions]
    known = {item["id"] for item in asked}
    return Ask({_NAMES[task]: asked}, _LISTS[task], partial(item_rows, task, known), blank)


def form_rows(value: Any, locate: Place) -> list[Row]:
    """Rows of a predicted form: itself, its fields and groups; `WrongShape` if it is none."""
    try:
        rows, _ = answers.form_rows(value, Counter())
    except ValueError as error:
        raise WrongShape(str(error).splitlines()[0]) from error
    for row in rows:
        row |= locate(row["page"], [row.pop(side, None) for side in BOX])
    return [{"task": "text", "path": None, "kind": "form"}, *rows]


def item_rows(task: str, known: set[str], value: Any, _locate: Place) -> list[Row]:
    """A row for each question or check that was answered, the first answer of each.

    `WrongShape` if no answer is to one of them.
    """
    places, rows = {f"{ITEMS[task]}/{name}" for name in known}, dict[str, Row]()
    for row in answers.answer_rows(task, _ask.items_of(value, "answers")):
        if row["path"] in places and row.get("value") is not None:
            rows.setdefault(row["path"], row)
    if not rows:
        raise WrongShape("no answer to anything that was asked")
    return list(rows.values())
