"""Rows of *records* from a form in FORMCRAFT's schema, and from a model's answers in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from formlab import tables
from formlab.benchmarks.formcraft.schema import (
    RELATIONS,
    TASK_OF,
    Object,
    canonical,
    item_of,
    modality_of,
    share,
    tidied,
)
from formlab.benchmarks.meta import Row, meta_of
from formlab.text.normalise import as_text
from formlab.trees import escape, unescape

# Where the items of L3 stand; a group of that name gives way.
VQA, CONSISTENCY = "/vqa", "/consistency"
ITEMS = {"vqa": VQA, "consistency": CONSISTENCY}
# What an answer to one may be called.
_ANSWERS = ("answer", "value", "prediction", "expected")
_KINDS = {"checkbox": "checkbox", "circle": "choice"}
# Longer labels would make a path of every line of a page that a model took for a label.
_LONGEST_LABEL = 120


class ItemMeta(NamedTuple):
    """What the record of a question or a consistency check says beside its answer.

    The names are those of the schema; what is not there is empty. `values`
    are those of a predicted answer: what it says stands in the fields of a check, by path.
    """

    question: str | None = None
    options: Sequence[str] = ()
    fields: Sequence[str] = ()
    source: str | None = None
    dependent: str | None = None
    rationale: str = ""
    derivation: Mapping[str, Any] | None = None
    values: Mapping[str, str] = MappingProxyType({})

    @property
    def relevant(self) -> tuple[str, ...]:
        """The paths of all fields involved, each once; the dependent field of a check last."""
        derived = ((self.derivation or {}).get("fields") or {}).values()
        paths = dict.fromkeys((self.source, *self.fields, *derived, self.dependent))
        others = [path for path in paths if path and path != self.dependent]
        return (*others, *filter(None, [self.dependent]))


def item_meta(record: Row | str | None) -> ItemMeta:
    """The `meta` of a question's or check's record.

    >>> item_meta({"meta": '{"question": "Who signed?", "fields": ["/Name"]}'}).fields
    ['/Name']
    """
    meta = meta_of(record)
    return ItemMeta(**{name: meta[name] for name in ItemMeta._fields if name in meta})


class Paths:
    """Gives each field and group of one form a path of its own.

    >>> paths = Paths()
    >>> paths.of("", "Section A"), paths.of("/Section A", "Yes/No"), paths.of("", "Section A")
    ('/Section A', '/Section A/Yes~1No', '/Section A#2')
    """

    def __init__(self) -> None:
        self._used = {VQA, CONSISTENCY}
        self._next: Counter[str] = Counter()

    def of(self, parent: str, label: str) -> str:
        """The path of `label` below `parent`, as in a JSON Pointer; a second one gets ``#2``."""
        step = " ".join(label[:_LONGEST_LABEL].split()) or "#"
        base = f"{parent}/{escape(step)}"
        path, number = base, max(self._next[base], 1)
        while path in self._used:
            number += 1
            path = f"{base}#{number}"
        self._next[base] = number
        self._used.add(path)
        return path


def label_of(path: str) -> str:
    """The label that a path ends in.

    >>> label_of("/Section A/Yes~1No#2")
    'Yes/No'
    """
    step, mark, number = path.rpartition("/")[2].rpartition("#")
    if not (mark and number.isdecimal()):
        step = step + mark + number
    return unescape(step)


def field_rows(form: Object, flaws: Counter[str]) -> Iterator[Row]:
    """Rows of all fields and groups, in the order of the form.

    A field has the task of its modality (`text` where that is not known); a group has the task
    `layout` and the kind `group`, its label as value. `flaws` counts labels and words of the
    taxonomy that are missing or unknown.
    """
    paths = Paths()

    def rows_of(holder: Object, parent: str) -> Iterator[Row]:
        for field in holder.get("fields", ()):
            label = field.get("label", "")
            flaws["fields without a label"] += not label.strip()
            modality, subtype = modality_of(field.get("modality"), field.get("modality_subtype"))
            flaws["fields of an unknown modality"] += modality is None
            flaws["fields of an unknown subtype"] += modality is not None and subtype is None
            kind = field.get("kind") or _KINDS.get(subtype or "", "string")
            row = {"task": TASK_OF.get(modality or "", "text"), "kind": kind}
            row |= {"path": paths.of(parent, label), "value": field.get("value", "")}
            row |= {"modality": modality, "subtype": subtype, "accepted": field.get("accepted")}
            yield row | _page_and_box(field)
        for group in holder.get("groups", ()):
            label = group.get("label", "")
            path = paths.of(parent, label)
            row = {"task": "layout", "path": path, "kind": "group", "value": label}
            yield row | _page_and_box(group)
            yield from rows_of(group, path)

    yield from rows_of(form, "")


def _page_and_box(node: Object) -> Row:
    box = dict(zip(tables.BOX, node["box"], strict=True)) if node.get("box") else {}
    return {"page": node.get("page") or 1} | box


def item_rows(form: Object, known: set[str], flaws: Counter[str]) -> Iterator[Row]:
    """Rows of the questions and consistency checks; `known` are the paths of the fields."""
    for item in (item_of("vqa", item) for item in form.get("vqa", ())):
        flaws["questions about a field that is not there"] += bool(set(item.fields) - known)
        answer, *others = item.answers or [None]
        flaws["questions without an answer"] += answer is None
        row = {"kind": item.kind or ("choice" if item.options else None), "value": answer}
        row |= {"accepted": others or None, "status": "unscored" if answer is None else "ok"}
        yield row | _item("vqa", item, ("question", "options", "fields"), flaws)
    for item in (item_of("consistency", item) for item in form.get("consistency", ())):
        paths = {item.source, item.dependent, *item.fields}
        flaws["checks of a field that is not there"] += not paths <= known
        row = {"kind": item.kind, "value": item.expected, "confidence": item.confidence}
        yield row | _item("consistency", item, ("source", "dependent", "fields"), flaws)


def _item(task: str, item: Any, names: tuple[str, ...], flaws: Counter[str]) -> Row:
    labels = {axis: canonical(axis, getattr(item, axis)) for axis in RELATIONS}
    for axis, label in labels.items():
        flaws[f"items with an unknown {axis}"] += label is None
    meta = {name: getattr(item, name) for name in (*names, "rationale", "derivation")}
    text = json.dumps({key: value for key, value in meta.items() if value}, ensure_ascii=False)
    return {"task": task, "path": f"{ITEMS[task]}/{item.id}", "meta": text} | labels


def form_rows(value: Any, notes: Counter[str]) -> tuple[list[Row], tuple[str, ...]]:
    """The rows of a form, and how it was mended; `ValueError` if it is none."""
    form, mended = tidied(value)
    flaws = Counter[str]()
    rows = list(field_rows(form, flaws))
    notes.update({f"predicted {flaw}": count for flaw, count in flaws.items()})
    return rows, mended


def answer_rows(task: str, found: Any) -> Iterator[Row]:
    """A row for each answer, of an object by id or a list; without an id its path is null.

    Its `meta` has its `reason`, and the values of its `fields`: a mapping of paths to values, or a
    list of objects with `path` and `value`.

    >>> [row["path"] for row in answer_rows("vqa", {"q1": "9.00"})]
    ['/vqa/q1']
    >>> answer = {"id": "c1", "answer": 9, "fields": [{"path": "/Parts", "value": 4}]}
    >>> [row["meta"] for row in answer_rows("consistency", [answer])]
    ['{"values": {"/Parts": "4"}}']
    """
    pairs = list(found.items()) if isinstance(found, dict) else []
    if isinstance(found, list):
        pairs = [(a.get("id") if isinstance(a, dict) else None, a) for a in found]
    for name, answer in pairs:
        path = None if name is None else f"{ITEMS[task]}/{as_text(name)}"
        row: Row = {"task": task, "path": path}
        if isinstance(answer, dict):
            listed = answer.get("fields")
            if isinstance(listed, list):
                listed = [item for item in listed if isinstance(item, dict) and "path" in item]
                listed = {as_text(item["path"]): item.get("value") for item in listed}
            named = listed.items() if isinstance(listed, dict) else ()
            values = {place: as_text(value) for place, value in named if value is not None}
            meta = {"reason": as_text(answer.get("reason")), "values": values}
            meta = {key: value for key, value in meta.items() if value}
            row["meta"] = json.dumps(meta) if meta else None
            row["confidence"] = share(answer.get("confidence"))
            answer = next((answer[key] for key in _ANSWERS if key in answer), None)
        yield row | ({"status": "missing"} if answer is None else {"value": as_text(answer)})
