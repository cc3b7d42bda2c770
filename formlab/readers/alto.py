"""ALTO XML of any version: lines and words with boxes, as libraries keep their OCR."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, number


def _read(path: Path) -> Reading:
    root, reading = engine.read_xml(path, "alto"), Reading()
    in_pixels = root.findtext(".//{*}MeasurementUnit", "pixel").strip() == "pixel"
    for place, page in enumerate(root.iter("{*}Page"), start=1):
        sides = number(page.get("WIDTH")), number(page.get("HEIGHT"))
        lines = [_line(line, place) for line in page.iter("{*}TextLine")]
        reading.pages[place] = Page(sides, in_pixels, [line for line in lines if line.text], [])
    return reading


def _line(line: etree._Element, page: int) -> Found:
    words = tuple(_found(word, page) for word in line.iter("{*}String"))
    hyphen = "".join(part.get("CONTENT", "") for part in line.iter("{*}HYP"))
    text = " ".join(word.text for word in words if word.text) + hyphen
    return _found(line, page)._replace(text=text, words=words)


def _found(element: etree._Element, page: int) -> Found:
    box = engine.sized(*(element.get(name) for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT")))
    return Found(element.get("CONTENT", ""), box, number(element.get("WC")), page)


ALTO = engine.reader("alto", "ALTO XML", (".xml", ".alto"), lambda head: b"<alto" in head, _read)
