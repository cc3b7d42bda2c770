"""The plug-in files that this user names: how they are run, and which were named so far."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from contextlib import suppress
from importlib.abc import SourceLoader
from pathlib import Path


def cache_folder() -> Path:
    """The cache folder: FORMLAB_CACHE, else formlab's folder in the user's cache."""
    chosen = os.environ.get("FORMLAB_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen) if chosen else Path(base) / "formlab"


def sha256(path: str) -> str:
    """The SHA-256 of a file; empty if it cannot be read."""
    try:
        return hashlib.sha256(_content(path)).hexdigest()
    except (OSError, ValueError):
        return ""


def _content(path: str | Path) -> bytes:
    """The bytes of a regular file; others, which records of anybody may name, can be endless."""
    with open(path, "rb", opener=_at_once) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError("not a regular file")
        return stream.read()


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def known() -> dict[str, str]:
    """The plug-in files that this user has named so far, with the SHA-256 of each."""
    try:
        files = json.loads(_content(cache_folder() / "plugins.json"))
    except (OSError, ValueError, RecursionError):
        return {}
    named = files.items() if isinstance(files, dict) else ()
    return {path: version for path, version in named if isinstance(version, str)}


def remember(path: str, version: str) -> None:
    """Add a file that the user has named, with its SHA-256."""
    files = known()
    if files.get(path) == version:
        return
    file = cache_folder() / "plugins.json"
    temporary = file.with_name(f"{file.name}.{os.getpid()}.part")
    # Without a folder to write to, a later session has to name the file again.
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(files | {path: version}, indent=1), "utf-8")
        temporary.replace(file)


class FileLoader(SourceLoader):
    """Runs the very bytes that were hashed, and leaves no bytecode beside the file."""

    def __init__(self, path: Path, code: bytes) -> None:
        self.path, self.code = path, code

    def get_filename(self, fullname: str) -> str:  # noqa: ARG002, D102
        return str(self.path)

    def get_data(self, path: str) -> bytes:  # noqa: ARG002, D102
        return self.code
