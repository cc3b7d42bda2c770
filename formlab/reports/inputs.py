"""What a report depends on, as one hash: notebook, parameters, data, formlab's code, libraries."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from formlab import benchmarks, files, registry, resources
from formlab.errors import FormlabError
from formlab.folders import is_hidden
from formlab.scoring import choice

MANIFEST = "manifest.json"
_PACKAGE = Path(__file__).parents[1]
_NAME = re.compile(r"[\w.-]+")
_DEVELOPING = re.compile("extra == ['\"](dev|llm|samples|all)['\"]")
# Caches that libraries write beside code, and half-written files.
_PASSING = ("__pycache__", ".part", ".ipynb_checkpoints")


def digest(value: Any) -> str:
    """The SHA-256 of a JSON value, the same whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def of_file(path: Path) -> str:
    """The SHA-256 of a file, or of the names and contents of all files of a folder."""
    if path.is_file():
        return files.sha256(path)
    return digest({str(file.relative_to(path)): files.sha256(file) for file in _walk(path)})


def _walk(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.endswith(_PASSING))
        yield from (Path(here, name) for name in sorted(names) if not name.endswith(_PASSING))


def evaluations_in(folder: Path) -> list[Path]:
    """The manifests of an evaluation, or of a folder with an evaluation for each split."""
    if (folder / MANIFEST).is_file():
        return [folder / MANIFEST]
    return sorted(m for m in folder.glob(f"*/{MANIFEST}") if not is_hidden(m, folder))


def of_path(path: Path) -> str:
    """What stands at `path`: contents, but of a folder without evaluations only names and times.

    An evaluation's manifest names the SHA-256 of every file it was made from, page images among
    them, so those need not be read again. A folder of anything else may be a whole data set.
    """
    if path.is_file() or evaluations_in(path):
        return of_file(path)
    states = ((file, file.stat()) for file in _walk(path))
    return digest([(str(file), state.st_size, state.st_mtime_ns) for file, state in states])


@cache
def code() -> str:
    """The SHA-256 of formlab, of its add-ons, and of the published figures it ships with."""
    packages = sorted(file.parent for file in _PACKAGE.parent.glob("formlab*/__init__.py"))
    return digest([*map(of_file, packages), of_file(resources.folder("data/published"))])


@cache
def versions() -> dict[str, str]:
    """Python, formlab and each library installed that formlab needs or can use, by name."""
    numbers = {"python": platform.python_version()}
    for requirement in ["formlab", *(metadata.requires("formlab") or [])]:
        name = _NAME.match(requirement)
        # Of extras that a report may need; what is for developers shapes no report.
        if name and not _DEVELOPING.search(requirement):
            with contextlib.suppress(metadata.PackageNotFoundError):
                numbers[name.group()] = metadata.version(name.group())
    return numbers


@cache
def sample() -> str:
    """The SHA-256 of the project's own sample, which a report without an evaluation is made of."""
    return of_file(benchmarks.SAMPLES)


def readings() -> list[tuple[str, str]]:
    """What read the samples before they were shipped: each system with settings and versions."""
    manifests = sorted((benchmarks.SAMPLES / "runs").glob(f"*/{MANIFEST}"))
    runs = map(files.read_json, manifests)
    systems = {f"read by {run['system']}": _without_paths(run["settings"]) for run in runs}
    return list(systems.items())


def part_runs(home: Path, parameters: Mapping[str, Any], defaults: Mapping[str, str]) -> list[str]:
    """What a reader must know of each evaluation named that is not of a whole corpus."""
    sentences = []
    folders = [home / name for name in _names(home, parameters, defaults)]
    for manifest in (m for f in folders if f.is_dir() for m in evaluations_in(f)):
        content = files.read_json(manifest)
        notes = content.get("notes") if isinstance(content, dict) else None
        if isinstance(notes, dict) and set(notes) & set(choice.NOTES):
            rows = sum(rows for _, rows, _ in content["tables"]["documents"])
            subject = "{system} on {benchmark}:{split}".format_map(content)
            note = choice.partial_note(rows, content["settings"], notes)
            sentences.append(f"{subject}: {note}.")
    return sentences


def _names(home: Path, parameters: Mapping[str, Any], defaults: Mapping[str, str]) -> list[str]:
    """The texts among the parameters, or in lists of them, that are paths of what is there."""
    values = list(parameters.values())
    for default in (text for name, text in defaults.items() if name not in parameters):
        with contextlib.suppress(ValueError):  # not a literal
            values.append(ast.literal_eval(default))
    texts = [text for v in values for text in (v if isinstance(v, list | tuple) else [v])]
    named = [t for t in texts if isinstance(t, str) and t.strip(". /") and exists(home / t)]
    return list(dict.fromkeys(named))


def exists(path: Path) -> bool:
    """Whether something is at `path`, which may be any text."""
    try:
        return path.exists()
    except (OSError, ValueError):  # a text that no file system takes as a name
        return False


def key(
    notebook: Path, parameters: Mapping[str, Any], defaults: Mapping[str, str], **more: Any
) -> str:
    """The hash of everything a report is made from; `more` is what else its look depends on."""
    home = notebook.parent
    data = {name: of_path(home / name) for name in _names(home, parameters, defaults)}
    evaluated = any(evaluations_in(home / name) for name in data)
    return digest({
        "notebook": files.sha256(notebook), "data": data,
        "parameters": {name: repr(value) for name, value in parameters.items()},
        "sample": None if evaluated else sample(), "code": code(), "versions": versions(),
        "plugins": registry.versions(), **more,
    })  # fmt: skip


def facts(folder: Path, shown: str) -> list[tuple[str, str]]:
    """What the manifests of an evaluation say, for readers; no path of the maker's disk."""
    entries = [("folder", shown)]
    for manifest in evaluations_in(folder):
        try:
            content = files.read_json(manifest)
        except FormlabError:
            continue
        of_split = {n: str(content.get(n)) for n in ("benchmark", "split", "system", "mode")}
        settings = content.get("settings") or {}
        of_split |= {f"setting {n}": _without_paths(v) for n, v in settings.items() if v != {}}
        for name, table in (content.get("tables") or {}).items():
            hashes = [sha256 for *_, sha256 in table]
            code = hashes[0] if len(hashes) == 1 else digest(hashes)
            of_split[name] = f"{sum(rows for _, rows, _ in table):,} rows, sha256 {code}"
        sources = content.get("sources") or {}
        of_split["source files"] = f"{len(sources):,}, sha256 {digest(sources)}"
        ending = "" if manifest.parent == folder else f" ({manifest.parent.name})"
        entries += [(f"{name}{ending}", value) for name, value in of_split.items()]
    return entries


def _without_paths(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_without_paths(item)}" for name, item in value.items())
    text = str(value)
    return Path(text).name if os.path.isabs(text) else text
