"""The 25 forms: their names and domains, the kind of each field and the boxes that belong to it.

The release gives neither kinds nor which box is whose. ``fields.csv`` has both, told by labels,
the names and heights of boxes and the gold values: a tall box is a description. In `elements`
are the box names of a field as the release spells them, slips included: its input, or for
``radio`` and ``choice`` its options.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Field:
    """One field of a form: its label in the gold, its kind, the names of its boxes."""

    label: str
    kind: str
    elements: tuple[str, ...]


@dataclass(frozen=True)
class Form:
    """One form: `code` as in ``labeled-images``, `file` as in ``data1`` and ``data2``."""

    code: str
    file: str
    name: str
    domain: str
    fields: dict[str, Field]


@cache
def forms() -> dict[str, Form]:
    """All forms by code, in the order of the codes.

    Examples
    --------
    >>> form = forms()["A12"]
    >>> form.file, form.fields["Gender"]
    ('grant_applications', Field(label='Gender', kind='radio', elements=('Male', 'Female')))
    """
    fields: dict[str, dict[str, Field]] = {}
    for row in _rows("fields.csv"):
        names = tuple(name for name in row["elements"].split("|") if name)
        fields.setdefault(row["code"], {})[row["label"]] = Field(row["label"], row["kind"], names)
    return {row["code"]: Form(**row, fields=fields[row["code"]]) for row in _rows("forms.csv")}


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (_HERE / name).open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)
