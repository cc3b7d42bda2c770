"""Predictions as FinCriticalED publishes them: a folder of ``pred_<i>.txt``, HTML or plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from formlab.benchmarks.fincriticaled import decoded
from formlab.readers.rows import Reader, Row, Source, by_name
from formlab.text.answers import plain

# Python makes no integer of more digits than some thousand.
_NAME = re.compile(r"pred_([0-9]{1,18})\.txt")


def _pages(path: Path) -> list[tuple[int, Path]]:
    """The pages in a folder by number."""
    named = ((_NAME.fullmatch(file.name), file) for file in path.glob("pred_*.txt"))
    return sorted((int(match[1]), file) for match, file in named if match)


def _read(source: Source) -> Iterator[Row]:
    """The page of each document; one that is not UTF-8 is latin-1, as in the released code."""
    pages = by_name("pages of number", _pages(source.path))
    source.files += pages.values()
    for number, file in pages.items():
        text = decoded(file, source.notes)
        # A fence stays, as the released code has it; reasoning is no part of a page.
        answer = plain(text)
        has_reasoning = "reasoning left out" in answer.changes
        value, status = (answer.value, answer.status) if has_reasoning else (text, "ok")
        page = {"role": "answer", "doc_id": str(number), "task": "text", "kind": "page"}
        yield page | {"value": value, "status": status, "origin": file.name}


FINCRITICALED = Reader(
    "fincriticaled",
    "a folder of pred_<i>.txt as in FinCriticalED",
    lambda path: bool(_pages(path)),
    _read,
)
