"""``reports.yml``: a batch of reports in one file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml

from formlab import files
from formlab.errors import DataBroken, DataMissing, FormlabError
from formlab.reports import plan

_Positive = Annotated[int, msgspec.Meta(ge=1)]
# What msgspec says of a value that is wrong, as in "… - at `$.reports[0].name`".
_UNKNOWN = re.compile(r"unknown field `(.*?)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class _Report(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a report."""

    notebook: str
    evaluations: list[str] | None = None
    parameters: dict[str, Any] = {}
    name: str = ""


class _Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a manifest."""

    out: str = "reports"
    workers: _Positive | str | None = None
    timeout: _Positive | None = None
    figures: bool = True
    evaluations: list[str] = []
    reports: list[_Report] | None = None


def read(path: str | Path) -> tuple[list[plan.Request], dict[str, Any]]:
    """The reports that a manifest asks for, and the settings that it gives.

    Paths are seen from the manifest's folder; a notebook may also be one of formlab's own by
    name, and an evaluation a pattern such as ``evals/*``. Without ``reports`` each of formlab's
    notebooks runs over the evaluations that it is made for.
    """
    path = Path(path)
    value = files.read_yaml(path, remedy=_remedy(_Manifest))
    where = partial(_place, path)
    try:
        manifest = msgspec.convert(value or {}, _Manifest)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        keys: list[str | int] = [name or int(number) for name, number in _STEP.findall(place)]
        keys += _UNKNOWN.findall(problem)
        # People count from 1.
        names = ", ".join(str(key + 1 if isinstance(key, int) else key) for key in keys)
        kind = _Report if keys[:1] == ["reports"] and len(keys) > 1 else _Manifest
        problem = f"{names or 'the file'}: {problem}"
        raise DataBroken(problem, where=where(*keys), remedy=_remedy(kind)) from error
    settings = {name: getattr(manifest, name) for name in ("workers", "timeout", "figures")}
    settings = {name: setting for name, setting in settings.items() if setting is not None}
    settings |= {"out": path.parent / manifest.out}

    def folders(patterns: Sequence[str], *keys: str | int) -> tuple[Path, ...]:
        """The folders that the patterns match, each once."""
        found: dict[Path, None] = {}
        for number, pattern in enumerate(patterns):
            matches = _matches(path.parent, pattern)
            if not matches:
                place, remedy = where(*keys, number), "a path or pattern from the manifest"
                raise DataMissing(f"no evaluation {pattern!r}", where=place, remedy=remedy)
            found |= dict.fromkeys(matches)
        return tuple(found)

    shared = folders(manifest.evaluations, "evaluations")
    if manifest.reports is None:
        books = plan.own_notebooks(evaluating=bool(shared))
        return [plan.Request(b, {}, shared, choosing=bool(shared)) for b in books], settings
    requests = []
    for number, report in enumerate(manifest.reports):
        keys, given = ("reports", number), report.evaluations
        named = shared if given is None else folders(given, *keys, "evaluations")
        near = path.parent / report.notebook
        try:
            book = near if files.is_file(near) else plan.find(report.notebook)
            parameters = plan.paths_from(book.parent, report.parameters, home=path.parent)
            request = plan.Request(book, parameters, named, report.name, given is None)
            plan.jobs([request], plan.BuildSettings(path.parent))
        except FormlabError as error:
            problem = ": ".join(map(str, filter(None, (error.what, error.where))))
            place = where(*keys, "notebook")
            raise type(error)(problem, where=place, remedy=error.remedy) from error
        requests.append(request)
    return requests, settings


def _matches(home: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder for folder in home.glob(pattern) if folder.is_dir())
    except (NotImplementedError, ValueError):  # glob takes no absolute or empty pattern
        return [Path(pattern)] if pattern and Path(pattern).is_dir() else []


def _remedy(kind: type[msgspec.Struct]) -> str:
    keys = ", ".join(kind.__struct_fields__)
    return f"{kind.__doc__.lower().rstrip('.')} are {keys}"


def _place(path: Path, *keys: str | int) -> str:
    """The file and the line of the value that the keys lead to, or of the last one there."""
    found = value = yaml.compose(files.read_text(path), yaml.SafeLoader)
    for key in keys:
        parts = {}
        if isinstance(value, yaml.MappingNode):
            parts = {name.value: (name, part) for name, part in value.value}
        elif isinstance(value, yaml.SequenceNode):
            parts = {number: (part, part) for number, part in enumerate(value.value)}
        found, value = parts.get(key, (found, None))
    return f"{path}:{found.start_mark.line + 1 if found else 1}"


def make(folder: str | Path) -> tuple[Path, list[Path]]:
    """Copy formlab's notebooks into a folder, with a manifest of them; both, where they are now.

    `DataBroken` if one of the files is there already; `NotAvailable` if none can be written.
    """
    home, head = Path(folder), Path(__file__).with_name("reports.yml")
    books = {home / "notebooks" / book.name: book for book in plan.own_notebooks()}
    manifest = home / head.name
    if there := [path for path in (manifest, *books) if path.exists()]:
        raise DataBroken("nothing is overwritten", where=there[0], remedy="another folder")
    for copy, book in books.items():
        files.write_text(copy, book.read_text("utf-8"))
    # Last: with a manifest the folder is whole.
    lines = [f"- notebook: notebooks/{copy.name}\n" for copy in books]
    files.write_text(manifest, head.read_text("utf-8") + "".join(lines))
    return manifest, list(books)
