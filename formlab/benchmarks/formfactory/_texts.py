"""The instances' texts: ``data2/<file>.txt``, all in one file, numbered ``1.`` or ``1)``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_MARK = re.compile(r"^[ \t*#]*(\d{1,4})([.)])", re.MULTILINE)


def split_texts(
    text: str, values: Sequence[Sequence[str]], flaws: Counter[str]
) -> list[str | None]:
    """The text of each instance; None for one whose number is not found.

    A file numbers all its instances in one style, that of its first number; a numbered list
    within a text may use the same. Where a number stands several times, the place is taken whose
    text holds most of the instance's values, the first of equals.

    Examples
    --------
    >>> split_texts("1) Ada, 7\\n1. tea\\n2) Bo, 8", [["Ada"], ["Bo"]], Counter())
    ['Ada, 7\\n1. tea', 'Bo, 8']
    """
    marks = list(_MARK.finditer(text))
    style = next((mark[2] for mark in marks if int(mark[1]) == 1), None)
    marks = [mark for mark in marks if mark[2] == style]
    ends = [*(mark.start() for mark in marks[1:]), len(text)][: len(marks)]
    chosen: list[re.Match[str] | None] = []
    last = -1
    for number, answers in enumerate(values, start=1):
        places = [
            (mark, end)
            for mark, end in zip(marks, ends, strict=True)
            if int(mark[1]) == number and mark.start() > last
        ]
        best = max(places, key=lambda p: _shared(text[p[0].end() : p[1]], answers), default=None)
        chosen.append(best[0] if best else None)
        last = best[0].start() if best else last
    texts = _between(text, chosen)
    for passage, answers in zip(texts, values, strict=True):
        flaws["instances without a text"] += passage is None
        flaws["texts that hold none of their values"] += passage is not None and not _shared(
            passage, answers
        )
    left = {int(mark[1]) for mark in marks} - set(range(1, len(values) + 1))
    flaws["numbered texts without an instance"] += len(left)
    return texts


def _shared(text: str, values: Sequence[str]) -> int:
    folded = text.casefold()
    return sum(bool(value.strip()) and value.casefold() in folded for value in values)


def _between(text: str, chosen: Sequence[re.Match[str] | None]) -> list[str | None]:
    starts = [mark.start() for mark in chosen if mark] + [len(text)]
    following = iter(starts[1:])
    return [text[mark.end() : next(following)].strip() if mark else None for mark in chosen]
