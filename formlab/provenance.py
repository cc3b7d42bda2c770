"""Where a registered thing comes from, and which plug-in files this user trusts."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from formlab.errors import FormlabError

VARIABLE = "FORMLAB_PLUGINS"


@dataclass(frozen=True)
class Source:
    """Where an entry comes from: ``formlab``, a ``package``, a ``file`` or a ``notebook``.

    `version` is that of a package, or the SHA-256 of a file.
    """

    kind: str
    name: str
    version: str = ""

    def __str__(self) -> str:
        if self.kind == "package":
            return f"package {self.name} {self.version}".rstrip()
        if self.kind == "notebook":
            return "this notebook" if self.name == "__main__" else f"module {self.name}"
        return self.name

    @property
    def remedy(self) -> str:
        """How a user has it again."""
        if self.kind == "package":
            return f"pip install {self.name}=={self.version}"
        if self.kind == "file":
            return f"--plugin FILE.py (or {VARIABLE}) with that file, if you trust it"
        return "register it again first, or keep it in a file and name that with --plugin"


OWN = Source("formlab", "formlab")


class Entry(NamedTuple):
    """A name of one kind, where it comes from, and what imports its value."""

    kind: str
    name: str
    source: Source
    load: Callable[[], Any]


class Record(TypedDict):
    """An entry that an evaluation needs: its kind and name, and the fields of its `Source`."""

    plugin: str
    entry: str
    kind: str
    name: str
    version: str


def _note(version: str) -> Path:
    """The file that says where the user keeps the plug-in file of this SHA-256."""
    from formlab import files

    return files.cache_folder() / "plugins" / version


def trust(version: str, path: str) -> None:
    """Note that the user has named the file at `path`, of this SHA-256."""
    from formlab import files

    files.write_text(_note(version), path)


def trusted_file(version: str) -> str | None:
    """The file of this SHA-256 which the user has named before, wherever it is kept now."""
    from formlab import files

    if re.fullmatch("[0-9a-f]{64}", version):
        with suppress(FormlabError):
            path = files.read_text(_note(version))
            return path if files.sha256(path) == version else None
    return None
