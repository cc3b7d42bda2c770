"""PAGE XML: lines and words in the reading order, as Transkribus, eScriptorium and OCR-D write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, number, whole


def _read(path: Path) -> Reading:
    root, reading = engine.read_xml(path, "PcGts"), Reading()
    for place, page in enumerate(root.iter("{*}Page"), start=1):
        sides = number(page.get("imageWidth")), number(page.get("imageHeight"))
        regions = {region.get("id"): region for region in page.iter("{*}TextRegion")}
        order = [name for group in page.findall("{*}ReadingOrder") for name in _order(group)]
        ordered = [regions.pop(name) for name in order if name in regions]
        lines = [line for r in (*ordered, *regions.values()) for line in _lines(r, place)]
        reading.pages[place] = Page(sides, True, lines, [])
    return reading


def _order(group: etree._Element) -> Iterator[str | None]:
    """The regions that a reading order names, group by group."""
    for inner in sorted(group, key=lambda part: whole(part.get("index"), 0)):
        yield inner.get("regionRef")
        yield from _order(inner)


def _lines(region: etree._Element, page: int) -> Iterator[Found]:
    for line in region.findall("{*}TextLine") or [region]:
        words = tuple(_found(word, page) for word in line.findall("{*}Word"))
        found = _found(line, page)
        if text := found.text or " ".join(word.text for word in words if word.text):
            yield found._replace(text=text, words=words)


def _found(element: etree._Element, page: int) -> Found:
    """The text of an element, that of the lowest index, and the box around its outline."""
    texts = sorted(element.findall("{*}TextEquiv"), key=lambda text: whole(text.get("index"), 0))
    outlines = element.findall("{*}Coords")
    points = [point.split(",", 1) for o in outlines for point in o.get("points", "").split()]
    box = engine.around(point for point in points if len(point) == 2)
    if not texts:
        return Found("", box, None, page)
    text = texts[0].findtext("{*}Unicode", "").strip()
    return Found(text, box, number(texts[0].get("conf")), page)


PAGE_XML = engine.reader(
    "page_xml", "PAGE XML", (".xml",), lambda head: b"<PcGts" in head or b":PcGts" in head, _read
)
