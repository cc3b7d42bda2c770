"""FORMCRAFT's form as JSON: fields, groups and nested groups, questions and consistency checks.

`formcraft.toml` lists the attributes of each, the modalities and their subtypes (L1), and the
labels of relations (L3). JSON that is close to the schema is mended; words have one spelling,
however a file or a model spells them.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from formlab.benchmarks.corpus import box_of
from formlab.text.normalise import as_text, as_texts

TABLE = tomllib.loads(Path(__file__).with_name("formcraft.toml").read_text("utf-8"))
MODALITIES: dict[str, tuple[str, ...]] = {
    modality: tuple(subtypes) for modality, subtypes in TABLE["subtype"].items()
}
RELATIONS: dict[str, tuple[str, ...]] = {
    axis: tuple(labels) for axis, labels in TABLE["relation"].items()
}
# The task that a field of each modality is an instance of.
TASK_OF = {"textual": "text", "marking": "marking", "visual": "visual", "cross": "cross"}
_LETTERS = re.compile(r"[^a-z]+")
# A label is a few words; what is longer is no label.
_LONGEST = 80


def _letters(label: str) -> str:
    return _LETTERS.sub("", label[:_LONGEST].casefold())


_SUBTYPES = {
    name: words for subtypes in TABLE["subtype"].values() for name, words in subtypes.items()
}
_AXES = {"modality": TABLE["modality"], "subtype": _SUBTYPES, **TABLE["relation"]}
_KNOWN = {
    axis: {_letters(word): name for name, words in names.items() for word in (name, *words.split())}
    for axis, names in _AXES.items()
}
# Real forms nest four or five groups; what nests deeper is a model caught in a loop.
DEEPEST = 40
ITEMS = ("vqa", "consistency")
# The attributes of a form, a field, a group, a question and a check, and how each is read.
ATTRIBUTES: dict[str, dict[str, str]] = {
    kind: names | (TABLE["attributes"]["relation"] if kind in ITEMS else {})
    for kind, names in TABLE["attributes"].items()
}
# What a question or check must have.
REQUIRED: dict[str, list[str]] = TABLE["required"]
_KEYS = {"field": "fields", "group": "groups", "subtype": "modality_subtype", "name": "label"}
_KEYS |= {"nested_groups": "groups", "sections": "groups", "text": "value", "bbox": "box"}
_OF_FORM = frozenset({"fields", "groups", *ITEMS})
Object = dict[str, Any]


class NotAFormError(ValueError):
    """The JSON has nothing of a form in it, or not what an item must have; the message says why."""


def share(value: Any) -> float | None:
    """A finite number in any notation of Python's; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _page(value: Any) -> int | None:
    try:
        return page if 0 < (page := int(value)) < 1_000_000 else None
    except (TypeError, ValueError, OverflowError):
        return None


def _box(value: Any) -> tuple[float, ...] | None:
    # A malformed box must not cost the field it belongs to.
    return box_of(list(map(share, value)) if isinstance(value, list | tuple) else None)


def _word(value: Any) -> str | None:
    return None if value is None else as_text(value)


def _object(value: Any) -> Object | None:
    if value is None or isinstance(value, dict):
        return value
    raise NotAFormError("a derivation is an object")


READERS = {"text": as_text, "value": as_text, "word": _word, "texts": as_texts}
READERS |= {"page": _page, "box": _box, "share": share, "object": _object}


def canonical(axis: str, label: str | None) -> str | None:
    """The one spelling of `label` on an axis (modality, subtype, scope …), or None if unknown.

    Case, hyphens, slashes and spaces do not count.

    >>> canonical("subtype", "Radio Buttons"), canonical("reference", "Consistency or Constraint")
    ('checkbox', 'constraint')
    >>> canonical("modality", "olfactory")
    """
    return None if label is None else _KNOWN[axis].get(_letters(label))


def modality_of(modality: str | None, subtype: str | None) -> tuple[str | None, str | None]:
    """Modality and subtype of a field in their one spelling; a known subtype tells the modality.

    >>> modality_of(None, "Handwritten")
    ('textual', 'handwritten')
    >>> modality_of("Cross", "Textual + Marking")
    ('cross', 'cross')
    """
    small, large = canonical("subtype", subtype), canonical("modality", modality)
    if large == "cross":
        return "cross", "cross"
    if small is not None and (large is None or small not in MODALITIES[large]):
        owner = next(name for name, members in MODALITIES.items() if small in members)
        # Where the two contradict each other the modality stands, and the subtype is unknown.
        return (owner, small) if large is None else (large, None)
    return large, small


def item_of(task: str, item: Object) -> SimpleNamespace:
    """A question (`task` ``vqa``) or check (``consistency``) with all its attributes.

    `NotAFormError` if it lacks one that it must have.

    >>> item_of("vqa", {"id": 1, "question": "Who signed?", "answers": "Ada"}).answers
    ['Ada']
    """
    if lacking := [name for name in REQUIRED[task] if name not in item]:
        raise NotAFormError(f"{lacking[0]}: it is required")
    kinds = ATTRIBUTES[task].items()
    return SimpleNamespace(**{name: READERS[kind](item.get(name)) for name, kind in kinds})


def tidied(value: Object) -> tuple[Object, tuple[str, ...]]:
    """The form that `value` is, with what the schema has and is not empty, and what was changed.

    Mended: other names of keys (`name`, `subtype`, `sections` …), fields written as
    ``{"label": "value"}``, one field or group where a list belongs, a form within one outer key.

    `NotAFormError` if there is neither `fields` nor `groups`, groups nest deeper than `DEEPEST`, or
    a question or check lacks what it must have.

    >>> tidied({"form": {"fields": {"Name": "Ada"}, "groups": None}})
    ({'fields': [{'label': 'Name', 'value': 'Ada'}], 'groups': []}, \
('form taken out of an outer key: 1', 'fields written as label and value: 1'))
    """
    done: Counter[str] = Counter()
    value = _renamed(value, done)
    if not _OF_FORM & value.keys():
        inner = [item for item in value.values() if isinstance(item, dict)]
        inner = [item for item in inner if _OF_FORM & _renamed(item, Counter()).keys()]
        if len(inner) != 1:
            raise NotAFormError("neither fields nor groups")
        value = _renamed(inner[0], done)
        done["form taken out of an outer key"] += 1
    form = _tidy_group(value, "form", done, 0)
    for task in ITEMS:
        listed = value.get(task, [])
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise NotAFormError(f"{task}: a list of objects is needed")
        items = [vars(item_of(task, item)) for item in listed]
        form |= {task: [_kept(item, REQUIRED[task]) for item in items]} if items else {}
    return form, tuple(f"{what}: {count}" for what, count in done.items() if count)


def _renamed(value: Object, done: Counter[str]) -> Object:
    renamed: Object = {}
    for key, item in value.items():
        name = _KEYS.get(key.casefold().strip(), key.casefold().strip())
        done["keys renamed"] += name != key and name not in renamed
        renamed.setdefault(name, item)
    return renamed


def _read(node: Object, kind: str) -> Object:
    return _kept({name: READERS[word](node.get(name)) for name, word in ATTRIBUTES[kind].items()})


def _kept(node: Object, needed: Collection[str] = ()) -> Object:
    empty = (None, "", [])
    return {name: value for name, value in node.items() if name in needed or value not in empty}


def _tidy_group(group: Object, kind: str, done: Counter[str], depth: int) -> Object:
    if depth > DEEPEST:
        raise NotAFormError(f"groups nested deeper than {DEEPEST}")
    fields, groups = _listed(group.get("fields"), done), _listed(group.get("groups"), done)
    kept = []
    for field in fields:
        field = _renamed(field, done)
        if "label" not in field and "value" not in field and _OF_FORM & field.keys():
            # A list that was not closed swallowed what stood after it.
            done["groups taken out of a list of fields"] += 1
            groups += _listed(field.get("groups"), done)
            kept += [_renamed(item, done) for item in _listed(field.get("fields"), done)]
        elif "label" in field and (field.get("fields") or field.get("groups")):
            done["groups taken out of a list of fields"] += 1
            groups.append(field)
        else:
            kept.append(field)
    groups = [_tidy_group(_renamed(item, done), "groups", done, depth + 1) for item in groups]
    inside = {"fields": [_read(field, "fields") for field in kept], "groups": groups}
    return _read(group, kind) | inside


def _listed(value: Any, done: Counter[str]) -> list[Object]:
    """The fields or groups in `value`, whichever way they were written."""
    if isinstance(value, dict):
        if {"label", *_OF_FORM} & {key.casefold() for key in value}:
            done["one object where a list belongs"] += 1
            return [value]
        value = [
            {"label": label} | item if isinstance(item, dict) else {"label": label, "value": item}
            for label, item in value.items()
        ]
        done["fields written as label and value"] += len(value)
    items = value if isinstance(value, list) else []
    objects = [item for item in items if isinstance(item, dict)]
    done["not a field or group: left out"] += len(items) - len(objects)
    return objects
