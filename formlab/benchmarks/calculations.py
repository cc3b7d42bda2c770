"""The sums of a filing: its calculation links, by the names that its rows have in print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from formlab import files
from formlab.benchmarks import ixbrl
from formlab.benchmarks._facts import FACTS
from formlab.errors import DataBroken
from formlab.text.flow import Flow
from formlab.text.markup import written_events

_LINK = "{http://www.xbrl.org/2003/linkbase}"
_XLINK = "{http://www.w3.org/1999/xlink}"
# The printed name of a row changes its case and its notes from filing to filing.
_NOTE = re.compile(r"\(.*?\)|[^\w\s]|\bnotes?\b.*")


class KnownSum(NamedTuple):
    """The names of a total's row and of the rows that it sums, each with its sign."""

    total: str
    parts: tuple[tuple[str, int], ...]


def row_name(label: str) -> str:
    """The words of a row's label, without case, notes and brackets.

    Examples
    --------
    >>> row_name("Marketable securities (Note 4)"), row_name("Total  Assets:")
    ('marketable securities', 'total assets')
    """
    return " ".join(_NOTE.sub(" ", label.lower()).split())


def links(linkbase: Path) -> dict[str, list[tuple[str, int]]]:
    """The concepts that each total sums, with their signs, from a file such as ``x_cal.xml``.

    Where several statements sum a concept in their own way, that with most parts is kept.
    Source: XBRL 2.1, 5.2.5 (calculation links). `DataBroken` if there are none in the file.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(files.read_bytes(linkbase), parser)
    except etree.XMLSyntaxError as error:
        where = f"{linkbase}:{error.lineno or 1}"
        raise DataBroken(f"not XML: {error.msg}", where=where) from error
    totals: dict[str, list[tuple[str, int]]] = {}
    for statement in root.iter(f"{_LINK}calculationLink"):
        named = {
            loc.get(f"{_XLINK}label"): loc.get(f"{_XLINK}href", "").rpartition("#")[2]
            for loc in statement.iter(f"{_LINK}loc")
        }
        own: dict[str, list[tuple[str, int]]] = {}
        for arc in statement.iter(f"{_LINK}calculationArc"):
            total, part = (named.get(arc.get(f"{_XLINK}{end}")) for end in ("from", "to"))
            if total and part and arc.get("use") != "prohibited":
                sign = -1 if arc.get("weight", "1").strip().startswith("-") else 1
                own.setdefault(total, []).append((part, sign))
        for total, parts in own.items():
            if len(parts) > len(totals.get(total, ())):
                totals[total] = parts
    if not totals:
        remedy = "the file of the filing that ends in _cal.xml"
        raise DataBroken("no calculation links in this file", where=linkbase, remedy=remedy)
    return totals


def known_sums(filing: Path, linkbase: Path) -> list[KnownSum]:
    """The sums of a filing by the names of its rows, for pages that carry no tags.

    A concept whose printed name is not known is left out of its sum, with the sum.
    """
    names = _names(filing)
    sums = {
        names[total]: tuple((names[part], sign) for part, sign in parts)
        for total, parts in links(linkbase).items()
        if total in names and len(parts) > 1 and all(part in names for part, _ in parts)
    }
    return [KnownSum(total, parts) for total, parts in sums.items()]


def _names(filing: Path) -> dict[str, str]:
    """Of each concept, as a link names it, the label of the first row that shows it."""
    pages, facts, _ = ixbrl.gold_pages(filing)
    names: dict[str, str] = {}
    for page, own in zip(pages, facts, strict=True):
        flow = Flow(written_events(page), tags=FACTS)
        labels: dict[int, str] = {}
        for unit in flow.units:
            labels.setdefault(unit.line, unit.text)
        for number, (unit, _, _) in flow.marks.items():
            concept = own[number].get("name", "").replace(":", "_")
            label = row_name(labels[flow.units[unit].line])
            if any(char.isalpha() for char in label):
                names.setdefault(concept, label)
    return names
