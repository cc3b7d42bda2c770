"""The page that lists reports: title, first finding, number cards, time, size, search."""

from __future__ import annotations

from pathlib import Path

from formlab.reports import record
from formlab.reports.plan import INDEX
from formlab.reports.record import Record

FILE = f"{INDEX}.html"


def write(out: str | Path) -> Path:
    """Write ``index.html`` of all reports in a folder."""
    # The page comes with the charts, which take a second to import.
    from formlab.reports import page

    out = Path(out)
    sizes = [(entry, (out / f"{entry.name}.html").stat().st_size) for entry in record.every(out)]
    entries = [{"report": e, "words": _words(e), "size": size} for e, size in sizes]
    page.write_index(out / FILE, entries=entries)
    return out / FILE


def _words(report: Record) -> str:
    """All that the search looks through."""
    cards = [text for card in report.summary.cards for text in card.values()]
    texts = [report.summary.title, report.name, report.error, report.summary.finding, *cards]
    return " ".join(text for text in texts if text).lower()
