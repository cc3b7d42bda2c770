"""What a cloud service or an OCR engine read in a document, as rows: keys, lines and words."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from lxml import etree

from formlab import files
from formlab.errors import DataBroken, FormlabError
from formlab.readers import door
from formlab.readers.answers import renames
from formlab.readers.door import number
from formlab.readers.rows import Reader, Row, Source
from formlab.tables import BOX
from formlab.trees import escape

Box = tuple[float, float, float, float]
Spans = list[tuple[int, int]]
Size = tuple[float | None, float | None]
IsOne = Callable[[bytes], Any]
# How many files of a folder are looked at to tell what they are.
_LOOKED_AT = 20


class Found(NamedTuple):
    """A text, its box in the unit of its page, and how sure the engine is, from 0 to 1."""

    text: str | None
    box: Box | None = None
    confidence: float | None = None
    page: int = 1
    words: tuple[Found, ...] = ()


class Page(NamedTuple):
    """A page's width and height, whether in pixels; its lines in reading order, its check marks."""

    size: Size
    in_pixels: bool
    lines: list[Found]
    marks: list[Found]


@dataclass
class Reading:
    """What was read in a document: values by path, and pages by number."""

    values: list[tuple[str, Found]] = field(default_factory=list)
    pages: dict[int, Page] = field(default_factory=dict)

    def rows(self, size: Size | None, *, has_text: bool) -> Iterator[Row]:
        """The values; where none is, or the gold has texts of pages, also text, lines and words."""
        for path, value in self.values:
            text = (value.text or "").strip() or None
            yield {"path": path, "value": text} | self._placed(value, size)
        if self.values and not has_text:
            return
        pages = [page for _, page in sorted(self.pages.items())]
        lines = list(chain.from_iterable(page.lines for page in pages))
        marks = chain.from_iterable(page.marks for page in pages)
        text = "\n".join(line.text or "" for line in lines)
        yield {"path": None, "kind": "page", "task": "text", "status": "ok", "value": text}
        # Where those of formlab's own OCR stand.
        found = [(f"marks/{n}", "checkbox", mark) for n, mark in enumerate(marks)]
        for count, line in enumerate(lines):
            path = f"lines/{count}"
            words = [(f"{path}/words/{n}", "word", word) for n, word in enumerate(line.words)]
            found += [(path, "line", line), *words]
        for path, kind, part in found:
            row = {"path": f"/ocr/{path}", "kind": kind, "task": "layout", "status": "ok"}
            yield row | {"value": part.text} | self._placed(part, size)

    def _placed(self, found: Found, size: Size | None) -> Row:
        """Confidence, page, and a box in pixels of the gold's page, else of the engine's."""
        row: Row = {"page": found.page, "confidence": found.confidence}
        page = self.pages.get(found.page)
        if found.box is None or page is None:
            return row
        scale = (1.0, 1.0)
        if all(page.size) and (size or not page.in_pixels):
            scale = [side / own for side, own in zip(size or (1, 1), page.size, strict=True)]
        corners = (corner * side for corner, side in zip(found.box, [*scale] * 2, strict=True))
        return row | dict(zip(BOX, corners, strict=True))


def keyed(pairs: Iterable[tuple[str | None, Found]], start: str = "") -> list[tuple[str, Found]]:
    """Values at the paths of their keys; those of a key that is there several times are a list."""
    listed = [(f"{start}/{escape((key or '').strip(' :*'))}", value) for key, value in pairs]
    counts, numbers = Counter(path for path, _ in listed), Counter[str]()
    values = []
    for path, value in listed:
        values.append((f"{path}/{numbers[path]}" if counts[path] > 1 else path, value))
        numbers[path] += 1
    return values


def reader(
    name: str, title: str, endings: tuple[str, ...], is_one: IsOne, read: Callable[[Path], Reading]
) -> Reader:
    """A reader of files of one document each, and of folders of them, by the start of a file."""

    def fits(path: Path) -> bool:
        return any(is_one(door.head(file)) for file in _files(path, endings)[0][:_LOOKED_AT])

    return Reader(name, title, fits, lambda source: _rows(source, title, endings, read))


def _files(path: Path, endings: tuple[str, ...]) -> tuple[list[Path], int]:
    """The files with these endings, and how many others there are."""
    below = path.rglob("*") if path.is_dir() else [path]
    visible = [file for file in below if file.name[0] != "."]
    # What is called as a result and is no file is a document that cannot be read.
    chosen = sorted(file for file in visible if door.ending(file) in endings)
    return chosen, sum(not file.is_dir() for file in set(visible) - {*chosen})


def _rows(
    source: Source, title: str, endings: tuple[str, ...], read: Callable[[Path], Reading]
) -> Iterator[Row]:
    source.files, others = _files(source.path, endings)
    source.notes[f"files left out, which do not end in {' or '.join(endings)}"] += others
    sizes, has_text, errors = {}, True, []
    documents = _documents(source)
    if source.corpus is not None:
        pages = source.corpus.documents.select("doc_id", "width", "height").drop_nulls()
        sizes = pages.rows_by_key("doc_id", unique=True)
        records = source.corpus.records.filter(pl.col("path").is_null())
        has_text = records["value"].null_count() < records.height
    for doc_id, file in documents.items():
        base = {"role": "answer", "doc_id": doc_id}
        try:
            rows = list(read(file).rows(sizes.get(doc_id), has_text=has_text))
        except FormlabError as error:
            errors.append(error)
            base |= {"task": "text", "status": "api_error"}
            yield base | {"role": "call", "error": str(error)[:2000]}
            rows = [{"kind": "page"}]
        yield from (base | {"origin": file.name} | row for row in rows)
    source.notes[f"files without a readable result of {title}"] += len(errors)
    if len(errors) == len(documents):
        raise errors[0]


def _documents(source: Source) -> dict[str, Path]:
    """The file of each document, by the gold's name."""
    named: dict[str, Path] = {}
    for file in source.files:
        inside = file.relative_to(source.path if source.path.is_dir() else source.path.parent)
        doc_id = inside.with_name(door.stem(file)).as_posix()
        if doc_id in named:
            what = f"two files for document {doc_id!r}, the first {named[doc_id].name}"
            raise DataBroken(what, where=file, remedy="keep one of them")
        named[doc_id] = file
    if source.corpus is None:
        return named
    other = renames(pl.Series(list(named), dtype=pl.String), source.corpus.documents["doc_id"])
    source.notes["documents named by their files"] += len(other)
    return {other.get(name, name): file for name, file in named.items()}


def with_words(
    lines: Iterable[tuple[Found, Spans]], words: Iterable[tuple[Found, Spans]]
) -> list[Found]:
    """Lines with the words that begin in their spans of the text; other words are lines too."""
    starts = [(spans[0][0] if spans else -1, word) for word, spans in words]
    starts.sort(key=lambda start: start[0])
    read: list[Found] = []
    for line, spans in lines:
        inside: list[Found] = []
        for span in spans:
            first, last = (bisect_left(starts, place, key=lambda start: start[0]) for place in span)
            inside += [word for _, word in starts[first:last]]
            del starts[first:last]
        read.append(line._replace(words=tuple(inside)))
    return read + [word._replace(words=(word,)) for _, word in starts]


def member(value: Any, name: str, kind: type[Any] | None = None) -> Any:
    """A member of an object by its name in camelCase or snake_case; of `kind`, empty if absent.

    >>> member({"page_number": 1}, "pageNumber"), member({}, "pages", list)
    (1, [])
    """
    if not isinstance(value, dict):
        raise DataBroken(f"an object with {name} is expected, this is {value!r:.40}")
    inner = value.get(name)
    if inner is None:
        inner = value.get("".join(f"_{c.lower()}" if c.isupper() else c for c in name))
    if kind is None or isinstance(inner, kind):
        return inner
    if inner is not None:
        raise DataBroken(f"{name} is no {kind.__name__} but {inner!r:.40}")
    return kind()


def whole(value: Any, default: int = 1) -> int:
    """The number of a page, or a place in a text."""
    found = number(value)
    return default if found is None else int(found)


def around(points: Iterable[tuple[Any, Any]]) -> Box | None:
    """The upright box around points; null without two, or where one is no number."""
    numbers = [(number(x), number(y)) for x, y in points]
    if len(numbers) < 2 or any(None in point for point in numbers):
        return None
    across, down = zip(*numbers, strict=True)
    return min(across), min(down), max(across), max(down)


def sized(*sides: Any) -> Box | None:
    """The box of a left and top corner, a width and a height; null where one is no number."""
    left, top, width, height = map(number, sides)
    return None if None in (left, top, width, height) else (left, top, left + width, top + height)


def read_json(path: Path) -> Any:
    """The JSON of a file."""
    text = door.read_bytes(path).decode("utf-8-sig", "replace")
    return files.parse_json(text, where=str(path))


def read_xml(path: Path, root: str = "") -> etree._Element:
    """The root of an XML file, which has that name, or of HTML; entities are not taken in."""
    safe: dict[str, Any] = {"no_network": True, "huge_tree": False, "remove_comments": True}
    if root:
        parser: Any = etree.XMLParser(resolve_entities=False, load_dtd=False, **safe)
    else:
        # Without a declaration libxml2 takes HTML for Latin-1.
        parser = etree.HTMLParser(encoding="utf-8", **safe)
    try:
        tree = etree.fromstring(door.read_bytes(path), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DataBroken(f"not readable XML: {error}", where=path) from error
    if tree is None:
        raise DataBroken("no element in it", where=path)
    declared = tree.getroottree().docinfo.internalDTD if root else None
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise DataBroken("XML that declares entities", where=path, remedy="take them out")
    if root and etree.QName(tree).localname != root:
        raise DataBroken(f"the root is {tree.tag:.80}, not {root}", where=path)
    return tree
