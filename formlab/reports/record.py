"""What is known of a report that was built: a small JSON file beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from formlab import files
from formlab.errors import FormlabError

ENDING = ".report.json"
Status = Literal["built", "failed", "unchanged"]


@dataclasses.dataclass(frozen=True)
class Summary:
    """What the index says of a report: its title, its first finding, its first number cards."""

    title: str
    finding: str | None = None
    cards: list[dict[str, str]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Result:
    """How one report went.

    `html` and `ipynb` are the files written: a failed report leaves what it finished, with the
    error on top. They are None if nothing could be written. `seconds` is wall time, of an
    unchanged report that of its building. `notes` tell what could not be made beside the page.
    """

    name: str
    notebook: Path
    status: Status
    html: Path | None
    ipynb: Path | None
    error: str | None
    seconds: float
    summary: Summary
    built: str
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the report is complete."""
        return self.status != "failed"


@dataclasses.dataclass(frozen=True)
class Record:
    """The JSON file of one report.

    `key` is the hash of what it was made from, `sha256` that of the page itself, `beside` the
    files that belong to it, seen from the folder.
    """

    name: str
    title: str
    ok: bool
    error: str | None
    seconds: float
    built: str
    finding: str | None
    cards: list[dict[str, str]]
    key: str
    sha256: str
    beside: list[str]
    notes: list[str]

    @property
    def thumbnail(self) -> str | None:
        """The small picture of the page, seen from the folder."""
        return next((name for name in self.beside if name.startswith(THUMBNAILS)), None)


THUMBNAILS = "thumbs/"


def file(out: Path, name: str) -> Path:
    """Where the record of a report stands."""
    return out / f"{name}{ENDING}"


def write(result: Result, out: Path, *, key: str, beside: list[str]) -> None:
    """Write the record of `result`; it is written last, so a report with a record is whole."""
    if result.html is None:
        return
    summary = dataclasses.asdict(result.summary)
    record = Record(
        name=result.name, ok=result.ok, error=result.error, seconds=round(result.seconds, 2),
        built=result.built, key=key, sha256=files.sha256(result.html), beside=beside,
        notes=list(result.notes), **summary,
    )  # fmt: skip
    files.write_json(file(out, result.name), dataclasses.asdict(record))


def read(out: Path, name: str) -> Record | None:
    """The record of a report that is there; None for a broken record, or one without its page."""
    if not (out / f"{name}.html").is_file():
        return None
    try:
        values = files.read_json(file(out, name))
        return _record(values | {"name": name})
    except (FormlabError, KeyError, TypeError, ValueError, AttributeError):
        return None


def _record(values: dict[str, Any]) -> Record:
    kinds: dict[str, type | tuple[type, ...]] = {
        "name": str, "title": str, "ok": bool, "error": (str, type(None)), "seconds": (int, float),
        "built": str, "finding": (str, type(None)), "cards": list, "key": str, "sha256": str,
        "beside": list, "notes": list,
    }  # fmt: skip
    for name, kind in kinds.items():
        if not isinstance(values[name], kind):
            raise TypeError(name)
    cards = [
        {part: str(card.get(part, "")) for part in ("label", "value")} for card in values["cards"]
    ]
    return Record(**{name: values[name] for name in kinds} | {"cards": cards})


def every(out: Path) -> Iterator[Record]:
    """The records of a folder, by name."""
    for path in sorted(out.glob(f"*{ENDING}")):
        if (found := read(out, path.name.removesuffix(ENDING))) is not None:
            yield found


def unchanged(out: Path, name: str, key: str) -> Record | None:
    """The record of a complete report that was made from the same and stands as it was written."""
    found = read(out, name)
    if found is None or not found.ok or found.key != key:
        return None
    whole = files.sha256(out / f"{name}.html") == found.sha256
    return found if whole and all((out / path).is_file() for path in found.beside) else None


def result(found: Record, notebook: Path, out: Path) -> Result:
    """The result of a report that was left as it is."""
    copy = out / f"{found.name}.ipynb"
    return Result(
        found.name, notebook, "unchanged", out / f"{found.name}.html",
        copy if copy.is_file() else None, None, found.seconds,
        Summary(found.title, found.finding, found.cards), found.built, tuple(found.notes),
    )  # fmt: skip
