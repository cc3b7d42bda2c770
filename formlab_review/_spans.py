"""Spans of a page's text in Label Studio's notation: a path to a text node, and offsets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from lxml import etree, html

from formlab.benchmarks.fincriticaled import FACTS

# Label as annotators see it → tag of the released files.
LABELS = {
    "Number": "number", "Date": "date", "Temporal": "temporal", "Monetary Unit": "monetaryunit",
    "Reporting Entity": "reportingentity", "Financial Concepts": "financialconcepts",
}  # fmt: skip
_NAMES = {tag: label for label, tag in LABELS.items()} | {"financialconcept": "Financial Concepts"}
_BODY = re.compile(r"<body\b", re.IGNORECASE)
_STEP = re.compile(r"([^/\[\]]+)(?:\[(\d+)\])?")
_TEXT = re.compile(r"(.*?)/?text\(\)\[(\d+)\]")


class Span(NamedTuple):
    """One annotated stretch: its label, where it starts and ends, and the text in between."""

    page: str
    annotator: str
    label: str
    start: str
    end: str
    first: int
    last: int
    text: str


def written(page: str, markup: str, *, annotator: str = "gold") -> dict[str, Any]:
    """A Label Studio task with the facts of a tagged page as one annotator's spans.

    Examples
    --------
    >>> task = written("7", "<p>Net sales <number>4,310</number></p>")
    >>> value = task["annotations"][0]["result"][0]["value"]
    >>> value["start"], value["startOffset"], value["endOffset"], value["text"]
    ('/p[1]/text()[1]', 10, 15, '4,310')
    """
    body = _body(markup)
    values: list[dict[str, Any]] = []
    _walk(body, "", values)
    children = _bare(body)
    inner = (etree.tostring(child, encoding="unicode", method="html") for child in children)
    bare = "".join([body.text or "", *inner])
    kind = {"type": "labels", "from_name": "label", "to_name": "text"}
    results = [{"id": f"{page}-{n}"} | kind | {"value": value} for n, value in enumerate(values)]
    annotation = {"completed_by": annotator, "result": results}
    return {"id": page, "data": {"matched_html": bare}, "annotations": [annotation]}


def _body(markup: str) -> etree._Element:
    # Without a body of its own, the parser would move leading text into a paragraph.
    if _BODY.search(markup) is None:
        markup = f"<html><body>{markup}</body></html>"
    data = markup.replace("\0", "\ufffd").encode("utf-8", "replace")
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
    return html.document_fromstring(data, parser=parser, ensure_head_body=True).body


def _bare(body: etree._Element) -> list[etree._Element]:
    for tag in FACTS:
        for node in list(body.iter(tag)):
            node.drop_tag()
    return list(body)


def _walk(body: etree._Element, path: str, values: list[dict[str, Any]]) -> None:
    """Collect spans with their paths in the page without the fact tags."""
    counts: Counter[str] = Counter()
    state = {"nodes": 0, "offset": 0, "fresh": True}

    def text(piece: str | None) -> None:
        if piece:
            if state["fresh"]:
                state["nodes"], state["offset"], state["fresh"] = state["nodes"] + 1, 0, False
            state["offset"] += len(piece)

    def inside(node: etree._Element) -> None:
        text(node.text)
        for child in node:
            if not isinstance(child.tag, str):
                state["fresh"] = True
            elif child.tag in FACTS:
                start = (state["nodes"] + state["fresh"], 0 if state["fresh"] else state["offset"])
                before = len(values)
                inside(child)
                value = {"labels": [_NAMES[child.tag]], "text": "".join(child.itertext())}
                value |= {"start": f"{path}/text()[{start[0]}]", "startOffset": start[1]}
                value |= {"end": f"{path}/text()[{state['nodes']}]", "endOffset": state["offset"]}
                values.insert(before, value)
            else:
                counts[child.tag] += 1
                _walk(child, f"{path}/{child.tag}[{counts[child.tag]}]", values)
                state["fresh"] = True
            text(child.tail)

    inside(body)


def applied(markup: str, spans: Iterable[Span]) -> tuple[str, list[str]]:
    """A page with its spans as fact tags, and what could not be placed, a line each.

    Examples
    --------
    >>> span = Span("7", "gold", "Number", "/p[1]/text()[1]", "/p[1]/text()[1]", 10, 15, "4,310")
    >>> applied("<p>Net sales 4,310</p>", [span])
    ('<p>Net sales <number>4,310</number></p>', [])
    """
    body = _body(markup)
    # From the back, so that a tag does not move the places of those before it.
    ordered = sorted(spans, key=_order, reverse=True)
    problems = [(span, _wrap(body, span)) for span in ordered]
    lost = [f"{span.start}:{span.first}: {problem}" for span, problem in problems if problem]
    inner = "".join(etree.tostring(child, encoding="unicode", method="html") for child in body)
    return (body.text or "") + inner, lost


def _order(span: Span) -> tuple[str, int, int]:
    match = _TEXT.fullmatch(span.start)
    return (match[1], int(match[2]), span.first) if match else (span.start, 0, span.first)


def _wrap(body: etree._Element, span: Span) -> str | None:
    tag = LABELS.get(span.label)
    match = _TEXT.fullmatch(span.start)
    if tag is None or match is None:
        return f"unknown label {span.label!r}" if tag is None else "no place in a text"
    if span.start != span.end:
        return "the span reaches over several elements"
    node = _node_at(body, match[1])
    slots = _slots(node) if node is not None else []
    if not 0 < int(match[2]) <= len(slots):
        return "no such text"
    owner, tail = slots[int(match[2]) - 1]
    whole = (owner.tail if tail else owner.text) or ""
    if not 0 <= span.first < span.last <= len(whole) or (
        span.text and whole[span.first : span.last] != span.text
    ):
        return f"{span.text!r} is not there"
    new = etree.Element(tag)
    new.text, new.tail = whole[span.first : span.last], whole[span.last :]
    if tail:
        owner.tail = whole[: span.first]
        parent, rest = owner.getparent(), new.tail
        parent.insert(parent.index(owner) + 1, new)
        new.tail = rest
    else:
        owner.text = whole[: span.first]
        owner.insert(0, new)
    return None


def _node_at(node: etree._Element, path: str) -> etree._Element | None:
    # Not by XPath: tags of filings hold a colon, which stands for a namespace there.
    for tag, number in _STEP.findall(path):
        same = [child for child in node if child.tag == tag]
        if not 0 < int(number or 1) <= len(same):
            return None
        node = same[int(number or 1) - 1]
    return node


def _slots(node: etree._Element) -> list[tuple[etree._Element, bool]]:
    slots = [(node, False)] if node.text else []
    return slots + [(child, True) for child in node if child.tail]
