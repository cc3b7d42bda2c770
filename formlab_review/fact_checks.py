"""Checks of annotated facts: the paper's integrity validation, of marks and of tags in gold."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from formlab import files
from formlab.benchmarks.fincriticaled import FACTS, decoded
from formlab.text import date, date_order, money, number
from formlab_review._spans import LABELS, PageText, Span

_DATES = ("Date", "Temporal")
_TAG = re.compile(rf"<(/?)({'|'.join(FACTS)})\b[^>]*>", re.IGNORECASE)
_FIGURES = re.compile(r"[\d.,' ()%+−-]+")
_MINUS = re.compile(r"(?:^|[\s($€£])[-−]\s?$")
_DIGIT_BEFORE, _DIGIT_AFTER = re.compile(r"\d[.,/]?$"), re.compile(r"[.,/]?\d")
_TIME = re.compile(r"\d|day|week|month|quarter|year|annual", re.IGNORECASE)
_DAY = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}")
_BETWEEN = re.compile(r"\b(?:thru|through|until|to|and)\b", re.IGNORECASE)


class AnnotationFault(NamedTuple):
    """What is wrong with a mark, an annotation or a tag; `where` names file and place in it."""

    where: str
    task: str
    doc_id: str
    annotator: str
    what: str
    remedy: str


def of_mark(page: PageText, span: Span) -> Iterator[tuple[str, str]]:
    """What the paper's rules (B.1) say against one mark, with what to do."""
    text, (before, after) = span.text, page.around(span.first, span.last)
    shown = f"{text!r:.80}"
    if span.label not in LABELS:
        yield f"unknown label {span.label!r}", f"one of: {', '.join(LABELS)}"
    if not page.in_one_element(span.first, span.last):
        yield f"{shown} reaches over several elements", "mark each element alone"
    if span.label == "Number":
        if not any(character.isdigit() for character in text):
            yield f"{shown} has no digit", "a number is marked as it is printed"
        elif _FIGURES.fullmatch(text) and number(text) is None and money(text) is None:
            yield f"{shown} is no number", "mark one whole number"
        if (before[-1:], after[:1]) == ("(", ")") or _MINUS.search(before):
            yield f"the sign of {shown} is outside the mark", "brackets and minus belong to it"
        if (_DIGIT_BEFORE.search(before) and text[0].isdigit()) or (
            _DIGIT_AFTER.match(after) and text[-1].isdigit()
        ):
            yield f"{shown} is cut out of a longer number", "mark the whole number"
    elif span.label in _DATES:
        if not _TIME.search(text):
            yield f"{shown} is no date or duration", "mark the date alone"
        elif _DAY.fullmatch(text) and date(text) is None:
            yield f"{shown} is no day of the calendar", "compare it with the page's image"
        elif all(any(c.isdigit() for c in half) for half in _BETWEEN.split(text)) and (
            _BETWEEN.search(text)
        ):
            yield f"{shown} is more than one date", "mark each date without the words between"


def of_page(spans: Sequence[Span]) -> Iterator[tuple[str, str]]:
    """Marks of one person on a page that lie in each other, and dates that contradict each other.

    A generator of what is wrong and what to do.
    """
    outer: Span | None = None
    for span in sorted(spans, key=lambda span: (span.first, -span.last)):
        if outer is not None and span.first < outer.last:
            how = "inside" if span.last <= outer.last else "overlapping"
            names = [f"<{each.label}> {each.text!r:.60}" for each in (span, outer)]
            yield f"{names[0]} {how} {names[1]}", "one mark for each fact"
        outer = span if outer is None or span.last > outer.last else outer
    orders = {date_order([span.text]): span.text for span in spans if span.label in _DATES}
    if {"day", "month"} <= set(orders):
        what = f"{orders['day']!r:.40} has the day first, {orders['month']!r:.40} the month"
        yield what, "compare both with the page's image"


def problems_of_gold(folder: Path) -> list[AnnotationFault]:
    """Fact tags of a folder's gold pages that are not as they should be, with file and line."""
    remedy = "mend the tag in the file"
    return [
        AnnotationFault(
            f"{file}:{line}:{column}", "", file.stem.removeprefix("gold_"), "", what, remedy
        )
        for file in sorted(files.folder(folder, remedy="a folder of gold pages").rglob("gold_*.*"))
        for line, column, what in problems(decoded(file, Counter()))
    ]


def problems(markup: str) -> list[tuple[int, int, str]]:
    """Line and column, from 1, of fact tags that are nested, not closed, not opened or empty.

    Examples
    --------
    >>> problems("<number>5</number>\\n<number>6 <date>7</date>")
    [(2, 1, '<number> is not closed'), (2, 11, '<date> inside <number>')]
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
    return [(line, at - lines[line - 1] + 1, what) for line, at, what in placed]
