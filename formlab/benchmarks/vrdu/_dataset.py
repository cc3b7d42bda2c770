"""The annotations of `dataset.jsonl`, read line by line: the OCR beside them is large."""

from __future__ import annotations

import functools
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from formlab import files
from formlab.benchmarks.vrdu._schema import UNREPEATED, Schema
from formlab.errors import DataBroken
from formlab.files import convert
from formlab.tables import BOX
from formlab.trees import escape

Row = dict[str, Any]
PUBLISHED = "the file as it is published"
NAMES = ("dataset.jsonl", "dataset.jsonl.gz")
# No page is wider, and no document has more pages.
_WIDEST = _PAGES = 1_000_000


class Annotated(NamedTuple):
    """One line of the data set without its OCR, which stands at `offset` of the unpacked file.

    `sizes` are width and height of each page where the OCR states them, else None.
    """

    name: str
    file: str | None
    annotations: list[Any]
    sizes: list[tuple[float, float] | None]
    where: str
    offset: int


class _Page(msgspec.Struct, gc=False):
    width: Any = None
    height: Any = None
    dimension: Any = None


class _Ocr(msgspec.Struct, gc=False):
    pages: list[_Page] = []


class _Line(msgspec.Struct):
    """What is read of a line; its tokens, nine tenths of it, never become objects."""

    filename: str
    annotations: list[Any]
    file_path: str | None = None
    ocr: _Ocr | None = None


_decode = msgspec.json.Decoder(_Line).decode


class _Needed(msgspec.Struct):
    filename: str
    annotations: list[Any]


def find(home: Path) -> Path | None:
    """The data set of a corpus, unpacked or not; None if it is not there."""
    return next((f for name in NAMES if files.is_file(f := home / "main" / name)), None)


def documents(path: Path) -> tuple[dict[str, Annotated], int]:
    """The documents by file name, and how many names came twice; the last one counts."""
    stat = path.stat()
    return _documents(path, stat.st_mtime_ns, stat.st_size)


# All splits of a benchmark share one file, which takes far longer to read than to score.
@functools.lru_cache(maxsize=2)
def _documents(path: Path, _changed: int, _size: int) -> tuple[dict[str, Annotated], int]:
    documents: dict[str, Annotated] = {}
    count = 0
    for number, offset, line in _lines(path):
        document = _document(line, offset, path=path, number=number)
        documents[document.name] = document
        count += 1
    if not documents:
        raise DataBroken("no documents in the file", where=path, remedy="check the download")
    return documents, count - len(documents)


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    number = offset = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(iter(partial(stream.readline, files.LARGEST), b""), 1):
                if line.strip():
                    yield number, offset, line
                offset += len(line)
    except (EOFError, OSError, zlib.error) as error:
        what = f"the file is damaged, was cut off or cannot be read: {error}"
        raise DataBroken(what, where=f"{path}:{number + 1}", remedy="download it again") from error


def _document(line: bytes, offset: int, *, path: Path, number: int) -> Annotated:
    where = f"{path.name}:{number}"
    try:
        read = _decode(line)
        pages = read.ocr.pages if read.ocr else ()
        sizes, file = [_size(msgspec.structs.asdict(page)) for page in pages], read.file_path
    except (ValueError, RecursionError):
        # Python's parser says what is wrong, and takes what only it takes, as half a character.
        at = f"{path}:{number}"
        try:
            text = line.rstrip().decode()
        except UnicodeDecodeError as error:
            raise DataBroken(f"not UTF-8: {error.reason}", where=at) from error
        value = files.parse_json(text, where=str(path), first_line=number)
        read = convert(value, _Needed, where=at, remedy=PUBLISHED)
        sizes = [_size(page) for page in member(value.get("ocr"), "pages", list) or ()]
        file = member(value, "file_path", str)
    return Annotated(read.filename, file, read.annotations, sizes, where, offset)


def member(value: Any, key: str, kind: type) -> Any:
    """The value of a key of a JSON object, if it is one and the value is of that kind."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, kind) else None


def _size(page: Any) -> tuple[float, float] | None:
    size = page.get("dimension") or page if isinstance(page, dict) else None
    if not isinstance(size, dict):
        return None
    pair = (size.get("width"), size.get("height"))
    # A width of 1 is a page measured in fractions, not in pixels.
    is_size = all(isinstance(side, int | float) and 1 < side < _WIDEST for side in pair)
    return pair if is_size else None


def records(document: Annotated, schema: Schema, flaws: Counter[str]) -> Iterator[Row]:
    """The gold records of a document: entities at ``/<name>``, line items' parts below theirs."""
    seen: Counter[str] = Counter()
    for index, annotation in enumerate(document.annotations):
        where = f"{document.where}#/annotations/{index}"
        name, entities = _shape(annotation, where)
        if isinstance(name, str):
            path = flat_path(name, schema, seen)
            flaws["unrepeated entities annotated twice"] += (
                schema.patterns.get(name) == UNREPEATED and seen[name] > 1
            )
            flaws["entities that meta.json does not know"] += name not in schema.matches
            yield _record(path, name, entities, document, where, flaws)
            continue
        yield from _line_item(name, entities, document, schema, seen, flaws, where)


def _shape(annotation: Any, where: str) -> tuple[str | tuple[str, ...], list[Any]]:
    if isinstance(annotation, list) and len(annotation) == 2:
        name, entities = annotation
        if isinstance(entities, list) and entities and isinstance(name, str):
            return name, entities
        words = isinstance(name, list) and all(isinstance(word, str) for word in name)
        if words and isinstance(entities, list) and entities and isinstance(entities[0], list):
            return tuple(name), entities[0]
    what = "an annotation is [name, [[text, box, segments], …]] or [[names], [[…]]]"
    raise DataBroken(what, where=where, remedy=PUBLISHED)


def flat_path(name: str, schema: Schema, seen: Counter[str]) -> str:
    """The path of the next entity of a name, which `seen` then counts."""
    number = seen[name]
    seen[name] += 1
    single = schema.patterns.get(name) == UNREPEATED and number == 0
    return f"/{escape(name)}" if single else f"/{escape(name)}/{number}"


def _line_item(
    names: tuple[str, ...], entities: list[Any], document: Annotated, schema: Schema,
    seen: Counter[str], flaws: Counter[str], where: str,
) -> Iterator[Row]:  # fmt: skip
    group = schema.group_of(names) or "line_item"
    flaws["line items without components"] += not names
    flaws["line items with a component that meta.json does not know"] += not set(names) <= set(
        schema.names(group)
    )
    flaws["line items with more names than values, or fewer"] += len(names) != len(entities)
    base = f"/{escape(group)}/{seen[group]}"
    seen[group] += 1
    counts: Counter[str] = Counter()
    for index, name in enumerate(names):
        path = f"{base}/{escape(name)}"
        if counts[name]:
            flaws["line items with a component twice"] += 1
            path += f"/{counts[name]}"
        counts[name] += 1
        yield _record(path, name, entities[index : index + 1], document, where, flaws)


def _record(
    path: str, name: str, entities: list[Any], document: Annotated, where: str, flaws: Counter[str]
) -> Row:
    forms, boxes, segments = [], [], []
    for entity in entities:
        if not isinstance(entity, list) or not entity or not isinstance(entity[0], str):
            what = "an entity is [text, [page, x0, y0, x1, y1], [[start, end], …]]"
            raise DataBroken(what, where=where, remedy=PUBLISHED)
        forms.append(whole(entity[0], flaws))
        boxes.append(entity[1] if len(entity) > 1 else None)
        segments.append(entity[2] if len(entity) > 2 else None)
        flaws["boxes missing or malformed"] += fractions(boxes[-1]) is None
    row: Row = {
        "path": path, "kind": name, "value": forms[0] if forms else None,
        "accepted": list(dict.fromkeys(forms[1:])), "origin": where,
        "meta": json.dumps({"boxes": boxes, "segments": segments}),
    }  # fmt: skip
    return row | placed(boxes[0] if boxes else None, document.sizes)


def whole(text: str, counts: Counter[str]) -> str:
    """`text` with each lone surrogate, which no table can hold, as U+FFFD, and counted."""
    if text.isascii():
        return text
    kept = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    counts["values with half a character, now U+FFFD"] += kept != text
    return kept


def fractions(box: Any) -> tuple[int, tuple[float, ...]] | None:
    """Page (from 0) and corners in page fractions of a published box; None if it is malformed.

    Examples
    --------
    >>> fractions([0, 0.1, 0.2, 0.3, 0.4]), fractions([0.1, 0.2, 0.3, 0.4])
    ((0, (0.1, 0.2, 0.3, 0.4)), None)
    """
    if not isinstance(box, list) or len(box) != 5:
        return None
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in box)
    if not numbers or not 0 <= box[0] < _PAGES or box[0] % 1:
        return None
    if not all(-1 <= v <= 2 for v in box[1:]):
        return None
    return int(box[0]), tuple(map(float, box[1:]))


def placed(box: Any, sizes: list[tuple[float, float] | None]) -> Row:
    """Page (from 1), and the corners in pixels where the page's size is known."""
    if (page_box := fractions(box)) is None:
        return {}
    page, corners = page_box
    size = sizes[page] if 0 <= page < len(sizes) else None
    if size is None:
        return {"page": page + 1}
    pixels = (corner * side for corner, side in zip(corners, size * 2, strict=True))
    return {"page": page + 1} | dict(zip(BOX, pixels, strict=True))
