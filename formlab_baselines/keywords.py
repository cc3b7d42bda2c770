"""Entities of a form by key words: which label a value stands beside, and what it looks like."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from formlab.benchmarks.meta import meta_of
from formlab.benchmarks.vrdu import Schema
from formlab.systems.pages import image_file
from formlab.systems.system import Reader, above_zero
from formlab_baselines.words import Row, Run, entity_row, sheets, zoom

# Points: how far below its label, and to its right, a value may stand.
_BELOW, _RIGHT, _INDENT = 30.0, 200.0, 45.0


class Rule(NamedTuple):
    """Where the value of an entity stands: which label, which sides of it, what it looks like.

    Of the groups of `value` the one named `name` is the value, else all of it is.
    """

    label: str
    value: str
    sides: str = "inside right below"


_DAY = (
    r"(?:[0-9]{1,2}/[0-9]{1,2}/(?:[0-9]{4}|[0-9]{2})|[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[A-Z][a-z]{2,8}\.? [0-9]{1,2}, [0-9]{4})"
)
_DAYS = rf"(?P<flight_from>{_DAY}) ?(?:-|–|to) ?(?P<flight_to>{_DAY})"
_AMOUNT = r"\(?\$ ?-?[0-9][0-9,]*\.[0-9]{2}\)?"
_NUMBER = r"(?P<contract_num>[A-Z]{0,3}[0-9][0-9A-Z-]{2,})(?: ?/.*)?"
_NAME = r"[^\W_].*[^\W_:].*"
_LABELLED_NUMBERS = ("Invoice #", "Contract #", "Contract / Revision")
_LABELLED_NUMBERS += ("Order / Rev(?:ision)?", "Order #")
_FLIGHTS = (r"Flight Dates?", r"Order Flight", r"Flight(?: Start/End)?", r"Contract Dates")
RULES: dict[str, tuple[Rule, ...]] = {
    "contract_num": tuple(Rule(label, _NUMBER) for label in _LABELLED_NUMBERS),
    **{
        name: (Rule(beside, _NAME, "inside right"), Rule(above, _NAME, "below"))
        for name, beside, above in (
            ("advertiser", "Advertiser(?: Name)?", "Advertiser"),
            ("agency", "Agency(?: Name)?", "Agency"),
            ("product", "Product(?: Desc(?:ription)?)?", "Product"),
            ("property", "(?:Property|Station)", "Property"),
        )
    },
    "tv_address": (Rule("(?:TV )?Address", _NAME, "inside right"),),
    "flight_from": tuple(Rule(label, _DAYS) for label in _FLIGHTS),
    "flight_to": tuple(Rule(label, _DAYS) for label in _FLIGHTS),
    "gross_amount": (
        Rule(r"Total \$", _AMOUNT),
        Rule("Gross Total", _AMOUNT),
        Rule(r"(?:Grand )?Totals?", _AMOUNT, "right"),
        Rule("Gross Amount", _AMOUNT),
        Rule("(?:Total )?Gross(?: Amt)?", _AMOUNT),
    ),
    "file_date": (Rule("(?:Date|Dated|File date|Filed on)", _DAY),),
    "registration_num": (Rule(r"Registration (?:No\.?|Number)", r"[0-9]{3,6}"),),
    "registrant_name": (Rule(r"(?:Name of )?Registrant", _NAME),),
    "foreign_principle_name": (Rule(r"(?:Name of )?Foreign Principal", _NAME),),
    "signer_name": (Rule("(?:Signed by|Name of signer)", _NAME),),
    "signer_title": (Rule("Title(?: of signer)?", _NAME),),
}
# Where a form splits label and value in sections, the name stands beside "Name:".
_SECTION = {"advertiser": "Advertiser", "agency": "Agency"}


def start(settings: Row, threads: int) -> Reader:
    """A reader of PDFs (and of page images) that gives the entities the document's schema names."""
    above_zero(settings, "scale")

    def read(document: Row, root: Path | None) -> list[Row]:
        pages = list(sheets(image_file(document, root), settings, threads))
        factor, schema = zoom(pages, document["width"]), Schema.of_document(document)
        names = [*schema.matches, *schema.unlabelled] if schema else RULES
        runs = [run for page in pages for run in page.runs]
        found = entities(runs, [name for name in names if name in RULES])
        return [entity_row(f"/{name}", name, run, factor) for name, run in found.items()]

    return read


def is_for(document: Row) -> bool:
    """Whether a document says which entities it wants, or is a PDF that does not type its fields.

    Examples
    --------
    >>> is_for({"image": "a.pdf", "meta": None}), is_for({"image": "a.png", "meta": "{}"})
    (True, False)
    >>> is_for({"image": "a.pdf", "meta": '{"types": {}}'})
    False
    """
    is_pdf = str(document["image"] or "").lower().endswith(".pdf")
    return (is_pdf and "types" not in meta_of(document)) or Schema.of_document(document) is not None


def entities(runs: Sequence[Run], names: Sequence[str]) -> dict[str, Run]:
    """The value of each entity, where it stands, by the first rule that holds.

    Examples
    --------
    >>> runs = [Run("Order #", 1, 10, 10, 60, 20), Run("204417", 1, 70, 10, 99, 20)]
    >>> entities(runs, ["contract_num"])["contract_num"].text
    '204417'
    """
    values = {name: next(_candidates(name, runs), None) for name in names}
    return {name: value for name, value in values.items() if value}


def _candidates(name: str, runs: Sequence[Run]) -> Iterator[Run]:
    for rule in RULES[name]:
        # Forms number their questions.
        label = re.compile(rf"(?:[0-9]+\. )?{rule.label}\s*:?", re.IGNORECASE)
        value = re.compile(rule.value)
        for run in runs:
            match = label.match(run.text)
            if match is None:
                continue
            for beside in _beside(run, match.end(), rule.sides, runs):
                if (hit := value.fullmatch(beside.text)) and not _is_label(beside.text):
                    text = _continued(beside, runs) if rule.value == _NAME else beside.text
                    yield beside._replace(text=hit.groupdict().get(name) or text)
    if name in _SECTION:
        yield from _in_section(_SECTION[name], runs)


def _beside(run: Run, end: int, sides: str, runs: Sequence[Run]) -> Iterator[Run]:
    if rest := run.text[end:].strip():
        # Text that goes on after a whole label; a longer word is another label.
        if "inside" in sides and not run.text[end - 1 : end + 1].isalnum():
            yield run._replace(text=rest)
        return
    right, below = [], []
    level = max(0.6 * (run.y1 - run.y0), 3)
    for other in runs:
        down, indent = other.y0 - run.y0, abs(other.x0 - run.x0)
        if other.page != run.page or other is run:
            continue
        if "right" in sides and abs(down) < level and 0 <= other.x0 - run.x1 < _RIGHT:
            right.append((other.x0, 0, other))
        if "below" in sides and 0 < down < _BELOW and indent < _INDENT:
            below.append((down, indent, other))
    for group in (right, below):
        yield from (other for *_, other in sorted(group, key=lambda near: near[:2]))


def _continued(run: Run, runs: Sequence[Run]) -> str:
    """The text of a run with the line right below it, if that begins at the same place."""
    for other in runs:
        is_aligned = other.page == run.page and abs(other.x0 - run.x0) < 3
        if not is_aligned or not 0 < other.y0 - run.y0 < 1.35 * (run.y1 - run.y0):
            continue
        if not any(map(_is_label, [other.text, *_left_of(other, runs, _RIGHT / 2)])):
            return f"{run.text} {other.text}"
    return run.text


def _left_of(run: Run, runs: Sequence[Run], reach: float) -> list[str]:
    """What stands left of a run in its line, no further away than `reach`."""
    row = (other for other in runs if other.page == run.page and abs(other.y0 - run.y0) < 3)
    return [other.text for other in row if 0 <= run.x0 - other.x1 < reach]


_LABELS = re.compile(
    r"(?:.*:|.* #|Code|(?:Agency|Advertiser|Product|Invoice|Order|Contract)\b.*"
    r"|(?:Billing|Sales|Account)\b.*"
    r"|Demographic|Property|Name|Ref|Estimate.*|Special Handling|Original Date.*|[\W\d]*)",
    re.IGNORECASE,
)


def _is_label(text: str) -> bool:
    # A value may begin like a label, but no label is an amount, a date or a number.
    return bool(_LABELS.fullmatch(text)) and not re.match(r"[\W]*[$0-9]", text)


def _in_section(title: str, runs: Sequence[Run]) -> Iterator[Run]:
    for run in runs:
        if run.text == "Name:" and title in _left_of(run, runs, math.inf):
            yield from _beside(run, len(run.text), "right", runs)
