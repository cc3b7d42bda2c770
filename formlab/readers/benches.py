"""Logs of olmOCR-bench and docling-eval."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
from rapidfuzz import fuzz

from formlab import files
from formlab.readers import Reader, Row, Source, door, samples
from formlab.readers.door import as_text, at
from formlab.readers.samples import Sample, sample_rows
from formlab.trees import escape

_DOCLING = ("GroundTruthDocument", "PredictedDocument", "predictor_info", "status", "document_id")
_STATUS = {"success": "ok", "partial_success": "truncated", "pending": "missing"}
OTHER = "tests of a type that only the harness itself can judge, not scored"
_PAGE = re.compile(r"([^/]+)/(.+)_pg(\d+)_repeat(\d+)\.md")
_TEST = {"page": 1, "max_diffs": 0, "case_sensitive": True, "first_n": 0, "last_n": 0}
_TEST |= dict.fromkeys(("text", "before", "after"), "")
# The bench compares without bold and italics, with spaces and these characters written one way.
_MARKS = {r"<br/?>": " ", r"</?[bi]>": "", r"(\*\*|__)(.*?)\1": r"\2", r"(\*|_)(.*?)\1": r"\2"}
_MARKS |= {r"\s+": " "}
_SPELT = str.maketrans("‘’‚“”„＿–—‑‒−\u00b5", "'''\"\"\"_-----\u03bc")


def docling_eval(source: Source) -> Iterator[Row]:
    """docling-eval's Parquet"""
    path, scores, shards = source.path.resolve(), defaultdict[str, Row](dict), _shards(source.path)
    stated = []
    for file in sorted((path if path.is_dir() else path.parent).glob("evaluation_*.json")):
        modality, content = file.stem.rpartition("_")[2], samples.beside(source, file)
        with samples.reading(source, file.name, samples.FIGURES):
            for row in content.get("evaluations") or ():
                scores[str(row.get("doc_id"))] |= {
                    f"{modality}/{k}": v for k, v in row.items() if k.endswith(("f1", "_bbox"))
                }
            for key, value in content.items():
                if key.endswith("_stats") and isinstance(value, dict) and "mean" in value:
                    scorer = f"{modality}/{key.removesuffix('_stats')}"
                    stated.append(samples.figure(scorer, "mean", value["mean"], value.get("total")))

    def sample_of(row: Row, origin: str) -> Sample:
        gold, answer, info = (
            value if isinstance(value, dict) else door.decoded(value or "{}", dict, origin)
            for value in map(row.get, _DOCLING[:3])
        )
        outcome = str(row.get("status") or "success").lower().rpartition(".")[2]
        status = _STATUS.get(outcome, "api_error") if answer else "api_error"
        is_read, read = status in ("ok", "truncated"), _values_of(answer)
        return Sample(
            row["document_id"],
            None,
            golds=_values_of(gold),
            claims=read if is_read else [{"path": None, "kind": "page"}],
            answer=read[0]["value"] if answer else None,
            status=status,
            scores=scores[str(row["document_id"])],
            call={"error": None if is_read else f"conversion: {outcome}"},
            system=str(info.get("asset") or info.get("name") or "docling"),
        )

    def rows() -> Iterator[tuple[str, Row]]:
        for shard in shards:
            # Not the images, which are most of a shard.
            columns = pl.col(f"^({'|'.join(_DOCLING)})$")
            table = pl.scan_parquet(shard, glob=False).select(columns).collect()
            for count, row in enumerate(table.iter_rows(named=True), start=1):
                yield f"{shard.name}, row {count}", row

    source.files += shards
    return sample_rows(source, door.stem(path), rows(), sample_of, stated)


def _shards(path: Path) -> list[Path]:
    found = path.rglob("*.parquet") if path.is_dir() else [path]
    return sorted(f for f in found if door.ending(f) == ".parquet" and files.is_file(f))


def _values_of(document: Row) -> list[Row]:
    """The text of a Docling document in the order of its body, and each value at its key."""
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
    rows, counts = [{"path": None, "kind": "page", "value": " ".join(texts)}], Counter[str]()
    for item in document.get("key_value_items") or ():
        cells = {cell.get("cell_id"): cell for cell in at(item, "graph", "cells") or ()}
        for link in at(item, "graph", "links") or ():
            key, value = (cells.get(link.get(f"{end}_cell_id")) for end in ("source", "target"))
            # A link may be there a second time, as seen from its value.
            if key and value and link.get("label") != "to_key":
                path = f"/{escape(str(key.get('text') or ''))}"
                number = f"/{counts[path]}" if counts[path] else ""
                counts[path] += 1
                rows.append({"path": path + number, "value": as_text(value.get("text"))})
    return rows


def olmocr(source: Source) -> Iterator[Row]:
    """olmOCR-bench's folder of tests and pages"""
    home, pages = source.path, _pages(source.path)
    tests = [test for file in _test_files(home) for test in samples.json_lines(source, file)]
    runs = sorted({(candidate, repeat) for candidate, _, _, repeat in pages})
    entries = ((origin, (line, *run)) for run in runs for origin, line in tests)

    def sample_of(entry: tuple[Row, str, int], _: str) -> Sample:
        line, candidate, repeat = entry
        # Null is the bench's word for a limit that a test has not.
        test = _TEST | {name: cell for name, cell in line.items() if cell is not None}
        pdf, gold = test["pdf"].removesuffix(".pdf"), _gold_of(test)
        file = pages.get((candidate, pdf, test["page"], repeat))
        source.notes[samples.MISSING] += file is None
        source.notes[OTHER] += gold is None
        return Sample(
            pdf,
            f"/{escape(test['id'])}",
            gold=gold or "",
            answer=_answer_to(test, gold, door.written(file))
            if file and gold is not None
            else None,
            system=candidate,
            epoch=repeat,
            request=test["id"],
            columns={"test": test["type"], "page": test["page"]}
            | {"status": "unscored" if gold is None else "ok"},
        )

    return sample_rows(source, home.resolve().name, entries, sample_of)


def _test_files(folder: Path) -> list[Path]:
    needed = {"pdf", "type", "id"}
    return [file for file in sorted(folder.glob("*.jsonl")) if needed <= samples.names(file)]


def _pages(home: Path) -> dict[tuple[str, str, int, int], Path]:
    """The pages below a folder by candidate, PDF, page and repeat."""
    found = filter(files.is_file, home.glob("*/**/*.md"))
    named = ((_PAGE.fullmatch(file.relative_to(home).as_posix()), file) for file in found)
    return {(m[1], m[2], int(m[3]), int(m[4])): file for m, file in named if m}


def _gold_of(test: Row) -> str | None:
    """The text that is asked for; null for a type of test that only the bench can judge."""
    order = f"{test['before']} … {test['after']}"
    return {"present": test["text"], "order": order, "absent": ""}.get(test["type"])


# As the bench judges: allenai/olmocr, olmocr/bench/tests.py.
def _answer_to(test: Row, gold: str, markdown: str) -> str | None:
    """What is asked for, if a page passes a test; else the text that should be absent, or null."""
    page, text, most = _plain(markdown), _plain(test["text"]), test["max_diffs"]
    if test["type"] == "order":
        before, after = _plain(test["before"]), _plain(test["after"])
        # Seen from the end, the last place of the second text is its first.
        first, last = _place(before, page, most), _place(after[::-1], page[::-1], most)
        is_ordered = None not in (first, last) and first < len(page) - last - len(after)
        return gold if is_ordered else None
    if test["first_n"] or test["last_n"]:
        page = page[: test["first_n"]] + page[-test["last_n"] if test["last_n"] else len(page) :]
    read, asked = (page, text) if test["case_sensitive"] else (page.lower(), text.lower())
    is_found = _place(asked, read, most) is not None
    return test["text"] if is_found else {"absent": ""}.get(test["type"])


def _plain(markdown: str) -> str:
    for mark, text in _MARKS.items():
        markdown = re.sub(mark, text, markdown)
    return unicodedata.normalize("NFC", markdown).translate(_SPELT)


def _place(phrase: str, text: str, allowed: int) -> int | None:
    """Where a phrase first begins in a text, with at most `allowed` characters changed."""
    if phrase in text or not allowed or len(text) < len(phrase) - allowed:
        return text.index(phrase) if phrase in text else None
    best = fuzz.partial_ratio_alignment(phrase, text)
    return best.dest_start if best.score / 100 >= 1 - allowed / len(phrase) else None


def _is_docling_eval(path: Path) -> bool:
    with suppress(pl.exceptions.PolarsError, OSError):
        scans = (pl.scan_parquet(file, glob=False) for file in _shards(path)[:1])
        return any({*_DOCLING[:2]} <= {*scan.collect_schema()} for scan in scans)
    return False


_FITS = {docling_eval: _is_docling_eval}
_FITS[olmocr] = lambda path: path.is_dir() and bool(_test_files(path)) and bool(_pages(path))
# What each reads is its title.
READERS = {r.__name__: Reader(r.__name__, r.__doc__, fits, r) for r, fits in _FITS.items()}
