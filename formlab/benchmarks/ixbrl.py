"""Any inline-XBRL filing as test pages: the issuer's own tags become the facts of gold pages.

The pages are written in the layout of `fincriticaled`, which reads them.
"""

import re
from collections import Counter
from functools import partial
from pathlib import Path

from lxml import etree

from formlab import browser, files
from formlab.benchmarks.fincriticaled import FACTS
from formlab.errors import DataBroken

DPI = 300
# US letter in inches; a page that is longer is drawn in full.
_WIDE, _HIGH = 8.5, 11
_LONGEST = 80
_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_BREAK = re.compile(r"(?:page-)?break-(after|before)\s*:\s*(?:always|page)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}|\d{1,2}[-/.]\d|\b(?:month|year|day)s?\b", re.IGNORECASE)
_STYLE = "html { zoom: %.4f; background: #fff } body { margin: 0.4in }"
BOXES = """names => [...document.querySelectorAll(names)].map(fact => {
  const box = fact.getBoundingClientRect();
  const sides = [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY];
  return box.width && box.height ? sides.map(side => Math.round(side * 10) / 10) : null;
})"""
_html = partial(etree.tostring, encoding="unicode", method="html")
_NO_FACT = "formlab-no-fact"
_VALUES = ("nonFraction", "nonNumeric")
_ENTITIES = ("EntityRegistrantName", "TradingSymbol")


def gold_pages(filing: Path) -> tuple[list[str], list[int], dict[str, int]]:
    """The pages of a filing as HTML with fact tags, the facts of each, and counts of its tags.

    ``ix:nonFraction`` becomes ``<number>``; ``ix:nonNumeric`` becomes ``<temporal>`` where it is a
    date or duration and ``<reportingentity>`` where it names the issuer. What is hidden, has no
    figure or spans blocks keeps its text and loses its tag; the counts are of these and of facts.
    """
    parser = etree.XMLParser(recover=True, huge_tree=True, resolve_entities=False, no_network=True)
    notes = Counter[str]()
    try:
        root = etree.fromstring(files.read_bytes(filing), parser)
        body = None if root is None else next((n for n in root.iter() if _name(n) == "body"), None)
        if body is None or not any(map(_is_tag, body.iter())):
            what = "no inline XBRL in this file"
            raise DataBroken(what, where=filing, remedy="an iXBRL 10-K or 10-Q")
        hidden = [node for node in body.iter() if _is_tag(node) and _name(node) == "header"]
        for node in hidden:
            notes["hidden facts left out"] += sum(_name(child) in _VALUES for child in node.iter())
        etree.strip_elements(body, *{node.tag for node in hidden}, with_tail=False)
        for node in list(body.iter()):
            if _is_tag(node):
                tag = _tag(node, "".join(node.itertext()).strip())
                is_value = tag is None and _name(node) in _VALUES
                notes["tags without a printed figure, date or name left out"] += is_value
                node.tag = tag or _NO_FACT
                node.attrib.clear()
            elif name := _name(node):
                # Only what the filing tags is a fact.
                node.tag = "span" if name.lower() in FACTS else name
        etree.strip_tags(body, _NO_FACT)
        pages = _cut(body)
        texts = ["".join(map(_html, nodes)) for nodes in pages]
    except etree.XMLSyntaxError as error:
        raise DataBroken(f"not XML: {error.msg}", where=f"{filing}:{error.lineno or 1}") from error
    except UnicodeDecodeError as error:
        # libxml2 takes half characters that lxml cannot hand over.
        raise DataBroken("half a character in a name", where=filing) from error
    counts = [sum(inner.tag in FACTS for node in nodes for inner in node.iter()) for nodes in pages]
    return texts, counts, dict(notes) | {"facts": sum(counts)}


def write_pages(
    filing: Path, out: Path, *, limit: int | None = None, dpi: int = DPI
) -> dict[str, int]:
    """Write ``gold_<i>.txt``, ``meta_<i>.json`` and ``images/<i>.png`` for pages of a filing.

    These are all pages that hold a fact, or the first `limit` of them; ``images/<i>.json`` says
    where on a picture each fact stands. Chromium draws them; no script of the filing runs, and
    nothing that it names elsewhere is fetched. The answer counts pages and facts, ``pages not
    drawn``, ``requests blocked``, and the tags of each sort that the filing has beside its facts.
    """
    texts, counts, notes = gold_pages(filing)
    chosen = [number for number, count in enumerate(counts) if count][:limit]
    undrawn, size = 0, (round(_WIDE * dpi), round(_HIGH * dpi))
    style = f"<head><style>{_STYLE % (dpi / 96)}</style></head>"
    with browser.page(size=size, allow=("data:",), scripts=False) as visit:
        from playwright.sync_api import Error

        for number in chosen:
            text, image = f"<body>{texts[number]}</body>", out / "images" / f"{number}.png"
            files.write_text(out / f"gold_{number}.txt", f"<html>{text}</html>\n")
            meta = {"document_type": "financial statement", "filing": filing.name}
            files.write_json(out / f"meta_{number}.json", meta)
            try:
                visit.page.set_content(f"<html>{style}{text}</html>")
                with files.atomic(image) as temporary:
                    visit.page.screenshot(path=temporary, type="png", full_page=True)
                # Null for a fact that is not shown.
                boxes = visit.page.evaluate(BOXES, ", ".join(FACTS))
                files.write_json(image.with_suffix(".json"), boxes)
            except Error:
                undrawn += 1
    notes |= {"pages": len(chosen), "facts": sum(counts[number] for number in chosen)}
    return notes | {"pages not drawn": undrawn, "requests blocked": len(set(visit.requests))}


def _name(node: etree._Element) -> str:
    """The name of an element without its namespace; of what is damaged, that of a plain one."""
    if not isinstance(node.tag, str):
        return ""
    name = node.tag.rpartition("}")[2].rpartition(":")[2]
    return name if _TAG.fullmatch(name) else "span"


def _is_tag(node: etree._Element) -> bool:
    return isinstance(node.tag, str) and "inlineXBRL" in node.tag.rpartition("}")[0]


def _tag(node: etree._Element, text: str) -> str | None:
    name, concept = _name(node), (node.get("name") or "").split(":")[-1]
    if len(text) > _LONGEST or not text:
        return None
    if name == "nonFraction":
        return "number" if any(char.isdigit() for char in text) else None
    if name != "nonNumeric" or len(node):
        return None
    if concept in _ENTITIES:
        return "reportingentity"
    form = node.get("format") or ""
    dated = "date" in form or "dur" in form or concept.endswith("Date")
    return "temporal" if dated and _DATE.search(text) else None


def _cut(body: etree._Element) -> list[list[etree._Element]]:
    """The elements of each page: what stands between page breaks."""
    marks = {n: m[1].lower() for n in body.iter() if (m := _BREAK.search(n.get("style") or ""))}
    if not marks:
        return [list(body)]
    above = [list(node.iterancestors()) for node in marks]
    shared = set(above[0]).intersection(*above[1:])
    container = next(node for node in above[0] if node in shared)
    pages: list[list[etree._Element]] = [[]]
    for child in container:
        inside = [marks[node] for node in child.iter() if node in marks]
        if "before" in inside and pages[-1]:
            pages.append([])
        pages[-1].append(child)
        if "after" in inside:
            pages.append([])
    return [page for page in pages if page]
