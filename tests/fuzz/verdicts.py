"""A case: a valid input, changed and read; and what is held of the outcome."""

import base64
import os
import re
import shutil
import tempfile
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from formlab.errors import FormlabError

HELD, CRASHED, VAGUE, DROPPED, HUNG = "held", "crashed", "vague", "dropped", "hung"
VERDICTS = (HELD, CRASHED, VAGUE, HUNG, DROPPED)


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
            if change.kind == "bytes":
                path.write_bytes(change.data)
            elif change.kind == "pipe":
                os.mkfifo(path)
            elif change.kind == "folder":
                path.mkdir()
            elif change.kind == "link":
                path.symlink_to(change.data.decode())
        except (OSError, ValueError):
            continue


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
    changes = []
    for row in rows:
        text = base64.b64decode(row["base64"]) if "base64" in row else row["text"].encode()
        changes.append(Change(row["path"], row["kind"], text))
    return changes


class Found(NamedTuple):
    """What was read: documents by name, and what was counted as odd, by its own name."""

    documents: frozenset[str] = frozenset()
    counted: Mapping[str, int] = MappingProxyType({})


class Refused(Exception):
    """A command's exit with a message; `named` is whether it says what it is about."""

    def __init__(self, message: str, *, named: bool) -> None:
        super().__init__(message)
        self.named = named


@dataclass(frozen=True)
class Target:
    """Something that reads files of others.

    `make` writes a valid input into a folder, `read` reads it; both leave everything else alone.
    `only` is a pattern of the paths that are changed. Where each document has a file of its own,
    `home` is the path of it with the document's name in it: whatever stands there, the document is
    read or counted. Where an input is no file that a user knows of, an error need not name one
    (`placeless`).
    """

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], Found]
    only: str = ""
    home: str = ""
    placeless: bool = False


@dataclass
class Valid:
    """A valid input of a target as it is on disk, and what is read in it."""

    folder: Path
    files: dict[str, bytes]
    found: Found
    # Of each document the lines that name it, and the files that are named after it.
    evidence: dict[str, list[tuple[str, bytes]]] = field(default_factory=dict)


@cache
def valid(target: Target) -> Valid:
    """Made once a process."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-")) / "valid"
    folder.mkdir()
    target.make(folder)
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*")) if path.is_file()
    }  # fmt: skip
    work = _copy(folder)
    found = target.read(work)
    shutil.rmtree(work)
    # What is never changed says nothing of a document that is gone.
    changed = {path: data for path, data in files.items() if re.search(target.only, path)}
    return Valid(folder, files, found, {doc: _evidence(doc, changed) for doc in found.documents})


def _evidence(doc: str, files: dict[str, bytes]) -> list[tuple[str, bytes]]:
    name = re.compile(rb"(?<![^\W_])" + re.escape(doc.encode()) + rb"(?![^\W_])")
    pieces = []
    for path, data in files.items():
        if name.search(path.encode()) or b"\x00" in data[:1000]:
            pieces.append((path, data))
        else:
            lines = data.splitlines(keepends=True)
            # The first line of a table says what the others mean.
            heads = lines[:1] if path.endswith((".csv", ".tsv")) else []
            pieces += [(path, line) for line in {*heads, *filter(name.search, lines)}]
    return pieces


def tried(target: Target, changes: list[Change]) -> tuple[str, str]:
    """The verdict on the valid input with these changes, and what led to it."""
    base = valid(target)
    work = _copy(base.folder)
    try:
        apply(work, changes)
        verdict, what = _judged(target, base, work, changes)
    finally:
        shutil.rmtree(work.parents[2], ignore_errors=True)
    return verdict, what.replace(str(work), "INPUT")


def _copy(folder: Path) -> Path:
    # Some folders deep: a name of another folder leads to nowhere else.
    work = Path(tempfile.mkdtemp(prefix="case-", dir=folder.parent)) / "a" / "b" / "input"
    return Path(shutil.copytree(folder, work))


def _judged(target: Target, base: Valid, work: Path, changes: list[Change]) -> tuple[str, str]:
    try:
        found = target.read(work)
    except FormlabError as error:
        if target.placeless or _has_place(error, base, work, changes):
            return HELD, ""
        return VAGUE, str(error)[:600]
    except Refused as error:
        return (HELD, "") if error.named else (VAGUE, str(error)[:600])
    except KeyboardInterrupt:
        raise
    # A panic of Rust and a too deep recursion are no Exception of everybody's.
    except BaseException as error:
        return CRASHED, _traceback(error)
    if lost := _lost(target, base, found, work):
        return DROPPED, f"{lost} of {sorted(base.found.documents)}, counted {dict(found.counted)}"
    return HELD, ""


def _has_place(error: FormlabError, base: Valid, work: Path, changes: list[Change]) -> bool:
    """Whether a message names a file or folder of the input."""
    paths = {*base.files, *(change.path for change in changes)}
    names = {part[:60] for path in paths for part in (path, Path(path).name)}
    return str(work) in str(error) or any(name in str(error) for name in names)


def _lost(target: Target, base: Valid, found: Found, work: Path) -> list[str]:
    """Documents that are in the input as they were, and neither read nor counted."""
    if any(count > base.found.counted.get(what, 0) for what, count in found.counted.items()):
        return []
    lost = []
    # A file may state another name for its document.
    renamed = len(found.documents - base.found.documents)
    for doc in sorted(base.found.documents - found.documents):
        evidence = base.evidence[doc]
        if evidence and all(_stands(work / path, piece) for path, piece in evidence):
            lost.append(doc)
        elif target.home and os.path.lexists(work / target.home.format(doc)):
            renamed -= 1
            lost += [doc] * (renamed < 0)
    return lost


def _stands(path: Path, piece: bytes) -> bool:
    """Whether a file is, or has among its lines, what it was."""
    if not path.is_file() or path.is_symlink():
        return False
    data = path.read_bytes()
    # A quotation mark more or less makes one cell of many lines.
    if path.suffix in (".csv", ".tsv") and data.count(b'"') % 2:
        return False
    return data == piece or piece in data.splitlines(keepends=True)


def _traceback(error: BaseException) -> str:
    """The error, the last places in the package, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/formlab" in frame.filename][-4:]
    last = [*ours, *(frame for frame in frames[-1:] if frame not in ours)]
    places = [f"  {Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in last]
    return "\n".join([f"{type(error).__name__}: {str(error)[:300]}", *places])
