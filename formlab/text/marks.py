"""A page's text without its HTML and Markdown marks, each character with its place in the text."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

# Only what cannot be the page's own: a lone `*`, `_`, `-` or `#` may be printed there. Each part
# reads a bounded stretch or stops at the next mark, so that hostile text takes linear time.
_MARKS = re.compile(
    r"(?P<tag></?[a-zA-Z][^<>]*>|<!--[^<>]*-->)"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]\w{1,30});)"
    r"|(?P<rule>^[ \t]{0,8}\|?[ \t]{0,8}:?-{3,}:?[ \t]{0,99}(?:\|[ \t|:-]*)?$)"
    r"|(?P<heading>^[ \t]{0,3}\#{1,6}(?=[ \t]))"
    r"|(?P<fence>^[ \t]{0,3}(?:```|~~~)[ \t]?\w{0,20}$)"
    r"|(?P<emphasis>\*\*|(?<!_)__(?!_))"
    r"|(?P<image>!\[(?=[^\[\]\n]{0,300}\]\())|(?P<link>\]\([^()\s]{0,2000}\))"
    r"|(?P<escape>\\(?=[!-/:-@\[-`{-~]))"
    r"|(?P<bar>\|)",
    re.MULTILINE,
)
TITLES = {
    "tag": "HTML tags", "entity": "HTML entities", "rule": "rules of tables",
    "heading": "marks of headings", "fence": "code fences", "emphasis": "marks of emphasis",
    "image": "image marks", "link": "link targets", "escape": "escapes", "bar": "table bars",
}  # fmt: skip
# Where one of these stands in a text, marks of the kind may be its own characters.
_SIGNS = {
    "rule": ("---",), "heading": ("#",), "fence": ("```", "~~~"), "emphasis": ("**", "__"),
    "escape": ("\\",), "bar": ("|",),
}  # fmt: skip


@dataclass(frozen=True)
class Unmarked:
    """A text without marks; `places[i]` is where its character i stood; `counts` of marks."""

    text: str
    places: np.ndarray
    counts: Counter[str]


def own_marks(text: str) -> set[str]:
    """The kinds of marks that a text has among its own characters.

    Examples
    --------
    >>> sorted(own_marks("Box #1: **"))
    ['emphasis', 'heading']
    """
    kinds = {mark.lastgroup or "" for mark in _MARKS.finditer(text)}
    signs = {kind for kind, texts in _SIGNS.items() if any(sign in text for sign in texts)}
    return (kinds - _SIGNS.keys()) | signs


def unmarked(text: str, *, keep: Collection[str] = ()) -> Unmarked:
    """`text` without tags, bars of tables, headings' and emphasis' marks; entities are read.

    A tag, a bar or a rule parts words; other marks do not. Bars count as marks only in a line
    with at least two. Kinds of marks in `keep` (of `TITLES`) stay.

    Examples
    --------
    >>> unmarked("| **Name:** | R&amp;D |").text.split()
    ['Name:', 'R&D']
    >>> unmarked("# A<br>b_c * 2").counts == {"heading": 1, "tag": 1}
    True
    """
    pieces, places, counts, start, at = [], [], Counter(), 0, 0
    bars: set[int] = set()
    for line in text.splitlines(keepends=True):
        if line.count("|") > 1:
            bars.update(place for place, char in enumerate(line, at) if char == "|")
        at += len(line)
    for mark in _MARKS.finditer(text):
        kind, at = mark.lastgroup or "", mark.start()
        if kind in keep or (kind == "bar" and at not in bars):
            continue
        shown = " " if kind in ("tag", "bar", "rule") else ""
        shown = html.unescape(mark[0]) if kind == "entity" else shown
        pieces += (text[start:at], shown)
        places += [*range(start, at), *[at] * len(shown)]
        start = mark.end()
        counts[kind] += 1
    pieces.append(text[start:])
    places += range(start, len(text))
    return Unmarked("".join(pieces), np.array(places, dtype=np.int64), counts)
