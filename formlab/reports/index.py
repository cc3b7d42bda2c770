"""The page that lists reports: title, first finding, number cards, time and size."""

from __future__ import annotations

from pathlib import Path

from formlab.reports import record
from formlab.reports.plan import INDEX

FILE = f"{INDEX}.html"


def write(out: Path) -> None:
    """Write ``index.html`` of all reports in a folder."""
    # The page comes with the charts, which take a second to import.
    from formlab.reports import page

    entries = [(r, (out / f"{r.name}.html").stat().st_size) for r in record.every(out)]
    page.write_index(out / FILE, entries=entries)
