"""Logs of olmOCR-bench: a folder of ``{pdf}_pg{n}_repeat{k}.md`` beside tests as JSON lines.

A test is a field: for `present` its text is asked for, for `absent` nothing, and for `order` two
texts in their order. It is judged as the bench does (allenai/olmocr, olmocr/bench/tests.py): the
answer to a test that passes is what is asked for, else the passage that fits best. Tests of tables,
formulas, formats and footnotes need the bench's own rules and are not scored. A system is a
candidate, an epoch a repeat.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from rapidfuzz import fuzz

from formlab import files
from formlab.errors import DataBroken, DataMissing
from formlab.readers import samples
from formlab.readers.rows import Reader, Row, Source
from formlab.text import normalise
from formlab.trees import escape

OTHER = "tests of a type that only the harness itself can judge, not scored"
_FILE = re.compile(r"(?P<pdf>.+)_pg(?P<page>\d+)_repeat(?P<repeat>\d+)\.md$")
_TEXTS = ("present", "absent", "order")
# Of which percent of a text a passage has to have something to be shown as what was read.
_NEAR = 50
# The bench compares without bold and italics, with spaces and these characters written one way.
_MARKS = {r"<br/?>": " ", r"</?[bi]>": "", r"(\*\*|__)(.*?)\1": r"\2", r"(\*|_)(.*?)\1": r"\2"}
_MARKS[r"\s+"] = " "
_PLAIN = str.maketrans("‘’‚“”„＿–—‑‒−\u00b5", "'''\"\"\"_-----\u03bc")


class Test(msgspec.Struct):
    """One test of the bench."""

    __test__ = False
    pdf: str
    id: str
    type: str
    page: int = 1
    text: str = ""
    before: str = ""
    after: str = ""
    max_diffs: int = 0
    case_sensitive: bool = True
    first_n: int | None = None
    last_n: int | None = None


def fits(path: Path) -> bool:
    """Whether a folder holds such pages, itself or in the folders of candidates."""
    return path.is_dir() and bool(_candidates(path))


def read(source: Source) -> Iterator[Row]:
    """The rows of a folder; `DataBroken` if there are no tests beside the pages."""
    candidates, tests = _candidates(source.path), []
    home = candidates[0].resolve().parent
    for file in _test_files(home):
        for origin, line in samples.json_lines(source, file):
            with samples.reading(source, origin):
                tests.append((origin, msgspec.convert(line, Test)))
    if not source.files:
        remedy = "the folder of candidates with its *.jsonl"
        raise DataBroken("no tests beside the pages", where=home, remedy=remedy)
    listed = (sample for folder in candidates for sample in _samples(source, folder, tests))
    yield from samples.sample_rows(listed, source, home.name)


def _candidates(path: Path) -> list[Path]:
    """The folder itself if the tests stand above it or its pages in it; else those in it."""
    is_one = any(_FILE.fullmatch(file.name) for file in path.glob("*.md"))
    is_one = is_one or any(_test_files(path.resolve().parent))
    folders = [path] if is_one else sorted(folder for folder in path.iterdir() if folder.is_dir())
    return [folder for folder in folders if next(_pages(folder), None)]


def _pages(folder: Path) -> Iterator[tuple[tuple[str, int, int], Path]]:
    for file in folder.rglob("*.md"):
        if name := _FILE.fullmatch(file.relative_to(folder).as_posix()):
            yield (name["pdf"], int(name["page"]), int(name["repeat"])), file


def _test_files(folder: Path) -> Iterator[Path]:
    needed = {"pdf", "type", "id"}
    return (file for file in sorted(folder.glob("*.jsonl")) if needed <= samples.names(file))


def _samples(
    source: Source, folder: Path, tests: list[tuple[str, Test]]
) -> Iterator[samples.Sample]:
    pages = dict(_pages(folder))
    asked = [(repeat, *test) for repeat in sorted({key[2] for key in pages}) for test in tests]
    for repeat, origin, test in asked:
        pdf, is_judged = test.pdf.removesuffix(".pdf"), test.type in _TEXTS
        file = pages.get((pdf, test.page, repeat))
        source.notes[samples.MISSING] += file is None
        source.notes[OTHER] += not is_judged
        status, error, answer = "missing" if file is None else "ok", None, None
        try:
            if file and is_judged:
                # What a model wrote may be cut inside a character.
                answer = answer_to(test, files.read_bytes(file).decode("utf-8", "replace"))
        except DataMissing as fault:
            status, error = "api_error", str(fault)
        gold = {"present": test.text, "order": f"{test.before} … {test.after}"}
        columns = {"test": test.type, "max_diffs": test.max_diffs, "page": test.page}
        columns |= {"jsonl": origin.partition(":")[0], "status": "ok" if is_judged else "unscored"}
        yield samples.Sample(
            pdf,
            f"/{escape(test.id)}",
            gold=gold.get(test.type, ""),
            answer=answer,
            status=status,
            system=folder.name,
            epoch=repeat,
            request=test.id,
            origin=origin,
            call={"error": error},
            columns=columns,
        )


def answer_to(test: Test, markdown: str) -> str | None:
    """What a page has for a test: what is asked for if the bench passes it, else what it has.

    >>> answer_to(Test("a.pdf", "1", "present", text="Due", max_diffs=1), "The *total* Duo")
    'Due'
    >>> answer_to(Test("a.pdf", "1", "absent", text="Page 1"), "Total 9.00  Page 1")
    'Page 1'
    """
    page = plain(markdown)
    if test.type == "order":
        places = [_starts(plain(text), page, test.max_diffs) for text in (test.before, test.after)]
        before, after = places
        if before and after and before[0] < after[-1]:
            return f"{test.before} … {test.after}"
        found = [
            (at[0], text) for at, text in zip(places, (test.before, test.after), strict=True) if at
        ]
        return " … ".join(text for _, text in sorted(found)) or None
    text = plain(test.text)
    if test.first_n or test.last_n:
        page = page[: test.first_n or 0] + page[-test.last_n if test.last_n else len(page) :]
    read, asked = (page, text) if test.case_sensitive else (page.lower(), text.lower())
    # In a page that is shorter than the text the bench finds nothing.
    is_long = len(read) >= len(asked) - test.max_diffs
    best = fuzz.partial_ratio_alignment(asked, read) if is_long and asked else None
    is_found = best is not None and best.score / 100 >= 1 - test.max_diffs / len(asked)
    passage = page[best.dest_start : best.dest_end] if best else ""
    if test.type == "absent":
        return passage if is_found else ""
    if is_found:
        return test.text
    # A passage that is no better, or that formlab takes for the text, is none for the bench.
    is_near = best is not None and best.score >= _NEAR
    return passage if is_near and normalise(passage) != normalise(test.text) else None


def plain(markdown: str) -> str:
    """A page's text as the bench compares it.

    >>> plain("**Total**  due: *9.00*<br/>“net”")
    'Total due: 9.00 "net"'
    """
    for mark, text in _MARKS.items():
        markdown = re.sub(mark, text, markdown)
    return unicodedata.normalize("NFC", markdown).translate(_PLAIN)


def _starts(phrase: str, text: str, allowed: int) -> list[int]:
    """Where a phrase begins in a text, with at most `allowed` characters changed, added or lost."""
    # Sellers' algorithm from the right: row by row over all places of the text at once.
    letters = np.array([ord(letter) for letter in reversed(text)], dtype=np.int64)
    places = np.arange(len(letters) + 1)
    row = np.zeros(len(letters) + 1, dtype=np.int64)
    for count, letter in enumerate(reversed(phrase), start=1):
        changed = np.minimum(row[:-1] + (letters != ord(letter)), row[1:] + 1)
        row = np.minimum.accumulate(np.concatenate(([count], changed)) - places) + places
    # Of places side by side those where the least is changed.
    near = np.pad(row, allowed, constant_values=len(phrase))
    least = np.lib.stride_tricks.sliding_window_view(near, 2 * allowed + 1).min(axis=1)
    return sorted((len(text) - np.flatnonzero((row <= allowed) & (row == least))).tolist())


OLMOCR = Reader("olmocr", "olmOCR-bench's folder of pages and tests", fits, read)
