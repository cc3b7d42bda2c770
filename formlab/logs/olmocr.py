"""Logs of olmOCR-bench: a folder of ``{pdf}_pg{n}_repeat{k}.md`` beside tests as JSON lines.

A test is a field: for `present` its text is asked for, for `absent` nothing, and for `order` two
texts in their order. The answer is what stands in the page where the text fits best. Tests of
tables, formulas, formats and footnotes need the harness's own rules and are not scored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from formlab import files
from formlab.errors import DataBroken, DataMissing
from formlab.logs._peek import first_object
from formlab.logs._samples import MISSING, Row, Samples, number
from formlab.logs._spec import LogFormat, LogRun
from formlab.text import normalise
from formlab.trees import escape

OTHER = "tests of a type that only the harness itself can judge, not scored"
_FILE = re.compile(r"(?P<pdf>.+)_pg(?P<page>\d+)_repeat(?P<repeat>\d+)\.md$")
_MARKED = re.compile(r"\*\*|__|</?[bi]>|<br/?>")
_TEXTS = ("present", "absent", "order")


def detect(path: Path) -> bool:
    """Whether a folder holds such pages, itself or in the folders of candidates."""
    return path.is_dir() and bool(_candidates(path))


def read(path: Path) -> list[LogRun]:
    """The runs in a folder, one for each candidate and repeat.

    Raises
    ------
    DataBroken
        If there are no tests beside the pages.
    """
    candidates = _candidates(path)
    home = candidates[0].resolve().parent
    samples = Samples("olmocr", home.name, list(_test_files(home)))
    tests = [(origin, test) for file in samples.source for origin, test in samples.lines(file)]
    if not tests:
        what = "no tests beside the pages"
        raise DataBroken(what, where=home, remedy="the folder of candidates with its *.jsonl")
    for folder in candidates:
        pages = _pages(folder)
        for repeat in sorted({key[2] for key in pages}):
            for origin, test in tests:
                with samples.reading(origin):
                    if not {"pdf", "type", "id"} <= test.keys():
                        raise DataBroken("a test has pdf, type and id", where=origin)
                    page = pages.get((_stem(test), int(number(test.get("page")) or 1), repeat))
                    _add(samples, test, page, folder, repeat, origin)
    return samples.runs()


def _candidates(path: Path) -> list[Path]:
    """The folder itself if the tests stand above it or its pages in it; else those in it."""
    if any(_FILE.fullmatch(file.name) for file in path.glob("*.md")) or any(
        _test_files(path.resolve().parent)
    ):
        return [path] if next(_each(path), None) else []
    folders = sorted(folder for folder in path.iterdir() if folder.is_dir())
    return [folder for folder in folders if next(_each(folder), None)]


def _each(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*.md") if _FILE.fullmatch(file.name))


def _pages(folder: Path) -> dict[tuple[str, int, int], Path]:
    pages = {}
    for file in sorted(_each(folder)):
        name = _FILE.fullmatch(file.relative_to(folder).as_posix())
        if name:
            pages[name["pdf"], int(name["page"]), int(name["repeat"])] = file
    return pages


def _test_files(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.glob("*.jsonl")):
        if {"pdf", "type", "id"} <= first_object(file).keys():
            yield file


def _stem(test: Row) -> str:
    return str(test["pdf"]).removesuffix(".pdf")


def _add(
    samples: Samples, test: Row, page: Path | None, folder: Path, repeat: int, origin: str
) -> None:
    kind = str(test["type"])
    gold, answer, error = "", None, None
    if page is None:
        samples.notes[MISSING] += 1
    elif kind in _TEXTS:
        try:
            # What a model wrote may be cut inside a character.
            text = files.read_bytes(page).decode("utf-8", "replace")
            answer = _passage(test, _plain(text))
        except DataMissing as fault:
            error = str(fault)
    if kind == "order":
        gold = f"{test.get('before')} … {test.get('after')}"
    elif kind == "present":
        gold = str(test.get("text") or "")
    samples.notes[OTHER] += kind not in _TEXTS
    own = {"test": kind, "max_diffs": test.get("max_diffs"), "jsonl": origin.partition(":")[0]}
    samples.add(
        _stem(test), f"/{escape(str(test['id']))}", gold=gold, answer=answer,
        status="api_error" if error else "ok" if page else "missing", error=error, origin=origin,
        system=folder.name, epoch=repeat,
        request=test["id"], gold_status="ok" if kind in _TEXTS else "unscored",
        gold_page=int(number(test.get("page")) or 1), own=own,
    )  # fmt: skip


def _plain(markdown: str) -> str:
    """A page's text without bold, and with spaces, dashes and quotation marks written one way."""
    return normalise(_MARKED.sub("", markdown), ("nfc", "space", "dashes", "quotes"))


def _passage(test: Row, text: str) -> str:
    """The passage that a page has for a test; of several, in the order of the page."""
    phrases = [test.get("text")] if test["type"] != "order" else [test.get("before"), test["after"]]
    passages = [_best(str(phrase or ""), text) for phrase in phrases]
    if test["type"] == "absent":
        (ratio, start, end), least = passages[0], 1 - _allowed(test, str(test.get("text") or ""))
        return text[start:end] if ratio >= least else ""
    return " … ".join(text[start:end] for _, start, end in sorted(passages, key=lambda p: p[1]))


def _allowed(test: Row, text: str) -> float:
    return (number(test.get("max_diffs")) or 0) / max(len(text), 1)


def _best(phrase: str, text: str) -> tuple[float, int, int]:
    """How well, and where, a phrase fits best in a page."""
    if len(text) < len(phrase) or not phrase:
        return 0.0, 0, 0
    match: Any = fuzz.partial_ratio_alignment(phrase, text)
    return match.score / 100, match.dest_start, match.dest_end


FORMAT = LogFormat("olmocr", "olmOCR-bench's folder of pages and tests", detect, read)
