"""FORMCRAFT's taxonomy: modalities and their subtypes (L1), and the labels of relations (L3).

One spelling each, however a file or a model spells it: `formcraft.toml` has the others.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TABLE = tomllib.loads(Path(__file__).with_name("formcraft.toml").read_text("utf-8"))
MODALITIES: dict[str, tuple[str, ...]] = {
    modality: tuple(subtypes) for modality, subtypes in TABLE["subtype"].items()
}
RELATIONS: dict[str, tuple[str, ...]] = {
    axis: tuple(labels) for axis, labels in TABLE["relation"].items()
}
# The task that a field of each modality is an instance of.
TASK_OF = {"textual": "text", "marking": "marking", "visual": "visual", "cross": "cross"}
_LETTERS = re.compile(r"[^a-z]+")
# A label is a few words; what is longer is no label.
_LONGEST = 80


def _letters(label: str) -> str:
    return _LETTERS.sub("", label[:_LONGEST].casefold())


_SUBTYPES = {
    name: words for subtypes in TABLE["subtype"].values() for name, words in subtypes.items()
}
_AXES = {"modality": TABLE["modality"], "subtype": _SUBTYPES, **TABLE["relation"]}
_KNOWN = {
    axis: {_letters(word): name for name, words in names.items() for word in (name, *words.split())}
    for axis, names in _AXES.items()
}


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
