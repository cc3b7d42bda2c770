"""Which reports to build: notebooks × evaluations, each with a name, a key and a command."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

from formlab import files, resources
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.reports import inputs, notebook

Layout = Literal["single", "site"]
LAYOUTS = ("single", "site")
NOTEBOOKS = resources.folder("notebooks")
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
class Settings:
    """How reports are built, the same for all of a build."""

    out: Path
    layout: Layout = "single"
    workers: int = 1
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
    settings: Settings
    defaults: dict[str, str]
    last: bool
    # Title by name of the other reports, for a notebook that links to them.
    links: dict[str, str] = dataclasses.field(default_factory=dict)

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
    def command(self) -> str:
        """The command that builds this report, as it would be typed where this one was."""
        words = ["formlab", "report", shown(self.notebook)]
        for folder in self.evaluations:
            words += ["--eval", shown(folder)]
        for name, value in self.parameters.items():
            if not self.evaluations or name not in _TAKES:
                words += ["-p", f"{name}={value}"]
        if self.settings.layout != "single":
            words += ["--layout", self.settings.layout]
        return shlex.join([*words, "--out", shown(self.settings.out)])


_TAKES = ("evaluation", "evaluations")


def shown(path: Path) -> str:
    """A path as it would be typed here; a notebook of formlab's own by its name."""
    return path.stem if path.resolve().parent == NOTEBOOKS else os.path.relpath(path)


def own_notebooks(*, evaluating: bool = False) -> list[Path]:
    """formlab's own notebooks, in order; `evaluating` leaves out those that take no evaluation."""
    own = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
    if not evaluating:
        return own
    return [path for path in own if set(_TAKES) & set(notebook.parameters_of(notebook.load(path)))]


def find(named: str | Path) -> Path:
    """A notebook by path, or by the name of one of formlab's own."""
    path = Path(named)
    own = NOTEBOOKS / f"{path.name.removesuffix('.ipynb')}.ipynb"
    return own if not path.is_file() and own.is_file() else path


def jobs(requests: Sequence[Request], settings: Settings) -> list[Job]:
    """Every report to build, those that link to others at the end.

    Raises
    ------
    UnknownName
        If a notebook lacks a parameter.
    DataMissing, DataBroken
        If a notebook or an evaluation is absent or broken.
    """
    found: list[tuple[str, Job]] = []
    for request in requests:
        book = notebook.load(request.notebook)
        known = notebook.defaults(request.notebook, book)
        last = notebook.purpose(request.notebook, book).last
        variants = list(_variants(request, book, known))
        for folders, given, ending in variants:
            parameters = dict(request.parameters) | given
            notebook.check(request.notebook, parameters)
            alone = request.name and len(variants) == 1
            wanted = (request.name or request.notebook.stem) + ("" if alone else ending)
            job = Job("", request.notebook, parameters, folders, settings, known, last)
            found.append((wanted, job))
    names = _names([wanted for wanted, _ in found])
    named = [
        dataclasses.replace(job, name=name) for name, (_, job) in zip(names, found, strict=True)
    ]
    return [*(job for job in named if not job.last), *(job for job in named if job.last)]


def check_used(requests: Sequence[Request], planned: Sequence[Job]) -> None:
    """Raise `UnknownName` for an evaluation that no report is made from."""
    used = {folder for job in planned for folder in job.evaluations}
    for folder in dict.fromkeys(folder for one in requests for folder in one.evaluations):
        if folder not in used:
            raise UnknownName(
                "no notebook is made for this evaluation", where=folder, remedy="name a notebook"
            )


Variant = tuple[tuple[Path, ...], dict[str, Any], str]


def _variants(
    request: Request, book: Mapping[str, Any], known: Mapping[str, str]
) -> Iterator[Variant]:
    """The evaluations of each report of a request, their parameter, and how its name ends."""
    path, folders = request.notebook, request.evaluations
    purpose = notebook.purpose(path, book)
    corpora = {folder: _corpus(folder) for folder in folders}
    if request.choosing and folders:
        folders = tuple(f for f in folders if purpose.fits(corpora[f][0], _tasks(f)))
        if not folders:
            return
    if not folders or (request.choosing and not any(name in known for name in _TAKES)):
        yield (), {}, ""
    elif "evaluations" not in known:
        for folder in folders:
            yield (folder,), {"evaluation": notebook.seen_from(path, folder)}, f"--{folder.name}"
    else:
        if not isinstance(ast.literal_eval(known["evaluations"]), list):
            raise DataBroken("parameter 'evaluations' is not a list", where=path)
        for group, ending in _groups(folders, corpora, purpose):
            yield group, {"evaluations": [notebook.seen_from(path, f) for f in group]}, ending


def _groups(
    folders: tuple[Path, ...], corpora: Mapping[Path, Corpus], purpose: notebook.Purpose
) -> Iterator[tuple[tuple[Path, ...], str]]:
    if purpose.together != "corpus":
        yield folders, ""
        return
    groups: dict[Corpus, list[Path]] = {}
    for folder in folders:
        groups.setdefault(corpora[folder], []).append(folder)
    for corpus, group in groups.items():
        if len(group) > 1:
            yield tuple(group), f"--{'-'.join(corpus[:2])}"


Corpus = tuple[str, str, str, str]


def _corpus(folder: Path) -> Corpus:
    """Benchmark, split (of several, none), mode and root: where equal, systems compare."""
    manifests = inputs.evaluations_in(folder)
    if not manifests:
        remedy = "the folder that formlab score wrote with --out"
        raise DataMissing("no evaluation here", where=folder, remedy=remedy)
    said = [files.read_json(manifest) for manifest in manifests]
    for manifest, one in zip(manifests, said, strict=True):
        if not isinstance(one, dict) or one.get("kind") != "Evaluation":
            raise DataBroken("this folder holds no evaluation", where=manifest)
    splits = {str(one.get("split")) for one in said}
    split = splits.pop() if len(splits) == 1 else ""
    benchmark, mode, root = (str(said[0].get(name)) for name in ("benchmark", "mode", "root"))
    return benchmark, split, mode, root


def _tasks(folder: Path) -> frozenset[str]:
    found: set[str] = set()
    for manifest in inputs.evaluations_in(folder):
        try:
            cases = pl.scan_parquet(manifest.with_name("cases.parquet"))
            found.update(cases.select(pl.col("task").unique()).collect()["task"].to_list())
        except (pl.exceptions.PolarsError, OSError) as error:
            first = str(error).splitlines()[0]
            raise DataBroken(f"cases cannot be read: {first}", where=manifest.parent) from error
    return frozenset(found)


def slug(name: str) -> str:
    """A file name that is inert in a path, an address and a shell.

    Examples
    --------
    >>> slug("10 <scores>"), slug("../{x}"), slug("???")
    ('10-scores', 'x', 'report')
    """
    return re.sub(r"[^\w-]+", "-", name).strip("-_")[:80] or "report"


def _names(stems: Sequence[str]) -> list[str]:
    """A file stem for each report, told apart by a number where two would be equal."""
    names: list[str] = []
    for wanted in stems:
        stem = name = slug(wanted)
        number = 2
        while name in names or name == INDEX:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names
