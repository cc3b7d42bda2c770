"""What OCR engines read in documents, as rows: hOCR, ALTO, PAGE XML and Tesseract's TSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from lxml import etree

from formlab import files
from formlab.errors import DataBroken, FormlabError
from formlab.readers import ODD, Reader, Row, Source, by_name, door, leaves
from formlab.readers.answers import RENAMED, renames
from formlab.readers.door import Box, around, number, written
from formlab.tables import BOX

Element = etree._Element
# How many files of a folder are looked at to tell what they are.
_LOOKED_AT = 20
# Names of elements in ALTO and PAGE, and classes in hOCR.
_PAGES, _WORDS = {"Page", "ocr_page"}, {"String", "Word", "ocrx_word"}
_LINES = {"TextLine", "TextRegion", "ocr_line", "ocrx_line", "ocr_header", "ocr_caption"}
_LINES |= {"ocr_textfloat"}
_NUMBER = r"\s+(-?[0-9.]+)"
_BOX, _SURE = re.compile(rf"\bbbox{_NUMBER * 4}"), re.compile(rf"\bx_wconf{_NUMBER}")
_POINT = re.compile(r"(-?[0-9.]+),(-?[0-9.]+)")
_PAGE, _LINE, _WORD = 1, 4, 5  # Levels of Tesseract.


@dataclass
class Found:
    """A text, its box in the unit of its page, and how sure the engine is, from 0 to 1.

    `start` is where it begins in the text of the document.
    """

    text: str | None
    box: Box | None = None
    confidence: float | None = None
    page: int = 1
    start: int = 0


@dataclass
class Reading:
    """What was read in a document: `Found` values in an object or list, and lines with their words.

    A line without a text of its own has that of its words. `sizes` are width and height of each
    page in the unit of its boxes, which may be shares.
    """

    values: Any = None
    lines: list[tuple[Found, list[Found]]] = field(default_factory=list)
    sizes: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def rows(self, size: tuple[int, int] | None, *, has_text: bool) -> Iterator[Row]:
        """The values; where none is, or the gold has texts of pages, also text, lines and words.

        Boxes are in pixels of the gold's page, whose `size` that is, else as the engine has them.
        """

        def row(part: Found, path: str, **cells: Any) -> Row:
            sides, scale = self.sizes.get(part.page, (1, 1)), (1.0, 1.0)
            if size and all(sides):
                scale = (size[0] / sides[0], size[1] / sides[1])
            corners = zip(BOX, part.box or (), scale * 2, strict=False)
            box = {side: corner * by for side, corner, by in corners}
            stated = {"path": path, "page": part.page, "confidence": part.confidence}
            return stated | box | {"value": part.text} | cells

        values = self.values or {}
        # One form is no list of forms.
        values = values[0] if isinstance(values, list) and len(values) == 1 else values
        for path, value in leaves(values):
            yield row(value, path, value=(value.text or "").strip() or None)
        if self.values and not has_text:
            return
        texts, rows, read = [], [], {"task": "layout", "status": "ok"}
        for line, found in self.lines:
            words = [word for word in found if word.text]
            if text := line.text or " ".join(word.text or "" for word in words):
                path = f"/ocr/lines/{len(texts)}"
                rows.append(row(line, path, value=text, kind="line", **read))
                named = ((f"{path}/words/{place}", word) for place, word in enumerate(words))
                rows += [row(word, place, kind="word", **read) for place, word in named]
                texts.append(text)
        page = {"path": None, "kind": "page", "task": "text", "status": "ok"}
        yield from [page | {"value": "\n".join(texts)}, *rows]


def reader(
    name: str, title: str, endings: tuple[str, ...], mark: bytes, read: Callable[[Any], Reading]
) -> Reader:
    """A reader of files of one document each, and of folders of them, which have `mark` in them.

    What is `read` is the value of a JSON file, of others the path.
    """

    def listed(path: Path) -> list[Path]:
        below = sorted(path.rglob("*")) if path.is_dir() else [path]
        return [file for file in below if file.name[0] != "." and door.ending(file) in endings]

    def fits(path: Path) -> bool:
        return any(re.search(mark, door.head(file)) for file in listed(path)[:_LOOKED_AT])

    def rows(source: Source) -> Iterator[Row]:
        source.files, errors, sizes, has_text = listed(source.path), [], {}, True
        documents = _documents(source)
        if (corpus := source.corpus) is not None:
            sides = corpus.documents.select("doc_id", "width", "height").drop_nulls()
            sizes = sides.rows_by_key("doc_id", unique=True)
            has_text = corpus.records.filter(pl.col("path").is_null())["value"].count() > 0
        for doc_id, file in documents.items():
            base = {"role": "answer", "doc_id": doc_id, "origin": file.name}
            try:
                is_json = door.ending(file) == ".json"
                content = files.parse_json(written(file), where=str(file)) if is_json else file
                reading = read(content)
                if not reading.values and not reading.sizes:
                    start = " ".join(written(file)[:200].split())
                    raise DataBroken(f"neither pages nor values: {start}", where=file)
                found = list(reading.rows(sizes.get(doc_id), has_text=has_text))
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


def _documents(source: Source) -> dict[str, Path]:
    """The files of a source by their documents, as the gold names these."""
    home = source.path if source.path.is_dir() else source.path.parent
    names = [f.relative_to(home).with_name(door.stem(f)).as_posix() for f in source.files]
    documents = by_name("files for document", zip(names, source.files, strict=True))
    if source.corpus is None:
        return documents
    renamed = renames(pl.Series(names, dtype=pl.String), source.corpus.documents["doc_id"])
    source.notes[RENAMED] += len(renamed)
    return {renamed.get(name, name): file for name, file in documents.items()}


def integer(value: Any, default: int = 1) -> int:
    """The number of a page, or a place in a text."""
    return default if (found := number(value)) is None else int(found)


def sized(*sides: Any) -> Box | None:
    """The box of a left and top corner, a width and a height; null where one is no number."""
    left, top, width, height = map(number, sides)
    return None if None in (left, top, width, height) else (left, top, left + width, top + height)


def _marked_up(path: Path, *, is_xml: bool) -> Reading:
    """hOCR, which is HTML, or ALTO and PAGE; entities are not taken in."""
    safe: dict[str, Any] = {"no_network": True, "huge_tree": False, "remove_comments": True}
    # Without a declaration libxml2 takes HTML for Latin-1.
    parser: Any = etree.HTMLParser(encoding="utf-8", **safe)
    if is_xml:
        parser = etree.XMLParser(resolve_entities=False, load_dtd=False, **safe)
    try:
        root = etree.fromstring(door.read_bytes(path), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DataBroken(f"not readable XML: {error}", where=path) from error
    declared, reading = root.getroottree().docinfo.internalDTD, Reading()
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise DataBroken("XML that declares entities", where=path, remedy="take them out")

    def indices(reference: Element) -> list[int]:
        """The places of a region in the groups of a reading order, the outermost first."""
        around = [reference, *reference.iterancestors()]
        return [integer(element.get("index"), 0) for element in reversed(around)]

    references = sorted(root.iterfind(".//*[@regionRef]"), key=indices)
    order = {part.get("regionRef"): place for place, part in enumerate(references)}

    def place(line: Element) -> int:
        return min(order.get(e.get("id"), len(order)) for e in (line, line.getparent()))

    for count, page in enumerate(_below(root, _PAGES), start=1):
        # A caption may have lines of its own, and a region none; some engines write words alone.
        lines = [line for line in _below(page, _LINES) if not _below(line, _LINES)]
        for line in sorted(lines or _below(page, _WORDS), key=place):
            words = [_element(word, count) for word in _below(line, _WORDS)]
            found = _element(line, count)
            hyphens = "".join(part.get("CONTENT", "") for part in line.iter("{*}HYP"))
            found.text = found.text or " ".join(w.text for w in words if w.text) + hyphens
            reading.lines.append((found, words))
        sides = [page.get(f"image{side}") or page.get(side.upper()) for side in ("Width", "Height")]
        reading.sizes[count] = (_box(page) or (0, 0, *map(number, sides)))[2:]
    return reading


def _below(element: Element, names: set[str]) -> list[Element]:
    below = element.iterdescendants(etree.Element)
    named = ((e, {etree.QName(e).localname, *e.get("class", "").split()}) for e in below)
    return [inner for inner, its in named if its & names]


def _element(element: Element, page: int) -> Found:
    """A line or word with its own text, if it has one, of several readings the first by index."""
    text, sure = element.get("CONTENT"), number(element.get("WC"))
    if readings := element.findall("{*}TextEquiv"):
        best = min(readings, key=lambda reading: integer(reading.get("index"), 0))
        text, sure = best.findtext("{*}Unicode", "").strip(), number(best.get("conf"))
    elif "class" in element.attrib:
        text, stated = " ".join("".join(element.itertext()).split()), element.get("title", "")
        sure = number(found[1], 100) if (found := _SURE.search(stated)) else None
    return Found(text, _box(element), sure, page)


def _box(element: Element) -> Box | None:
    if stated := _BOX.search(element.get("title", "")):
        return around([stated.groups()[:2], stated.groups()[2:]])
    if (outline := element.find("{*}Coords")) is not None:
        return around(_POINT.findall(outline.get("points", "")))
    return sized(*(element.get(side) for side in ("HPOS", "VPOS", "WIDTH", "HEIGHT")))


def _tesseract(path: Path) -> Reading:
    reading, lines = Reading(), dict[tuple[Any, ...], tuple[Found, list[Found]]]()
    # Quotation marks are text in Tesseract's own files; in a table that others saved they quote.
    delimiter, quoting = ("\t", csv.QUOTE_NONE) if b"\t" in door.head(path) else (",", 0)
    header, *rows = csv.reader(written(path).split("\n"), delimiter=delimiter, quoting=quoting)
    for count, row in enumerate(rows, start=2):
        if not (cells := row[header.index("level") :]):
            continue
        numbers = [number(cell) for cell in cells[:11]]
        if len(numbers) < 11 or None in numbers:
            raise DataBroken("a row without 11 numbers", where=f"{path}:{count}")
        level, page, box, sure = numbers[0], int(numbers[1]), numbers[6:10], numbers[10] / 100
        reading.sizes.setdefault(page, (None, None))
        if level == _PAGE:
            reading.sizes[page] = (box[2], box[3])
        elif level in (_LINE, _WORD):
            # By page, block, paragraph and line, as a table may have the rows of words alone.
            line, words = lines.setdefault(tuple(numbers[1:5]), (Found(None, page=page), []))
            if level == _LINE:
                line.box = sized(*box)
            elif (text := "".join(cells[11:])).strip():
                words.append(Found(text, sized(*box), sure, page))
    reading.lines = [*lines.values()]
    return reading


_HTML = (".hocr", ".html", ".htm", ".xhtml", ".xml")
_CLASS = rb"""(?i)class\s*=\s*["'][^"']*\bocr_page\b"""
_COLUMNS = b"level page_num block_num par_num line_num word_num left top"
_START = rb"\A(?:\xef\xbb\xbf)?,?" + rb"[\t,]".join(_COLUMNS.split())
_XML, _HOCR = partial(_marked_up, is_xml=True), partial(_marked_up, is_xml=False)
READERS = {
    "hocr": reader("hocr", "OCR as hOCR", _HTML, _CLASS, _HOCR),
    "alto": reader("alto", "ALTO XML", (".xml", ".alto"), rb"<(?:\w+:)?alto\b", _XML),
    "page_xml": reader("page_xml", "PAGE XML", (".xml",), b"[<:]PcGts", _XML),
    "tesseract": reader("tesseract", "Tesseract's TSV", (".tsv", ".csv"), _START, _tesseract),
}
