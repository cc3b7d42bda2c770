"""Marks on a form: precision, recall and F1 of ticks, rings and table cells; whole cross fields.

A mark is the trace of a pen or a cursor that may be right or wrong on its own. A box that is
rightly left empty is no mark: it adds nothing to any of the counts. A value that says checked or
unchecked is the state of a single box; ``Yes`` and ``No`` are options of a question, and so is all
that a field of the subtype ``circle`` or of the kinds ``radio`` and ``choice`` says. Options stand
between semicolons, bars or line ends, or in a JSON list; a comma is part of an option. A
``table-grid`` is the multiset of its cells that are not empty, each at its row: a JSON list of
lists, or lines with cells between bars or tabs. An ``annotation`` is a single mark, its whole text.
A prediction is read as its gold is. Beside gold that is the state of a box, ``no`` and ``false``
say that it is empty; beside an option, that the option ``no`` is marked. A comma separates options
where one of the pieces is an option of the gold, and joins them where the gold has them as one.
Without gold, yes and no are the state of a box unless the field is a choice between options. The
parts of a cross-modal field are compared on the rung `typed` of the ladder, in any order.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np

from formlab import text
from formlab.metrics import assign, f1_tallies
from formlab.metrics.counts import loaded
from formlab.text.normalise import LADDER_STEPS, WORDS, as_texts

# The one mark of a field that is a single box.
TICK = "\u2611"
_EMPTY, _TICKED = (WORDS[name].split("|") for name in ("unmarked", "marked"))
# What is printed beside the boxes of a question; nobody calls a box itself so.
_WORDS = {"yes": "yes", "y": "yes", "no": "no", "n": "no"}
_ANSWERS = _WORDS | {"true": "yes", "false": "no"}
_RINGED = frozenset({*_ANSWERS, "on", "off"})
# Fields that are a choice between options, so that all they say is an option.
_CHOSEN = frozenset({"circle", "radio", "choice"})
# More cells than any form has; a bound on what a hostile value may cost.
_MOST, _MOST_PARTS = 20_000, 200
_CELL = re.compile(r"\t|\s\|\s|\|")
_PART = re.compile(r"[;\n]|\s\|\s")
_BOX = re.compile(r"^(\[\s*[x✓✔]?\s*\]|\(\s*[x✓✔•]\s*\)|[☐☑☒✓✔])\s*", re.IGNORECASE)


def marks(value: str, subtype: str | None = None, kind: str | None = None) -> Counter[str]:
    """The marks that a gold value states."""
    plain, options = _read(value)
    chosen = bool({subtype, kind} & _CHOSEN)
    if plain in _EMPTY and not (plain == "none" and kind in _CHOSEN and subtype != "circle"):
        return Counter()
    if subtype == "table-grid":
        return _cells(value)
    if subtype == "annotation":
        return Counter([text.normalise(value, LADDER_STEPS)])
    state = None if chosen or plain in _WORDS else _state(plain)
    if state is not None:
        return Counter([TICK] if state else [])
    return Counter({_WORDS.get(option, option) for option in options})


def predicted_marks(
    pred: str, gold: str, subtype: str | None = None, kind: str | None = None
) -> Counter[str]:
    """The marks that a predicted value states, read as its gold is read."""
    if subtype in ("table-grid", "annotation"):
        return marks(pred, subtype)
    gold_marks = marks(gold, subtype, kind)
    plain, options = _read(pred)
    chosen = bool({subtype, kind} & _CHOSEN)
    state = _state(plain)
    if plain in gold_marks:
        return Counter([plain])
    if plain in _EMPTY:
        return Counter()
    if state is not None and gold_marks and gold_marks.keys() <= {"yes", "no"}:
        option = _ANSWERS.get(plain) if chosen else "yes" if state else "no"
        return Counter([option] if option else [plain] if state else [])
    if state is not None and not (chosen and (plain in _RINGED or plain.isdecimal())):
        return Counter([TICK] if state else [])
    return Counter(_aligned(options, set(gold_marks)))


def _state(plain: str) -> bool | None:
    return True if plain in _TICKED else text.checked(plain)


def _read(value: str) -> tuple[str, frozenset[str]]:
    """A value normalised and its options; a list of one is that one."""
    options = text.choices(value, commas=False) or frozenset()
    plain = next(iter(options)) if len(options) == 1 else text.normalise(value, LADDER_STEPS)
    return plain, options or frozenset({plain})


def _aligned(options: frozenset[str], gold_options: set[str]) -> set[str]:
    """Options split or joined at commas where the gold shows that they are."""
    aligned: set[str] = set()
    for option in options:
        pieces = text.choices(option) or frozenset()
        listed = option not in gold_options and pieces & gold_options
        aligned |= pieces if listed else {_WORDS.get(option, option)}
    for option in gold_options - aligned:
        pieces = text.choices(option) or frozenset()
        if len(pieces) > 1 and pieces <= aligned:
            aligned = aligned - pieces | {option}
    return aligned


def _cells(value: str) -> Counter[str]:
    table = loaded(value)
    if not isinstance(table, list):
        table = [_CELL.split(line) for line in value.split("\n")]
    rows = [as_texts([*row.values()] if isinstance(row, dict) else row) for row in table[:_MOST]]
    # A rule between head and body, as Markdown has it, is no row of cells.
    rows = [row for row in rows if any(cell.strip(" -:|") for cell in row)]
    cells = (
        (number, text.normalise(cell, LADDER_STEPS))
        for number, row in enumerate(rows)
        for cell in row[:_MOST]
    )
    return Counter(f"{number}:{cell}" for number, cell in cells if cell)


def mark_tallies(
    golds: Sequence[str], preds: Sequence[str], *columns: Sequence[str | None]
) -> dict[str, np.ndarray]:
    """Tallies of shape (n, 2) of the metrics ``mark_*``; `columns`: the gold's subtypes, kinds."""
    counts = []
    for gold, pred, *of_field in zip(golds, preds, *columns, strict=True):
        right, given = marks(gold, *of_field), predicted_marks(pred, gold, *of_field)
        counts.append(((right & given).total(), given.total(), right.total()))
    return f1_tallies("mark", *np.array(counts, dtype=float).reshape(-1, 3).T)


def _constituents(value: str) -> list[str]:
    """The parts of a cross-modal value between semicolons, bars or line ends, or JSON members."""
    members = loaded(value)
    members = list(members.values()) if isinstance(members, dict) else members
    given = as_texts(members) if isinstance(members, list) else _PART.split(value, _MOST_PARTS)
    parts = []
    for piece in map(str.strip, given[:_MOST_PARTS]):
        if box := _BOX.match(piece):
            parts.append("checked" if re.search("[x✓✔•☑☒]", box[1].lower()) else "unchecked")
        parts.append(piece[box.end() :].strip() if box else piece)
    return list(filter(None, parts))


def all_constituents(gold: str, pred: str) -> bool:
    """Whether every part of a cross-modal value is right, in any order, and none is added."""
    golds, preds = _constituents(gold), _constituents(pred)
    if not golds or len(golds) != len(preds):
        return golds == preds
    pairs = list(product(golds, preds))
    typed = text.ladders(*zip(*pairs, strict=True))["typed"]
    states = [list(map(text.checked, pair)) for pair in pairs]
    same = np.where([None in of for of in states], typed, [one == other for one, other in states])
    return len(assign(same.reshape(len(golds), -1).astype(float))) == len(golds)


def cross_tallies(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """Tallies of shape (n, 2): 1 where all parts of the field are right, of 1."""
    pairs = zip(golds, preds, strict=True)
    return np.array([(all_constituents(*pair), 1) for pair in pairs], dtype=float).reshape(-1, 2)
