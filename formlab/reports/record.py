"""What a report rests on, as one hash and in words, and the small JSON file that remembers it."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import os
import platform
import re
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from formlab import benchmarks, files, registry, resources
from formlab.errors import FormlabError
from formlab.folders import is_hidden
from formlab.scoring import batches

if TYPE_CHECKING:
    from formlab.reports.plan import Job

ENDING = ".report.json"
MANIFEST = "manifest.json"
_PACKAGE = Path(__file__).parents[1]
_DEVELOPING = re.compile("extra == ['\"](dev|llm|samples|all)['\"]")
# Caches that libraries write beside code, and half-written files.
_OF_DISK = ("notebook", "html", "ipynb")
_PASSING = ("__pycache__", ".part", ".ipynb_checkpoints")


@dataclasses.dataclass(frozen=True)
class Summary:
    """What the index shows of a report: its title, its first finding, its first number cards."""

    title: str
    finding: str | None = None
    cards: list[dict[str, str]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class ReportResult:
    """How one report went; what it was made from stands with it in a JSON file beside its page.

    `html` and `ipynb` are the files written: a failed report leaves what it finished, with the
    error on top. They are None if nothing could be written, and where a report was skipped: its
    sample cannot be had on this machine. `seconds` is wall time, of an unchanged report that of
    its building. `notes` say what could not be made beside the page, or why it was skipped. `key`
    is the hash of what it was made from, `sha256` that of the page itself, `beside` the files that
    belong to it, seen from the folder, and `of` its evaluations, as ``benchmark:split:system``:
    none of the project's samples.
    """

    name: str
    notebook: Path = Path()
    status: Literal["built", "failed", "unchanged", "skipped"] = "unchanged"
    html: Path | None = None
    ipynb: Path | None = None
    error: str | None = None
    seconds: float = 0.0
    summary: Summary = Summary("")
    built: str = ""
    notes: tuple[str, ...] = ()
    key: str = ""
    sha256: str = ""
    beside: tuple[str, ...] = ()
    of: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing went wrong."""
        return self.status != "failed"


def file(out: Path, name: str) -> Path:
    """Where the record of a report stands."""
    return out / f"{name}{ENDING}"


def write(result: ReportResult, out: Path) -> None:
    """Write the record of `result`; it is written last, so a report with a record is whole."""
    content = dataclasses.asdict(dataclasses.replace(result, sha256=files.sha256(result.html)))
    content = {name: value for name, value in content.items() if name not in _OF_DISK}
    files.write_json(file(out, result.name), content)


def read(out: Path, name: str) -> ReportResult | None:
    """The result of a report that is there; None if its record is broken, or it has no page."""
    html, ipynb = (out / f"{name}.{ending}" for ending in ("html", "ipynb"))
    with contextlib.suppress(FormlabError):
        if html.is_file():
            found = files.read_json(file(out, name), ReportResult)
            there = {"html": html, "ipynb": ipynb if ipynb.is_file() else None}
            return dataclasses.replace(found, name=name, **there)
    return None


def every(out: Path) -> list[ReportResult]:
    """The results of a folder, by name."""
    names = sorted(path.name.removesuffix(ENDING) for path in out.glob(f"*{ENDING}"))
    return [found for found in (read(out, name) for name in names) if found]


def unchanged(job: Job) -> ReportResult | None:
    """The result of a complete report that was made from the same and stands as it was written."""
    out = job.settings.out
    found = read(out, job.name)
    if found is None or not found.ok or found.key != key(job):
        return None
    is_whole = files.sha256(found.html) == found.sha256
    is_whole = is_whole and all((out / name).is_file() for name in found.beside)
    result = dataclasses.replace(found, notebook=job.notebook, status="unchanged")
    return result if is_whole else None


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.endswith(_PASSING))
        yield from (Path(parent, name) for name in sorted(names) if not name.endswith(_PASSING))


def evaluations_in(folder: Path) -> list[Path]:
    """The manifests of an evaluation, or of a folder with an evaluation for each split."""
    if (folder / MANIFEST).is_file():
        return [folder / MANIFEST]
    return sorted(m for m in folder.glob(f"*/{MANIFEST}") if not is_hidden(m, folder))


def of_path(path: Path, *, whole: bool = False) -> str:
    """What stands at `path`: contents, but of a folder without evaluations only names and times.

    An evaluation's manifest names the SHA-256 of every file it was made from, page images among
    them, so those need not be read again. A folder of anything else may be a whole data set, which
    is read only if it is to be taken `whole`.
    """
    if path.is_file():
        return files.sha256(path)
    if whole or evaluations_in(path):
        return files.key_of({str(f.relative_to(path)): files.sha256(f) for f in _walk(path)})
    states = ((file, file.stat()) for file in _walk(path))
    return files.key_of([(str(file), s.st_size, s.st_mtime_ns) for file, s in states])


@cache
def code() -> str:
    """The SHA-256 of formlab, of its add-ons, and of the published figures it ships with."""
    folders = sorted(file.parent for file in _PACKAGE.parent.glob("formlab*/__init__.py"))
    folders.append(resources.folder("data/published"))
    return files.key_of([of_path(folder, whole=True) for folder in folders])


@cache
def versions() -> dict[str, str]:
    """Python, formlab and each library installed that formlab needs or can use, by name."""
    numbers = {"python": platform.python_version()}
    # Of extras that a report may need; what is for developers shapes no report.
    required = (r for r in metadata.requires("formlab") or [] if not _DEVELOPING.search(r))
    for name in ("formlab", *(re.split(r"[^\w.-]", r)[0] for r in required)):
        with contextlib.suppress(metadata.PackageNotFoundError):
            numbers[name] = metadata.version(name)
    return numbers


@cache
def sample() -> str:
    """The SHA-256 of the project's own sample, which a report without an evaluation is made of."""
    return of_path(benchmarks.SAMPLES, whole=True)


def _inputs(job: Job) -> list[Path]:
    """What is there under the texts among the parameters, or in lists of them."""
    values = list(job.parameters.values())
    for default in (text for name, text in job.defaults.items() if name not in job.parameters):
        with contextlib.suppress(ValueError):  # not a literal
            values.append(ast.literal_eval(default))
    texts = [text for v in values for text in (v if isinstance(v, list | tuple) else [v])]
    named = [job.notebook.parent / t for t in texts if isinstance(t, str) and t.strip(". /")]
    return list(dict.fromkeys(filter(exists, named)))


def exists(path: Path) -> bool:
    """Whether something is at `path`, which may be any text."""
    try:
        return path.exists()
    except (OSError, ValueError):  # a text that no file system takes as a name
        return False


def key(job: Job) -> str:
    """The hash of everything a report is made from, and of what its look depends on."""
    home, paths = job.notebook.parent, _inputs(job)
    data = {os.path.relpath(path, home): of_path(path) for path in paths}
    return files.key_of({
        "notebook": files.sha256(job.notebook),
        "data": data,
        "parameters": {name: repr(value) for name, value in job.parameters.items()},
        "sample": None if any(map(evaluations_in, paths)) else sample(),
        "code": code(),
        "versions": versions(),
        "plugins": {entry.source: entry.version for entry in registry.entries()},
        "name": job.name,
        "figures": job.settings.figures,
        "links": job.links,
    })  # fmt: skip


def evaluations_of(job: Job) -> list[Path]:
    """The manifests of all evaluations that its parameters name."""
    return [m for path in _inputs(job) if path.is_dir() for m in evaluations_in(path)]


def part_run(manifest: Path) -> str:
    """What a reader must know of an evaluation that is not of a whole corpus; else empty."""
    content = files.read_json(manifest)
    notes = content.get("notes") if isinstance(content, dict) else None
    if not isinstance(notes, dict) or not set(notes) & set(batches.NOTES):
        return ""
    rows = sum(rows for _, rows, _ in content["tables"]["documents"])
    subject = "{system} on {benchmark}:{split}".format_map(content)
    return f"{subject}: {batches.partial_note(rows, content['settings'], notes)}."


def facts(manifest: Path, shown: str) -> list[tuple[str, str]]:
    """What the manifest of an evaluation says, for readers; no path of the maker's disk."""
    content = files.read_json(manifest)
    entries = [("folder", shown)]
    entries += [(n, str(content.get(n))) for n in ("benchmark", "split", "system", "mode")]
    settings = (content.get("settings") or {}).items()
    entries += [(f"setting {n}", _without_paths(value)) for n, value in settings if value != {}]
    entries += [(f"note {n}", str(count)) for n, count in (content.get("notes") or {}).items()]
    for name, parts in (content.get("tables") or {}).items():
        sha256 = parts[0][-1] if len(parts) == 1 else files.key_of([part[-1] for part in parts])
        entries.append((name, f"{sum(rows for _, rows, _ in parts):,} rows, sha256 {sha256}"))
    sources = content.get("sources") or {}
    return [*entries, ("source files", f"{len(sources):,}, sha256 {files.key_of(sources)}")]


def readings() -> list[tuple[str, str]]:
    """What read the samples before they were shipped: each system with settings and versions."""
    manifests = sorted((benchmarks.SAMPLES / "runs").glob(f"*/{MANIFEST}"))
    runs = map(files.read_json, manifests)
    systems = {f"read by {run['system']}": _without_paths(run["settings"]) for run in runs}
    return list(systems.items())


def _without_paths(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_without_paths(item)}" for name, item in value.items())
    text = str(value)
    return Path(text).name if os.path.isabs(text) else text
