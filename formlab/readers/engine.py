"""What a cloud service or an OCR engine read in a document, as rows: keys, lines and words."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from formlab.readers.rows import Reader, Row, Source
from lxml import etree

from formlab import files
from formlab.errors import DataBroken
from formlab.readers import door
from formlab.tables import BOX
from formlab.trees import escape

Box = tuple[float, float, float, float]
# How many files of a folder are looked at to tell what they are.
_LOOKED_AT = 20
_OF_KIND = {dict: "an object", list: "a list", str: "a text"}


class Found(NamedTuple):
    """A text, its box in the unit of its page, and how sure the engine is, from 0 to 1."""

    text: str | None
    box: Box | None = None
    confidence: float | None = None
    page: int = 1
    words: tuple[Found, ...] = ()


class Page(NamedTuple):
    """A page's width and height, whether in pixels; its lines in reading order, its check marks."""

    width: float | None
    height: float | None
    in_pixels: bool
    lines: list[Found]
    marks: list[Found] = []


@dataclass
class Reading:
    """What was read in a document: values by path, pages by number; `error` if that failed."""

    values: list[tuple[str, Found]] = field(default_factory=list)
    pages: dict[int, Page] = field(default_factory=dict)
    error: str | None = None

    def add_keys(self, pairs: Iterable[tuple[str | None, Found]]) -> None:
        """Add values at their keys; those of a key that is there several times are a list."""
        listed = [(f"/{escape((key or '').strip().rstrip(' :*'))}", value) for key, value in pairs]
        counts, numbers = Counter(path for path, _ in listed), Counter[str]()
        for path, value in listed:
            self.values.append((f"{path}/{numbers[path]}" if counts[path] > 1 else path, value))
            numbers[path] += 1


def reader(
    name: str,
    title: str,
    endings: tuple[str, ...],
    is_one: Callable[[bytes], bool],
    read: Callable[[Path], Reading],
) -> Reader:
    """A reader of files of one document each, and of folders of them, by the start of a file."""

    def fits(path: Path) -> bool:
        return any(is_one(door.head(file)) for file in _files(path, endings)[0][:_LOOKED_AT])

    return Reader(name, title, fits, lambda source: _rows(source, title, endings, read))


def _files(path: Path, endings: tuple[str, ...]) -> tuple[list[Path], int]:
    """The files with these endings, and how many others there are."""
    if not path.is_dir():
        return ([path] if door.ending(path) in endings else []), 0
    visible = [f for f in path.rglob("*") if not f.is_dir() and not f.name.startswith(".")]
    chosen = sorted(file for file in visible if door.ending(file) in endings)
    return chosen, len(visible) - len(chosen)


def _rows(
    source: Source, title: str, endings: tuple[str, ...], read: Callable[[Path], Reading]
) -> Iterator[Row]:
    chosen, others = _files(source.path, endings)
    source.notes[f"files left out, which do not end in {' or '.join(endings)}"] += others
    source.files += chosen
    sizes, has_text = _sizes_and_texts(source)
    documents: dict[str, Path] = {}
    errors: list[DataBroken] = []
    for file in chosen:
        inside = file.relative_to(source.path) if file != source.path else Path(file.name)
        doc_id = inside.with_name(door.stem(file)).as_posix()
        if doc_id in documents:
            what = f"two files for document {doc_id!r}, the first {documents[doc_id].name}"
            raise DataBroken(what, where=file, remedy="keep one of them")
        documents[doc_id] = file
        try:
            reading = read(file)
        except DataBroken as error:
            errors.append(error)
            reading = Reading(error=str(error))
        base = {"doc_id": doc_id, "origin": inside.as_posix()}
        if reading.error is not None:
            source.notes[f"documents without a result of {title}"] += 1
            base |= {"task": "text", "status": "api_error"}
            yield base | {"role": "answer", "kind": "page"}
            yield base | {"role": "call", "attempts": 1, "error": reading.error[:2000]}
            continue
        rows = list(_values(reading, sizes.get(doc_id)))
        # Who reads the words as well is not asked for them where fields alone are.
        if has_text or not rows:
            rows = [*_pages(reading, sizes.get(doc_id)), *rows]
        base |= {"role": "answer", "status": "ok"}
        yield from (base | row for row in rows)
    if errors and len(errors) == len(chosen):
        raise errors[0]


def _sizes_and_texts(source: Source) -> tuple[dict[str, tuple[int, int]], bool]:
    """The size of each document's page, by its name, and whether the gold has texts of pages."""
    if source.corpus is None:
        return {}, True
    documents = source.corpus.documents.select("doc_id", "width", "height").drop_nulls()
    sizes = {}
    for doc_id, width, height in documents.iter_rows():
        sizes[doc_id] = sizes[Path(doc_id).stem] = (width, height)
    return sizes, source.corpus.records["path"].null_count() > 0


def _values(reading: Reading, size: tuple[int, int] | None) -> Iterator[Row]:
    for path, value in reading.values:
        text = None if value.text is None or not value.text.strip() else value.text.strip()
        status = {"status": "missing"} if text is None else {}
        yield {"path": path, "value": text} | _placed(value, reading.pages, size) | status


def _pages(reading: Reading, size: tuple[int, int] | None) -> list[Row]:
    """The text of all pages, and their lines and words where those of formlab's own OCR stand."""
    pages = [page for _, page in sorted(reading.pages.items())]
    lines = [line for page in pages for line in page.lines]
    marks = [mark for page in pages for mark in page.marks]
    found = [(f"/ocr/marks/{n}", "checkbox", mark) for n, mark in enumerate(marks)]
    for place, line in enumerate(lines):
        path = f"/ocr/lines/{place}"
        words = [(f"{path}/words/{n}", "word", word) for n, word in enumerate(line.words)]
        found += [(path, "line", line), *words]
    text = "\n".join(line.text or "" for line in lines)
    rows: list[Row] = [{"path": None, "kind": "page", "task": "text", "value": text}]
    for path, kind, place in found:
        row = {"path": path, "kind": kind, "task": "layout", "value": place.text}
        rows.append(row | _placed(place, reading.pages, size))
    return rows


def _placed(found: Found, pages: dict[int, Page], size: tuple[int, int] | None) -> Row:
    """Confidence, page, and a box in pixels of the gold's page; without that of the engine's."""
    row: Row = {"page": found.page, "confidence": found.confidence}
    page = pages.get(found.page)
    if found.box is None or page is None:
        return row
    scale = (1.0, 1.0)
    if page.width and page.height and (size or not page.in_pixels):
        width, height = size or (1, 1)
        scale = (width / page.width, height / page.height)
    corners = [corner * side for corner, side in zip(found.box, scale * 2, strict=True)]
    return row | dict(zip(BOX, corners, strict=True)) if all(map(math.isfinite, corners)) else row


def with_words(
    lines: Iterable[tuple[Found, list[tuple[int, int]]]], words: Iterable[tuple[int, Found]]
) -> list[Found]:
    """Lines with the words that begin in their spans of the text; other words are lines too."""
    remaining = sorted(words, key=lambda word: word[0])
    starts = [start for start, _ in remaining]
    read: list[Found] = []
    for line, spans in lines:
        inside: list[Found] = []
        for first, last in spans:
            part = slice(bisect_left(starts, first), bisect_left(starts, last))
            inside += [word for _, word in remaining[part]]
            del remaining[part], starts[part]
        read.append(line._replace(words=tuple(inside)))
    return read + [word._replace(words=(word,)) for _, word in remaining]


def member(value: Any, name: str, kind: type[Any] | None = None) -> Any:
    """A member of an object by its name in camelCase or snake_case; of `kind`, empty if absent.

    >>> member({"page_number": 1}, "pageNumber"), member({}, "pages", list)
    (1, [])
    """
    if not isinstance(value, dict):
        raise DataBroken(f"an object with {name} is expected, this is {value!r:.40}")
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
    inner = next((value[key] for key in (name, snake) if value.get(key) is not None), None)
    if kind is None:
        return inner
    if not isinstance(inner, kind | None):
        raise DataBroken(f"{name} is not {_OF_KIND[kind]} but {inner!r:.40}")
    return kind() if inner is None else inner


def number(value: Any) -> float | None:
    """A finite number, or a text of one; null for all else.

    >>> number("7"), number(True), number("1e999")
    (7.0, None, None)
    """
    try:
        found = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found is not None and math.isfinite(found) else None


def whole(value: Any, default: int) -> int:
    """A number of a page or a place in a text; `default` where there is none."""
    found = number(value)
    return default if found is None or abs(found) > 2**31 else int(found)


def around(points: Iterable[tuple[Any, Any]]) -> Box | None:
    """The upright box around points; null without two, or where one is no number."""
    numbers = [(number(x), number(y)) for x, y in points]
    if len(numbers) < 2 or any(None in point for point in numbers):
        return None
    across, down = zip(*numbers, strict=True)
    return min(across), min(down), max(across), max(down)


def read_json(path: Path) -> Any:
    """The JSON of a file."""
    text = door.read_bytes(path).decode("utf-8-sig", "replace")
    return files.parse_json(text, where=str(path))


def read_xml(path: Path, *, html: bool = False) -> etree._Element:
    """The root of an XML or HTML file; what another file or an entity would bring is not read."""
    safe: dict[str, Any] = {"no_network": True, "huge_tree": False, "remove_comments": True}
    kind = etree.HTMLParser if html else etree.XMLParser
    parser = kind(**safe) if html else kind(**safe, resolve_entities=False, load_dtd=False)
    try:
        root = etree.fromstring(door.read_bytes(path), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DataBroken(f"not readable XML: {error}", where=path) from error
    if root is None:
        raise DataBroken("not readable XML: it is empty", where=path)
    declared = root.getroottree().docinfo.internalDTD
    if not html and declared is not None and next(declared.iterentities(), None) is not None:
        raise DataBroken("XML that declares entities", where=path, remedy="take them out")
    return root
