"""The page that lists reports: picture, title, first finding, number cards, time, size, search."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from formlab import files
from formlab.errors import FormlabError
from formlab.reports import build_record, inputs
from formlab.reports.build_record import Record
from formlab.reports.plan import INDEX, Layout

FILE = f"{INDEX}.html"
# What the page was made from; a build that changes nothing need not make it anew.
KEY = f".{INDEX}.json"
# What a reader is told of a report; "" needs no word.
State = Literal["", "failed", "from an earlier build"]


def write(
    out: str | Path, *, layout: Layout = "single", built: Collection[str] | None = None
) -> Path:
    """Write ``index.html`` of all reports in `out`; all but those `built` are of earlier builds.

    None stands for all. What a build left as it is counts as built by it.
    """
    out = Path(out)
    reports = list(build_record.every(out))
    states: list[State] = [
        "failed" if not each.ok
        else "" if built is None or each.name in built
        else "from an earlier build"
        for each in reports
    ]  # fmt: skip
    key = inputs.digest([inputs.code(), layout, states, *map(dataclasses.asdict, reports)])
    if not _stands(out, key):
        files.write_text(out / FILE, _page(out, layout, reports, states))
        files.write_json(out / KEY, {"key": key, "sha256": files.sha256(out / FILE)})
    return out / FILE


def _stands(out: Path, key: str) -> bool:
    """Whether the page is there as it was written from the same."""
    try:
        known = files.read_json(out / KEY)
        return known == {"key": key, "sha256": files.sha256(out / FILE)}
    except (FormlabError, OSError):
        return False


def _page(out: Path, layout: Layout, reports: list[Record], states: list[State]) -> str:
    # The assets come with the charts, which take a second to import.
    from formlab.reports import page, page_assets

    return page.render(
        "reports.html.j2",
        entries=[
            {
                "report": report, "state": state, "words": _words(report, state),
                "picture": _picture(out, report, layout),
                "size": f"{(out / f'{report.name}.html').stat().st_size / 1e6:.1f} MB",
            }
            for report, state in zip(reports, states, strict=True)
        ],
        counts={state: states.count(state) for state in dict.fromkeys(states) if state},
        assets=page_assets.of(set(), layout=layout, out=out),
        single=layout == "single",
    )  # fmt: skip


def _words(report: Record, state: State) -> str:
    """All that the search looks through."""
    cards = [text for card in report.summary.cards for text in card.values()]
    texts = [report.summary.title, report.name, state, report.error, report.summary.finding, *cards]
    return " ".join(text for text in texts if text).lower()


def _picture(out: Path, report: Record, layout: Layout) -> str | None:
    if report.thumbnail is None or not (out / report.thumbnail).is_file():
        return None
    if layout == "site":
        return report.thumbnail
    data = base64.b64encode((out / report.thumbnail).read_bytes()).decode()
    return f"data:image/webp;base64,{data}"
