"""The record of a report: a small JSON file beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from formlab import files
from formlab.errors import FormlabError

ENDING = ".report.json"
THUMBNAILS = "thumbs/"
Status = Literal["built", "failed", "unchanged", "skipped"]


@dataclasses.dataclass(frozen=True)
class Summary:
    """What the index shows of a report: its title, its first finding, its first number cards."""

    title: str
    finding: str | None = None
    cards: list[dict[str, str]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class ReportResult:
    """How one report went.

    `html` and `ipynb` are the files written: a failed report leaves what it finished, with the
    error on top. They are None if nothing could be written, and where a report was skipped: its
    sample cannot be had on this machine. `seconds` is wall time, of an unchanged report that of
    its building. `notes` say what could not be made beside the page, or why it was skipped.
    """

    name: str
    notebook: Path
    status: Status
    html: Path | None = None
    ipynb: Path | None = None
    error: str | None = None
    seconds: float = 0.0
    summary: Summary = Summary("")
    built: str = ""
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing went wrong."""
        return self.status != "failed"


@dataclasses.dataclass(frozen=True)
class Record:
    """The JSON file of one report.

    `key` is the hash of what it was made from, `sha256` that of the page itself, `beside` the
    files that belong to it, seen from the folder.
    """

    name: str
    summary: Summary
    ok: bool
    error: str | None
    seconds: float
    built: str
    key: str
    sha256: str
    beside: list[str]
    notes: list[str]
    # Its evaluations, as ``benchmark:split:system``; none of the project's samples.
    of: list[str] = dataclasses.field(default_factory=list)

    @property
    def thumbnail(self) -> str | None:
        """The small picture of the page, seen from the folder."""
        return next((name for name in self.beside if name.startswith(THUMBNAILS)), None)


def file(out: Path, name: str) -> Path:
    """Where the record of a report stands."""
    return out / f"{name}{ENDING}"


def write(result: ReportResult, out: Path, *, key: str, beside: list[str], of: list[str]) -> None:
    """Write the record of `result`; it is written last, so a report with a record is whole."""
    if result.html is not None:
        names = ("name", "summary", "ok", "error", "built")
        record = Record(
            **{name: getattr(result, name) for name in names}, seconds=round(result.seconds, 2),
            key=key, sha256=files.sha256(result.html), beside=beside, notes=list(result.notes),
            of=of,
        )  # fmt: skip
        files.write_json(file(out, result.name), dataclasses.asdict(record))


def read(out: Path, name: str) -> Record | None:
    """The record of a report that is there; None for a broken record, or one without its page."""
    if not (out / f"{name}.html").is_file():
        return None
    try:
        record = files.read_json(file(out, name), Record)
    except FormlabError:
        return None
    return dataclasses.replace(record, name=name)


def every(out: Path) -> Iterator[Record]:
    """The records of a folder, by name."""
    for path in sorted(out.glob(f"*{ENDING}")):
        if (record := read(out, path.name.removesuffix(ENDING))) is not None:
            yield record


def unchanged(out: Path, name: str, key: str) -> Record | None:
    """The record of a complete report that was made from the same and stands as it was written."""
    record = read(out, name)
    if record is None or not record.ok or record.key != key:
        return None
    whole = files.sha256(out / f"{name}.html") == record.sha256
    return record if whole and all((out / path).is_file() for path in record.beside) else None


def result(record: Record, notebook: Path, out: Path) -> ReportResult:
    """The result of a report that was left as it is."""
    html, ipynb = (out / f"{record.name}.{ending}" for ending in ("html", "ipynb"))
    return ReportResult(
        record.name, notebook, "unchanged", html, ipynb if ipynb.is_file() else None, None,
        record.seconds, record.summary, record.built, tuple(record.notes),
    )  # fmt: skip
