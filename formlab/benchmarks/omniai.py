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
from typing import Any
from urllib.parse import urlsplit

import msgspec

from formlab import files
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of, image_columns
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataBroken, DataMissing
from formlab.text.normalise import as_text
from formlab.trees import escape

# The path of the row that holds the whole of the true JSON.
WHOLE = "/"
_KINDS = {"number": "number", "integer": "number", "boolean": "checkbox"}
_DEEPEST, _LONGEST = 60, 200
_NAME = re.compile(r"[^\w.-]+")


class _Item(msgspec.Struct):
    """What must be as it is published in an item; its schema and metadata may be anything."""

    trueJsonOutput: Any  # noqa: N815
    imageUrl: str | None = None  # noqa: N815
    trueMarkdownOutput: str | None = None  # noqa: N815
    file_name: str | None = None
    id: str | int | None = None


def reader(split: str, root: Path) -> SplitReader:
    """The forms: a record per leaf of the true JSON, one for all of it, one for the page's text.

    Leaves are at JSON Pointers (``/items/0/price``, task `text`), their kind from the schema; the
    whole JSON, canonical, is at ``/`` (task `value`, kind `json`); the Markdown is the page's text.
    """
    folder = files.folder(root, remedy="a folder with OmniAI's items as JSON files")
    base = folder / split if (folder / split).is_dir() else folder
    several: set[Path] = set()
    # Of equal names the second gets a number, so all names are known before a form is read.
    names, taken = {}, set[str]()
    for file in sorted([*base.glob("*.json"), *base.glob("*.jsonl")]):
        names[file] = []
        with suppress(*() if file.suffix == ".jsonl" else (DataBroken, DataMissing)):
            if file.suffix == ".jsonl" or isinstance(files.read_json(file), list):
                several.add(file)
        # Of a file with one form, reading the form says what is wrong.
        with suppress(*() if file in several else (DataBroken, DataMissing)):
            names[file] = [_doc_id(item, file, where, taken) for where, item in _items(file)]

    def read(file: Path, flaws: Counter[str], sources: dict[str, str]) -> Iterator[Part]:
        sources[str(file.relative_to(root))] = files.sha256(file)
        for doc_id, (where, item) in zip(names[file], _items(file), strict=True):
            rows = list(records_of(item, where, flaws))
            document = {"doc_id": doc_id} | _document(item, base, root, rows, flaws)
            yield document, [row | {"page": 1} for row in rows]

    empty = DataBroken("no items", where=base, remedy="one JSON file a form")
    alone = {"empty": empty, "file_of": lambda file: None if file in several else file}
    return SplitReader("omniai", split, root, list(names), read, **alone)


def _items(file: Path) -> Iterator[tuple[str, Row]]:
    """The items of a file, each with its place."""
    if file.suffix == ".jsonl":
        items = [(f":{number}", item) for number, item in files.each_jsonl(file)]
    elif isinstance(value := files.read_json(file), list):
        items = [(f"#/{number}", item) for number, item in enumerate(value)]
    else:
        items = [("", value)]
    remedy = "an object with imageUrl, jsonSchema and trueJsonOutput"
    for place, item in items:
        files.convert(item, _Item, where=f"{file}{place}", remedy=remedy)
        yield f"{file.name}{place}", item


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


def records_of(item: Row, where: str, flaws: Counter[str]) -> Iterator[Row]:
    """The gold records of one item: the page's text, the whole JSON, and its leaves."""
    text, truth = item.get("trueMarkdownOutput"), item["trueJsonOutput"]
    flaws["items without Markdown"] += not text
    row = {"task": "text", "kind": "page", "value": text, "origin": f"{where}#/trueMarkdownOutput"}
    yield row | {"status": "ok" if text else "unscored"}
    if isinstance(truth, str):
        # An item from a data set viewer has it as text.
        with suppress(DataBroken):
            truth = files.parse_json(truth, where="trueJsonOutput")
    origin, text = f"{where}#/trueJsonOutput", json.dumps(truth, ensure_ascii=False, sort_keys=True)
    yield {"task": "value", "path": WHOLE, "kind": "json", "value": text, "origin": origin}
    for path, kind, value in _leaves(truth, item.get("jsonSchema"), "", where):
        flaws["true values of null"] += value is None
        row = {"task": "text", "path": path, "kind": kind, "origin": f"{origin}{path}"}
        yield row | {"value": None if value is None else as_text(value)}


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
        kind = "choice" if "enum" in rules else _KINDS.get(str(rules.get("type")), "string")
        yield path, kind, value


def _document(item: Row, base: Path, root: Path, rows: list[Row], flaws: Counter[str]) -> Row:
    metadata = item.get("metadata") if isinstance(item.get("metadata"), dict) else {}
    domain = metadata.get("format") or metadata.get("documentType")
    meta = {"imageUrl": _image(item), "metadata": metadata, "jsonSchema": item.get("jsonSchema")}
    row = counts_of(row for row in rows if row.get("path") not in (None, WHOLE))
    row |= {"domain": None if domain is None else str(domain)}
    row |= {"meta": json.dumps(meta, ensure_ascii=False)}
    name = basename(_image(item))
    places = (base / name, base / "images" / name) if name else ()
    image = next(filter(files.is_file, places), None)
    return row | image_columns(root, image, flaws, missing="images not in the folder")
