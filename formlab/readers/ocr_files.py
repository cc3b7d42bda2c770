"""What OCR engines write: hOCR, ALTO XML, PAGE XML with its reading order, and Tesseract's TSV."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

from lxml import etree

from formlab.errors import DataBroken
from formlab.readers import door, engine
from formlab.readers.engine import Box, Found, Reading, integer, number

Element = etree._Element
# Names of elements in ALTO and PAGE, and classes in hOCR.
_PAGES, _WORDS = {"Page", "ocr_page"}, {"String", "Word", "ocrx_word"}
_LINES = {"TextLine", "TextRegion", "ocr_line", "ocrx_line", "ocr_header", "ocr_caption"}
_LINES |= {"ocr_textfloat"}
_NUMBER = r"\s+(-?[0-9.]+)"
_BOX, _SURE = re.compile(rf"\bbbox{_NUMBER * 4}"), re.compile(rf"\bx_wconf{_NUMBER}")
_POINT = re.compile(r"(-?[0-9.]+),(-?[0-9.]+)")
_HTML = (".hocr", ".html", ".htm", ".xhtml", ".xml")
_CLASS = rb"""class\s*=\s*["'][^"']*\bocr_page\b"""
_PAGE, _LINE, _WORD = 1, 4, 5  # Levels of Tesseract.
_START = b"level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf"


def _read(name: str, path: Path) -> Reading:
    root, reading = _root(path, name), Reading()

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
        lines = sorted(lines or _below(page, _WORDS), key=place)
        found = (_found(line, count, _below(line, _WORDS)) for line in lines)
        reading.lines += [line for line in found if line.text]
        sides = [page.get(f"image{side}") or page.get(side.upper()) for side in ("Width", "Height")]
        reading.sizes[count] = (_box(page) or (0, 0, *map(number, sides)))[2:]
    return reading


def _root(path: Path, name: str) -> Element:
    """The root of an XML file, which has that name, or of HTML; entities are not taken in."""
    safe: dict[str, Any] = {"no_network": True, "huge_tree": False, "remove_comments": True}
    # Without a declaration libxml2 takes HTML for Latin-1.
    parser: Any = etree.HTMLParser(encoding="utf-8", **safe)
    if name:
        parser = etree.XMLParser(resolve_entities=False, load_dtd=False, **safe)
    try:
        tree = etree.fromstring(door.read_bytes(path), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DataBroken(f"not readable XML: {error}", where=path) from error
    if tree is None or (name and etree.QName(tree).localname != name):
        raise DataBroken(f"the root is not {name or 'an element'}", where=path)
    declared = tree.getroottree().docinfo.internalDTD if name else None
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise DataBroken("XML that declares entities", where=path, remedy="take them out")
    return tree


def _below(element: Element, names: set[str]) -> list[Element]:
    below = element.iterdescendants(etree.Element)
    named = ((e, {etree.QName(e).localname, *e.get("class", "").split()}) for e in below)
    return [inner for inner, its in named if its & names]


def _found(element: Element, page: int, words: list[Element]) -> Found:
    """A line or word: the text of it or of its words, of several readings the first by index."""
    found = Found("", _box(element), page=page, words=[_found(word, page, []) for word in words])
    if readings := element.findall("{*}TextEquiv"):
        best = min(readings, key=lambda reading: integer(reading.get("index"), 0))
        found.text = best.findtext("{*}Unicode", "").strip()
        found.confidence = number(best.get("conf"))
    elif "class" in element.attrib:
        found.text = " ".join("".join(element.itertext()).split())
        stated = _SURE.search(element.get("title", ""))
        found.confidence = number(stated[1], 100) if stated else None
    else:
        found.text, found.confidence = element.get("CONTENT"), number(element.get("WC"))
    hyphens = "".join(part.get("CONTENT", "") for part in element.iter("{*}HYP"))
    found.text = found.text or " ".join(word.text for word in found.words if word.text) + hyphens
    return found


def _box(element: Element) -> Box | None:
    if stated := _BOX.search(element.get("title", "")):
        return door.around([stated.groups()[:2], stated.groups()[2:]])
    if (outline := element.find("{*}Coords")) is not None:
        return door.around(_POINT.findall(outline.get("points", "")))
    return engine.sized(*(element.get(side) for side in ("HPOS", "VPOS", "WIDTH", "HEIGHT")))


def _read_tsv(path: Path) -> Reading:
    reading, lines = Reading(), dict[tuple, Found]()
    # Quotation marks are text in these files, so they are no tables of the door's.
    for count, row in enumerate(door.written(path).rstrip().split("\n")[1:], start=2):
        cells = row.rstrip("\r").split("\t", 11)
        numbers = [number(cell) for cell in cells[:11]]
        if len(numbers) < 11 or None in numbers:
            raise DataBroken("a row without 11 numbers", where=f"{path}:{count}")
        level, place, *line = numbers[:5]
        reading.sizes.setdefault(place, (None, None))
        found = Found("", engine.sized(*numbers[6:10]), page=int(place))
        if level == _PAGE:
            reading.sizes[place] = (numbers[8], numbers[9])
        elif level == _LINE:
            lines[place, *line] = found
        elif level == _WORD and "".join(cells[11:]).strip():
            found.text, found.confidence = cells[11], numbers[10] / 100
            lines.setdefault((place, *line), Found("", page=int(place))).words.append(found)
    reading.lines = [line for line in lines.values() if line.words]
    for line in reading.lines:
        line.text = " ".join(word.text or "" for word in line.words)
    return reading


READERS = {
    name: engine.reader(name, title, endings, mark, read)
    for name, title, endings, mark, read in (
        ("hocr", "OCR as hOCR", _HTML, _CLASS, partial(_read, "")),
        ("alto", "ALTO XML", (".xml", ".alto"), b"<alto", partial(_read, "alto")),
        ("page_xml", "PAGE XML", (".xml",), b"[<:]PcGts", partial(_read, "PcGts")),
        ("tesseract", "Tesseract's TSV", (".tsv",), rb"\A" + _START, _read_tsv),
    )
}
