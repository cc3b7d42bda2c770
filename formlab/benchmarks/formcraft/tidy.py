"""Coerce JSON that is close to FORMCRAFT's schema into it, and list what was changed."""

from __future__ import annotations

from collections import Counter
from typing import Any

# Real forms nest four or five groups; what nests deeper is a model caught in a loop.
DEEPEST = 40
_KEYS = {"field": "fields", "group": "groups", "subtype": "modality_subtype", "name": "label"}
_KEYS |= {"nested_groups": "groups", "sections": "groups", "text": "value", "bbox": "box"}
_OF_FORM = frozenset({"fields", "groups", "vqa", "consistency"})
Object = dict[str, Any]


class NotAFormError(ValueError):
    """The JSON has nothing of a form in it; the message says why."""


def tidied(value: Object) -> tuple[Object, tuple[str, ...]]:
    """`value` with its fields and groups where the schema wants them, and what was changed.

    Mended: other names of keys (`name`, `subtype`, `sections` …), fields written as
    ``{"label": "value"}``, one field or group where a list belongs, a form within one outer key.

    `NotAFormError` if there is neither `fields` nor `groups`, or groups nest deeper than `DEEPEST`.

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
    _tidy_group(value, done, 0)
    return value, tuple(f"{what}: {count}" for what, count in done.items() if count)


def _renamed(value: Object, done: Counter[str]) -> Object:
    renamed: Object = {}
    for key, item in value.items():
        name = _KEYS.get(key.casefold().strip(), key.casefold().strip())
        done["keys renamed"] += name != key and name not in renamed
        renamed.setdefault(name, item)
    return renamed


def _tidy_group(group: Object, done: Counter[str], depth: int) -> None:
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
    group["fields"], group["groups"] = kept, [_renamed(item, done) for item in groups]
    for inner in group["groups"]:
        _tidy_group(inner, done, depth + 1)


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
