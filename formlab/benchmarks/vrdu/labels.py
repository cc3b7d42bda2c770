"""The labels of DeepForm 2020, a gold for ad-buy forms whose annotations are not at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken, GoldInDoubt

NAME = "deepform-2020-labels.csv"
KEY = "file_id"


def read(path: Path) -> tuple[tuple[str, ...], dict[str, list[dict[str, Any]]]]:
    """The labelled entities, and each document's gold records.

    An empty cell says that nobody labelled the value, not that the document has none: its record
    is `unscored`.
    """
    rows = files.csv_rows(path, files.read_text(path))
    header = rows[0][1] if rows else []
    if header[:1] != [KEY] or len(set(header)) != len(header) or len(header) < 2:
        what = f"the first line names the columns, {KEY} first"
        raise DataBroken(what, where=f"{path}:1", remedy="the file as it is published")
    labels: dict[str, list[dict[str, Any]]] = {}
    for line, row in rows[1:]:
        where, name = f"{path}:{line}", f"{row[0]}.pdf"
        if len(row) != len(header):
            what = f"{len(row)} cells, the first line has {len(header)}"
            raise DataBroken(what, where=where, remedy="mend that line")
        if name in labels:
            remedy = "keep one of the lines"
            raise GoldInDoubt(f"{row[0]!r} is labelled twice", where=where, remedy=remedy)
        labels[name] = []
        for kind, cell in zip(header[1:], row[1:], strict=True):
            value = {"value": cell} if cell.strip() else {"value": None, "status": "unscored"}
            record = {"path": f"/{kind}", "kind": kind, "origin": f"{path.name}:{line}"}
            labels[name].append(record | value)
    return tuple(header[1:]), labels
