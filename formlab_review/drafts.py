"""Drafts of FORMCRAFT data that a model made and nobody has verified yet.

A file of drafts, ``drafts.jsonl``, has one JSON object a line: `split`, `doc_id`, `task` (``vqa``,
``consistency``, or ``layout`` for the fields of a converted form), `path`, `status` of the answer
it came from, `rejected` (why formlab does not offer it, empty if it is sound), `item` as in the
form's JSON, `system` and `origin`. A line without a path is about a whole form.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import ValidationError
from pydantic.dataclasses import dataclass as pydantic_dataclass

from formlab import files, tables
from formlab.benchmarks.formcraft import CONSISTENCY, VQA, NotAFormError, item_rows, tidied
from formlab.errors import DataBroken

FILE = "drafts.jsonl"
TASKS = ("consistency", "layout", "vqa")
ROOTS = {"vqa": VQA, "consistency": CONSISTENCY}
Row = dict[str, Any]


@pydantic_dataclass(frozen=True, config={"extra": "forbid"})
class Draft:
    """One line of a file of drafts."""

    split: str
    doc_id: str
    task: Literal["consistency", "layout", "vqa"]
    path: str | None
    status: str = "ok"
    rejected: tuple[str, ...] = ()
    item: Row | None = None
    system: str = ""
    origin: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is known by, and sorted by."""
        return (self.split, self.doc_id, self.task, self.path or "")


def read(path: str | Path) -> list[Draft]:
    """The drafts in a file, or in the file of that name in a folder.

    Raises
    ------
    DataMissing, DataBroken
        If there is no such file, or a line is no draft or has the key of an earlier one.
    """
    file = Path(path) / FILE if Path(path).is_dir() else Path(path)
    by_key: dict[tuple, Draft] = {}
    for number, row in files.each_jsonl(file):
        draft = _draft(row, f"{file}:{number}")
        if draft.key in by_key:
            what = f"a second draft of {draft.path or 'the form'} of {draft.doc_id}"
            raise DataBroken(what, where=f"{file}:{number}")
        by_key[draft.key] = draft
    return list(by_key.values())


def _draft(row: Row, where: str) -> Draft:
    names = [field.name for field in dataclasses.fields(Draft)]
    try:
        draft = Draft(**dict.fromkeys(names) | row)
        if sound([draft]) and draft.task in ROOTS:
            _form(draft)
        return draft
    except (ValidationError, NotAFormError) as error:
        faults = error.errors() if isinstance(error, ValidationError) else []
        places = ("/".join(map(str, fault["loc"])) or fault["msg"] for fault in faults)
        what = f"not a draft: {', '.join(dict.fromkeys(places)) or error}"
        raise DataBroken(what, where=where, remedy="formlab formcraft …") from error


def write(path: str | Path, drafts: Iterable[Draft]) -> Path:
    """Write drafts into a file, or the file of that name in a folder, sorted; the whole or none."""
    file = Path(path) if Path(path).suffix == ".jsonl" else Path(path) / FILE
    rows = [dataclasses.asdict(draft) for draft in sorted(drafts, key=lambda draft: draft.key)]
    files.write_jsonl(file, rows)
    return file


def sound(drafts: Iterable[Draft]) -> list[Draft]:
    """The items of `drafts` that are fit to be looked at: none of them was rejected."""
    return [draft for draft in drafts if draft.path and draft.item and not draft.rejected]


def _form(draft: Draft) -> Row:
    """A form of one item."""
    return tidied({draft.task: [draft.item]})[0]


def records(drafts: Iterable[Draft]) -> pl.DataFrame:
    """The sound questions and checks as *records* of the systems that made them."""
    rows = []
    for draft in sound(drafts):
        if draft.task not in ROOTS:
            continue
        (row,) = item_rows(_form(draft), set(), Counter())
        rows.append(row | {
            "benchmark": "formcraft", "split": draft.split, "doc_id": draft.doc_id,
            "role": "prediction", "system": draft.system, "path": draft.path,
            "status": draft.status, "origin": draft.origin,
        })  # fmt: skip
    return tables.table("records", rows)


def added(form: Row, drafts: Iterable[Draft]) -> Row:
    """The JSON of a form with the questions and checks of `drafts` in it, each under its own id.

    Examples
    --------
    >>> check = {"id": "d1", "source": "/A", "dependent": "/B", "expected": "5"}
    >>> draft = Draft("test", "f", "consistency", "/consistency/d1", item=check)
    >>> form = {"fields": [], "consistency": [{"id": "d1"}]}
    >>> [item["id"] for item in added(form, [draft])["consistency"]]
    ['d1', 'd1#2']
    """
    made = dict(form)
    for draft in sound(drafts):
        if draft.task not in ROOTS:
            continue
        items = list(made.get(draft.task) or [])
        taken, name, number = {item.get("id") for item in items}, draft.item["id"], 1
        while name in taken:
            number += 1
            name = f"{draft.item['id']}#{number}"
        made[draft.task] = [*items, draft.item | {"id": name}]
    return made
