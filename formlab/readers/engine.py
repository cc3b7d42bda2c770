"""What a cloud service or an OCR engine read in a document, as rows: keys, lines and words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from formlab import files
from formlab.errors import DataBroken, FormlabError
from formlab.readers import door
from formlab.readers.answers import renames
from formlab.readers.door import Box, number, written
from formlab.readers.rows import ODD, Reader, Row, Source, by_name
from formlab.tables import BOX
from formlab.trees import escape

Spans = list[tuple[int, int]]
# How many files of a folder are looked at to tell what they are.
_LOOKED_AT = 20


class Found(NamedTuple):
    """A text, its box in the unit of its page, and how sure the engine is, from 0 to 1."""

    text: str | None
    box: Box | None = None
    confidence: float | None = None
    page: int = 1
    words: tuple[Found, ...] = ()


@dataclass
class Page:
    """Width and height of a page, whether in pixels; its lines in reading order."""

    size: tuple[float | None, float | None] = (1, 1)
    in_pixels: bool = False
    lines: list[Found] = field(default_factory=list)


@dataclass
class Reading:
    """What was read in a document: values by path, and pages by number."""

    values: list[tuple[str, Found]] = field(default_factory=list)
    pages: dict[int, Page] = field(default_factory=dict)

    def rows(self, size: tuple[int, int] | None, *, has_text: bool) -> Iterator[Row]:
        """The values; where none is, or the gold has texts of pages, also text, lines and words."""
        for path, value in self.values:
            row = {"path": path, "value": (value.text or "").strip() or None}
            yield row | self._place(value, size)
        if self.values and not has_text:
            return
        lines = [line for number in sorted(self.pages) for line in self.pages[number].lines]
        text = "\n".join(line.text or "" for line in lines)
        yield {"path": None, "kind": "page", "task": "text", "status": "ok", "value": text}
        for path, line in ((f"/ocr/lines/{count}", line) for count, line in enumerate(lines)):
            words = ((f"{path}/words/{count}", "word", w) for count, w in enumerate(line.words))
            for place, kind, part in ((path, "line", line), *words):
                row = {"path": place, "kind": kind, "task": "layout", "status": "ok"}
                yield row | {"value": part.text} | self._place(part, size)

    def _place(self, found: Found, size: tuple[int, int] | None) -> Row:
        """Confidence, page, and a box in pixels of the gold's page, else of the engine's."""
        row: Row = {"page": found.page, "confidence": found.confidence}
        page = self.pages.get(found.page)
        if found.box is None or page is None:
            return row
        scale = (1.0, 1.0)
        if all(page.size) and (size or not page.in_pixels):
            scale = [side / own for side, own in zip(size or scale, page.size, strict=True)]
        corners = zip(found.box, (*scale, *scale), strict=True)
        return row | dict(zip(BOX, (corner * by for corner, by in corners), strict=True))


def reader(
    name: str, title: str, endings: tuple[str, ...], mark: bytes, read: Callable[[Any], Reading]
) -> Reader:
    """A reader of files of one document each, and of folders of them, which have `mark` in them.

    What is `read` is the value of a JSON file, of others the path.
    """
    in_start = re.compile(mark).search

    def listed(path: Path) -> tuple[list[Path], int]:
        """The files that are read, and how many others there are."""
        below = path.rglob("*") if path.is_dir() else [path]
        visible = {file for file in below if file.name[0] != "."}
        # What is called as a result and is no file is a document that cannot be read.
        chosen = sorted(file for file in visible if door.ending(file) in endings)
        return chosen, sum(not file.is_dir() for file in visible.difference(chosen))

    def fits(path: Path) -> bool:
        return any(in_start(door.head(file)) for file in listed(path)[0][:_LOOKED_AT])

    def read_file(file: Path) -> Reading:
        is_json = endings == (".json",)
        reading = read(files.parse_json(written(file), where=str(file)) if is_json else file)
        if not reading.values and not reading.pages:
            start = " ".join(written(file)[:200].split())
            raise DataBroken(f"neither pages nor values: {start}", where=file)
        return reading

    def rows(source: Source) -> Iterator[Row]:
        source.files, others = listed(source.path)
        source.notes[f"files left out, which do not end in {' or '.join(endings)}"] += others
        home = source.path if source.path.is_dir() else source.path.parent
        paths = [file.relative_to(home).with_name(door.stem(file)) for file in source.files]
        named = zip((path.as_posix() for path in paths), source.files, strict=True)
        documents = by_name("files for document", named)
        sizes, renamed, has_text, errors = {}, {}, True, []
        if (corpus := source.corpus) is not None:
            sides = corpus.documents.select("doc_id", "width", "height").drop_nulls()
            sizes = sides.rows_by_key("doc_id", unique=True)
            texts = corpus.records.filter(pl.col("path").is_null())["value"]
            has_text = texts.null_count() < len(texts)
            names = pl.Series([*documents], dtype=pl.String)
            renamed = renames(names, corpus.documents["doc_id"])
            source.notes["documents named by their files"] += len(renamed)
        for name, file in documents.items():
            doc_id = renamed.get(name, name)
            base = {"role": "answer", "doc_id": doc_id, "origin": file.name}
            try:
                found = list(read_file(file).rows(sizes.get(doc_id), has_text=has_text))
            except ODD as error:
                if not isinstance(error, FormlabError):
                    error = DataBroken(f"not laid out as {title}: {error!r:.200}", where=file)
                errors.append(error)
                base |= {"task": "text", "status": "api_error"}
                found = [{"kind": "page"}, {"role": "call", "error": str(error)[:2000]}]
            yield from (base | row for row in found)
        source.notes[f"files without a readable result of {title}"] += len(errors)
        if len(errors) == len(documents):
            raise errors[0]

    return Reader(name, title, fits, rows)


def keyed(pairs: Iterable[tuple[str | None, Found]], start: str = "") -> list[tuple[str, Found]]:
    """Values at the paths of their keys; those of a key that is there several times are a list."""
    listed = [(f"{start}/{escape((key or '').strip(' :*'))}", value) for key, value in pairs]
    return list(zip(numbered([path for path, _ in listed]), (v for _, v in listed), strict=True))


def numbered(paths: list[str], lists: Iterable[str] = ()) -> list[str]:
    """Paths as they are; those there several times, or that are of `lists`, with a number."""
    several, places = {path for path, n in Counter(paths).items() if n > 1} | {*lists}, Counter()
    found = []
    for path in paths:
        found.append(f"{path}/{places[path]}" if path in several else path)
        places[path] += 1
    return found


def lines_of(page: Any, words: str, found: Callable[[Any], tuple[Found, Spans]]) -> list[Found]:
    """The lines of a page with the words that begin in their spans; other words are lines too."""
    lines, parts = (list(map(found, at(page, name) or ())) for name in ("lines", words))
    starts = sorted((*span, count) for count, (_, spans) in enumerate(lines) for span in spans)
    inside, others = defaultdict[int, list[Found]](list), []
    for word, spans in parts:
        place = spans[0][0] if spans else -1
        before = bisect_right(starts, place, key=lambda start: start[0])
        _, end, count = starts[before - 1] if before else (0, 0, 0)
        if place < end:
            inside[count].append(word)
        else:
            others.append(word._replace(words=(word,)))
    whole = [line._replace(words=tuple(inside[count])) for count, (line, _) in enumerate(lines)]
    return whole + others


def at(value: Any, *names: str) -> Any:
    """The member of a member and so on, by names in camelCase or snake_case; None where none is."""
    for name in names:
        if value is not None:
            inner = value.get(name)
            value = value.get(re.sub("(?=[A-Z])", "_", name).lower()) if inner is None else inner
    return value


def whole(value: Any, default: int = 1) -> int:
    """The number of a page, or a place in a text."""
    return default if (found := number(value)) is None else int(found)


def sized(*sides: Any) -> Box | None:
    """The box of a left and top corner, a width and a height; null where one is no number."""
    left, top, width, height = map(number, sides)
    return None if None in (left, top, width, height) else (left, top, left + width, top + height)
