"""What a cloud service or an OCR engine read in a document, as rows: keys, lines and words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files
from formlab.errors import DataBroken, FormlabError
from formlab.readers import door
from formlab.readers.answers import renames
from formlab.readers.door import Box, number, written
from formlab.readers.rows import ODD, Reader, Row, Source, by_name, leaves
from formlab.tables import BOX

# How many files of a folder are looked at to tell what they are.
_LOOKED_AT = 20


@dataclass
class Found:
    """A text, its box in the unit of its page, and how sure the engine is, from 0 to 1.

    `spans` are where its parts begin and end in the text of the document.
    """

    text: str | None
    box: Box | None = None
    confidence: float | None = None
    page: int = 1
    words: list[Found] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Reading:
    """What was read in a document: `Found` values in an object or list, lines in reading order.

    `sizes` are width and height of each page in the unit of its boxes, which may be shares.
    """

    values: Any = None
    lines: list[Found] = field(default_factory=list)
    sizes: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def rows(self, size: tuple[int, int] | None, *, has_text: bool) -> Iterator[Row]:
        """The values; where none is, or the gold has texts of pages, also text, lines and words.

        Boxes are in pixels of the gold's page, whose `size` that is, else as the engine has them.
        """

        def placed(part: Found, row: Row) -> Row:
            sides = self.sizes.get(part.page, (1, 1))
            scale = [1.0, 1.0]
            if size and all(sides):
                scale = [side / own for side, own in zip(size, sides, strict=True)]
            box = [
                corner * by for corner, by in zip(part.box or (), [*scale, *scale], strict=False)
            ]
            row |= {"page": part.page, "confidence": part.confidence}
            return row | dict(zip(BOX, box, strict=False))

        for path, value in leaves(self.values) if self.values else ():
            yield placed(value, {"path": path, "value": (value.text or "").strip() or None})
        if self.values and not has_text:
            return
        page = {"path": None, "kind": "page", "task": "text", "status": "ok"}
        yield page | {"value": "\n".join(line.text or "" for line in self.lines)}
        for path, line in ((f"/ocr/lines/{count}", line) for count, line in enumerate(self.lines)):
            words = ((f"{path}/words/{count}", "word", w) for count, w in enumerate(line.words))
            for place, kind, part in ((path, "line", line), *words):
                row = {"path": place, "kind": kind, "task": "layout", "status": "ok"}
                yield placed(part, row | {"value": part.text})


def reader(
    name: str, title: str, endings: tuple[str, ...], mark: bytes, read: Callable[[Any], Reading]
) -> Reader:
    """A reader of files of one document each, and of folders of them, which have `mark` in them.

    What is `read` is the value of a JSON file, of others the path.
    """
    in_start = re.compile(mark).search

    def listed(path: Path) -> list[Path]:
        below = sorted(path.rglob("*")) if path.is_dir() else [path]
        return [file for file in below if file.name[0] != "." and door.ending(file) in endings]

    def fits(path: Path) -> bool:
        return any(in_start(door.head(file)) for file in listed(path)[:_LOOKED_AT])

    def read_file(file: Path) -> Reading:
        is_json = endings == (".json",)
        reading = read(files.parse_json(written(file), where=str(file)) if is_json else file)
        if not reading.values and not reading.sizes:
            start = " ".join(written(file)[:200].split())
            raise DataBroken(f"neither pages nor values: {start}", where=file)
        return reading

    def rows(source: Source) -> Iterator[Row]:
        source.files, path, corpus = listed(source.path), source.path, source.corpus
        home = path if path.is_dir() else path.parent
        paths = [file.relative_to(home).with_name(door.stem(file)) for file in source.files]
        named = zip(map(Path.as_posix, paths), source.files, strict=True)
        documents, errors = by_name("files for document", named), []
        sizes, renamed, has_text = {}, {}, True
        if corpus is not None:
            sides = corpus.documents.select("doc_id", "width", "height").drop_nulls()
            sizes = sides.rows_by_key("doc_id", unique=True)
            has_text = corpus.records.filter(pl.col("path").is_null())["value"].count() > 0
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


def keyed(pairs: Iterable[tuple[str | None, Any]]) -> dict[str, Any]:
    """Values by their keys; those of a key that is there several times, and objects, are a list."""
    found = defaultdict[str, list[Any]](list)
    for key, value in pairs:
        found[(key or "").strip(" :*")].append(value)
    is_list = {key: len(v) > 1 or isinstance(v[0], dict) for key, v in found.items()}
    return {key: values if is_list[key] else values[0] for key, values in found.items()}


def lines_of(lines: list[Found], words: list[Found]) -> list[Found]:
    """Lines with the words that begin in their spans of the text; other words are lines too."""
    strangers = []
    for word in words:
        start = word.spans[0][0] if word.spans else -1
        around = (n for n in lines if any(low <= start < up for low, up in n.spans))
        line = next(around, None) or replace(word)
        line.words.append(word)
        strangers += [line] if line.spans is word.spans else []
    return lines + strangers


def at(value: Any, *names: str) -> Any:
    """The member of a member and so on, by names in camelCase or snake_case; None where none is."""
    for name in names:
        if value is not None:
            inner = value.get(name)
            value = value.get(re.sub("(?=[A-Z])", "_", name).lower()) if inner is None else inner
    return value


def integer(value: Any, default: int = 1) -> int:
    """The number of a page, or a place in a text."""
    return default if (found := number(value)) is None else int(found)


def sized(*sides: Any) -> Box | None:
    """The box of a left and top corner, a width and a height; null where one is no number."""
    left, top, width, height = map(number, sides)
    return None if None in (left, top, width, height) else (left, top, left + width, top + height)
