"""What a reader is, and the rows that it gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from formlab.errors import DataBroken, FormlabError

if TYPE_CHECKING:
    from formlab.folders import Corpus, Predictions

# Cells by name. `role` is one of `ROLES`; `doc_id`, `path` and `value` are those of records, and
# so are `task`, `kind`, `status`, the box and so on; a call has the columns of responses, a score
# `scorer`, `score`, `compared`, `correct` and `judged`, a figure `scorer`, `kind`, `score` and `n`.
Row = dict[str, Any]
ROLES = ("document", "gold", "answer", "call", "score", "figure")
# What reading runs into where a file is not laid out as it should be.
ODD = (ArithmeticError, AttributeError, FormlabError, LookupError, RuntimeError, TypeError)
ODD += (ValueError,)


@dataclass
class Source:
    """What a reader reads, and what it says of it beside its rows.

    Attributes
    ----------
    path
        The file or folder.
    corpus
        What the answers are for; None where a log is read by itself.
    columns
        The source's name for each column.
    notes
        What was met, in short sentences, with counts.
    files
        What was read: their hashes become `sources`.
    name
        The system's name where the source says one.
    """

    path: Path
    corpus: Corpus | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    files: list[Path] = field(default_factory=list)
    name: str | None = None


class Reader(NamedTuple):
    """One kind of source: whether a path is of it, and the rows that stand there.

    `title` is what an error calls it; `fits` tells quickly, by the first bytes or the names in a
    folder; `splits`, if not None, lists the splits that a path has answers for; `both`, if not
    None, gives its gold and answers instead of rows.
    """

    name: str
    title: str
    fits: Callable[[Path], bool]
    read: Callable[[Source], Iterable[Row]]
    splits: Callable[[Path], list[str]] | None = None
    both: Callable[[Path], tuple[Corpus, Predictions]] | None = None


class Batch(NamedTuple):
    """Some rows as read, those of a table by column, and their origins, which follow `home`.

    The rows of `documents` are whole documents, a member each field.
    """

    origins: list[str]
    cells: list[Row] | dict[str, list[Any]]
    documents: bool = False
    home: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the columns, in the order in which rows have them."""
        by_row = isinstance(self.cells, list)
        return list(dict.fromkeys(chain.from_iterable(self.cells) if by_row else self.cells))

    @property
    def rows(self) -> list[Row]:
        """Each row as a dict."""
        if isinstance(self.cells, list):
            return self.cells
        cells = zip(*self.cells.values(), strict=True)
        return [dict(zip(self.cells, row, strict=True)) for row in cells]

    def column(self, name: str | None) -> list[Any]:
        """The cells of a column; null where there is none."""
        if isinstance(self.cells, dict):
            return self.cells.get(name) or [None] * len(self.origins)
        return [row.get(name) for row in self.cells]

    def where(self, number: int) -> str:
        """The place of a row, from 0, as an error names it."""
        return f"{self.home}{self.origins[number]}"


def by_role(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each role, in order, without their `role`.

    Examples
    --------
    >>> by_role([{"role": "answer", "doc_id": "a"}])["answer"], by_role([])["gold"]
    ([{'doc_id': 'a'}], [])
    """
    found: dict[str, list[Row]] = {role: [] for role in ROLES}
    for row in rows:
        found[row["role"]].append({name: cell for name, cell in row.items() if name != "role"})
    return found


def counted(notes: Mapping[str, int]) -> dict[str, int]:
    """Notes in order, without those that count nothing."""
    return {note: count for note, count in sorted(notes.items()) if count}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values in an object or list as they are, each at its JSON pointer.

    Examples
    --------
    >>> list(leaves({"items": [{"a/b": 1}]}))
    [('/items/0/a~1b', 1)]
    """
    if not isinstance(value, dict | list):
        yield path, value
        return
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(inner, f"{path}/{str(step).replace('~', '~0').replace('/', '~1')}")


def by_name(what: str, named: Iterable[tuple[Any, Path]]) -> dict[Any, Path]:
    """Files by name; `DataBroken` if there are two of one, `what` they are."""
    found: dict[Any, Path] = {}
    for name, file in named:
        if (first := found.setdefault(name, file)) is not file:
            problem = f"two {what} {name!r}, the first in {first.name}"
            raise DataBroken(problem, where=file, remedy="keep one of them")
    return found
