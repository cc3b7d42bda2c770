"""The table behind a figure, as CSV that a spreadsheet opens and runs nothing of."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from formlab import gallery
from formlab.charts._output import clean

# A spreadsheet takes a cell for a formula that begins so, also after white space.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
Rows = list[dict[str, Any]]


def text(rows: Rows) -> str:
    r"""CSV of `rows`: a text that a spreadsheet would run gets an apostrophe before it.

    Numbers stay numbers. Lines end as RFC 4180 says.

    Examples
    --------
    >>> text([{"name": "=1+1", "value": -0.5}])
    "name,value\r\n'=1+1,-0.5\r\n"
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow([_cell(name) for name in names])
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | int | float):
        return value
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    value = clean(value, limit=None).replace("\0", "␀")
    runs = value.lstrip().startswith(_FORMULA) or value.startswith(("\t", "\r", "\n"))
    return f"'{value}" if runs else value


def rows(kind: str, payload: Mapping[str, Any]) -> Rows:
    """The rows that an object shows; none for an object without a table.

    Parameters
    ----------
    kind
        ``vega``, ``plotly``, ``table`` or ``gallery``.
    payload
        The object's data, as it travels in the notebook.

    Examples
    --------
    >>> rows("plotly", {"figure": {"data": [{"type": "bar", "x": ["a", "b"], "y": [1, 2]}]}})
    [{'x': 'a', 'y': 1}, {'x': 'b', 'y': 2}]
    """
    readers = {"vega": _vega, "plotly": _plotly, "table": _table, "gallery": _gallery}
    if kind not in readers:
        return []
    try:
        return list(readers[kind](payload))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        # Other code may emit these kinds in other shapes: the figure stands, without a table.
        return []


def _several(tables: Iterable[tuple[str, Rows]]) -> Iterator[dict[str, Any]]:
    """All rows; a column tells the tables apart where there are several."""
    tables = [(name, found) for name, found in tables if found]
    for name, found in tables:
        for row in found:
            yield row if len(tables) == 1 else {"part": name} | row


def _vega(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    spec = payload["spec"]
    named = spec.get("datasets", {})
    inline = list(_values(spec))
    found = [one for one in [*named.values(), *inline] if isinstance(one, list) and one]
    return _several(
        (str(number), [row if isinstance(row, dict) else {"value": row} for row in one])
        for number, one in enumerate(found, start=1)
    )


def _values(part: Any) -> Iterator[Any]:
    """The values written into a specification or into one of its parts."""
    if isinstance(part, list):
        for item in part:
            yield from _values(item)
    elif isinstance(part, dict):
        data = part.get("data")
        if isinstance(data, dict) and "values" in data:
            yield data["values"]
        for name in ("layer", "hconcat", "vconcat", "concat", "spec"):
            yield from _values(part.get(name))


def _plotly(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    traces = [_decoded(trace) for trace in payload["figure"]["data"]]
    return _several(
        (str(trace.get("name") or number), list(_trace(trace)))
        for number, trace in enumerate(traces, start=1)
    )


def _decoded(trace: Mapping[str, Any]) -> dict[str, Any]:
    """A trace whose arrays are lists; plotly sends typed arrays as base64."""
    found = dict(trace)
    for name, value in trace.items():
        if isinstance(value, dict) and "bdata" in value:
            array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
            if shape := value.get("shape"):
                array = array.reshape([int(size) for size in str(shape).split(",")])
            found[name] = array.tolist()
    return found


def _trace(trace: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    grid = trace.get("z")
    if isinstance(grid, list) and grid and isinstance(grid[0], list):
        across = trace.get("x") or list(range(len(grid[0])))
        down = trace.get("y") or list(range(len(grid)))
        shown = trace.get("customdata") or trace.get("text")
        for at, (y, line) in enumerate(zip(down, grid, strict=False)):
            for where, (x, z) in enumerate(zip(across, line, strict=False)):
                more = _at(shown, at, where)
                yield {"x": x, "y": y, "z": z} | ({} if more is None else {"more": more})
        return
    columns = {
        name: trace[name]
        for name in ("x", "y", "z", "labels", "values", "text")
        if isinstance(trace.get(name), list)
    }
    for cells in itertools.zip_longest(*columns.values()):
        yield dict(zip(columns, cells, strict=True))


def _at(grid: Any, row: int, column: int) -> Any:
    try:
        return grid[row][column]
    except (TypeError, IndexError, KeyError):
        return None


def _table(payload: Mapping[str, Any]) -> Rows:
    names = _distinct([column["title"] for column in payload["columns"]])
    return [dict(zip(names, row, strict=True)) for row in payload["rows"]]


def _distinct(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, one = 2, name
        while one in found:
            number, one = number + 1, f"{name} {number}"
        found.append(one)
    return found


def _gallery(payload: Mapping[str, Any]) -> Rows:
    return gallery.rows(payload)
