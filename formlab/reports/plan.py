"""Which reports to build: notebooks × evaluations, each with a name, a key and a command."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from formlab import files, resources
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.folders import Evaluation, read_manifest
from formlab.registry import Registry
from formlab.reports import inputs, notebook

Layout = Literal["single", "site"]
LAYOUTS = ("single", "site")
NOTEBOOKS = resources.folder("notebooks")
# Notebooks of add-ons and other plug-ins: the path of a file under each name.
PLUGINS = Registry("notebooks", {})
INDEX = "index"


@dataclasses.dataclass(frozen=True)
class Request:
    """A notebook to run over evaluations; `name` is for one report alone."""

    notebook: Path
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    evaluations: tuple[Path, ...] = ()
    name: str = ""
    # Leaves out the evaluations that the notebook is not made for.
    choosing: bool = False


@dataclasses.dataclass(frozen=True)
class BuildSettings:
    """How reports are built, the same for all of a build."""

    out: Path
    layout: Layout = "single"
    workers: int | str = 1
    timeout: int | None = None
    figures: bool = True
    force: bool = False


@dataclasses.dataclass(frozen=True)
class Job:
    """One report to build: all that a worker process must know."""

    name: str
    notebook: Path
    parameters: dict[str, Any]
    evaluations: tuple[Path, ...]
    settings: BuildSettings
    defaults: dict[str, str]
    last: bool
    # By name of the other reports what they are `of`, for a notebook that links to them.
    links: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    @property
    def key(self) -> str:
        """The hash of everything the report is made from."""
        return inputs.key(
            self.notebook, self.parameters, self.defaults,
            name=self.name, layout=self.settings.layout, figures=self.settings.figures,
            links=self.links,
        )  # fmt: skip

    @property
    def of_sample(self) -> bool:
        """Whether the report is of the project's own samples: no evaluation was named."""
        return not self.evaluations and not set(_TAKES) & set(self.parameters)

    @property
    def of(self) -> list[str]:
        """Its evaluations, as ``benchmark:split:system``; none of the project's samples."""
        homes = [file.parent for f in self.evaluations for file in inputs.evaluations_in(f)]
        manifests = (read_manifest(Evaluation, home)[1] for home in homes)
        named = [
            ":".join(str(manifest.get(name)) for name in ("benchmark", "split", "system"))
            for manifest in manifests
        ]
        return named or ([] if self.of_sample else ["unknown"])

    @property
    def command(self) -> str:
        """The command that builds this report, as it would be typed where this one was."""
        words = ["formlab", "report", shown(self.notebook)]
        for folder in self.evaluations:
            words += ["--eval", shown(folder)]
        for name, value in paths_from("", self.parameters, home=self.notebook.parent).items():
            if not self.evaluations or name not in _TAKES:
                words += ["-p", f"{name}={value}"]
        if self.settings.layout != "single":
            words += ["--set", f"layout={self.settings.layout}"]
        return shlex.join([*words, "--out", shown(self.settings.out)])


_TAKES = ("evaluation", "evaluations")
# Parameters of formlab's notebooks that hold paths.
_PATHS = (
    *_TAKES,
    *("experiment", "others", "ruler_evaluation", "verdicts", "judge", "predictions", "humans"),
    *("reviews", "edits", "drafts", "exports", "root", "source"),
)


def paths_from(
    folder: str | Path, parameters: Mapping[str, Any], *, home: str | Path = ""
) -> dict[str, Any]:
    """Parameters whose relative paths, of what exists in `home`, are seen from `folder`."""

    def path(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [path(item) for item in value]
        relative = isinstance(value, str) and value.strip("./ ") and not os.path.isabs(value)
        if not relative or not inputs.exists(Path(home, value)):
            return value
        return os.path.relpath(Path(home, value), folder or ".")

    return {name: path(v) if name in _PATHS else v for name, v in parameters.items()}


def shown(path: Path) -> str:
    """A path as it would be typed here; a notebook that formlab knows by its name."""
    named = path.resolve() in (book.resolve() for book in own_notebooks())
    return path.stem if named else os.path.relpath(path)


def own_notebooks(*, evaluating: bool = False) -> list[Path]:
    """The notebooks of formlab, of its add-ons and of plug-ins, in the order of their names.

    `evaluating` leaves out those that take no evaluation.
    """
    own = {path.stem: path for path in NOTEBOOKS.glob("[0-9]*.ipynb")}
    # A notebook that an add-on registers is there with that add-on alone.
    own = {n: p for n, p in own.items() if not notebook.purpose(p, notebook.load(p)).addon}
    own |= {name: Path(path) for name, path in PLUGINS.items()}
    paths = [own[name] for name in sorted(own)]
    if evaluating:
        names = {path: notebook.parameters_of(notebook.load(path), path) for path in paths}
        return [path for path in paths if set(names[path]) & set(_TAKES)]
    return paths


def find(named: str | Path) -> Path:
    """A notebook by path, or by the name of one that formlab knows.

    `UnknownName` if a name that is no path is none of them.
    """
    path = Path(named)
    if files.is_file(path):
        return path
    if str(named) in PLUGINS:
        return Path(PLUGINS[str(named)])
    name = path.name.removesuffix(".ipynb")
    known = {book.stem: book for book in own_notebooks()}
    if name not in known and str(named) == name:
        raise UnknownName.of("report", name, {*known, *PLUGINS})
    return known.get(name, path)


def jobs(requests: Sequence[Request], settings: BuildSettings) -> list[Job]:
    """Every report to build, those that link to others at the end."""
    planned: list[Job] = []
    for request in requests:
        path = request.notebook
        book = notebook.load(path)
        defaults = notebook.parameters_of(book, path)
        last = notebook.purpose(path, book).last
        variants = list(_variants(request, book, defaults))
        for folders, parameter, ending in variants:
            parameters = dict(request.parameters) | parameter
            notebook.check(path, parameters, defaults)
            stem = request.name or path.stem
            if not request.name or len(variants) > 1:
                stem += ending
            name = _unused(slug(stem), [job.name for job in planned])
            planned.append(Job(name, path, parameters, folders, settings, defaults, last))
    return sorted(planned, key=lambda job: job.last)


def check_used(requests: Sequence[Request], planned: Sequence[Job]) -> None:
    """Raise `UnknownName` for an evaluation that no report is made from."""
    used = {folder for job in planned for folder in job.evaluations}
    for folder in dict.fromkeys(f for request in requests for f in request.evaluations):
        if folder not in used:
            raise UnknownName(
                "no notebook is made for this evaluation", where=folder, remedy="name a notebook"
            )


class _Variant(NamedTuple):
    """The evaluations of one report, the parameter that names them, how the report's name ends."""

    folders: tuple[Path, ...] = ()
    parameter: Mapping[str, Any] = {}
    ending: str = ""


def _variants(
    request: Request, book: Mapping[str, Any], defaults: Mapping[str, str]
) -> Iterator[_Variant]:
    """Each report of a request."""
    path, folders = request.notebook, request.evaluations
    purpose = notebook.purpose(path, book)
    corpora = {folder: _corpus_of(folder) for folder in folders}
    if request.choosing and folders:
        if purpose.on_request:
            return
        folders = tuple(f for f in folders if purpose.fits(corpora[f].benchmark, _tasks(f)))
        if not folders:
            return
    if not folders or (request.choosing and not set(_TAKES) & set(defaults)):
        yield _Variant()
    elif "evaluations" not in defaults:
        for folder in folders:
            parameter = {"evaluation": notebook.seen_from(path, folder)}
            yield _Variant((folder,), parameter, f"--{folder.name}")
    else:
        if not isinstance(ast.literal_eval(defaults["evaluations"]), list):
            raise DataBroken("parameter 'evaluations' is not a list", where=path)
        groups = {"": list(folders)}
        if purpose.together == "corpus":
            by_corpus: dict[_CorpusName, list[Path]] = {}
            for folder in folders:
                by_corpus.setdefault(corpora[folder], []).append(folder)
            groups = {_ending(c, g): g for c, g in by_corpus.items() if len(g) >= purpose.least}
        for ending, group in groups.items():
            parameter = {"evaluations": [notebook.seen_from(path, folder) for folder in group]}
            yield _Variant(tuple(group), parameter, ending)


def _ending(corpus: _CorpusName, folders: Sequence[Path]) -> str:
    if len(folders) == 1:
        return f"--{folders[0].name}"
    return f"--{corpus.benchmark}-{corpus.split}"


class _CorpusName(NamedTuple):
    """What an evaluation is of: where two are equal, systems compare. No split if of several."""

    benchmark: str
    split: str
    mode: str
    root: str


def _corpus_of(folder: Path) -> _CorpusName:
    manifests = inputs.evaluations_in(folder)
    if not manifests:
        remedy = "the folder that formlab score wrote with --out"
        raise DataMissing("no evaluation here", where=folder, remedy=remedy)
    contents = [read_manifest(Evaluation, manifest.parent)[1] for manifest in manifests]
    splits = {str(content.get("split")) for content in contents}
    benchmark, mode, root = (str(contents[0].get(key)) for key in ("benchmark", "mode", "root"))
    return _CorpusName(benchmark, splits.pop() if len(splits) == 1 else "", mode, root)


def _tasks(folder: Path) -> frozenset[str]:
    tasks: set[str] = set()
    for manifest in inputs.evaluations_in(folder):
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


def _unused(stem: str, names: Sequence[str]) -> str:
    """`stem`, with a number where another report or the index has this name."""
    numbered = (f"{stem}-{number}" for number in itertools.count(2))
    candidates = itertools.chain([stem], numbered)
    return next(name for name in candidates if name not in names and name != INDEX)
