"""hOCR: lines and words with boxes, as Tesseract, OCRopus, Kraken and others write them."""

from __future__ import annotations

import re
from pathlib import Path

from lxml import etree

from formlab.errors import DataBroken
from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, number

_LINES = {"ocr_line", "ocrx_line", "ocr_header", "ocr_caption", "ocr_textfloat"}
_NUMBER = r"\s+(-?[0-9.]+)"
_BOX, _SURE = re.compile(rf"\bbbox{_NUMBER * 4}"), re.compile(rf"\bx_wconf{_NUMBER}")
_PAGE = re.compile(rb"""class\s*=\s*["'][^"']*\bocr_page\b""")


def _read(path: Path) -> Reading:
    root, reading = engine.read_xml(path, html=True), Reading()
    for place, page in enumerate(_of(root, {"ocr_page"}), start=1):
        box = _found(page, place).box or (0, 0, None, None)
        lines = [
            _found(line, place)._replace(
                words=tuple(_found(word, place) for word in _of(line, {"ocrx_word"}))
            )
            for line in _of(page, _LINES)
        ]
        reading.pages[place] = Page(*box[2:], True, [line for line in lines if line.text])
    if not reading.pages:
        raise DataBroken("no ocr_page", where=path)
    return reading


def _of(element: etree._Element, classes: set[str]) -> list[etree._Element]:
    """The elements below of one of some classes."""
    below = element.iterdescendants(etree.Element)
    return [inner for inner in below if classes & set(inner.get("class", "").split())]


def _found(element: etree._Element, page: int) -> Found:
    title = element.get("title", "")
    box, sure = _BOX.search(title), _SURE.search(title)
    corners = box and engine.around([box.groups()[:2], box.groups()[2:]])
    confidence = number(sure[1]) if sure else None
    text = " ".join("".join(element.itertext()).split())
    return Found(text, corners, None if confidence is None else confidence / 100, page)


HOCR = engine.reader(
    "hocr",
    "hOCR",
    (".hocr", ".html", ".htm", ".xhtml", ".xml"),
    lambda head: bool(_PAGE.search(head)),
    _read,
)
