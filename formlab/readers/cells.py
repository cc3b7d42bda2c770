"""The values in the cells of rows: nested, in JSON as text, with what is said of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken
from formlab.readers.door import around, as_text, number
from formlab.readers.rows import Row, leaves
from formlab.readers.sources import WRAPPERS, Batch
from formlab.text import answers
from formlab.trees import escape

# Other names of the three columns that make a table of values.
SYNONYMS = {
    name: others.split()
    for name, others in {
        "doc_id": "document document_id doc docid id file filename file_name image",
        "path": "field field_name key label name pointer",
        "value": "field_value gold gold_value target expected expected_value truth ground_truth "
        "prediction pred answer output response completion text",
    }.items()
}
# `items[0].price`, `$.vendor.name`, `$['items'][0]['name']`, `items[0][name]`.
_NAME = r"[^\W\d][\w-]*"
_BRACKETS = rf"""\.?\[(?:\d+|\*)\](?:\[{_NAME}\])?|\[(?:'[^'\]]+'|"[^"\]]+")\]"""
_DOTTED = re.compile(rf"(?:\$(?:\.?{_NAME})?|{_NAME})(?:\.[\w-]+|{_BRACKETS})+")
_STEP = re.compile(r"""'([^'\]]+)'|"([^"\]]+)"|([\w*-]+)""")
_CONFIDENCE = re.compile(r"(.+?)[ _.-]?(?:confidence|conf)", re.IGNORECASE)
# A text without any of these marks is a value as it stands.
_MARKS, _PLAIN = re.compile(r"[<{\[`◁]"), {type(None), int, float, bool}
# What services call a value, and what they say of it in the same object.
_VALUES = ("value", "content", "text")
_SAID = {
    "confidence": ("confidence", "conf", "score", "probability"),
    "page": ("page", "page_number", "pageNumber"),
    "box": ("box", "bbox", "bounding_box", "boundingBox", "polygon"),
}
_BESIDE = {*chain.from_iterable(_SAID.values()), "type", "kind"}
# Around an answer: names that may hold all of it, and what may stand beside these.
_AROUND = re.compile(
    rf"{'|'.join(WRAPPERS)}|fields|key_value_pairs|extract(?:ion|ed)s?(?:_(?:data|fields|info|json))?"
    r"|(?:(?:model|llm|raw|final|text)_)?"
    r"(?:raw|output|response|prediction|answer|completion|generat(?:ed|ion)|json)"
    r"(?:_(?:text|json|raw|str))?"
)
_CALL = {"model", "usage", "status", "created", "finish_reason", "error", "latency", "seconds"}
_CALL |= {"cost", "confidence", "system", "tokens", "request_id", "success", "ok", "metadata"}
_CALL |= {"reasoning", "thoughts", "thinking", "explanation", "rationale", "message", "timestamp"}
# The path of a value ("" for the text of a page), the value, and what is said of it.
Leaf = tuple[str, Any, Row]


def pattern(path: str) -> str:
    """A path with ``*`` for each place in a list.

    >>> pattern("/items/10/price")
    '/items/*/price'
    """
    return "/".join("*" if step.isdecimal() else step for step in path.split("/"))


@lru_cache(maxsize=2**16)
def pointer(path: str | None) -> str | None:
    """A path as a JSON pointer; null where it names the whole document.

    >>> pointer("total"), pointer("items[0].price"), pointer("/items/0"), pointer("/")
    ('/total', '/items/0/price', '/items/0', None)
    """
    path = (path or "").strip()
    if _DOTTED.fullmatch(path):
        return "/" + "/".join(escape("".join(step)) for step in _STEP.findall(path))
    return None if path in ("", "/") else path if path.startswith("/") else f"/{path}"


def texts(values: Sequence[Any]) -> pl.Series:
    """Values as texts of a column; half of a surrogate pair is kept as its escape."""
    if not set(map(type, values)) <= {str, type(None)}:
        values = list(map(as_text, values))
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([*map(files.storable, values)], dtype=pl.String)


def values_in(
    batch: Batch, names: Mapping[str, str], whole: Collection[str], *, is_long: bool
) -> pl.DataFrame:
    """The values in a batch: row, path, value, and what is said of each.

    `names` are the table's own of the columns that formlab knows; each row of a long table is a
    value. `inside` is the path in the row's own JSON. At the paths `whole` JSON is one value.
    """
    found: list[tuple[int, str, Any, str]] = []
    said: dict[str, dict[int, Any]] = {}
    for row, path, value, beside in (_long if is_long else _wide)(batch.rows, names):
        is_text = type(value) is str
        if not beside and (not _MARKS.search(value) if is_text else type(value) in _PLAIN):
            found.append((row, path, value, path))
            continue
        if is_text and path and not is_long and path not in whole:
            # An object or its list as text in a cell, as tables have line items.
            value = answers.stated(value)
        if not path and isinstance(value, dict):
            value = _unwrapped(value)
        read = chain.from_iterable(_answers(*leaf) for leaf in _leaves(value, path, beside, whole))
        try:
            for place, leaf, stated in read:
                for name, cell in stated.items():
                    said.setdefault(name, {})[len(found)] = cell
                found.append((row, place, leaf, place if path else ""))
        except RecursionError as error:
            where = f"{batch.home}{batch.origins[row]}#{path[:80]}"
            raise DataBroken(str(error), where=where) from None
    numbers, paths, values, inside = zip(*found, strict=True) if found else [()] * 4
    columns = {"row": pl.Series(numbers, dtype=pl.Int64), "path": texts(paths)}
    columns |= {"value": texts(values), "inside": texts(inside)}
    for name in sorted(said):
        stated = [said[name].get(place) for place in range(len(found))]
        columns[name] = pl.Series(stated, dtype=tables.RECORDS[name], strict=False)
    return pl.DataFrame(columns).with_columns(pl.col("path", "inside").replace("", None))


def _long(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[tuple[int, str, Any, Row]]:
    """Row, path, value and what is said, where each row is a value."""
    place, value = names.get("path"), names["value"]
    for place_of_row, row in enumerate(rows):
        path, cell = pointer(as_text(row.get(place))) or "", row.get(value)
        # A page may have its text beside the values of fields.
        yield place_of_row, path, row.get("text") if cell is None and not path else cell, {}


def _wide(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[tuple[int, str, Any, Row]]:
    """The same of a table or of objects with a row for each document."""
    beside = {"doc_id", *names.values()}
    rows = [_unwrapped(row, beside) for row in rows]
    members = {name: _member(name) for row in rows for name in row if name not in beside}
    confidences = {subject: name for name, (*_, subject) in members.items()}
    for place_of_row, row in enumerate(rows):
        for name, cell in row.items():
            if name not in members:
                continue
            path, is_item, subject = members[name]
            # A column for the third item is blank where there are two.
            if subject in row or (cell is None and is_item):
                continue
            sure = confidences.get(name)
            yield place_of_row, path, cell, {"confidence": number(row.get(sure))} if sure else {}


@lru_cache(maxsize=2**16)
def _member(name: str) -> tuple[str, bool, str | None]:
    """The pointer of a column, whether it is of a list's item, and of which its confidence."""
    is_pointer = name.startswith("/") or any(step.isdecimal() for step in name.split("/")[1:])
    is_pointer = is_pointer or _DOTTED.fullmatch(name) is not None
    path = (pointer(name) or "") if is_pointer else f"/{escape(name)}"
    subject = _CONFIDENCE.fullmatch(name)
    return path, "*" in pattern(path), subject and subject[1]


def _unwrapped(row: Row, beside: Collection[str] = ()) -> Row:
    """A row without the one object, or text in JSON, that stands around all of its answer."""
    around = [name for name in row if name not in beside and _AROUND.fullmatch(name.lower())]
    if len(around) != 1 or not row.keys() - {*beside} <= _CALL | {around[0]}:
        return row
    inner = _by_name(row[around[0]])
    if isinstance(inner, str) and answers.is_json(inner):
        inner = {"/": inner}
    if not isinstance(inner, dict) or not inner:
        return row
    # There may be several around one another.
    return _unwrapped({name: row[name] for name in row if name in beside} | inner, beside)


def _by_name(value: Any) -> Any:
    """A list of fields that say their names as an object of them; a list of one object as that."""
    items = value if isinstance(value, list) else []
    if not items or not all(isinstance(item, dict) for item in items):
        return value
    for name in SYNONYMS["path"]:
        if all(isinstance(item.get(name), str) and "value" in item for item in items):
            found: dict[str, Any] = {}
            for item in items:
                said = {key: cell for key, cell in item.items() if key != name}
                found.setdefault(item[name], []).append(said if _value_in(said) else item["value"])
            return {key: cells if len(cells) > 1 else cells[0] for key, cells in found.items()}
    return items[0] if len(items) == 1 else value


def _leaves(cell: Any, path: str, said: Row, whole: Collection[str] = ()) -> Iterator[Leaf]:
    """The values in a cell; an object of a value and its confidence, page or box is one value."""
    if path in whole:
        yield path, as_text(cell), said
        return
    for place, leaf in leaves(cell, path, _value_in):
        if not isinstance(leaf, dict):
            yield place, leaf, said
            continue
        stated = {key: leaf[n] for key, names in _SAID.items() for n in names if n in leaf}
        # Four numbers, eight, or points.
        sides = [side for _, side in leaves(stated.pop("box", ()))]
        corners = around(zip(sides[::2], sides[1::2], strict=False)) or ()
        stated = {key: number(text) for key, text in stated.items()}
        stated |= zip(tables.BOX, corners, strict=False)
        yield from _leaves(leaf[str(_value_in(leaf))], place, stated)


def _value_in(members: Row) -> str | None:
    """The member that is the value of an object which says more of it; null if it is none."""
    found = [name for name in _VALUES if name in members]
    rest = members.keys() - set(found)
    if not found or not (rest <= _BESIDE or "confidence" in rest) or rest <= {"type", "kind"}:
        return None
    return found[0] if found[0] == "value" or not rest.isdisjoint(_SAID["confidence"]) else None


def _answers(path: str, value: Any, said: Row) -> Iterator[Leaf]:
    """A value, or the fields of JSON in a text, without a model's reasoning; broken JSON stays."""
    if not isinstance(value, str) or not _MARKS.search(value):
        yield path, value, said
        return
    parsed = answers.plain(value) if path else answers.read(value)
    status = {"status": parsed.status}
    if isinstance(parsed.value, str | None):
        if parsed.changes:
            value, said = value if parsed.status == "bad_json" else parsed.value, said | status
        yield path, value, said
        return
    inner = _unwrapped(parsed.value) if isinstance(parsed.value, dict) else parsed.value
    below = [leaf for leaf in _leaves(inner, "", {}) if as_text(leaf[1]) is not None]
    for place, leaf, stated in below or [("", None, {})]:
        yield place, leaf, stated | status
