"""Annotations of `dataset.jsonl`, the OCR beside them, and labels that may stand in for them."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from formlab import files
from formlab.benchmarks.corpus import Row, meta_of
from formlab.errors import DataBroken, GoldInDoubt
from formlab.tables import BOX
from formlab.trees import escape

if TYPE_CHECKING:
    from formlab.benchmarks.vrdu import Schema

PUBLISHED = "the file as it is published"
NAMES = ("dataset.jsonl", "dataset.jsonl.gz")
# The labels of DeepForm 2020, a gold for ad-buy forms whose annotations are not at hand.
LABELS, _KEY = "deepform-2020-labels.csv", "file_id"
# No page is wider, and no document has more pages.
_LARGEST = 1_000_000
_PAGE = Annotated[float, msgspec.Meta(ge=0, lt=_LARGEST, multiple_of=1)]
_CORNER = Annotated[float, msgspec.Meta(ge=-1, le=2)]
_BOX = tuple[_PAGE, _CORNER, _CORNER, _CORNER, _CORNER]
_LOCK = threading.Lock()


class Entity(msgspec.Struct, array_like=True):
    """A value as annotated or answered, its box and its places in the text."""

    text: str
    box: Any = None
    segments: Any = None


class _Page(msgspec.Struct, gc=False):
    width: Any = None
    height: Any = None
    dimension: _Page | None = None


class _Ocr(msgspec.Struct, gc=False):
    pages: list[_Page] | None = None


class Document(msgspec.Struct):
    """One line of the data set; its tokens, nine tenths of it, never become objects.

    `place` is file and line; the text of the line stands at `offset` of the unpacked file.
    """

    filename: str
    annotations: list[Any]
    ocr: _Ocr | None = None
    place: str = ""
    offset: int = 0

    @property
    def sizes(self) -> list[tuple[float, float] | None]:
        """Width and height of each page where the OCR states them, else None."""
        pages = (page.dimension or page for page in (self.ocr and self.ocr.pages) or ())
        # A width of 1 is a page measured in fractions, not in pixels.
        return [
            size if all(isinstance(n, int | float) and 1 < n < _LARGEST for n in size) else None
            for size in ((page.width, page.height) for page in pages)
        ]


def find(home: Path) -> Path | None:
    """The data set of a corpus, unpacked or not; None if it is not there."""
    return next((f for name in NAMES if files.is_file(f := home / "main" / name)), None)


# All splits of a benchmark share one file, which takes far longer to read than to score.
@lru_cache(maxsize=2)
def documents(path: Path, _sha256: str) -> tuple[dict[str, Document], int]:
    """The documents by file name, and how many names came twice; the last one counts."""
    by_name, twice, number, offset = dict[str, Document](), 0, 0, 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(iter(partial(stream.readline, files.LARGEST), b""), 1):
                if line.strip():
                    how = {"where": str(path), "first_line": number, "remedy": PUBLISHED}
                    read = files.parse_json(line.decode(), Document, **how)
                    read.place, read.offset = f"{path.name}:{number}", offset
                    twice += read.filename in by_name
                    by_name[read.filename] = read
                offset += len(line)
    except UnicodeDecodeError as error:
        raise DataBroken(f"not UTF-8: {error.reason}", where=f"{path}:{number}") from error
    except (EOFError, OSError, zlib.error) as error:
        what = f"the file is damaged, was cut off or cannot be read: {error}"
        raise DataBroken(what, where=f"{path}:{number + 1}", remedy="download it again") from error
    if not by_name:
        raise DataBroken("no documents in the file", where=path, remedy="check the download")
    return by_name, twice


def records(document: Document, schema: Schema, flaws: Counter[str]) -> Iterator[Row]:
    """The gold records of a document: entities at ``/<name>``, line items' parts below theirs."""
    seen: Counter[str] = Counter()
    for index, annotation in enumerate(document.annotations):
        where, parts = f"{document.place}#/annotations/{index}", list[tuple[str, str, list[Any]]]()
        match annotation:
            case [str() as name, [_, *_] as entities]:
                parts.append((schema.path(name, seen), name, entities))
                is_again = schema.patterns.get(name) == "unrepeated" and seen[name] > 1
                flaws["unrepeated entities annotated twice"] += is_again
                flaws["entities that meta.json does not know"] += name not in schema.matches
            case [[*names], [[*entities], *_]] if all(isinstance(name, str) for name in names):
                # The line item that knows most of the names.
                known = {group: len({*names} & {*schema.names(group)}) for group in schema.groups}
                group = max(known, key=known.__getitem__) if any(known.values()) else "line_item"
                is_known = set(names) <= set(schema.names(group))
                is_even = len(names) == len(entities)
                flaws["line items without components"] += not names
                flaws["line items with a component that meta.json does not know"] += not is_known
                flaws["line items with more names than values, or fewer"] += not is_even
                flaws["line items with a component twice"] += len(names) - len({*names})
                base, counts = f"/{escape(group)}/{seen[group]}", Counter[str]()
                seen[group] += 1
                for place, name in enumerate(names):
                    again = f"/{counts[name]}" if counts[name] else ""
                    counts[name] += 1
                    path = f"{base}/{escape(name)}{again}"
                    parts.append((path, name, entities[place : place + 1]))
            case _:
                what = "an annotation is [name, [[text, box, segments], …]] or [[names], [[…]]]"
                raise DataBroken(what, where=where, remedy=PUBLISHED)
        for path, name, listed in parts:
            surfaces = files.convert(listed, list[Entity], where=where, remedy=PUBLISHED)
            # The first surface form is the value.
            value, *others = [surface.text for surface in surfaces] or [None]
            boxes = [surface.box for surface in surfaces]
            flaws["boxes missing or malformed"] += sum(fractions(box) is None for box in boxes)
            meta = {"boxes": boxes, "segments": [surface.segments for surface in surfaces]}
            row = {"path": path, "kind": name, "value": value, "origin": where}
            row |= {"accepted": list(dict.fromkeys(others)), "meta": json.dumps(meta)}
            yield row | placed(boxes[0] if boxes else None, document.sizes)


def fractions(box: Any) -> tuple[int, tuple[float, ...]] | None:
    """Page (from 0) and corners in page fractions of a published box; None if it is malformed.

    >>> fractions([0, 0.1, 0.2, 0.3, 0.4]), fractions([0.1, 0.2, 0.3, 0.4])
    ((0, (0.1, 0.2, 0.3, 0.4)), None)
    """
    try:
        page, *corners = msgspec.convert(box, _BOX)
    except (ValueError, OverflowError):
        return None
    return int(page), tuple(corners)


def placed(box: Any, sizes: list[tuple[float, float] | None]) -> Row:
    """Page (from 1), and the corners in pixels where the page's size is known."""
    if (page_box := fractions(box)) is None:
        return {}
    page, corners = page_box
    size = (sizes[page] if page < len(sizes) else None) or ()
    pixels = (corner * side for corner, side in zip(corners, size * 2, strict=False))
    return {"page": page + 1} | dict(zip(BOX, pixels, strict=False))


def labels(path: Path) -> tuple[tuple[str, ...], dict[str, list[Row]]]:
    """The entities that a file of DeepForm's labels has, and each document's gold records.

    An empty cell says that nobody labelled the value, not that the document has none: its record
    is `unscored`.
    """
    (_, header), *rows = files.csv_rows(path, files.read_text(path)) or [(1, [])]
    if header[:1] != [_KEY] or len(set(header)) != len(header) or len(header) < 2:
        what = f"the first line names the columns, {_KEY} first"
        raise DataBroken(what, where=f"{path}:1", remedy=PUBLISHED)
    labelled: dict[str, list[Row]] = {}
    for line, (key, *cells) in rows:
        if len(cells) != len(header) - 1:
            what = f"{len(cells) + 1} cells, the first line has {len(header)}"
            raise DataBroken(what, where=f"{path}:{line}", remedy="mend that line")
        if f"{key}.pdf" in labelled:
            what, remedy = f"{key!r} is labelled twice", "keep one of the lines"
            raise GoldInDoubt(what, where=f"{path}:{line}", remedy=remedy)
        labelled[f"{key}.pdf"] = [
            {"path": f"/{kind}", "kind": kind, "origin": f"{path.name}:{line}"}
            | ({"value": cell} if cell.strip() else {"value": None, "status": "unscored"})
            for kind, cell in zip(header[1:], cells, strict=True)
        ]
    return tuple(header[1:]), labelled


def words(document: Row, root: Path | None, flaws: Counter[str] | None = None) -> list[Row] | None:
    """The words of the OCR that VRDU supplies for a document; None where it supplies none.

    They are records of task ``layout``, in the order of the OCR, with page (from 1) and box: in
    the units of the document's gold, and in fractions of the page in `meta`. `document` is a row of
    a corpus whose root is `root`, and is read fastest in its order there; `flaws` counts words left
    out for want of a text or a box. `DataBroken` if the data set is no longer there.

    >>> from formlab import benchmarks
    >>> corpus = benchmarks.load("vrdu")
    >>> rows = words(corpus.documents.row(0, named=True), corpus.root)
    >>> rows[0]["value"], rows[0]["page"]
    ('Ashmouth', 1)
    """
    home = meta_of(document).get("ocr")
    if home is None or root is None:
        return None
    counts = Counter() if flaws is None else flaws
    file = find(Path(root) / home)
    state = (file, files.sha256(file)) if file else ()
    annotated = documents(*state)[0].get(document["doc_id"]) if file else None
    if file is None or annotated is None:
        what, where = f"{document['doc_id']} is no longer in the data set", Path(root) / home
        raise DataBroken(what, where=where, remedy="load the corpus anew")
    is_packed = file.suffix == ".gz"
    with _LOCK, nullcontext(_packed(*state)) if is_packed else file.open("rb") as stream:
        stream.seek(annotated.offset)
        line = stream.readline().decode()
    ocr = files.parse_json(line, where=annotated.place).get("ocr") or {}
    rows: list[Row] = []
    for number, page in enumerate(ocr.get("pages") or ()):
        for token in page.get("tokens") or ():
            token = token if isinstance(token, dict) else {}
            value, box = _value(token, ocr.get("text")), [number, *(token.get("bbox") or ())]
            if not value or fractions(box) is None:
                counts["words of the OCR without a text or a box"] += 1
                continue
            row = {"task": "layout", "kind": "word", "path": f"/ocr/words/{len(rows)}"}
            # Checked to be plain numbers: their list is written as in JSON.
            row |= {"value": value, "meta": f'{{"box": {box}}}'}
            rows.append(row | placed(box, annotated.sizes))
    return rows


def _value(token: Row, text: Any) -> str:
    """The text of a token: its own, else what its segments cut from the document's text."""
    if isinstance(token.get("text"), str):
        return token["text"].strip()
    segments = token.get("segments") or [token.get("segment")]
    try:
        return "".join(text[start:end] for start, end in segments).strip()
    except (TypeError, ValueError):
        return ""


# One file stays open: to seek forwards in a packed file costs what lies between.
@lru_cache(maxsize=1)
def _packed(path: Path, _sha256: str) -> gzip.GzipFile:
    return gzip.open(path)
