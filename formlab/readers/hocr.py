"""hOCR: lines and words with boxes, as Tesseract, OCRopus, Kraken and others write them."""

from __future__ import annotations

import re
from pathlib import Path

from lxml import etree

from formlab.errors import DataBroken
from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, number

_ENDINGS = (".hocr", ".html", ".htm", ".xhtml", ".xml")
_WORD = {"ocrx_word"}
_LINES = {"ocr_line", "ocrx_line", "ocr_header", "ocr_caption", "ocr_textfloat"}
_NUMBER = r"\s+(-?[0-9.]+)"
_BOX, _SURE = re.compile(rf"\bbbox{_NUMBER * 4}"), re.compile(rf"\bx_wconf{_NUMBER}")
_MARK = re.compile(rb"""class\s*=\s*["'][^"']*\bocr_page\b""")


def _read(path: Path) -> Reading:
    root, reading = engine.read_xml(path), Reading()
    for place, page in enumerate(_below(root, {"ocr_page"}), start=1):
        sides = (_found(page, place).box or (0, 0, None, None))[2:]
        # A caption may have lines of its own; some engines write words alone.
        lines = [line for line in _below(page, _LINES) if not _below(line, _LINES)]
        read = [_line(line, place) for line in lines or _below(page, _WORD)]
        reading.pages[place] = Page(sides, True, [line for line in read if line.text], [])
    if not reading.pages:
        raise DataBroken("no element of the class ocr_page", where=path)
    return reading


def _line(line: etree._Element, page: int) -> Found:
    words = tuple(_found(word, page) for word in _below(line, _WORD))
    return _found(line, page)._replace(words=words)


def _below(element: etree._Element, classes: set[str]) -> list[etree._Element]:
    below = element.iterdescendants(etree.Element)
    return [inner for inner in below if classes & set(inner.get("class", "").split())]


def _found(element: etree._Element, page: int) -> Found:
    title, text = element.get("title", ""), " ".join("".join(element.itertext()).split())
    box, sure = _BOX.search(title), _SURE.search(title)
    corners = box and engine.around([box.groups()[:2], box.groups()[2:]])
    return Found(text, corners, number(sure[1], 100) if sure else None, page)


HOCR = engine.reader("hocr", "OCR as hOCR", _ENDINGS, _MARK.search, _read)
