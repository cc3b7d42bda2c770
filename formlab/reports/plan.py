"""Which reports to build: notebooks × evaluations, each with a name."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from glob import glob
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import polars as pl

from formlab import files, resources
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.folders import Evaluation, is_hidden, read_manifest
from formlab.registry import Registry
from formlab.saving import MANIFEST

NOTEBOOKS = resources.folder("notebooks")
# Notebooks of add-ons and other plug-ins: the path of a file under each name.
PLUGINS = Registry("notebooks", {})
INDEX = "index"
_TAKES = ("evaluation", "evaluations")
# Parameters of formlab's notebooks that hold paths.
_PATHS = (
    *_TAKES,
    *("experiment", "others", "ruler_evaluation", "verdicts", "judge", "predictions", "humans"),
    *("reviews", "edits", "drafts", "exports", "root", "source"),
)


# Folders of evaluations, each with benchmark, split, mode and root.
Corpora = dict[Path, tuple[str, str, str, str]]


class _File(msgspec.Struct):
    # Notebooks are read as plain JSON: nbformat takes seconds to import.
    nbformat: Literal[4]
    cells: list[dict[str, Any]]
    metadata: dict[str, Any] = {}


class Notebook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A notebook: its parameters with their defaults, and what it is made for.

    The latter stands in its metadata under ``formlab``. With neither `benchmarks` nor `tasks` it
    is made for all evaluations; of the benchmarks in `without` it is built only if it is named.
    `together` is ``corpus`` where the evaluations of one benchmark, split, mode and root belong in
    one report, if there are at `least` so many. A notebook that comes `last` links to the other
    reports; one `on_request` is made of evaluations only if it is named. `addon` is the package
    that registers it and without which it is not built.
    """

    path: Path
    defaults: dict[str, Any]
    benchmarks: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    together: str = ""
    least: int = 1
    last: bool = False
    on_request: bool = False
    addon: str = ""

    @classmethod
    def read(cls, path: Path) -> Notebook:
        """`DataBroken` names the file of what is no notebook, and the line of a broken cell."""
        if path.suffix != ".ipynb" and files.is_file(path):
            raise DataBroken("not a notebook", where=path, remedy="a file that ends in .ipynb")
        file = files.read_json(path, _File, remedy="save it in JupyterLab")
        defaults: dict[str, Any] = {}
        for cell in file.cells:
            if "parameters" in cell.get("metadata", {}).get("tags", ()):
                defaults |= _parameters("".join(cell["source"]), path)
        content = file.metadata.get("formlab", {})
        content = {**content, "path": path.absolute(), "defaults": defaults}
        return files.convert(content, cls, where=path, remedy="see 'formlab' in its metadata")

    @property
    def takes(self) -> str | None:
        """The parameter that names evaluations, if it has one."""
        return next((name for name in _TAKES[::-1] if name in self.defaults), None)

    def fits(self, folder: Path, benchmark: str) -> bool:
        """Whether an evaluation is one of those that it is made for."""
        fits = benchmark in self.benchmarks or not (self.benchmarks or self.tasks)
        for home in evaluations_in(folder) if not fits else ():
            cases = Evaluation.load(home, scanned=True).scan("cases")
            fits |= cases.select(pl.col("task").is_in(self.tasks).any()).collect().item()
        return fits and benchmark not in self.without and not self.on_request

    def groups(self, corpora: Corpora, *, choosing: bool) -> Iterator[tuple[str, list[Path]]]:
        """How the name of each of its reports ends, and the evaluations that it is of.

        When `choosing`, those that it is not made for are left out.
        """
        fitting = [f for f, (name, *_) in corpora.items() if not choosing or self.fits(f, name)]
        groups: dict[tuple[str, ...], list[Path]] = {}
        if not corpora or (choosing and fitting and not self.takes):
            groups[()], fitting = [], []
        for folder in fitting:
            key: tuple[str, ...] = (str(folder),)
            if self.takes == _TAKES[1]:
                key = corpora[folder] if self.together else ()
            groups.setdefault(key, []).append(folder)
        for key, group in groups.items():
            if len(group) >= self.least * bool(key):
                ending = "-".join(key[:2]) if len(group) > 1 else group[0].name if key else ""
                yield f"--{ending}" * bool(key), group


def _parameters(source: str, path: Path) -> dict[str, Any]:
    """Name and default of each parameter that a cell sets: the source of what is no literal."""
    try:
        # papermill's own reader misses annotations such as ``str | None``, and values with "=".
        statements = ast.parse(source).body
    except SyntaxError as error:
        problem = f"the parameters cell is not Python: {error.msg}"
        raise DataBroken(problem, where=f"{path}:{error.lineno}") from error
    defaults = {}
    for node in (node for node in statements if isinstance(node, ast.Assign | ast.AnnAssign)):
        for target in getattr(node, "targets", None) or [node.target]:
            if node.value and isinstance(target, ast.Name):
                defaults[target.id] = ast.unparse(node.value)
                with contextlib.suppress(ValueError):
                    defaults[target.id] = ast.literal_eval(node.value)
    return defaults


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """A notebook to run, by path or name: over evaluations, or those at hand that it is made for.

    `name` is that of the report, if there is one alone.
    """

    notebook: str
    evaluations: list[str] | None = None
    parameters: dict[str, Any] = {}
    name: str = ""


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """``reports.yml``: a batch of reports in one file; paths are seen from its folder.

    An evaluation may be a pattern such as ``evals/*``; reports that name none are of those of
    `evaluations` that their notebook is made for.
    """

    reports: list[Request]
    out: str = "reports"
    timeout: Annotated[int, msgspec.Meta(ge=1)] | None = None
    figures: bool = True
    evaluations: list[str] = []

    @classmethod
    def read(cls, path: str | Path) -> Manifest:
        """`DataBroken` says what of it is wrong and where."""
        names, keys = (", ".join(kind.__struct_fields__) for kind in (cls, Request))
        how = {"remedy": f"the keys are {names}, of a report {keys}"}
        return files.convert(files.read_yaml(path, **how), cls, where=path, **how)


@dataclasses.dataclass(frozen=True)
class Report:
    """One report to build: all that a worker process must know.

    `parameters` are those of the notebook as its kernel takes them, with paths seen from its
    folder. `links` has, by name of the other reports, what they are `of` (see `ReportResult`), for
    a notebook that links to them.
    """

    name: str
    notebook: Notebook
    parameters: dict[str, Any]
    evaluations: tuple[Path, ...] = ()
    links: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


def own_notebooks() -> dict[str, Notebook]:
    """The notebooks of formlab, of its add-ons and of plug-ins, in the order of their names."""
    books = map(Notebook.read, NOTEBOOKS.glob("[0-9]*.ipynb"))
    # A notebook that an add-on registers is there with that add-on alone.
    found = {book.path.stem: book for book in books if not book.addon}
    found |= {name: Notebook.read(Path(path)) for name, path in PLUGINS.items()}
    return dict(sorted(found.items()))


def copy_notebooks(folder: str | Path) -> tuple[Path, list[Path]]:
    """Copy formlab's notebooks into a folder, with a manifest of them; both, where they are now.

    `DataBroken` if one of the files is there already; `NotAvailable` if none can be written.
    """
    home, head = Path(folder), Path(__file__).with_name("reports.yml")
    books = {home / "notebooks" / book.path.name: book for book in own_notebooks().values()}
    manifest = home / head.name
    if there := [path for path in (manifest, *books) if path.exists()]:
        raise DataBroken("nothing is overwritten", where=there[0], remedy="another folder")
    for copy, book in books.items():
        files.write_text(copy, book.path.read_text("utf-8"))
    # Last: with a manifest the folder is whole.
    lines = [f"- notebook: notebooks/{copy.name}\n" for copy in books]
    files.write_text(manifest, head.read_text("utf-8") + "".join(lines))
    return manifest, list(books)


def find(named: str) -> Notebook:
    """A notebook by path, or by name; `UnknownName` if a name that is no path is of none."""
    path = Path(named)
    if (path / MANIFEST).exists():
        what = "an evaluation, not a report"
        raise UnknownName(what, where=path, remedy=f"formlab report --eval {path}")
    if files.is_file(path) or path.name != named:
        return Notebook.read(path)
    if named not in (known := own_notebooks()):
        raise UnknownName.of("report", named, known)
    return known[named]


def reports(requests: Iterable[Request], at_hand: Iterable[str] = ()) -> list[Report]:
    """All that is asked for, each with a name of its own, those that link to others at the end.

    `at_hand` are the evaluations of requests that name none. Raises `UnknownName` if a notebook is
    not known, lacks a parameter, or none is made for an evaluation; `DataMissing` or `DataBroken`
    if one of them is absent or broken, or there is nothing to run.
    """
    corpora, planned = _corpora(at_hand), {}
    for report in (report for request in requests for report in _of_request(request, corpora)):
        names = (f"{report.name}-{n}" if n > 1 else report.name for n in itertools.count(1))
        name = next(name for name in names if name not in (INDEX, *planned))
        planned[name] = dataclasses.replace(report, name=name)
    used = {folder for report in planned.values() for folder in report.evaluations}
    if unused := [folder for folder in corpora if folder not in used]:
        problem = "no notebook is made for this evaluation"
        raise UnknownName(problem, where=unused[0], remedy="name a notebook")
    if not planned:
        remedy = "name one, or formlab init DIR for formlab's own"
        raise DataMissing("there is no notebook to run", remedy=remedy)
    return sorted(planned.values(), key=lambda report: report.notebook.last)


def _of_request(request: Request, at_hand: Corpora) -> Iterator[Report]:
    book, choosing = find(request.notebook), request.evaluations is None
    home = book.path.parent
    corpora = at_hand if choosing else _corpora(request.evaluations or ())
    groups = list(book.groups(corpora, choosing=choosing))
    for ending, group in groups:
        given = dict(request.parameters)
        if group:
            several = list(map(str, group))
            given[book.takes or "evaluation"] = several if book.takes == _TAKES[1] else several[0]
        parameters = {n: _seen_from(home, v) if n in _PATHS else v for n, v in given.items()}
        if unknown := parameters.keys() - book.defaults.keys():
            raise UnknownName.of("parameter", min(unknown), book.defaults, where=book.path)
        for name, value in parameters.items():
            default = book.defaults[name]
            if isinstance(default, int | float) and not isinstance(value, int | float | None):
                kind = "true or false" if isinstance(default, bool) else "a number"
                what = f"parameter {name} is {kind}, not {value!r}"
                raise DataBroken(what, where=book.path, remedy=f"-p {name}={default}")
        name = (request.name or book.path.stem) + ending * (not request.name or len(groups) > 1)
        yield Report(slug(name), book, parameters, tuple(group))


def _corpora(patterns: Iterable[str]) -> Corpora:
    """The folders of evaluations that paths and patterns lead to, each once."""
    found = ([p] if os.path.exists(p) else sorted(glob(p)) or [p] for p in map(str, patterns))
    return {folder: _corpus_of(folder) for folder in map(Path, itertools.chain(*found))}


def _seen_from(home: Path, value: Any) -> Any:
    """A parameter whose paths, of what exists here, are seen from a notebook's folder.

    Its kernel works there, and a relative path tells of no disk.
    """
    if isinstance(value, list | tuple):
        return [_seen_from(home, item) for item in value]
    is_name = isinstance(value, str) and value.strip("./ ")
    return os.path.relpath(value, home) if is_name and os.path.exists(value) else value


def evaluations_in(folder: Path) -> list[Path]:
    """The folder of an evaluation, or those of the splits that it has an evaluation of."""
    if (folder / MANIFEST).is_file():
        return [folder]
    return sorted(m.parent for m in folder.glob(f"*/{MANIFEST}") if not is_hidden(m, folder))


def _corpus_of(folder: Path) -> tuple[str, str, str, str]:
    """Benchmark, split (none if of several), mode and root: if they are equal, systems compare."""
    contents = [read_manifest(Evaluation, home)[1] for home in evaluations_in(folder) or [folder]]
    splits = {str(content.get("split")) for content in contents}
    benchmark, mode, root = (str(contents[0].get(key)) for key in ("benchmark", "mode", "root"))
    return benchmark, splits.pop() if len(splits) == 1 else "", mode, root


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
