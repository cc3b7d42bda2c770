"""Which reports to build: notebooks × evaluations, each with a name and a command."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import json
import math
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import yaml

from formlab import files, resources
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.folders import Evaluation, read_manifest
from formlab.registry import Registry
from formlab.reports import record

NOTEBOOKS = resources.folder("notebooks")
# Notebooks of add-ons and other plug-ins: the path of a file under each name.
PLUGINS = Registry("notebooks", {})
INDEX = "index"
# A value of YAML on one line; this stands after one that is no list or mapping.
_FLOW = {"default_flow_style": True, "allow_unicode": True, "width": math.inf}
_END = "\n...\n"
# Notebooks are read as plain JSON: nbformat takes seconds to import.
_FORMAT = 4
_TAKES = ("evaluation", "evaluations")
# Parameters of formlab's notebooks that hold paths.
_PATHS = (
    *_TAKES,
    *("experiment", "others", "ruler_evaluation", "verdicts", "judge", "predictions", "humans"),
    *("reviews", "edits", "drafts", "exports", "root", "source"),
)


class Purpose(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which evaluations a notebook is made for, from its metadata under ``formlab``.

    With neither `benchmarks` nor `tasks` it is made for all; of the benchmarks in `without` it is
    built only if it is named. `together` is ``corpus`` where the evaluations of one benchmark,
    split, mode and root belong in one report, if there are at `least` so many. A notebook that
    comes `last` links to the other reports; one `on_request` is made of evaluations only if it is
    named. `addon` is the package that registers it and without which it is not built.
    """

    benchmarks: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    together: str = ""
    least: int = 1
    last: bool = False
    on_request: bool = False
    addon: str = ""

    def fits(self, benchmark: str, tasks: frozenset[str]) -> bool:
        """Whether an evaluation of `benchmark` with cases of `tasks` is one of them."""
        everything = not self.benchmarks and not self.tasks
        named = everything or benchmark in self.benchmarks or bool(tasks & set(self.tasks))
        return named and benchmark not in self.without


@dataclasses.dataclass(frozen=True)
class Notebook:
    """A notebook file: what it is made for, and its parameters with their defaults as source."""

    path: Path
    purpose: Purpose
    defaults: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> Notebook:
        """`DataBroken` names the file of what is no notebook, and the line of a broken cell."""
        value = files.read_json(path)
        cells = value.get("cells", []) if isinstance(value, dict) else None
        if not isinstance(cells, list):
            raise DataBroken("not a notebook", where=path)
        if value.get("nbformat") != _FORMAT or "cells" not in value:
            problem = f"not a notebook in format {_FORMAT}"
            raise DataBroken(problem, where=path, remedy="save it in JupyterLab")
        remedy = "in its metadata 'formlab' benchmarks, tasks, without: lists; together, addon: "
        remedy += "texts; least: a number; last, on_request: true or false"
        content = value.get("metadata", {}).get("formlab", {})
        purpose = files.convert(content, Purpose, where=path, remedy=remedy)
        tagged = (c for c in cells if "parameters" in c.get("metadata", {}).get("tags", ()))
        code = [cell for cell in tagged if cell.get("cell_type") == "code"]
        defaults = {name: text for cell in code for name, text in _parameters(cell, path)}
        return cls(path, purpose, defaults)

    @property
    def takes(self) -> str | None:
        """The parameter that names evaluations, if it has one."""
        return next((name for name in _TAKES[::-1] if name in self.defaults), None)

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Raise `UnknownName` if it has no parameter of one of these names."""
        for name in parameters:
            if name not in self.defaults:
                error = UnknownName.of("parameter", name, self.defaults)
                raise UnknownName(error.what, where=self.path, remedy=error.remedy)


def _parameters(cell: Mapping[str, Any], path: Path) -> Iterator[tuple[str, str]]:
    """Name and default of each literal in a cell."""
    try:
        # papermill's own reader misses annotations such as ``str | None``, and values with "=".
        statements = ast.parse("".join(cell["source"])).body
    except SyntaxError as error:
        problem = f"the parameters cell is not Python: {error.msg}"
        raise DataBroken(problem, where=f"{path}:{error.lineno}") from error
    for node in statements:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", 0)]
        value = getattr(node, "value", None)
        names = (target.id for target in targets if isinstance(target, ast.Name))
        yield from ((name, ast.unparse(value)) for name in names if value is not None)


@dataclasses.dataclass(frozen=True)
class Request:
    """A notebook to run over evaluations; `name` is for one report alone.

    `choosing` leaves out the evaluations that the notebook is not made for.
    """

    notebook: Path
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    evaluations: tuple[Path, ...] = ()
    name: str = ""
    choosing: bool = False


@dataclasses.dataclass(frozen=True)
class BuildSettings:
    """How reports are built, the same for all of a build."""

    out: Path
    workers: int | str = 1
    timeout: int | None = None
    figures: bool = True
    force: bool = False


@dataclasses.dataclass(frozen=True)
class Job:
    """One report to build: all that a worker process must know.

    `links` has, by name of the other reports, what they are `of`, for a notebook that links to
    them.
    """

    name: str
    notebook: Path
    parameters: dict[str, Any]
    evaluations: tuple[Path, ...]
    settings: BuildSettings
    defaults: dict[str, str]
    last: bool
    links: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def of_sample(self) -> bool:
        """Whether the report is of the project's own samples: no evaluation was named."""
        return not self.evaluations and not set(_TAKES) & set(self.parameters)

    @property
    def of(self) -> tuple[str, ...]:
        """Its evaluations, as ``benchmark:split:system``; none of the project's samples."""
        contents = [content for folder in self.evaluations for content in _manifests(folder)]
        keys = ("benchmark", "split", "system")
        named = tuple(":".join(str(content.get(key)) for key in keys) for content in contents)
        return named or ("unknown",) * (not self.of_sample)

    @property
    def command(self) -> str:
        """The command that builds this report, as it would be typed where this one was."""
        words = ["formlab", "report", typed(self.notebook)]
        for folder in self.evaluations:
            words += ["--eval", typed(folder)]
        for name, value in paths_from("", self.parameters, home=self.notebook.parent).items():
            if not self.evaluations or name not in _TAKES:
                # As YAML reads it: nothing is null, and a text of digits has quotes.
                plain = json.loads(json.dumps(value, default=str))
                text = yaml.safe_dump(plain, **_FLOW)
                words += ["-p", f"{name}={text.partition(_END)[0].rstrip()}"]
        return shlex.join([*words, "--out", typed(self.settings.out)])


def paths_from(
    folder: str | Path, parameters: Mapping[str, Any], *, home: str | Path = ""
) -> dict[str, Any]:
    """Parameters whose relative paths, of what exists in `home`, are seen from `folder`."""

    def path(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [path(item) for item in value]
        relative = isinstance(value, str) and value.strip("./ ") and not os.path.isabs(value)
        if not relative or not record.exists(Path(home, value)):
            return value
        return os.path.relpath(Path(home, value), folder or ".")

    return {name: path(v) if name in _PATHS else v for name, v in parameters.items()}


def typed(path: Path) -> str:
    """A path as it would be typed here; a notebook that formlab knows by its name."""
    named = path.resolve() in (book.resolve() for book in own_notebooks())
    return path.stem if named else os.path.relpath(path)


def own_notebooks(*, evaluating: bool = False) -> list[Path]:
    """The notebooks of formlab, of its add-ons and of plug-ins, in the order of their names.

    `evaluating` leaves out those that take no evaluation.
    """
    books = map(Notebook.read, NOTEBOOKS.glob("[0-9]*.ipynb"))
    # A notebook that an add-on registers is there with that add-on alone.
    paths = {book.path.stem: book.path for book in books if not book.purpose.addon}
    paths |= {name: Path(path) for name, path in PLUGINS.items()}
    chosen = [paths[name] for name in sorted(paths)]
    return [path for path in chosen if not evaluating or Notebook.read(path).takes]


def find(named: str | Path) -> Path:
    """A notebook by path, or by name; `UnknownName` if a name that is no path is of none."""
    path = Path(named)
    if files.is_file(path):
        return path
    known = {book.stem: book for book in own_notebooks()}
    name = path.name.removesuffix(".ipynb")
    if name not in known and str(named) == name:
        raise UnknownName.of("report", name, known)
    return known.get(name, path)


def jobs(requests: Sequence[Request], settings: BuildSettings) -> list[Job]:
    """Every report to build, those that link to others at the end."""
    planned: list[Job] = []
    for request in requests:
        book = Notebook.read(request.notebook)
        variants = list(_variants(request, book))
        for ending, folders in variants:
            parameters = dict(request.parameters)
            if folders:
                # The kernel works in the notebook's folder; a relative path tells of no disk.
                paths = [os.path.relpath(folder, book.path.parent) for folder in folders]
                is_list = book.takes == "evaluations"
                parameters[book.takes or "evaluation"] = paths if is_list else paths[0]
            book.check(parameters)
            stem = request.name or book.path.stem
            stem = slug(stem + ending * (not request.name or len(variants) > 1))
            taken = {INDEX, *(job.name for job in planned)}
            numbered = itertools.chain([stem], (f"{stem}-{n}" for n in itertools.count(2)))
            name = next(name for name in numbered if name not in taken)
            more = (settings, book.defaults, book.purpose.last)
            planned.append(Job(name, book.path, parameters, tuple(folders), *more))
    return sorted(planned, key=lambda job: job.last)


def check_used(requests: Sequence[Request], planned: Sequence[Job]) -> None:
    """Raise `UnknownName` for an evaluation that no report is made from."""
    used = {folder for job in planned for folder in job.evaluations}
    for folder in (f for request in requests for f in request.evaluations):
        if folder not in used:
            problem = "no notebook is made for this evaluation"
            raise UnknownName(problem, where=folder, remedy="name a notebook")


def _variants(request: Request, book: Notebook) -> Iterator[tuple[str, Sequence[Path]]]:
    """How the name of each report of a notebook ends, and its evaluations."""
    folders, purpose = request.evaluations, book.purpose
    corpora = {folder: _corpus_of(folder) for folder in folders}
    if request.choosing and folders:
        fitting = (f for f in folders if purpose.fits(corpora[f][0], _tasks(f)))
        folders = () if purpose.on_request else tuple(fitting)
        if not folders:
            return
    if not folders or (request.choosing and not book.takes):
        yield "", ()
    elif book.takes != "evaluations":
        yield from ((f"--{folder.name}", [folder]) for folder in folders)
    elif not isinstance(ast.literal_eval(book.defaults["evaluations"]), list):
        raise DataBroken("parameter 'evaluations' is not a list", where=book.path)
    elif not purpose.together:
        yield "", folders
    else:
        for corpus in dict.fromkeys(corpora[folder] for folder in folders):
            group = [folder for folder in folders if corpora[folder] == corpus]
            name = f"{corpus[0]}-{corpus[1]}" if len(group) > 1 else group[0].name
            yield from [(f"--{name}", group)] * (len(group) >= purpose.least)


def _manifests(folder: Path) -> list[dict[str, Any]]:
    homes = [manifest.parent for manifest in record.evaluations_in(folder)]
    return [read_manifest(Evaluation, home)[1] for home in homes]


def _corpus_of(folder: Path) -> tuple[str, ...]:
    """Benchmark, split (none if of several), mode and root: if they are equal, systems compare."""
    contents = _manifests(folder)
    if not contents:
        remedy = "the folder that formlab score wrote with --out"
        raise DataMissing("no evaluation here", where=folder, remedy=remedy)
    splits = {str(content.get("split")) for content in contents}
    benchmark, mode, root = (str(contents[0].get(key)) for key in ("benchmark", "mode", "root"))
    return benchmark, splits.pop() if len(splits) == 1 else "", mode, root


def _tasks(folder: Path) -> frozenset[str]:
    tasks: set[str] = set()
    for manifest in record.evaluations_in(folder):
        try:
            cases = Evaluation.load(manifest.parent, scanned=True).scan("cases")
            tasks.update(cases.select("task").unique().collect()["task"])
        except (pl.exceptions.PolarsError, OSError) as error:
            first = str(error).splitlines()[0]
            raise DataBroken(f"cases cannot be read: {first}", where=manifest.parent) from error
    return frozenset(tasks)


def slug(name: str) -> str:
    """A file name that is inert in a path, an address and a shell.

    Examples
    --------
    >>> slug("10 <scores>"), slug("../{x}"), slug("???")
    ('10-scores', 'x', 'report')
    """
    inert = re.sub(r"[^\w-]+", "-", name).strip("-_")[:80]
    # A file system takes 255 bytes, of which endings need some.
    return inert.encode()[:180].decode(errors="ignore") or "report"
