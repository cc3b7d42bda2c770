"""Annotations of facts as Label Studio exports them: spans in HTML, several annotators a page."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from formlab import files
from formlab.benchmarks.fincriticaled import FACTS
from formlab.errors import DataBroken
from formlab_review._spans import Span, applied, written

HTML_KEYS = ("matched_html", "html", "text")
__all__ = ["Span", "TagProblem", "applied", "problems", "ratings", "read", "written"]
NOTHING = "none"
_TAG = re.compile(rf"<(/?)({'|'.join(FACTS)})\b[^>]*>", re.IGNORECASE)


class TagProblem(NamedTuple):
    """A fact tag that is not as it should be, and the line and column where it stands, from 1."""

    line: int
    column: int
    what: str


def problems(markup: str) -> list[TagProblem]:
    """Fact tags that are nested, not closed, not opened or empty, from top to bottom.

    Examples
    --------
    >>> problems("<number>5</number>\\n<number>6 <date>7</date>")
    [TagProblem(line=2, column=1, what='<number> is not closed'), \
TagProblem(line=2, column=11, what='<date> inside <number>')]
    """
    faults: list[tuple[int, str]] = []
    stack: list[tuple[str, int, int]] = []
    for match in _TAG.finditer(markup):
        name = match[2].lower()
        if not match[1]:
            if stack:
                faults.append((match.start(), f"<{name}> inside <{stack[-1][0]}>"))
            stack.append((name, match.start(), match.end()))
        elif name not in (opened[0] for opened in stack):
            faults.append((match.start(), f"</{name}> is not opened"))
        else:
            while stack[-1][0] != name:
                faults.append((stack[-1][1], f"<{stack.pop()[0]}> is not closed"))
            _, start, end = stack.pop()
            if not markup[end : match.start()].strip():
                faults.append((start, f"<{name}> is empty"))
    faults += [(start, f"<{name}> is not closed") for name, start, _ in stack]
    lines = [0, *(match.end() for match in re.finditer("\n", markup))]
    placed = [(bisect_right(lines, at), at, what) for at, what in sorted(faults)]
    return [TagProblem(line, at - lines[line - 1] + 1, what) for line, at, what in placed]


def read(path: Path) -> tuple[dict[str, str], list[Span]]:
    """The pages of an export, by task id, and every annotator's spans.

    Raises
    ------
    DataMissing, DataBroken
        If the file is absent or not a list of tasks; the message names the task.
    """
    tasks = files.read_json(path)
    if not isinstance(tasks, list):
        raise DataBroken(
            "a Label Studio export is a list of tasks", where=path, remedy="export as JSON"
        )
    pages, spans = {}, []
    for number, task in enumerate(tasks):
        data = task.get("data") if isinstance(task, dict) else None
        key = next((k for k in HTML_KEYS if isinstance((data or {}).get(k), str)), None)
        if key is None:
            raise DataBroken(
                "a task without HTML",
                where=f"{path}#/{number}/data",
                remedy=f"a key {HTML_KEYS[0]}",
            )
        page = str(task.get("id", number))
        pages[page] = data[key]
        for at, annotation in enumerate(task.get("annotations") or []):
            spans += _spans(page, annotation, f"{path}#/{number}/annotations/{at}")
    return pages, spans


def _spans(page: str, annotation: Any, where: str) -> Iterator[Span]:
    if not isinstance(annotation, dict):
        raise DataBroken("an annotation is an object", where=where)
    who = annotation.get("completed_by")
    who = who.get("id") if isinstance(who, dict) else who
    for result in annotation.get("result") or []:
        value = result.get("value") or {}
        labels = value.get("labels") or value.get("hypertextlabels") or []
        if (
            result.get("type") not in ("labels", "hypertextlabels")
            or not labels
            or not value.get("start")
        ):
            continue
        start = str(value["start"])
        yield Span(
            page, str(who), str(labels[0]), start, str(value.get("end") or start),
            int(value.get("startOffset") or 0), int(value.get("endOffset") or 0),
            str(value.get("text") or ""),
        )  # fmt: skip


def ratings(spans: Iterable[Span], *, mode: str = "fixed") -> pl.DataFrame:
    """A row per span that somebody marked, a column per annotator with the label or ``none``.

    In mode `official` a span is known by its text nodes alone, as in the released script, so
    that of several facts in one node the last counts; in mode `fixed` by its offsets too.
    """
    spans = list(spans)
    who = sorted({span.annotator for span in spans})
    items: dict[tuple, dict[str, str]] = {}
    seen: dict[str, set[str]] = {}
    for span in spans:
        seen.setdefault(span.page, set()).add(span.annotator)
        location = (span.start, span.end) if mode == "official" else span[3:7]
        items.setdefault((span.page, *location), {})[span.annotator] = span.label
    rows = [
        {"doc_id": key[0], "item": "|".join(map(str, key[1:]))}
        # Annotators who did not see a page have no label for it.
        | {name: labels.get(name, NOTHING if name in seen[key[0]] else None) for name in who}
        for key, labels in items.items()
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("doc_id", "item", *who), pl.String))
