"""Rows collected column by column: a hundred thousand of them are a table in no time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any


class Columns:
    """Rows that may lack columns, as one list a column; `same` is what those that lack it have.

    Examples
    --------
    >>> rows = Columns(status="ok")
    >>> rows.extend([{"path": "/a"}, {"path": "/b", "status": "missing"}])
    >>> rows.extend({"path": ["/c"], "page": [2]}, doc_id="1")
    >>> rows.height, rows.lists["status"], rows.lists["page"], rows.lists["doc_id"]
    (3, ['ok', 'missing', 'ok'], [None, None, 2], [None, None, '1'])
    """

    def __init__(self, **same: Any) -> None:
        self.same, self.lists, self.height = same, dict[str, list[Any]](), 0

    def extend(
        self, rows: Sequence[Mapping[str, Any]] | Mapping[str, list[Any]], **same: Any
    ) -> None:
        """Add rows, or columns of equal length; all of them get the values `same`."""
        whole = rows if isinstance(rows, Mapping) else None
        height = height_of(rows)
        names = set(chain.from_iterable(rows)) if whole is None else whole.keys()
        for name in [*names, *same]:
            if name not in self.lists:
                self.lists[name] = [self.same.get(name)] * self.height
        for name, values in self.lists.items():
            default = same.get(name, self.same.get(name))
            if name not in names:
                values += [default] * height
            elif whole is not None:
                values += whole[name]
            else:
                values += [row.get(name, default) for row in rows]
        self.height += height


def height_of(rows: Sequence[Any] | Mapping[str, list[Any]]) -> int:
    """How many rows there are, in a list or in columns.

    Examples
    --------
    >>> height_of([{}, {}]), height_of({"path": ["/a"]}), height_of({})
    (2, 1, 0)
    """
    return len(next(iter(rows.values()), ())) if isinstance(rows, Mapping) else len(rows)
