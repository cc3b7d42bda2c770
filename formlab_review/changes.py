"""Changes of people to whole forms: a small text file, one change a line, in the order made.

Each reviewer has a file of JSON lines, ``<reviewer>.jsonl``. A line has the key of the form
(`benchmark`, `split`, `doc_id`), `node`, what stood there (`before`, null for a new node) and what
stands there now (`after`, null for one that is deleted), `reviewer` and `time`. In both, `place` is
the parent, the list and the index of the node, and everything else an attribute. A line about the
node ``""`` says which version of the form was verified. The reviewed form is the draft with these
changes made one after the other.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from formlab import decisions, files
from formlab.errors import DataBroken

KEY = ("benchmark", "split", "doc_id")
COLUMNS = (*KEY, "node", "before", "after", "reviewer", "time")
Row = dict[str, Any]


def read(file: str | Path) -> list[tuple[str, Row]]:
    """The changes in a file, each with its file and line; none where nobody made any yet.

    Raises
    ------
    DataBroken
        At the first line that is no change.
    """
    file = Path(file)
    if not file.exists() or not files.read_text(file).strip():
        return []
    rows = [(f"{file}:{number}", row) for number, row in files.each_jsonl(file)]
    for where, row in rows:
        if fault := _fault(row):
            raise DataBroken(f"not a change: {fault}", where=where, remedy=", ".join(COLUMNS))
    return rows


def record(file: str | Path, row: Mapping[str, Any], *, seen: Sequence[Row] | None = None) -> None:
    """Add a change at the end of a file; it is on the disk when this returns.

    Raises
    ------
    DataBroken
        If the changes of this reviewer to the form are others than those `seen`.
    """
    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    with decisions.locked(file.parent):
        rows = [row for _, row in read(file)]
        _check(file, rows, row, seen)
        _write(file, [*rows, dict(row)])


def forget_last(
    file: str | Path, key: Mapping[str, Any], *, seen: Sequence[Row] | None = None
) -> Row | None:
    """Take the last change of a reviewer to a form out of a file; None if there is none.

    Raises
    ------
    DataBroken
        If the changes of this reviewer to the form are others than those `seen`.
    """
    file = Path(file)
    if not file.parent.is_dir():
        return None
    with decisions.locked(file.parent):
        rows = [row for _, row in read(file)]
        mine = _check(file, rows, key, seen)
        if not mine:
            return None
        last = rows.pop(mine[-1])
        _write(file, rows)
        return last


def _check(
    file: Path, rows: list[Row], key: Mapping[str, Any], seen: Sequence[Row] | None
) -> list[int]:
    names = (*KEY, "reviewer")
    mine = [at for at, row in enumerate(rows) if all(row[name] == key[name] for name in names)]
    if seen is not None and [rows[at] for at in mine] != list(seen):
        remedy = "look at it as it is now, and make your change again"
        raise DataBroken("the form was changed in another window", where=file, remedy=remedy)
    return mine


def _write(file: Path, rows: list[Row]) -> None:
    files.write_text(file, "".join(f"{decisions.as_line(row)}\n" for row in rows))


def _fault(row: Row) -> str:
    if set(row) != set(COLUMNS):
        return ", ".join(sorted(set(row) ^ set(COLUMNS)))
    texts = [name for name in COLUMNS if name not in ("before", "after")]
    faults = [name for name in texts if not isinstance(row[name], str)]
    faults += [name for name in ("before", "after") if not isinstance(row[name], dict | None)]
    if faults:
        return ", ".join(faults)
    after, place = row["after"], (row["after"] or {}).get("place", ["", "", 0])
    is_place = isinstance(place, list) and list(map(type, place)) == [str, str, int]
    faults += [] if is_place else ["place"]
    if row["before"] is None and "place" not in (after or {}):
        faults.append("place")
    if row["node"] == "" and (not after or not isinstance(after.get("verified"), str)):
        faults.append("verified")
    return ", ".join(faults)
