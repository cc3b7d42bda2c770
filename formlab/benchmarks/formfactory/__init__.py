"""FormFactory: instances of 25 web forms to fill in from a text, and their screenshots.

Layout: ``data1/<form>.json`` (gold), ``data2/<form>.txt`` (texts) and ``labeled-images``.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab import files
from formlab.benchmarks._build import Part, Row, SplitReader, corpus_reader
from formlab.benchmarks.formfactory._boxes import Box, Screens, owned, read_screens
from formlab.benchmarks.formfactory._forms import FormField, WebForm, forms
from formlab.benchmarks.formfactory._gold import (
    elements_of,
    gold_items,
    gold_row,
    items_of,
    pointer,
)
from formlab.benchmarks.formfactory._texts import split_texts
from formlab.errors import DataBroken
from formlab.text.normalise import as_text

__all__ = [
    "Box", "FormField", "WebForm", "doc_id", "elements_of", "forms", "gold_items", "gold_row",
    "items_of", "pointer", "read", "reader",
]  # fmt: skip


def reader(split: str, root: Path) -> SplitReader:
    """One document per instance of a form, one record (task `click`) per field value.

    `path` is ``/<label>``; `value` is a text as it stands and anything else as JSON, with the
    ways to type it in `accepted`; page (from 1) and box are those of the first place where a
    click is right. `meta` of a record has its `items`, the values to enter one by one, each with
    its `targets` ``[page, x0, y0, x1, y1]``; a box to leave unticked has none. `meta` of a document
    has the form's `images` and its `elements` ``[page, x0, y0, x1, y1, path]``.
    """
    folder = files.folder(
        root / "data1", remedy="a folder that holds data1, data2 and labeled-images"
    )

    def read(form: WebForm, flaws: Counter[str], sources: dict[str, str]) -> Iterator[Part]:
        file = folder / f"{form.file}.json"
        sources[file.relative_to(root).as_posix()] = files.sha256(file)
        screens = read_screens(root, form, flaws, sources)
        parts = _Parts(form, screens, owned(form, screens))
        rows_of = instances(file)
        texts = _texts(root, form, rows_of, flaws, sources)
        for number, (instance, text) in enumerate(zip(rows_of, texts, strict=True), start=1):
            rows = list(parts.records(instance, f"{file.name}#/{number - 1}", flaws))
            document = {"doc_id": doc_id(form, number)} | parts.document(number, text, rows)
            yield document, [{"task": "click"} | row for row in rows]

    every = list(forms(root).values())
    # A file that is there and none to be read is left out with its reason.
    units = [form for form in every if os.path.lexists(folder / f"{form.file}.json")]
    flaws = Counter({"forms without a gold file": len(every) - len(units)})
    empty = DataBroken("no gold files", where=folder, remedy="check the download")
    return SplitReader(
        "formfactory", split, root, units, read, flaws=flaws, empty=empty,
        file_of=lambda form: folder / f"{form.file}.json",
        unread="forms unreadable, with all their instances",
    )  # fmt: skip


read = corpus_reader(reader)


def doc_id(form: WebForm, number: int) -> str:
    """The id of an instance, counted from 1.

    Examples
    --------
    >>> doc_id(forms()["A11"], 3)
    'A11-03'
    """
    return f"{form.code}-{number:02d}"


def instances(file: Path) -> list[Row]:
    """The values of each instance in a file of ``data1``, by their labels."""
    return files.read_json(file, list[dict[str, Any]], remedy='[{"Label": "value"}]')


def _texts(
    root: Path, form: WebForm, instances: list[Row], flaws: Counter[str], sources: dict[str, str]
) -> list[str | None]:
    file = root / "data2" / f"{form.file}.txt"
    flaws["forms without texts"] += not files.is_file(file)
    if not files.is_file(file):
        return [None] * len(instances)
    sources[file.relative_to(root).as_posix()] = files.sha256(file)
    values = [[as_text(value) for value in instance.values()] for instance in instances]
    return split_texts(files.read_text(file), values, flaws)


class _Parts:
    """What the instances of one form share."""

    def __init__(self, form: WebForm, screens: Screens, boxes: dict[str, list[Box]]) -> None:
        self.form, self.screens, self.boxes = form, screens, boxes
        self.elements = [
            [*box.row, pointer(label)] for label, inputs in boxes.items() for box in inputs
        ]

    def document(self, number: int, text: str | None, rows: list[Row]) -> Row:
        """The row of *documents* of an instance."""
        width, height = self.screens.size or (None, None)
        images = self.screens.images
        meta = {"form": self.form.name, "file": self.form.file, "instance": number}
        meta |= {"images": images, "elements": self.elements}
        return {
            "template": self.form.code, "domain": self.form.domain, "context": text,
            "image": images[0] if images else None, "width": width, "height": height,
            "n_fields": len(rows), "n_kinds": len({row["kind"] for row in rows}),
            "meta": json.dumps(meta),
        }  # fmt: skip

    def records(self, instance: Row, where: str, flaws: Counter[str]) -> Iterator[Row]:
        """The rows of *records* of an instance."""
        strange = [label for label in instance if label not in self.form.fields]
        flaws["instances with labels that the form does not have"] += bool(strange)
        flaws["values under a label that the form does not have"] += len(strange)
        for label, value in instance.items():
            field = self.form.fields.get(label) or FormField(label, _kind(value), ())
            entries = gold_items(field, value, self.boxes.get(label, []))
            flaws["values whose field has no box"] += not self.boxes.get(label)
            flaws["values whose option has no box"] += bool(
                self.boxes.get(label) and entries and not any(e["targets"] for e in entries)
            )
            yield gold_row(field, value, entries) | {"origin": f"{where}{pointer(label)}"}


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "checkbox"
    return "number" if isinstance(value, int | float) else "string"
