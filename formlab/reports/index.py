"""The page that lists reports: title, state, time, first finding, number cards."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from formlab import files
from formlab.errors import FormlabError
from formlab.gallery import inline
from formlab.reports import _inert, _scripts
from formlab.reports.run import Result

FILE = "index.html"
RECORD = ".report.json"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One report, as its record file tells it."""

    name: str
    title: str
    ok: bool
    error: str | None
    seconds: float
    built: str
    finding: str | None
    cards: list[dict[str, str]]


def record(result: Result, out: str | Path) -> None:
    """Write ``<name>.report.json``; it is written last, so a report with a record is whole."""
    values: dict[str, Any] = {
        "ok": result.ok,
        "error": result.error,
        "seconds": round(result.seconds, 2),
        "built": result.built,
        **dataclasses.asdict(result.summary),
    }
    if result.html is not None:
        values["sha256"] = files.sha256(result.html)
    files.write_json(Path(out) / f"{result.name}{RECORD}", values)


def entries(out: str | Path) -> list[Entry]:
    """The reports of a folder, by name; a record without its page, or a broken one, is left out."""
    found = []
    for file in sorted(Path(out).glob(f"*{RECORD}")):
        name = file.name.removesuffix(RECORD)
        if not file.with_name(f"{name}.html").is_file():
            continue
        try:
            found.append(_entry(name, files.read_json(file)))
        except (FormlabError, KeyError, TypeError, ValueError, AttributeError):
            continue
    return found


def _entry(name: str, values: dict[str, Any]) -> Entry:
    finding = values.get("finding")
    return Entry(
        name=name,
        title=_inert.plain(values["title"]),
        ok=values["ok"] is True,
        error=_inert.plain(values["error"]) if values.get("error") else None,
        seconds=float(values["seconds"]),
        built=_inert.plain(values["built"]),
        finding=_inert.plain(finding) if finding else None,
        cards=[
            {key: _inert.plain(card.get(key, "")) for key in ("label", "value")}
            for card in values.get("cards", [])[:4]
        ],
    )


def write(out: str | Path) -> Path:
    """Write ``index.html`` of all reports in `out`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder).name
    'index.html'
    """
    out = Path(out)
    scripts = _scripts.needed(set())
    template = resources.files("formlab").joinpath("reports/assets/reports.html.j2")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    listed = entries(out)
    page = environment.from_string(template.read_text("utf-8")).render(
        entries=listed,
        failed=sum(not entry.ok for entry in listed),
        version=files.version(),
        css=_inert.trusted(_scripts.styles()),
        policy=_inert.trusted(inline.policy(scripts)),
        scripts=[_inert.trusted(script) for script in scripts],
    )
    files.write_text(out / FILE, page)
    return out / FILE


def clear(out: str | Path, names: Iterable[str]) -> None:
    """Forget the records of these reports, so that a build that dies leaves none of them listed."""
    for name in names:
        (Path(out) / f"{name}{RECORD}").unlink(missing_ok=True)
