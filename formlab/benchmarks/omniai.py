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


class _Unit(NamedTuple):
    """A document's id and place, and the file that it has alone, or its item among others."""

    doc_id: str
    where: str
    file: Path | None
    item: Any


def reader(split: str, root: Path) -> SplitReader:
    """The forms: a record per leaf of the true JSON, one for all of it, one for the page's text.

    Leaves are at JSON Pointers (``/items/0/price``, task `text`), their kind from the schema; the
    whole JSON, canonical, is at ``/`` (task `value`, kind `json`); the Markdown is the page's text.
    """
    folder = files.folder(root, remedy="a folder with OmniAI's items as JSON files")
    base = folder / split if (folder / split).is_dir() else folder
    units, sources, taken = list[_Unit](), dict[str, str](), set[str]()
    for file in sorted([*base.glob("*.json"), *base.glob("*.jsonl")]):
        items: list[tuple[str, Any]] = [(file.name, None)]
        # Of a file with one form, reading the form says what is wrong.
        with suppress(*() if file.suffix == ".jsonl" else (DataBroken, DataMissing)):
            items = _items(file)
        for where, item in items:
            # Of equal names the second gets a number.
            alone, stem = where == file.name, _stem(item, file, where)
            numbered = (f"{stem}_{number}" for number in range(2, len(taken) + 3))
            doc_id = next(name for name in (stem, *numbered) if name not in taken)
            taken.add(doc_id)
            units.append(_Unit(doc_id, where, file if alone else None, None if alone else item))
            sources |= {} if alone else {str(file.relative_to(root)): files.sha256(file)}

    def read(unit: _Unit, flaws: Counter[str]) -> Iterator[Part]:
        item = _items(unit.file)[0][1] if unit.file else unit.item
        remedy = "an object with imageUrl, jsonSchema and trueJsonOutput"
        files.convert(item, _Item, where=base / unit.where, remedy=remedy)
        rows = list(records_of(item, unit.where, flaws))
        name, meta = basename(_image(item)), item.get("metadata")
        metadata = meta if isinstance(meta, dict) else {}
        domain = metadata.get("format") or metadata.get("documentType")
        said = {
            "imageUrl": _image(item),
            "metadata": metadata,
            "jsonSchema": item.get("jsonSchema"),
        }
        document = {"doc_id": unit.doc_id, "domain": None if domain is None else str(domain)}
        document |= {"meta": json.dumps(said, ensure_ascii=False)}
        document |= counts_of(row for row in rows if row.get("path") not in (None, WHOLE))
        image = next(filter(files.is_file, (base / name, base / "images" / name)), None)
        yield document | image_columns(root, image, flaws, missing="images not in the folder"), rows

    alone = {"sources": sources, "empty": "items", "file_of": lambda unit: unit.file}
    return SplitReader("omniai", split, root, units, read, {"task": "text", "page": 1}, **alone)


def _items(file: Path) -> list[tuple[str, Any]]:
    """The items of a file, each with its place; one that is alone has the file's name for it."""
    if file.suffix == ".jsonl":
        return [(f"{file.name}:{number}", item) for number, item in files.each_jsonl(file)]
    value = files.read_json(file)
    if isinstance(value, list):
        return [(f"{file.name}#/{number}", item) for number, item in enumerate(value)]
    return [(file.name, value)]


def _stem(item: Any, file: Path, where: str) -> str:
    """The item's id, else the name of the file if it holds one item, else that of the image."""
    known = item if isinstance(item, dict) else {}
    name = file.stem if where == file.name else PurePosixPath(basename(_image(known))).stem
    return _NAME.sub("_", str(known.get("id") or name))[:_LONGEST] or "item"


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
    row: Row = {"kind": "page", "value": text, "status": "ok" if text else "unscored"}
    yield row | {"origin": f"{where}#/trueMarkdownOutput"}
    if isinstance(truth, str):
        # An item from a data set viewer has it as text.
        with suppress(DataBroken):
            truth = files.parse_json(truth, where="trueJsonOutput")
    origin, text = f"{where}#/trueJsonOutput", json.dumps(truth, ensure_ascii=False, sort_keys=True)
    yield {"task": "value", "path": WHOLE, "kind": "json", "value": text, "origin": origin}
    for path, kind, value in _leaves(truth, item.get("jsonSchema"), "", where):
        flaws["true values of null"] += value is None
        value = None if value is None else as_text(value)
        yield {"path": path, "kind": kind, "value": value, "origin": f"{origin}{path}"}


def _leaves(value: Any, schema: Any, path: str, where: str) -> Iterator[tuple[str, str, Any]]:
    """Path, kind and value of each leaf."""
    rules = schema if isinstance(schema, dict) else {}
    if path.count("/") > _DEEPEST:
        raise DataBroken(f"JSON nested deeper than {_DEEPEST} levels", where=f"{where}#{path[:80]}")
    if isinstance(value, dict):
        inner = rules.get("properties")
        inner = inner if isinstance(inner, dict) else {}
        for key, item in value.items():
            yield from _leaves(item, inner.get(key), f"{path}/{escape(key)}", where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, rules.get("items"), f"{path}/{index}", where)
    elif path:
        kind = "choice" if "enum" in rules else _KINDS.get(str(rules.get("type")), "string")
        yield path, kind, value
