"""The data of a figure as CSV, with texts escaped that a spreadsheet would take for formulas."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from formlab import gallery
from formlab.charts._output import clean
from formlab.charts._parts import NAME
from formlab.selection import LINES

# A spreadsheet takes a cell for a formula that begins so, also after what cannot be seen.
_FORMULA = re.compile(
    r"[\s\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]*[=+\-@＝＋－＠]"
    r"|[\t\r\n]"
)
Rows = list[dict[str, Any]]


def text(rows: Rows) -> str:
    r"""CSV of `rows`: a text that a spreadsheet would run gets an apostrophe before it.

    Numbers stay numbers. Lines end as RFC 4180 says.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    lines = [names, *([row.get(name) for name in names] for row in rows)]
    csv.writer(stream, lineterminator="\r\n").writerows(map(_cell, line) for line in lines)
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | int | float):
        return value
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    value = clean(value, limit=None)
    safe = f"'{value}" if _FORMULA.match(value) else value
    return safe.replace("\0", "␀")


def rows(kind: str, payload: Mapping[str, Any]) -> Rows:
    """The rows that an object of a notebook shows; none for an object without a table."""
    readers = {"vega": _vega, "plotly": _plotly, "table": _table, "gallery": gallery.rows}
    readers["explorer"] = lambda shown: gallery.rows(shown["gallery"])
    if kind not in readers:
        return []
    try:
        return readers[kind](payload)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        # Other code may emit these kinds in other shapes: the figure stands, without a table.
        return []


def _joined(tables: Mapping[str, Rows]) -> Rows:
    """All rows; a column `part` tells the tables apart where there are several."""
    tables = {name: rows for name, rows in tables.items() if rows}
    several = len(tables) > 1
    return [({"part": n} if several else {}) | row for n, rows in tables.items() for row in rows]


def _vega(payload: Mapping[str, Any]) -> Rows:
    spec = payload["spec"]
    tables = [*spec.get("datasets", {}).values(), *_inline(spec)]
    tables = [table for table in tables if isinstance(table, list) and table]
    return _joined({
        str(number): [_plain(row) if isinstance(row, dict) else {"value": row} for row in table]
        for number, table in enumerate(tables, start=1)
    })  # fmt: skip


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a chart without what is for the drawing alone: its cases' address, its label."""
    return {name: value for name, value in row.items() if name not in (LINES, NAME)}


def _inline(spec: Any) -> Iterator[Any]:
    """The values written into a specification or into a chart inside it."""
    if isinstance(spec, list):
        for item in spec:
            yield from _inline(item)
    elif isinstance(spec, dict):
        data = spec.get("data")
        if isinstance(data, dict) and "values" in data:
            yield data["values"]
        for name in ("layer", "hconcat", "vconcat", "concat", "spec"):
            yield from _inline(spec.get(name))


def _plotly(payload: Mapping[str, Any]) -> Rows:
    tables: dict[str, Rows] = {}
    for number, trace in enumerate(payload["figure"]["data"], start=1):
        decoded = {name: _decoded(value) for name, value in trace.items()}
        name = str(trace.get("name") or number)
        tables.setdefault(name, []).extend(_trace(decoded))
    return _joined(tables)


def _decoded(value: Any) -> Any:
    """The list of an array that plotly sends as base64; another value as it is."""
    if not isinstance(value, dict) or "bdata" not in value:
        return value
    array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
    if shape := value.get("shape"):
        array = array.reshape([int(size) for size in str(shape).split(",")])
    return array.tolist()


def _trace(trace: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    grid = trace.get("z")
    if isinstance(grid, list) and grid and isinstance(grid[0], list):
        xs = trace.get("x") or range(len(grid[0]))
        ys = trace.get("y") or range(len(grid))
        labels = trace.get("customdata") or trace.get("text")
        # Of a surface plotly looks custom data up by x and then y, all else by y and then x.
        turned = trace.get("type") == "surface" and trace.get("customdata")
        for i, (y, line) in enumerate(zip(ys, grid, strict=False)):
            for j, (x, z) in enumerate(zip(xs, line, strict=False)):
                label = _at(labels, j, i) if turned else _at(labels, i, j)
                yield {"x": x, "y": y, "z": z} | ({} if label is None else {"more": label})
        return
    names = ("x", "y", "z", "labels", "values", "text")
    columns = {name: trace[name] for name in names if isinstance(trace.get(name), list)}
    for cells in itertools.zip_longest(*columns.values()):
        yield dict(zip(columns, cells, strict=True))


def _at(grid: Any, row: int, column: int) -> Any:
    try:
        return grid[row][column]
    except (TypeError, IndexError, KeyError):
        return None


def _table(payload: Mapping[str, Any]) -> Rows:
    names: list[str] = []
    for title in (column["title"] for column in payload["columns"]):
        numbered = (f"{title} {number}" for number in itertools.count(2))
        names.append(next(name for name in itertools.chain([title], numbered) if name not in names))
    return [dict(zip(names, row, strict=True)) for row in payload["rows"]]
