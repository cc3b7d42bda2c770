"""FORMCRAFT's taxonomy: modalities and their subtypes (L1), and the labels of relations (L3).

One spelling each, however a file or a model spells it.
"""

from __future__ import annotations

import itertools
import re

MODALITIES: dict[str, tuple[str, ...]] = {
    "textual": ("machine-printed", "handwritten", "mixed", "text-in-drawing"),
    "marking": ("checkbox", "circle", "table-grid", "annotation"),
    "visual": ("static-image", "chart", "diagram", "hand-drawn", "printed-paint"),
    "cross": ("cross",),
}
# The task that a field of each modality is an instance of.
TASK_OF = {"textual": "text", "marking": "marking", "visual": "visual", "cross": "cross"}
RELATIONS: dict[str, tuple[str, ...]] = {
    "scope": ("intra-group", "inter-group", "cross-page"),
    "reference": ("direct-link", "constraint", "domain-specific"),
    "complexity": ("simple", "compound", "chained"),
    "modal": ("single-modality", "cross-modality"),
}
# Further spellings, as the paper's text, tables and prompts have them; compared as letters only.
_SPELLINGS = """
modality textual: text
modality marking: markings interactive
modality visual: image
modality cross: cross-modal cross-modality mixed-modality multi-modal
subtype machine-printed: machine-printed-text printed printed-text print typed
subtype handwritten: handwritten-text handwriting
subtype mixed: mixed-text mixed-printed-and-handwritten-text mixed-printed-and-handwritten
subtype text-in-drawing: text-in-drawings text-in-draw
subtype checkbox: checkboxes radio radio-button radio-buttons checkboxes-and-radio-buttons
subtype checkbox: checkbox-and-radio checkbox/radio
subtype circle: circles circled circling
subtype table-grid: table grid tables grids tables-and-grids
subtype annotation: annotations marking markings annotations-and-markings annotation/marking
subtype static-image: static-images static-images-and-illustrations statistic-image
subtype static-image: illustration image photo photograph barcode qr-code
subtype chart: charts graph charts-and-diagrams
subtype diagram: diagrams flowchart
subtype hand-drawn: hand-drawn-sketch hand-drawn-sketches sketch drawing
subtype printed-paint: machine-printed-paint stamp postmark
subtype cross: cross-modal cross-modality
scope intra-group: within-group local
scope inter-group: between-groups
scope cross-page: cross-page/document cross-document
reference direct-link: direct
reference constraint: consistency consistency-or-constraint consistency/constraint
reference domain-specific: domain knowledge-driven domain-specific/knowledge-driven
reference domain-specific: domain-specific-or-knowledge-driven domain-knowledge
complexity simple:
complexity compound:
complexity chained: hierarchical hierarchical-(chained) chain hierarchical/chained
modal single-modality: single single-modal intra-modality
modal cross-modality: cross cross-modal multi-modal
"""
_LETTERS = re.compile(r"[^a-z]+")
# A label is a few words; what is longer is no label.
_LONGEST = 80


def _letters(label: str) -> str:
    return _LETTERS.sub("", label[:_LONGEST].casefold())


_KNOWN: dict[str, dict[str, str]] = {}
for _line in _SPELLINGS.strip().splitlines():
    _axis, _name, *_others = _line.replace(":", "").split()
    _KNOWN.setdefault(_axis, {}).update({_letters(word): _name for word in (_name, *_others)})


def canonical(axis: str, label: str | None) -> str | None:
    """The one spelling of `label` on an axis (modality, subtype, scope …), or None if unknown.

    Case, hyphens, slashes and spaces do not count.

    >>> canonical("subtype", "Radio Buttons"), canonical("reference", "Consistency or Constraint")
    ('checkbox', 'constraint')
    >>> canonical("modality", "olfactory")
    """
    return None if label is None else _KNOWN[axis].get(_letters(label))


def modality_of(modality: str | None, subtype: str | None) -> tuple[str | None, str | None]:
    """Modality and subtype of a field in their one spelling; a known subtype tells the modality.

    >>> modality_of(None, "Handwritten")
    ('textual', 'handwritten')
    >>> modality_of("Cross", "Textual + Marking")
    ('cross', 'cross')
    """
    small, large = canonical("subtype", subtype), canonical("modality", modality)
    if large == "cross":
        return "cross", "cross"
    if small is not None and (large is None or small not in MODALITIES[large]):
        owner = next(name for name, members in MODALITIES.items() if small in members)
        # Where the two contradict each other the modality stands, and the subtype is unknown.
        return (owner, small) if large is None else (large, None)
    return large, small


def cells() -> list[dict[str, str]]:
    """Every combination of scope, reference, complexity and modal relationship.

    >>> len(cells()), cells()[0]["scope"]
    (54, 'intra-group')
    """
    return [
        dict(zip(RELATIONS, values, strict=True))
        for values in itertools.product(*RELATIONS.values())
    ]
