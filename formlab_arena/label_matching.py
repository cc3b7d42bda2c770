"""Compares labels, and assigns the values of a text to the fields of a page."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Sequence

import numpy as np
from rapidfuzz import fuzz

from formlab_arena.labelled_lines import LONG_LABEL, LabelledValue

# The least likeness of two labels, and what it loses where another field has the value already.
_LEAST, _USED = 0.58, 0.1
_OPTIONAL = re.compile(r"\(\s*(?:optional|required|if any|if applicable)\s*\)|[*✱]", re.IGNORECASE)
_FILLERS = frozenset(
    re.findall(
        r"\S+",
        """
        a an any are at be choose complete do does enter for full give have here i in is it its my
        no of on one optional or our please provide required s select the their this to type what
        when where which will with would write you your
        """,
    )
)
_SAME = tuple(
    (re.compile(rf"\b(?:{many})\b"), single)
    for many, single in (
        (r"(?:e ?mail|mail)(?: address)?", "email"),
        (r"(?:tele ?phone|mobile|cell|tel|phone)(?: phone)?(?: (?:number|no|nr))?", "phone"),
        (r"(?:zip|postal|post) ?(?:code)?", "zip"),
        (r"date of birth|birth ?date|birth ?day|dob|born(?: on)?", "birthdate"),
        (r"surname|family name|last ?name", "lastname"),
        (r"given name|fore ?name|first ?name", "firstname"),
        (r"organi[sz]ation|employer|firm", "company"),
        (r"web ?site|home ?page|web ?page|url", "website"),
        (r"num|nr|nbr", "number"),
        (r"qty", "quantity"),
    )
)


@functools.lru_cache(maxsize=4096)
def _content(label: str) -> tuple[str, ...]:
    """The words of a label that say something, each in a common form."""
    text = _OPTIONAL.sub(" ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label[:LONG_LABEL]))
    text = " ".join(re.findall(r"[^\W_]+|[%$€£#]", text.casefold().replace("’", "'")))
    for pattern, single in _SAME:
        text = pattern.sub(single, text)
    words = text.split()
    some = [word for word in words if word not in _FILLERS] or words
    return tuple(word[:-1] if len(word) > 3 and word[-1] == "s" else word for word in some)


@functools.lru_cache(maxsize=65536)
def likeness(label: str, other: str) -> float:
    """How alike two labels are, from 0 to 1, which is the same but for marks and case.

    Examples
    --------
    >>> likeness("Your e-mail *", "E-Mail Address"), likeness("Name", "Price")
    (1.0, 0.0)
    >>> likeness("Full name", "Name") > likeness("Company name", "Name") > 0.5
    True
    """
    mine, theirs = _content(label), _content(other)
    if not mine or not theirs:
        return 0.0
    if mine == theirs:
        return 1.0 if _plain(label) == _plain(other) or len(mine) == 1 else 0.98
    if "".join(mine) == "".join(theirs):
        return 0.97
    left, shared = list(theirs), 0
    for word in mine:
        near = [w for w in left if w == word or (len(word) > 3 and fuzz.ratio(w, word) >= 84)]
        if near:
            left.remove(word if word in near else near[0])
            shared += len(word)
    size = sum(map(len, mine)), sum(map(len, theirs))
    words = 2 * (len(theirs) - len(left)) / (len(mine) + len(theirs))
    dice = (2 * shared / sum(size) + words) / 2
    inside = shared >= min(size) * 0.9
    return min(0.95, max(0.95 * dice, 0.6 + 0.3 * dice if inside else 0.0))


def _plain(label: str) -> str:
    return "".join(re.findall(r"\w", _OPTIONAL.sub("", label).casefold()))


def assigned(
    labels: Sequence[Sequence[str]],
    values: Sequence[LabelledValue],
    *,
    used: Collection[int] = (),
    least: float = _LEAST,
) -> list[LabelledValue | None]:
    """For each field the value that is meant for it: the best assignment of all together.

    Parameters
    ----------
    labels
        For each of n fields its label, and what else it may be called, likeliest first.
    values
        Those of a text.
    used
        Places that other fields have had, which are taken only if nothing else is alike.
    least
        The least likeness, from 0 to 1.

    Examples
    --------
    >>> from formlab_arena.labelled_lines import labelled_values
    >>> values = labelled_values("Company: Lund\\nName: Ada\\nContact name: Bo")
    >>> fields = [["Name"], ["Contact name"], ["Company name"]]
    >>> [value.value for value in assigned(fields, values)]
    ['Ada', 'Bo', 'Lund']
    """
    from scipy.optimize import linear_sum_assignment

    places = {place: n for n, place in enumerate(dict.fromkeys(v.place for v in values))}
    if not places or not labels:
        return [None] * len(labels)
    scores = np.zeros((len(labels), len(places)))
    best: dict[tuple[int, int], LabelledValue] = {}
    for row, names in enumerate(labels):
        for value in values:
            column = places[value.place]
            named = (value.label, *([f"{value.section} {value.label}"] if value.section else ()))
            score = max(
                likeness(name, label) - 0.03 * min(n, 3)
                for n, name in enumerate(names or ("",))
                for label in named
            )
            score -= _USED if value.place in used else 0
            if score > max(least, scores[row, column]):
                scores[row, column], best[row, column] = score, value
    # An equal label counts for more than several that are merely alike. Order decides the rest:
    # the first of several fields has a value, and fields that are named alike keep to it.
    rows = np.arange(len(labels))[:, None] / len(labels)
    apart = np.abs(rows - np.arange(len(places)) / len(places))
    weights = np.where(scores > 0, scores**6 + 3e-4 * (1 - rows) + 1e-4 * (1 - apart), 0.0)
    chosen = zip(*linear_sum_assignment(weights, maximize=True), strict=True)
    pairs = {int(row): best.get((int(row), int(column))) for row, column in chosen}
    return [pairs.get(row) for row in range(len(labels))]
