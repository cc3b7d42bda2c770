"""What a report rests on, as one hash and in words, and the small JSON file that remembers it."""

import contextlib
import dataclasses
import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from formlab import benchmarks, files, registry, resources
from formlab.errors import FormlabError
from formlab.reports.plan import MANIFEST, Report, evaluations_in
from formlab.scoring import batches

ENDING = ".report.json"
_PACKAGE = Path(__file__).parents[1]
# Caches that libraries write beside code, and half-written files.
_PASSING = ("__pycache__", ".part", ".ipynb_checkpoints")


@dataclasses.dataclass(frozen=True)
class ReportResult:
    """How one report went; it stands as a JSON file beside the page.

    `html` and `ipynb` are the files written: a failed report leaves what it finished, with the
    error on top, and a skipped one, whose sample cannot be had on this machine, none. `seconds` is
    wall time, of an unchanged report that of its building. `title`, `finding` (the first) and
    `cards` (its first numbers) are what the index shows. `notes` say what could not be made beside
    the page, or why it was skipped. `key` is the hash of what it was made from, and `of` has its
    evaluations, as ``benchmark:split:system``: none of the project's samples.
    """

    name: str
    status: Literal["built", "failed", "unchanged", "skipped"] = "built"
    html: Path | None = None
    ipynb: Path | None = None
    error: str | None = None
    seconds: float = 0.0
    title: str = ""
    finding: str | None = None
    cards: list[dict[str, str]] = dataclasses.field(default_factory=list)
    built: str = ""
    notes: list[str] = dataclasses.field(default_factory=list)
    key: str = ""
    of: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing went wrong."""
        return self.status != "failed"


def write(result: ReportResult, out: Path) -> None:
    """Write the record of `result`; it is written last, so a report with a record is whole."""
    # The folder may be moved.
    content = dataclasses.asdict(dataclasses.replace(result, html=None, ipynb=None))
    files.write_json(out / f"{result.name}{ENDING}", content)


def every(out: Path) -> dict[str, ReportResult]:
    """The results of a folder by name, but for those with a broken record or without a page."""
    found = {}
    for html in sorted(out.glob("*.html")):
        with contextlib.suppress(FormlabError):
            result = files.read_json(html.with_name(f"{html.stem}{ENDING}"), ReportResult)
            paths = {"html": html, "ipynb": html.with_suffix(".ipynb")}
            found[result.name] = dataclasses.replace(result, **paths)
    return found


def hash_of(path: Path, *, whole: bool = False) -> str:
    """What stands at `path`: contents, but of a folder without evaluations only sizes and times.

    An evaluation's manifest names the SHA-256 of every file it was made from, page images among
    them, so those need not be read again. A folder of anything else may be a whole data set, which
    is read only if it is to be taken `whole`.
    """
    if path.is_file():
        return files.sha256(path)
    whole, states = whole or bool(evaluations_in(path)), {}
    for file in path.rglob("*"):
        inside = file.relative_to(path)
        if file.is_file() and not any(part.endswith(_PASSING) for part in inside.parts):
            size, time = file.stat().st_size, file.stat().st_mtime_ns
            states[str(inside)] = files.sha256(file) if whole else [size, time]
    return files.key_of(states)


@cache
def code() -> str:
    """The SHA-256 of formlab, of its add-ons, and of the published figures it ships with."""
    folders = sorted(file.parent for file in _PACKAGE.parent.glob("formlab*/__init__.py"))
    folders.append(resources.folder("data/published"))
    return files.key_of([hash_of(folder, whole=True) for folder in folders])


@cache
def versions() -> dict[str, str]:
    """Python and each library that is installed, by name."""
    installed = sorted({(found.name.lower(), found.version) for found in metadata.distributions()})
    return {"python": platform.python_version(), **dict(installed)}


@cache
def sample() -> str:
    """The SHA-256 of the project's own sample, which a report without an evaluation is made of."""
    return hash_of(benchmarks.SAMPLES, whole=True)


def inputs(report: Report) -> list[Path]:
    """What is there under the texts among the parameters, or in lists of them."""
    home, values = report.notebook.path.parent, report.notebook.defaults | report.parameters
    texts = [text for v in values.values() for text in (v if isinstance(v, list) else [v])]
    named = [home / text for text in texts if isinstance(text, str) and text.strip(". /")]
    return list(dict.fromkeys(filter(os.path.exists, named)))


def key(report: Report, *, figures: bool) -> str:
    """The hash of everything a report is made from, and of what its look depends on."""
    home, paths = report.notebook.path.parent, inputs(report)
    facts = {
        "notebook": files.sha256(report.notebook.path),
        "data": {os.path.relpath(path, home): hash_of(path) for path in paths},
        "parameters": {name: repr(value) for name, value in report.parameters.items()},
        "sample": None if any(map(evaluations_in, paths)) else sample(),
        "code": code(),
        "versions": versions(),
        "plugins": {entry.source: entry.version for entry in registry.entries()},
        "name": report.name,
        "figures": figures,
        "links": report.links,
    }
    return files.key_of(facts)


def evaluations_of(report: Report) -> list[dict[str, Any]]:
    """The manifests of all evaluations that its parameters name, each with its `folder`."""
    homes = (home for path in inputs(report) for home in evaluations_in(path))
    return [files.read_json(home / MANIFEST, dict[str, Any]) | {"folder": home} for home in homes]


def facts(report: Report) -> dict[str, dict[str, str]]:
    """What a report is made from, in words: "How this was made"; no path of the maker's disk."""
    defaults, data = report.notebook.defaults.items(), {}
    parameters = {name: f"{value!r}  (default)" for name, value in defaults}
    parameters |= {name: repr(value) for name, value in report.parameters.items()}
    for content in evaluations_of(report):
        folder = content["folder"]
        told = {name: content.get(name) for name in ("benchmark", "split", "system", "mode")}
        told |= {f"setting {n}": v for n, v in (content.get("settings") or {}).items() if v != {}}
        told |= {f"note {name}": count for name, count in (content.get("notes") or {}).items()}
        told["manifest, sha256"] = files.sha256(folder / MANIFEST)
        data[f"Evaluation {os.path.relpath(folder)}"] = told
    blocks = {"Parameters": parameters, **(data or {"Sample": {"data/sample, sha256": sample()}})}
    blocks["Versions"] = versions() | {"formlab's code, sha256": code()}
    return {t: {n: _without_paths(v) for n, v in told.items()} for t, told in blocks.items()}


def parts(report: Report) -> list[str]:
    """What a reader must know of each evaluation that is not of a whole corpus."""
    sentences = []
    for content in evaluations_of(report):
        notes = content.get("notes") or {}
        if set(notes) & set(batches.NOTES):
            count = sum(rows for _, rows, _ in content["tables"]["documents"])
            note = batches.partial_note(count, content["settings"], notes)
            sentences.append("{system} on {benchmark}:{split}: ".format_map(content) + f"{note}.")
    return sentences


def _without_paths(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_without_paths(item)}" for name, item in value.items())
    text = str(value)
    return Path(text).name if os.path.isabs(text) else text
