"""FormFactory: instances of 25 web forms to fill in from a text, and their screenshots.

Layout: ``data1/<form>.json`` (gold), ``data2/<form>.txt`` (texts) and ``labeled-images``.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from formlab import files, tables
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of
from formlab.benchmarks.formfactory.boxes import (
    Box,
    FormField,
    WebForm,
    forms,
    read_screens,
    screenshots,
    targets,
)
from formlab.benchmarks.meta import meta_of
from formlab.text import as_text, checked
from formlab.trees import escape

__all__ = ["Box", "FormField", "WebForm", "doc_id", "elements_of", "forms"]
__all__ += ["gold_row", "instances", "items_of", "pointer", "split_texts"]
_MARK = re.compile(r"^[ \t*#]*(\d{1,4})([.)])", re.MULTILINE)


def reader(split: str, root: Path) -> SplitReader:
    """One document per instance of a form, one record (task `click`) per field value.

    `path` is ``/<label>``; `value` is a text as it stands and anything else as JSON, with the
    ways to type it in `accepted`; page (from 1) and box are those of the first place where a
    click is right. `meta` of a record has its `items`, the values to enter one by one, each with
    its `targets` ``[page, x0, y0, x1, y1]``; a box to leave unticked has none. `meta` of a document
    has the form's `images` and its `elements` ``[page, x0, y0, x1, y1, path]``.
    """
    remedy = "a folder that holds data1, data2 and labeled-images"
    folder = files.folder(root / "data1", remedy=remedy)

    def file_of(form: WebForm) -> Path:
        return folder / f"{form.file}.json"

    def text_of(form: WebForm) -> Path:
        return root / "data2" / f"{form.file}.txt"

    def beside(form: WebForm) -> list[Path]:
        images = screenshots(root, form, Counter())
        return [text_of(form), *(image.with_suffix(".txt") for image in images)]

    def read(form: WebForm, flaws: Counter[str]) -> Iterator[Part]:
        images, size, boxes = read_screens(root, form, flaws)
        elements = [[*box.row, pointer(name)] for name, found in boxes.items() for box in found]
        width, height = size or (None, None)
        page = {"image": images[0] if images else None, "width": width, "height": height}
        page |= {"template": form.code, "domain": form.domain}
        gold = instances(file_of(form))
        values = [list(map(as_text, instance.values())) for instance in gold]
        texts: list[str | None] = [None] * len(gold)
        if files.is_file(text_of(form)):
            texts = split_texts(files.read_text(text_of(form)), values, flaws)
        else:
            flaws["forms without texts"] += 1
        for number, (instance, text) in enumerate(zip(gold, texts, strict=True), start=1):
            rows = list(_records(form, instance, boxes, f"{form.file}.json#/{number - 1}", flaws))
            meta = {"form": form.name, "file": form.file, "instance": number}
            meta = json.dumps(meta | {"images": images, "elements": elements})
            document = {"doc_id": doc_id(form, number), "context": text, "meta": meta}
            yield document | page | counts_of(rows), rows

    every = list(forms(root).values())
    # A file that is there and none to be read is left out with its reason.
    units = [form for form in every if os.path.lexists(file_of(form))]
    settings: Row = {"flaws": Counter({"forms without a gold file": len(every) - len(units)})}
    settings |= {"empty": "gold files in data1", "file_of": file_of, "beside": beside}
    unread = "forms unreadable, with all their instances"
    return SplitReader("formfactory", split, root, units, read, unread=unread, **settings)


def doc_id(form: WebForm, number: int) -> str:
    """The id of an instance, counted from 1.

    >>> doc_id(forms()["A11"], 3)
    'A11-03'
    """
    return f"{form.code}-{number:02d}"


def instances(file: Path) -> list[Row]:
    """The values of each instance in a file of ``data1``, by their labels."""
    return files.read_json(file, list[dict[str, Any]], remedy='[{"Label": "value"}]')


def _records(
    form: WebForm, instance: Row, boxes: dict[str, list[Box]], origin: str, flaws: Counter[str]
) -> Iterator[Row]:
    """The gold records of an instance."""
    strange = [label for label in instance if label not in form.fields]
    flaws["instances with labels that the form does not have"] += bool(strange)
    flaws["values under a label that the form does not have"] += len(strange)
    for label, value in instance.items():
        kind = "number" if isinstance(value, int | float) else "string"
        kind = "checkbox" if isinstance(value, bool) else kind
        field, places = form.fields.get(label, FormField(label, kind, ())), boxes.get(label, [])
        row, items = gold_row(field, value, places)
        flaws["values whose field has no box"] += not places
        flaws["values whose option has no box"] += bool(places and items and row["page"] is None)
        yield row | {"origin": f"{origin}{pointer(label)}"}


def pointer(label: str) -> str:
    """The path of a field.

    >>> pointer("Title/Position")
    '/Title~1Position'
    """
    return f"/{escape(label)}"


def gold_row(field: FormField, value: Any, boxes: Sequence[Box]) -> tuple[Row, list[Row]]:
    """What *records* has of a field, and its items, which its `meta` has.

    Items are the values to enter one by one, each with its `targets`; a field to leave empty has
    none. Page and box of the record are those of the first place that is right.

    >>> gold_row(FormField("Age", "number", ("Age",)), 40, [Box("Age", 1, (10, 10, 90, 30))])[1]
    [{'value': '40', 'targets': [[1, 10, 10, 90, 30]]}]
    """
    chosen = value if field.kind == "choice" and isinstance(value, list) else [value]
    # A box not to tick, and a file not to upload: the right thing to do is nothing.
    empty = (None, "", "None") if field.kind == "file" else (None,)
    if value in empty or (field.kind == "checkbox" and checked(as_text(value)) is False):
        chosen = []
    items = [
        {"value": entry, "targets": [box.row for box in targets(field, list(boxes), entry)]}
        for entry in map(_typed, chosen)
    ]
    places = [target for item in items for target in item["targets"]]
    page, *box = places[0] if places else [None]
    row = {"task": "click", "path": pointer(field.label), "kind": field.kind, "page": page}
    row |= {"value": as_text(value), "accepted": _accepted(field, value)}
    row |= {"meta": json.dumps({"items": items}, ensure_ascii=False)}
    return row | dict(zip(tables.BOX, map(float, box), strict=False)), items


def items_of(metas: Iterable[str | None]) -> list[list[Row]]:
    """The `items` of records, as `gold_row` makes them, from the `meta` of each.

    >>> items_of(['{"items": [{"value": "40", "targets": []}]}', None])
    [[{'value': '40', 'targets': []}], []]
    """
    # One JSON of all of them is read faster than each by itself.
    metas_read = json.loads(f"[{','.join(meta or '{}' for meta in metas)}]")
    return [meta.get("items", []) for meta in metas_read]


def elements_of(document: Row | str | None) -> list[list[Any]]:
    """A form's elements, ``[page, x0, y0, x1, y1, path]`` each, from a document's `meta`."""
    return meta_of(document).get("elements", [])


def _typed(value: Any) -> str:
    """A list in one field is typed with commas."""
    return ", ".join(map(as_text, value)) if isinstance(value, list) else as_text(value)


def _accepted(field: FormField, value: Any) -> list[str] | None:
    """How else a value that is no text may be typed or said."""
    if field.kind == "checkbox":
        ticked = checked(as_text(value))
        return ["Yes", "true", "checked", field.label] if ticked else ["No", "false", "unchecked"]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    if isinstance(value, list):
        return [_typed(value)]
    return None


def split_texts(
    text: str, values: Sequence[Sequence[str]], flaws: Counter[str]
) -> list[str | None]:
    """The text of each instance, of a file of all; None for one whose number is not found.

    A file numbers all its instances in one style, ``1.`` or ``1)``, that of its first number; a
    numbered list within a text may use the same. Where a number stands several times, the place is
    taken whose text holds most of the instance's values, the first of equals.

    >>> split_texts("1) Ada, 7\\n1. tea\\n2) Bo, 8", [["Ada"], ["Bo"]], Counter())
    ['Ada, 7\\n1. tea', 'Bo, 8']
    """
    marks = list(_MARK.finditer(text))
    style = next((mark[2] for mark in marks if int(mark[1]) == 1), None)
    marks = [mark for mark in marks if mark[2] == style]
    ends = {mark: after.start() for mark, after in pairwise(marks)}

    def held(passage: str, answers: Sequence[str]) -> int:
        folded = passage.casefold()
        return sum(bool(value.strip()) and value.casefold() in folded for value in answers)

    chosen: dict[int, re.Match[str]] = {}
    last = -1
    for number, answers in enumerate(values, start=1):
        places = [mark for mark in marks if int(mark[1]) == number and mark.start() > last]
        counts = [held(text[mark.end() : ends.get(mark)], answers) for mark in places]
        if places:
            chosen[number] = places[counts.index(max(counts))]
            last = chosen[number].start()
    ends = {mark: after.start() for mark, after in pairwise(chosen.values())}
    texts: list[str | None] = []
    for number, answers in enumerate(values, start=1):
        mark = chosen.get(number)
        texts.append(text[mark.end() : ends.get(mark)].strip() if mark else None)
        flaws["instances without a text"] += mark is None
        is_strange = bool(mark) and not held(texts[-1] or "", answers)
        flaws["texts that hold none of their values"] += is_strange
    others = {int(mark[1]) for mark in marks} - set(range(1, len(values) + 1))
    flaws["numbered texts without an instance"] += len(others)
    return texts
