"""Decisions of people about values and items: a small text file, one decision a line.

A file of JSON lines, sorted, that diffs and merges well; each reviewer has one. A line has the key
of what was decided on (`benchmark`, `split`, `doc_id`, `task`, `path`; without `split` it holds in
every split of the document), `decision`, `reviewer` and `time`, and where they apply the `label`
that was judged, by which a decision on an older label is recognised, the right `value`, the `parts`
that an edit changed beside it, such as ``{"subtype": "circle"}``, and a `note`. A file may be
appended to: of two lines of one reviewer with the same key the last one counts.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken, DataMissing

KEY = ("benchmark", "split", "doc_id", "task", "path")
REVIEW, LABEL_AUDIT = tables.DECIDED[:3], tables.DECIDED[3:6]
# Of two values that reviewers gave: the first one's, the second one's, or another.
ADJUDICATION = (*tables.DECIDED[6:], "edit")
SUFFIX = ".jsonl"
Row = dict[str, Any]
Seen = Mapping[str, Any] | None
_ANY: Row = {}  # Whatever stands there.
_EXAMPLE = '{"benchmark": "funsd", "doc_id": "1", "task": "text", "decision": "wrong", …}'
# JSON lets these characters pass; they move a terminal's cursor or reorder the text beside them.
_UNSAFE = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def read(path: str | Path) -> pl.DataFrame:
    """The decisions in a file, or in all files of a folder, one for each key and reviewer.

    The table has the schema DECISIONS and is sorted. `DataMissing` if there is no such file, or no
    file of decisions in the folder; `DataBroken` at the first line that is not a decision, and
    where two files of a folder hold different decisions of one reviewer on one thing.
    """
    path = Path(path)
    if not (sources := sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]):
        raise DataMissing("no decisions here", where=path, remedy=f"a file such as me{SUFFIX}")
    merged: dict[tuple, tuple[str, Row]] = {}
    for file in sources:
        for key, (where, row) in _latest(file).items():
            first, other = merged.setdefault(key, (where, row))
            if any(row[name] != other[name] for name in row if name not in ("time", "note")):
                what = f"{row['reviewer']} decided otherwise at {first}"
                raise DataBroken(what, where=where, remedy="keep one of the two lines")
    return _table([row for _, row in merged.values()])


def found(path: str | Path) -> pl.DataFrame:
    """As `read`, or no decisions at all where nobody has made any yet."""
    path = Path(path)
    begun = any(path.glob(f"*{SUFFIX}")) if path.is_dir() else path.exists()
    return read(path) if begun else _table([])


def write(path: str | Path, decisions: pl.DataFrame) -> None:
    """Write decisions to a file, atomically: sorted, one a line, nulls left out.

    `TableBroken` if the table does not follow the schema DECISIONS.
    """
    files.write_text(path, _text(tables.check("decisions", decisions)))


def record(path: str | Path, row: Mapping[str, Any], *, seen: Seen = _ANY) -> None:
    """Add one decision to a file, in place of the same reviewer's on the same thing.

    It is on the disk when this returns; sessions that share a file add to what stands there. With
    `seen`, the decision that a session knows of (None: of none), another since is a `DataBroken`.
    """
    _change(Path(path), _key(row), dict(row), seen)


def forget(path: str | Path, row: Mapping[str, Any], *, seen: Seen = _ANY) -> None:
    """Take the decision with the key and reviewer of `row` out of a file; `seen` as in `record`."""
    _change(Path(path), _key(row), None, seen)


def version(decisions: pl.DataFrame) -> str:
    """Twelve hexadecimal digits that differ between two states of decisions."""
    return hashlib.sha256(_text(decisions).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _change(path: Path, key: tuple, row: Row | None, seen: Seen) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        rows = {k: old for k, (_, old) in _latest(path).items()} if path.exists() else {}
        old = rows.pop(key, None)
        if seen is not _ANY and _said(old) not in (_said(seen), _said(row)):
            what = "taken back" if old is None else f"decided otherwise ({old['decision']})"
            raise DataBroken(f"{what} in another window since", where=path, remedy="look again")
        rows |= {key: row} if row is not None else {}
        write(path, _table(list(rows.values())))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other processes out of a folder's decisions, and leaves no file behind."""
    try:
        import fcntl
    except ImportError:  # Windows: two sessions of one reviewer are not kept apart there.
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _latest(path: Path) -> dict[tuple, tuple[str, Row]]:
    """By key and reviewer, where the last such line stands and what it says."""
    latest: dict[tuple, tuple[str, Row]] = {}
    # A file whose only decision was taken back is there and empty.
    for number, line in files.each_jsonl(path) if files.read_text(path).strip() else ():
        row = _row(line, where := f"{path}:{number}")
        latest[_key(row)] = (where, row)
    return latest


def _row(line: Row, where: str) -> Row:
    refused = partial(DataBroken, where=where, remedy=_EXAMPLE)
    if unknown := sorted(line.keys() - tables.DECISIONS):
        raise refused(f"unknown {', '.join(unknown)}, not one of {', '.join(tables.DECISIONS)}")
    row: Row = dict.fromkeys(tables.DECISIONS) | line
    if not isinstance(row["parts"], dict | None):
        raise refused("parts should be an object", remedy='such as {"subtype": "circle"}')
    # As a table holds it: half a surrogate pair as its escape.
    parts = files.storable(json.dumps(row["parts"], ensure_ascii=False, sort_keys=True))
    row["parts"] = parts if row["parts"] else None
    if odd := [name for name, value in row.items() if not isinstance(value, str | None)]:
        raise refused(f"{', '.join(odd)} should be text")
    for name in ("benchmark", "doc_id", "task", "decision", "reviewer"):
        if not row[name]:
            raise refused(f"a decision without {name}")
    for name, allowed in (("decision", tables.DECIDED), ("task", tables.TASKS)):
        if row[name] not in allowed:
            raise refused(f"unknown {name} {row[name]!r:.80}, not one of {', '.join(allowed)}")
    return row


def _text(decisions: pl.DataFrame) -> str:
    """The lines of a file, sorted."""
    rows = decisions.select(*tables.DECISIONS).to_dicts()
    # As an object, a changed part is a changed word in a diff and no string in a string.
    rows = (row | {"parts": row["parts"] and json.loads(row["parts"])} for row in rows)
    given = ({name: row[name] for name in row if row[name] is not None} for row in rows)
    return "".join(sorted(f"{as_line(row)}\n" for row in given))


def as_line(row: Mapping[str, Any]) -> str:
    """A row as one line of JSON in which no character moves a cursor or reorders the text."""
    return _UNSAFE.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(row, ensure_ascii=False))


def _key(row: Mapping[str, Any]) -> tuple:
    return (*(row.get(name) for name in KEY), row.get("reviewer"))


def _said(row: Seen) -> tuple | None:
    return row and tuple(row[name] for name in ("decision", "label", "value", "parts", "note"))


def _table(rows: list[Row]) -> pl.DataFrame:
    return tables.table("decisions", rows).sort(*KEY, "reviewer")


tables.door(globals(), ("found", "read", "version", "write"))
