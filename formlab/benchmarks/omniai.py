"""OmniAI's open forms: images with a JSON schema, the true JSON and the true Markdown.

Layout: a folder of ``*.json`` files as OmniAI's tool reads them, one item each (a list of items is
read too), or one ``*.jsonl`` of items. An item has `imageUrl` (an address, or the name of a file
below the folder or its ``images``) or `file_name`, `metadata`, `jsonSchema`, `trueJsonOutput` and
`trueMarkdownOutput`. A file of a ``<root>/<split>`` folder belongs to that split.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from formlab import files
from formlab.benchmarks._build import Part, Row, SplitReader, corpus_reader, image_columns
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataBroken, DataMissing
from formlab.files import convert
from formlab.text.normalise import as_text
from formlab.trees import escape

# The path of the row that holds the whole of the true JSON.
WHOLE = "/"
_KINDS = {"number": "number", "integer": "number", "boolean": "checkbox", "string": "string"}
_DEEPEST, _LONGEST = 60, 200
_PUBLISHED = {
    "truth": "trueJsonOutput", "image": "imageUrl", "markdown": "trueMarkdownOutput",
}  # fmt: skip
_REMEDY = "an object with imageUrl, jsonSchema and trueJsonOutput"
_NAME = re.compile(r"[^\w.-]+")


def reader(split: str, root: Path) -> SplitReader:
    """The forms: a record per leaf of the true JSON, one for all of it, one for the page's text.

    Leaves are at JSON Pointers (``/items/0/price``, task `text`), their kind from the schema; the
    whole JSON, canonical, is at ``/`` (task `value`, kind `json`); the Markdown is the page's text.

    Raises
    ------
    DataMissing, DataBroken
        If there is no folder or no item, or a file or item cannot be read.
    """
    folder = files.folder(root, remedy="a folder with OmniAI's items as JSON files")
    base = folder / split if (folder / split).is_dir() else folder
    # Of equal names the second gets a number, so all names are known before a form is read.
    taken: set[str] = set()
    units = [_unit(file, taken) for file in sorted([*base.glob("*.json"), *base.glob("*.jsonl")])]

    def read(unit: _Unit, flaws: Counter[str], sources: dict[str, str]) -> Iterator[Part]:
        file = unit.file
        sources[str(file.relative_to(root))] = files.sha256(file)
        for doc_id, (where, item) in zip(unit.names, _items(file), strict=True):
            rows = list(records_of(item, where, flaws))
            document = {"doc_id": doc_id} | _document(item, base, root, rows, flaws)
            yield document, [{"page": 1} | row for row in rows]

    empty = DataBroken("no items", where=base, remedy="one JSON file a form")
    return SplitReader(
        "omniai", split, root, units, read, empty=empty,
        file_of=lambda unit: None if unit.has_several else unit.file,
    )  # fmt: skip


read = corpus_reader(reader)


class _Unit(NamedTuple):
    """A file, the names of its items, and whether it may have several."""

    file: Path
    names: list[str]
    has_several: bool


class _Item(msgspec.Struct, rename=lambda name: _PUBLISHED.get(name, name)):
    """What must be as it is published in an item; its schema and metadata may be anything."""

    truth: Any
    image: str | None = None
    markdown: str | None = None
    file_name: str | None = None
    id: str | int | None = None


def _unit(file: Path, taken: set[str]) -> _Unit:
    has_several = file.suffix == ".jsonl"
    try:
        has_several = has_several or isinstance(files.read_json(file), list)
        items = list(_items(file))
    except (DataBroken, DataMissing):
        if has_several:
            raise
        # Reading the form says what is wrong.
        items = []
    return _Unit(file, [_doc_id(item, file, where, taken) for where, item in items], has_several)


def _items(file: Path) -> Iterator[tuple[str, Row]]:
    if file.suffix == ".jsonl":
        items = [(f":{number}", item) for number, item in files.each_jsonl(file)]
    else:
        value = files.read_json(file)
        several = isinstance(value, list)
        items = [(f"#/{n}", item) for n, item in enumerate(value)] if several else [("", value)]
    for place, item in items:
        convert(item, _Item, where=f"{file}{place}", remedy=_REMEDY)
        yield f"{file.name}{place}", item


def _image(item: Row) -> str:
    return str(item.get("imageUrl") or item.get("file_name") or "")


def basename(url: str) -> str:
    """The name of the file at an address; empty if it is none.

    >>> basename("https://files.example/pages/f3.png?sig=1"), basename("https://[")
    ('f3.png', '')
    """
    try:
        return PurePosixPath(urlsplit(url).path).name
    except ValueError:
        return ""


def image_url(document: Row | str | None) -> str:
    """The address or name of a document's image, as its item gives it."""
    return str(meta_of(document).get("imageUrl") or "")


def _doc_id(item: Row, file: Path, where: str, taken: set[str]) -> str:
    """The name of the file if it holds one item, else that of the image."""
    name = file.stem if where == file.name else PurePosixPath(basename(_image(item))).stem
    name = _NAME.sub("_", str(item.get("id") or name))[:_LONGEST] or "item"
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    taken.add(unique)
    return unique


def records_of(item: Row, where: str, flaws: Counter[str]) -> Iterator[Row]:
    """The gold records of one item: the page's text, the whole JSON, and its leaves."""
    text = item.get("trueMarkdownOutput")
    flaws["items without Markdown"] += not text
    yield {
        "task": "text", "kind": "page", "value": text,
        "status": "ok" if text else "unscored", "origin": f"{where}#/trueMarkdownOutput",
    }  # fmt: skip
    truth = item["trueJsonOutput"]
    if isinstance(truth, str):
        # An item from a data set viewer has it as text.
        with suppress(DataBroken):
            truth = files.parse_json(truth, where="trueJsonOutput")
    yield {
        "task": "value", "path": WHOLE, "kind": "json", "origin": f"{where}#/trueJsonOutput",
        "value": json.dumps(truth, ensure_ascii=False, sort_keys=True),
    }  # fmt: skip
    for path, kind, value in _leaves(truth, item.get("jsonSchema"), "", where):
        flaws["true values of null"] += value is None
        yield {
            "task": "text", "path": path, "kind": kind,
            "value": None if value is None else as_text(value),
            "origin": f"{where}#/trueJsonOutput{path}",
        }  # fmt: skip


def _leaves(
    value: Any, schema: Any, path: str, where: str, depth: int = 0
) -> Iterator[tuple[str, str, Any]]:
    rules = schema if isinstance(schema, dict) else {}
    if depth > _DEEPEST:
        raise DataBroken(f"JSON nested deeper than {_DEEPEST} levels", where=f"{where}#{path[:80]}")
    if isinstance(value, dict):
        inner = rules.get("properties")
        for key, item in value.items():
            rule = inner.get(key) if isinstance(inner, dict) else None
            yield from _leaves(item, rule, f"{path}/{escape(key)}", where, depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, rules.get("items"), f"{path}/{index}", where, depth + 1)
    elif path:
        stated = rules.get("type")
        kind = (
            "choice" if "enum" in rules else _KINDS.get(stated if isinstance(stated, str) else "")
        )
        yield path, kind or "string", value


def _document(item: Row, base: Path, root: Path, rows: list[Row], flaws: Counter[str]) -> Row:
    metadata = item.get("metadata") if isinstance(item.get("metadata"), dict) else {}
    domain = metadata.get("format") or metadata.get("documentType")
    fields = [row for row in rows if row.get("path") not in (None, WHOLE)]
    row: Row = {
        "n_fields": len(fields), "n_kinds": len({field["kind"] for field in fields}),
        "domain": None if domain is None else str(domain),
        "meta": json.dumps(
            {"imageUrl": _image(item), "metadata": metadata, "jsonSchema": item.get("jsonSchema")},
            ensure_ascii=False,
        ),
    }  # fmt: skip
    name = basename(_image(item))
    places = (base / name, base / "images" / name) if name else ()
    image = next(filter(files.is_file, places), None)
    return row | image_columns(root, image, flaws, missing="images not in the folder")
