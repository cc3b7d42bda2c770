"""What a case does to the files of a valid input: plain data, so that a case is a small file."""

import base64
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple


class Change(NamedTuple):
    """One path of the input, and what stands there instead.

    `kind` is ``bytes``, ``removed``, ``pipe``, ``folder`` or ``link``; `data` are the bytes, or
    what the link points to.
    """

    path: str
    kind: str = "bytes"
    data: bytes = b""


def apply(folder: Path, changes: list[Change]) -> None:
    """Make the changes in `folder`; a name that no file system takes is left out."""
    for change in changes:
        path = folder / change.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
            _put(path, change)
        except (OSError, ValueError):
            continue


def _put(path: Path, change: Change) -> None:
    if change.kind == "bytes":
        path.write_bytes(change.data)
    elif change.kind == "pipe":
        os.mkfifo(path)
    elif change.kind == "folder":
        path.mkdir()
    elif change.kind == "link":
        path.symlink_to(change.data.decode())


def dumped(changes: list[Change]) -> list[dict[str, Any]]:
    """The changes as JSON: bytes as text where they are UTF-8, else in base64."""
    rows = []
    for change in changes:
        row: dict[str, Any] = {"path": change.path, "kind": change.kind}
        try:
            row["text"] = change.data.decode()
        except UnicodeDecodeError:
            row["base64"] = base64.b64encode(change.data).decode()
        rows.append(row)
    return rows


def loaded(rows: list[dict[str, Any]]) -> list[Change]:
    """The changes that `dumped` wrote."""
    return [
        Change(
            row["path"], row["kind"],
            base64.b64decode(row["base64"]) if "base64" in row else row["text"].encode(),
        )
        for row in rows
    ]  # fmt: skip
