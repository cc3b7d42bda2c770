"""Manifests of folders of tables: what is in which part file, and how it was made."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import msgspec

from formlab import files
from formlab.errors import DataBroken, DataMissing, FormlabError
from formlab.replacing import MANIFEST, settled

if TYPE_CHECKING:
    from formlab.folders import Folder

FORMAT = 3
ANEW = "the formlab command that wrote this folder again, or a fresh copy of the whole folder"
_PART = r"^([0-9]{5,}|documents|records|responses)\.parquet$"


def read(kind: type[Folder], folder: Path) -> dict[str, Any]:
    """The manifest in `folder`; an error if there is none of this kind and format."""
    file = settled(kind.home(folder)) / MANIFEST
    if not files.is_file(file):
        what = f"this folder holds no {kind.__name__.lower()}"
        what = what if folder.is_dir() else "no such folder"
        remedy = "formlab score GOLD --predictions FILE --out FOLDER, or formlab run"
        raise DataMissing(what, where=folder, remedy=remedy)
    manifest = files.read_json(file, dict[str, Any], remedy=ANEW)
    if (stated := manifest.get("kind")) != kind.__name__:
        what = f"this folder holds {stated or 'something else'}, not {kind.__name__}"
        remedy = "the folder that the matching formlab command wrote with --out"
        raise DataBroken(what, where=file, remedy=remedy)
    number = manifest.get("format", 1)
    if number == 1 and not kind.MEMBERS:
        manifest = _of_format_1(manifest)
    elif number != FORMAT:
        what = f"this {stated} is of format {number}, by formlab {manifest.get('formlab')}; this "
        remedy = _score_command(manifest, folder) if kind.MEMBERS else ANEW
        raise DataBroken(f"{what}version reads format {FORMAT}", where=file, remedy=remedy)
    manifest = {"plugins": [], "members": {}} | manifest
    files.convert(manifest, _structure(kind), where=file, remedy=ANEW)
    parts = {tuple(n for n, *_ in manifest["tables"].get(table, [])) for table in kind.TABLES}
    if () in parts or (number == FORMAT and len(parts) > 1):
        raise DataBroken("its tables have different parts", where=file, remedy=ANEW)
    return manifest


def check_unchanged(file: Path, sha256: str) -> None:
    """`DataBroken` if a file is not as it was saved."""
    if files.sha256_once(file) != sha256:
        raise DataBroken("this file has changed since it was saved", where=file, remedy=ANEW)


def _of_format_1(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of format 1 as one of today: each table was a file. Read until 0.4."""
    parts = None
    with suppress(AttributeError, KeyError, TypeError):
        parts = {
            name: [[f"{name}.parquet", saved["rows"], saved["sha256"]]]
            for name, saved in manifest["tables"].items()
        }
    return {**manifest, "format": FORMAT, "tables": parts, "members": {}}


def _score_command(manifest: Mapping[str, Any], folder: Path) -> str:
    """The command that makes an evaluation of an older format with this version."""
    settings, gold = manifest.get("settings") or {}, manifest.get("benchmark")
    if is_own := gold == "own":
        # The file or folder of a user's gold, as far as the kept corpus names it.
        sources, gold = [], manifest.get("split") or "GOLD"
        with suppress(FormlabError, LookupError, TypeError):
            sources = list(files.read_json(folder / "corpus" / MANIFEST)["sources"])
        gold = sources[0] if len(sources) == 1 else gold
    answers, chosen = folder / "predictions", str(settings.get("documents")).partition(":")[0]
    options = {
        "images" if is_own else "root": manifest.get("root"),
        "predictions": answers if (answers / MANIFEST).is_file() else "PREDICTIONS",
        "split": None if is_own else manifest.get("split"),
        "mode": manifest.get("mode"),
        "documents": {"answered": "answered", "listed": "FILE"}.get(chosen),
        "reader": settings.get("reader"),
        "out": "FOLDER",
    }
    words = [f"--{name} {shlex.quote(str(word))}" for name, word in options.items() if word]
    return " ".join(["formlab score", shlex.quote(str(gold)), *words])


@cache
def _structure(kind: type[Folder]) -> type[msgspec.Struct]:
    """The structure of the manifest of a kind of folder."""
    hints = get_type_hints(kind) | {"root": str | None}
    needed = [f.name for f in dataclasses.fields(kind) if f.default is f.default_factory]
    fields = [(n, hints[n]) if n in needed else (n, hints[n], None) for n in kind.scalars()]
    name = Annotated[str, msgspec.Meta(pattern=_PART)]
    parts = dict[str, list[tuple[name, int, str]]]
    fields += [("tables", parts), ("plugins", list[dict[str, str]]), ("members", dict[str, str])]
    return msgspec.defstruct(kind.__name__, fields, kw_only=True)
