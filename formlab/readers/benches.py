"""Logs of olmOCR-bench and docling-eval."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import polars as pl
from rapidfuzz import fuzz

from formlab import files
from formlab.readers import door, samples
from formlab.readers.engine import at
from formlab.readers.rows import Reader, Row, Source
from formlab.text import normalise
from formlab.trees import escape

_COLUMNS = ("GroundTruthDocument", "PredictedDocument", "predictor_info", "status", "document_id")
_STATUS = {"success": "ok", "partial_success": "truncated", "pending": "missing"}
OTHER = "tests of a type that only the harness itself can judge, not scored"
_FILE = re.compile(r"(?P<pdf>.+)_pg(?P<page>\d+)_repeat(?P<repeat>\d+)\.md$")
# Of which percent of a text a passage has to have something to be shown as what was read.
_NEAR = 50
# The bench compares without bold and italics, with spaces and these characters written one way.
_MARKS = {r"<br/?>": " ", r"</?[bi]>": "", r"(\*\*|__)(.*?)\1": r"\2", r"(\*|_)(.*?)\1": r"\2"}
_MARKS |= {r"\s+": " "}
_SPELT = str.maketrans("‘’‚“”„＿–—‑‒−\u00b5", "'''\"\"\"_-----\u03bc")


class Test(msgspec.Struct):
    """One test of the bench; `gold` is what a page has that passes, None where it is not judged."""

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
    first_n: int = 0
    last_n: int = 0

    @property
    def gold(self) -> str | None:
        """The text that is asked for; null for a type of test that only the bench can judge."""
        texts = {"present": self.text, "order": f"{self.before} … {self.after}", "absent": ""}
        return texts.get(self.type)


def olmocr(source: Source) -> Iterator[Row]:
    """Logs of olmOCR-bench: a folder of tests as JSON lines, and of candidates' pages below it.

    Pages are ``{candidate}/{pdf}_pg{n}_repeat{k}.md``. A test is a field: for `present` its text is
    asked for, for `absent` nothing, and for `order` two texts in their order. It is judged as the
    bench does (allenai/olmocr, olmocr/bench/tests.py): the answer to a test that passes is what is
    asked for, else the passage that fits best. Tests of tables, formulas, formats and footnotes
    need the bench's own rules and are not scored. A system is a candidate, an epoch a repeat.
    """
    home = source.path
    tests = [test for file in _test_files(home) for test in samples.json_lines(source, file)]
    pages = _pages(home)
    runs = sorted({(candidate, repeat) for candidate, _, _, repeat in pages})
    entries = ((origin, (line, *run)) for run in runs for origin, line in tests)

    def sample_of(entry: tuple[Row, str, int], _: str) -> samples.Sample:
        line, candidate, repeat = entry
        # Null is the bench's word for a limit that a test has not.
        test = msgspec.convert({n: cell for n, cell in line.items() if cell is not None}, Test)
        pdf = test.pdf.removesuffix(".pdf")
        file = pages.get((candidate, pdf, test.page, repeat))
        source.notes[samples.MISSING] += file is None
        source.notes[OTHER] += test.gold is None
        columns = {"test": test.type, "page": test.page}
        columns["status"] = "unscored" if test.gold is None else "ok"
        return samples.Sample(
            pdf,
            f"/{escape(test.id)}",
            gold=test.gold or "",
            answer=answer_to(test, door.written(file)) if file and test.gold is not None else None,
            system=candidate,
            epoch=repeat,
            request=test.id,
            columns=columns,
        )

    yield from samples.sample_rows(source, home.resolve().name, entries, sample_of)


def _test_files(folder: Path) -> list[Path]:
    needed = {"pdf", "type", "id"}
    return [file for file in sorted(folder.glob("*.jsonl")) if needed <= samples.names(file)]


def _pages(home: Path) -> dict[tuple[str, str, int, int], Path]:
    """The pages below a folder by candidate, PDF, page and repeat."""
    found = {}
    for file in filter(files.is_file, home.glob("*/**/*.md")):
        candidate, _, name = file.relative_to(home).as_posix().partition("/")
        if match := _FILE.fullmatch(name):
            found[candidate, match["pdf"], int(match["page"]), int(match["repeat"])] = file
    return found


def answer_to(test: Test, markdown: str) -> str | None:
    """What a page has for a test: what is asked for if the bench passes it, else what it has.

    >>> answer_to(Test("a.pdf", "1", "present", text="Due", max_diffs=1), "The *total* Duo")
    'Due'
    """
    page, text = _plain(markdown), _plain(test.text)
    if test.type == "order":
        first = _place(_plain(test.before), page, test.max_diffs)
        last = _place(_plain(test.after)[::-1], page[::-1], test.max_diffs)
        is_found = first is not None and last is not None
        # Seen from the end, the last place of the second text is its first.
        is_ordered = is_found and first < len(page) - last - len(_plain(test.after))
        return test.gold if is_ordered else None
    if test.first_n or test.last_n:
        page = page[: test.first_n] + page[-test.last_n if test.last_n else len(page) :]
    read, asked = (page, text) if test.case_sensitive else (page.lower(), text.lower())
    # In a page that is shorter than the text the bench finds nothing.
    is_long = len(read) >= len(asked) - test.max_diffs
    best = fuzz.partial_ratio_alignment(asked, read) if is_long and asked else None
    is_found = best is not None and best.score / 100 >= 1 - test.max_diffs / len(asked)
    passage = page[best.dest_start : best.dest_end] if best else ""
    if test.type == "absent":
        return passage if is_found else ""
    # A passage that is no better, or that formlab takes for the text, is none for the bench.
    is_near = best and best.score >= _NEAR and normalise(passage) != normalise(test.text)
    return test.text if is_found else passage if is_near else None


def _plain(markdown: str) -> str:
    for mark, text in _MARKS.items():
        markdown = re.sub(mark, text, markdown)
    return unicodedata.normalize("NFC", markdown).translate(_SPELT)


def _place(phrase: str, text: str, allowed: int) -> int | None:
    """Where a phrase first begins in a text, with at most `allowed` characters changed."""
    if phrase in text or not allowed:
        return text.index(phrase) if phrase in text else None
    best = fuzz.partial_ratio_alignment(phrase, text)
    return best.dest_start if best.score / 100 >= 1 - allowed / len(phrase) else None


def docling_eval(source: Source) -> Iterator[Row]:
    """Logs of docling-eval: Parquet shards with gold and prediction, which are Docling documents.

    The page's text is that of the body in reading order; a field is a key and the value that a
    link leads to, at ``/<key>``. Figures are in ``evaluation_<benchmark>_<modality>.json``.
    """
    path, scores = source.path.resolve(), defaultdict[str, Row](dict)
    headline, shards = [], _shards(source.path)
    for file in sorted((path if path.is_dir() else path.parent).glob("evaluation_*.json")):
        modality, stated = file.stem.rpartition("_")[2], samples.beside(source, file)
        with samples.reading(source, file.name, samples.FIGURES):
            for row in stated.get("evaluations") or ():
                named = {
                    f"{modality}/{k}": v for k, v in row.items() if k.endswith(("f1", "_bbox"))
                }
                scores[str(row.get("doc_id"))] |= named
            for key, value in stated.items():
                if key.endswith("_stats") and isinstance(value, dict) and "mean" in value:
                    scorer = f"{modality}/{key.removesuffix('_stats')}"
                    headline += [samples.figure(scorer, "mean", value["mean"], value.get("total"))]

    def sample_of(row: Row, origin: str) -> samples.Sample:
        gold, answer, info = (
            value if isinstance(value, dict) else door.decoded(value or "{}", dict, origin)
            for value in map(row.get, _COLUMNS[:3])
        )
        stated = str(row.get("status") or "success").lower().rpartition(".")[2]
        status = _STATUS.get(stated, "api_error") if answer else "api_error"
        is_read = status in ("ok", "truncated")
        return samples.Sample(
            row["document_id"],
            None,
            golds=list(_values(gold)),
            claims=[*_values(answer)] if is_read else [{"path": None, "kind": "page"}],
            answer=text_of(answer) if answer else None,
            status=status,
            scores=scores[str(row["document_id"])],
            call={"error": None if is_read else f"conversion: {stated}"},
            system=str(info.get("asset") or info.get("name") or "docling"),
        )

    source.files += shards
    # Not the images, which are most of a shard.
    names = pl.col(f"^({'|'.join(_COLUMNS)})$")
    rows = (
        (f"{shard.name}, row {count}", row)
        for shard in shards
        for count, row in enumerate(
            pl.scan_parquet(shard, glob=False).select(names).collect().to_dicts(), start=1
        )
    )
    yield from samples.sample_rows(source, door.stem(path), rows, sample_of)
    yield from headline


def _shards(path: Path) -> list[Path]:
    found = path.rglob("*.parquet") if path.is_dir() else [path]
    return sorted(f for f in found if door.ending(f) == ".parquet" and files.is_file(f))


def text_of(document: Row) -> str:
    """The text of a Docling document, in the order of its body; without headers and footers."""
    texts, nodes, seen = [], [document.get("body") or {}], set()
    while nodes:
        # Of children that lead back to what they are children of there would be no end.
        if id(node := nodes.pop()) in seen:
            continue
        seen.add(id(node))
        cells = at(node, "data", "table_cells") or ()
        texts += [str(part["text"]) for part in (node, *cells) if part.get("text")]
        for child in reversed(node.get("children") or ()):
            # A reference such as `#/texts/3`.
            _, kind, place = str(child.get("$ref")).split("/")
            nodes.append(document[kind][int(place)])
    return " ".join(texts)


def _values(document: Row) -> Iterator[Row]:
    """The text of the page, and of each value at its key; a further one of a key is numbered."""
    yield {"path": None, "kind": "page", "value": text_of(document)}
    seen = Counter[str]()
    for item in document.get("key_value_items") or ():
        cells = {cell.get("cell_id"): cell for cell in at(item, "graph", "cells") or ()}
        for link in at(item, "graph", "links") or ():
            key, value = (cells.get(link.get(f"{end}_cell_id")) for end in ("source", "target"))
            # A link may be there a second time, as seen from its value.
            if key and value and link.get("label") != "to_key":
                path = f"/{escape(str(key.get('text') or ''))}"
                number = f"/{seen[path]}" if seen[path] else ""
                seen[path] += 1
                yield {"path": path + number, "value": door.as_text(value.get("text"))}


def _is_docling_eval(path: Path) -> bool:
    with suppress(pl.exceptions.PolarsError, OSError):
        return any({*_COLUMNS[:2]} <= {*files.parquet_columns(f)} for f in _shards(path)[:1])
    return False


def _is_olmocr(path: Path) -> bool:
    return path.is_dir() and bool(_test_files(path)) and bool(_pages(path))


READERS = {
    read.__name__: Reader(read.__name__, title, fits, read)
    for title, fits, read in (
        ("docling-eval's Parquet", _is_docling_eval, docling_eval),
        ("olmOCR-bench's folder of tests and pages", _is_olmocr, olmocr),
    )
}
