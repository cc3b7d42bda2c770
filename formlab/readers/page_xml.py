"""PAGE XML: lines and words with outlines, in the reading order, as Transkribus and OCR-D write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from formlab.errors import DataBroken
from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, number, whole


def _read(path: Path) -> Reading:
    root, reading = engine.read_xml(path), Reading()
    if etree.QName(root).localname != "PcGts":
        raise DataBroken(f"not PAGE XML: its root is {root.tag:.80}", where=path)
    for place, page in enumerate(root.iter("{*}Page"), start=1):
        sides = number(page.get("imageWidth")), number(page.get("imageHeight"))
        regions = {region.get("id"): region for region in page.iter("{*}TextRegion")}
        order = [name for group in page.findall("{*}ReadingOrder") for name in _order(group)]
        ordered = [regions.pop(name) for name in order if name in regions]
        lines = [line for r in (*ordered, *regions.values()) for line in _lines(r, place)]
        reading.pages[place] = Page(*sides, True, lines)
    return reading


def _order(group: etree._Element) -> Iterator[str]:
    """The regions that a reading order names, group by group."""
    for inner in sorted(group, key=lambda part: whole(part.get("index"), 0)):
        if inner.get("regionRef"):
            yield inner.get("regionRef")
        yield from _order(inner)


def _lines(region: etree._Element, page: int) -> Iterator[Found]:
    lines = region.findall("{*}TextLine")
    for line in lines or [region]:
        words = tuple(_found(word, page) for word in line.findall("{*}Word"))
        found = _found(line, page)
        text = found.text or " ".join(word.text for word in words if word.text)
        if text:
            yield found._replace(text=text, words=words)


def _found(element: etree._Element, page: int) -> Found:
    """The text of an element, that of the lowest index, and the box around its outline."""
    texts = sorted(element.findall("{*}TextEquiv"), key=lambda t: whole(t.get("index"), 0))
    text = texts[0].findtext("{*}Unicode", "") if texts else ""
    outline = element.find("{*}Coords")
    points = "" if outline is None else outline.get("points", "")
    pairs = [point.partition(",") for point in points.split()]
    box = engine.around((x, y) for x, _, y in pairs)
    return Found(text.strip(), box, number(texts[0].get("conf")) if texts else None, page)


PAGE_XML = engine.reader("page_xml", "PAGE XML", (".xml",), lambda head: b"PcGts" in head, _read)
