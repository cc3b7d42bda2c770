"""The 25 forms: their names and domains, the kind of each field and the boxes that belong to it.

The release gives neither kinds nor which box is whose. ``fields.csv`` has both, inferred from
labels, names and heights of boxes and gold values: a tall box is a description. In `elements`
are the box names of a field as the release spells them, slips included: its input, or for
``radio`` and ``choice`` its options.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from formlab import files
from formlab.errors import DataBroken

COLUMNS = ("code", "label", "kind", "elements")
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class FormField:
    """One field of a form: its label in the gold, its kind, the names of its boxes."""

    label: str
    kind: str
    elements: tuple[str, ...]


@dataclass(frozen=True)
class WebForm:
    """One form: `code` as in ``labeled-images``, `file` as in ``data1`` and ``data2``."""

    code: str
    file: str
    name: str
    domain: str
    fields: dict[str, FormField]


@cache
def forms(root: Path | None = None) -> dict[str, WebForm]:
    """All forms by code, in the order of the codes.

    Where the folder `root` of files has a ``fields.csv`` of its own, in the columns of ours, its
    forms ask for those fields; else for the released ones.

    Examples
    --------
    >>> form = forms()["A12"]
    >>> form.file, form.fields["Gender"]
    ('grant_applications', FormField(label='Gender', kind='radio', elements=('Male', 'Female')))
    """
    own = root / "fields.csv" if root else None
    fields: dict[str, dict[str, FormField]] = {}
    for row in _rows(own if own and own.is_file() else _HERE / "fields.csv", COLUMNS):
        names = tuple(name for name in row["elements"].split("|") if name)
        fields.setdefault(row["code"], {})[row["label"]] = FormField(
            row["label"], row["kind"], names
        )
    known = _rows(_HERE / "forms.csv", ("code", "file", "name", "domain"))
    return {row["code"]: WebForm(**row, fields=fields.get(row["code"], {})) for row in known}


def _rows(file: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    rows = files.csv_rows(file, files.read_text(file))
    lines = [line for line, row in rows if len(row) != len(columns)]
    if lines or not rows or tuple(rows[0][1]) != columns:
        what, remedy = "a table of other columns", ",".join(columns)
        raise DataBroken(what, where=f"{file}:{(lines or [1])[0]}", remedy=remedy)
    return [dict(zip(columns, row, strict=True)) for _, row in rows[1:]]
