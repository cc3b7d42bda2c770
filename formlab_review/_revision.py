"""A converted form after review: fields removed or edited, and the paths in its items updated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from formlab.benchmarks.formcraft import FieldModel, FormCraft, Group, field_rows

_ITEMS = ("vqa", "consistency")
# The parts of an item that name fields.
NAMED = ("fields", "source", "dependent")
Row = dict[str, Any]


def revised(form: FormCraft, verdicts: Mapping[str, Row]) -> tuple[dict[str, str], dict[str, Row]]:
    """Take rejected fields out of a form and put edits in.

    Returns the new path of each field that is left by its old one, for of two fields with one
    label the second may be the only one now; and the fields' rows, by their old paths.
    """
    paths = iter([row["path"] for row in field_rows(form, Counter())])
    left: list[str] = []

    def revise(node: FormCraft | Group) -> None:
        kept = []
        for field, path in [(field, next(paths)) for field in node.fields]:
            verdict = verdicts.get(path, {})
            if verdict.get("outcome") == "rejected":
                continue
            left.append(path)
            edited = verdict.get("outcome") == "edited"
            kept.append(_edited(field, verdict["parts"]) if edited else field)
        node.fields = kept
        for group in node.groups or ():
            next(paths)
            revise(group)

    revise(form)
    now = [row for row in field_rows(form, Counter()) if row["kind"] != "group"]
    rows = dict(zip(left, now, strict=True))
    return {old: row["path"] for old, row in rows.items()}, rows


def dumped(form: FormCraft) -> Row:
    """A form as its JSON without defaults."""
    whole = form.model_dump(exclude_none=True, exclude_defaults=True)
    return {"fields": [], "groups": []} | whole


def _edited(field: FieldModel, parts: Row) -> FieldModel:
    # Through the schema, as a form is read: files of people are no safer than answers of a model.
    names = {"value": "value", "modality": "modality", "subtype": "modality_subtype"}
    new = {names[name]: text for name, text in parts.items()}
    # Other accepted values belong to the old value.
    new |= {"accepted": []} if "value" in parts else {}
    return FieldModel.model_validate(field.model_dump() | new)


def readdressed(form: Row, moved: Mapping[str, str]) -> Row:
    """The form's JSON with the paths in its questions and checks as they are now."""
    items = {
        task: [item_readdressed(item, moved) for item in form.get(task) or ()] for task in _ITEMS
    }
    return form | {task: rows for task, rows in items.items() if rows}


def item_readdressed(item: Row, moved: Mapping[str, str]) -> Row:
    """A question or check, or some attributes of one, with the paths of fields as they are now."""

    def at(path: Any) -> Any:
        if isinstance(path, list):
            return [at(entry) for entry in path]
        return moved.get(path, path) if isinstance(path, str) else path

    now = {name: at(value) if name in NAMED else value for name, value in item.items()}
    derivation = now.get("derivation")
    if isinstance(derivation, dict) and isinstance(named := derivation.get("fields"), dict):
        new = {name: at(path) for name, path in named.items()}
        now["derivation"] = derivation | {"fields": new}
    return now
