"""Predictions as FinCriticalED publishes them: a folder of ``pred_<i>.txt``, HTML or plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from formlab.benchmarks.fincriticaled import decoded
from formlab.errors import DataBroken
from formlab.readers.rows import Reader, Row, Source

# Python makes no integer of more digits than some thousand.
_NAME = re.compile(r"pred_([0-9]{1,18})\.txt")


def _pages(path: Path) -> list[tuple[int, Path]]:
    """The pages in a folder by number."""
    named = ((_NAME.fullmatch(file.name), file) for file in path.glob("pred_*.txt"))
    return sorted((int(match[1]), file) for match, file in named if match)


def _read(source: Source) -> Iterator[Row]:
    """The page of each document; one that is not UTF-8 is latin-1, as in the released code."""
    known: dict[int, Path] = {}
    for number, file in _pages(source.path):
        if number in known:
            what = f"two pages of number {number}, the first in {known[number].name}"
            raise DataBroken(what, where=file, remedy="keep one of them")
        known[number] = file
        page = {"task": "text", "kind": "page", "status": "ok", "origin": file.name}
        text = decoded(file, source.notes)
        yield {"role": "answer", "doc_id": str(number), "value": text} | page
    source.files += known.values()


FINCRITICALED = Reader(
    "fincriticaled",
    "a folder of pred_<i>.txt as in FinCriticalED",
    lambda path: bool(_pages(path)),
    _read,
)
