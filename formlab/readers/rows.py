"""What a reader is, and the rows that it gives."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from formlab.errors import DataBroken, FormlabError

if TYPE_CHECKING:
    from formlab.folders import Corpus, Predictions

# Cells by name. `role` is one of `ROLES`; `doc_id`, `path` and `value` are those of records, and
# so are `task`, `kind`, `status`, the box and so on; a call has the columns of responses, a figure
# `scorer`, `kind`, `score` and `n`. A log's scores are `log_by_<scorer>` of answers and documents.
Row = dict[str, Any]
ROLES = ("document", "gold", "answer", "call", "figure")
# What reading runs into where a file is not laid out as it should be.
ODD = (ArithmeticError, AttributeError, FormlabError, LookupError, RuntimeError, TypeError)
ODD += (ValueError, csv.Error)
# How deep values may be nested.
DEEPEST = 60


@dataclass
class Source:
    """What a reader reads for a `corpus`, if any, and what it says of it beside its rows.

    A reader counts in `notes`, lists in `files` what it read, whose hashes become `sources`, and
    says the system's `name` where the source does.
    """

    path: Path
    corpus: Corpus | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    files: list[Path] = field(default_factory=list)
    name: str | None = None


class Reader(NamedTuple):
    """One kind of source: its `title` in errors, whether a path is of it, and the rows there.

    `splits`, if any, lists those that a path has answers for; `both` gives gold and answers.
    """

    name: str
    title: str
    fits: Callable[[Path], bool]
    read: Callable[[Source], Iterable[Row]]
    splits: Callable[[Path], list[str]] | None = None
    both: Callable[[Path], tuple[Corpus, Predictions]] | None = None


def by_role(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each role, in order, which lose their `role`."""
    found: dict[str, list[Row]] = {role: [] for role in ROLES}
    for row in rows:
        found[row.pop("role")].append(row)
    return found


def counted(notes: Mapping[str, int]) -> dict[str, int]:
    """Notes in order, without those that count nothing."""
    return {note: int(count) for note, count in sorted(notes.items()) if count}


def leaves(
    value: Any, path: str = "", is_value: Callable[[Row], Any] | None = None
) -> Iterator[tuple[str, Any]]:
    """The values in an object or list as they are, each at its JSON pointer.

    An object for which `is_value` holds is one of them. `RecursionError` deeper than `DEEPEST`.
    """
    value = value.tolist() if hasattr(value, "tolist") else value  # An array in a frame's cell.
    is_whole = isinstance(value, dict) and is_value and is_value(value)
    if is_whole or not isinstance(value, dict | list | tuple):
        yield path, value
        return
    if path.count("/") > DEEPEST:
        raise RecursionError(f"nested deeper than {DEEPEST} levels")
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        place = f"{path}/{str(step).replace('~', '~0').replace('/', '~1')}"
        yield from leaves(inner, place, is_value)


def by_name(what: str, named: Iterable[tuple[Any, Path]]) -> dict[Any, Path]:
    """Files by name; `DataBroken` if there are two of one, `what` they are."""
    found: dict[Any, Path] = {}
    for name, file in named:
        if (first := found.setdefault(name, file)) is not file:
            problem = f"two {what} {name!r}, the first in {first.name}"
            raise DataBroken(problem, where=file, remedy="keep one of them")
    return found
