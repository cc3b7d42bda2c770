"""A case: a valid input with changes, which has to be read, or refused with its place.

A target is something that reads files of others. Documents that stand in an input as they were,
or that have a file of their own, are found or counted as odd: none may be lost in silence.
"""

import base64
import os
import re
import shutil
import tempfile
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from formlab.errors import FormlabError

HELD, CRASHED, VAGUE, DROPPED = VERDICTS = ("held", "crashed", "vague", "dropped")


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
        make = {
            "bytes": lambda path=path, data=change.data: path.write_bytes(data),
            "pipe": lambda path=path: os.mkfifo(path),
            "folder": path.mkdir,
            "link": lambda path=path, data=change.data: path.symlink_to(data.decode()),
            "removed": lambda: None,
        }[change.kind]
        with suppress(OSError, ValueError):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
            make()


def dumped(changes: list[Change]) -> list[dict[str, str]]:
    """The changes as JSON: bytes as text where they are UTF-8, else in base64."""
    rows = []
    for path, kind, data in changes:
        try:
            content = {"text": data.decode()}
        except UnicodeDecodeError:
            content = {"base64": base64.b64encode(data).decode()}
        rows.append({"path": path, "kind": kind} | content)
    return rows


def loaded(rows: list[dict[str, str]]) -> list[Change]:
    """The changes that `dumped` wrote."""
    data = [
        base64.b64decode(row["base64"]) if "base64" in row else row["text"].encode() for row in rows
    ]
    return [Change(row["path"], row["kind"], one) for row, one in zip(rows, data, strict=True)]


class Found(NamedTuple):
    """What was read: documents by name, and what was counted as odd, by its own name."""

    documents: frozenset[str] = frozenset()
    counted: Mapping[str, int] = {}


@dataclass(frozen=True)
class Target:
    """Something that reads files of others.

    `make` writes a valid input into a folder, `read` reads it; both leave everything else alone.
    `only` is a pattern of the paths that are changed, `home` the path of a document's own file with
    the document's name in it. Where an input is no file that a user knows of, an error need not
    name one (`placeless`).
    """

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], Found]
    only: str = ""
    home: str = ""
    placeless: bool = False


class Valid(NamedTuple):
    """A valid input on disk: its files that may be changed, and what is read in it."""

    folder: Path
    files: dict[str, bytes]
    found: Found


@cache
def valid(target: Target) -> Valid:
    """Made once a process."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-")) / "valid"
    folder.mkdir()
    target.make(folder)
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and re.search(target.only, path.relative_to(folder).as_posix())
    }
    return Valid(folder, files, target.read(_copy(folder)))


def _copy(folder: Path) -> Path:
    # Some folders deep: a name of another folder leads to nowhere else.
    work = Path(tempfile.mkdtemp(prefix="case-", dir=folder.parent)) / "a" / "b" / "input"
    return Path(shutil.copytree(folder, work))


def tried(target: Target, changes: list[Change]) -> tuple[str, str]:
    """The verdict on the valid input with these changes, and what led to it."""
    base = valid(target)
    work = _copy(base.folder)
    try:
        apply(work, changes)
        found = target.read(work)
        lost = _lost(target, base, found, work)
        return (DROPPED if lost else HELD), f"{lost}, counted {dict(found.counted)}"
    except FormlabError as error:
        paths = {str(work), *base.files, *(change.path for change in changes)}
        names = {part[:60] for path in paths for part in (path, Path(path).name)}
        has_place = target.placeless or any(name in str(error) for name in names)
        return (HELD if has_place else VAGUE), str(error)[:600]
    # A panic of Rust and a too deep recursion are no Exception of everybody's.
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/formlab" in f.filename]
        places = [f"  {Path(frame.filename).name}:{frame.lineno}" for frame in frames[-4:]]
        return CRASHED, "\n".join([f"{type(error).__name__}: {str(error)[:300]}", *places])
    finally:
        shutil.rmtree(work.parents[2], ignore_errors=True)


def _lost(target: Target, base: Valid, found: Found, work: Path) -> list[str]:
    """Documents that are in the input as they were, and neither read nor counted."""
    if any(count > base.found.counted.get(what, 0) for what, count in found.counted.items()):
        return []
    lost = []
    # A file may state another name for its document.
    renamed = len(found.documents - base.found.documents)
    for doc in sorted(base.found.documents - found.documents):
        evidence = list(_evidence(doc, base.files))
        if evidence and all(_stands(work / path, piece) for path, piece in evidence):
            lost.append(doc)
        elif target.home and os.path.lexists(work / target.home.format(doc)):
            renamed -= 1
            lost += [doc] * (renamed < 0)
    return lost


def _evidence(doc, files):
    """The lines that name a document with the first of a table, and the files named after it."""
    name = re.compile(rb"(?<![^\W_])" + re.escape(doc.encode()) + rb"(?![^\W_])")
    for path, data in files.items():
        if name.search(path.encode()) or b"\x00" in data[:1000]:
            yield path, data
        else:
            rows = data.splitlines(keepends=True)
            heads = rows[:1] if path.endswith((".csv", ".tsv")) else []
            yield from ((path, row) for row in {*heads, *filter(name.search, rows)})


def _stands(path: Path, piece: bytes) -> bool:
    """Whether a file is, or has among its lines, what it was."""
    if not path.is_file() or path.is_symlink():
        return False
    data = path.read_bytes()
    # A quotation mark more or less makes one cell of many lines.
    if path.suffix in (".csv", ".tsv") and data.count(b'"') % 2:
        return False
    return data == piece or piece in data.splitlines(keepends=True)
