"""One form filled in: which line is meant for which field, and what became of each field."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from formlab import text
from formlab.metrics._clicks import distances, nearest, pair

# Clicking one of these enters its value; the rest must be typed or chosen.
_TICKED = ("checkbox", "radio", "choice")
DESCRIPTION = "description"


class Line(NamedTuple):
    """One action of a system: a click at (x, y) in pixels and what is typed there.

    `page` counts from 1; NaN where it is not said. `x` and `y` of NaN are no click.
    """

    x: float
    y: float
    value: str
    page: float = np.nan


class Target(NamedTuple):
    """One value to enter and where: rows of page, x0, y0, x1, y1; none if not known."""

    value: str
    boxes: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Wanted:
    """One field to fill in.

    `value` is the gold as annotated; `items` are the values to enter one by one, none for a field
    to leave alone; `accepted` are further ways to write the only one.
    """

    path: str
    kind: str
    value: str
    items: tuple[Target, ...]
    accepted: tuple[str, ...] = ()

    @property
    def typed(self) -> str:
        """The value as one types it."""
        return ", ".join(item.value for item in self.items) or self.value

    @property
    def alone(self) -> bool:
        """Whether the right thing to do is nothing."""
        return not self.items


@dataclass
class Verdict:
    """What became of one field.

    `clicked` is None where no place is known; `found` is the value anywhere in the output,
    `right` the value of the line that is meant, `placed` the same in the right place and
    `submitted` what the form was sent with (None where nothing was). `near` is the path of the
    element that a miss hits or is next to and `distance` how far it is off, in pixels: infinite
    on another page and without a click. `made`, `expected` and `matched` count actions.
    """

    clicked: bool | None = None
    found: bool = False
    right: bool = False
    placed: bool = False
    submitted: bool | None = None
    distance: float = np.nan
    near: str | None = None
    lines: list[int] = field(default_factory=list)
    text: str | None = None
    made: int = 0
    expected: int = 0
    matched: int = 0


def judge(
    fields: Sequence[Wanted],
    lines: Sequence[Line],
    elements: Sequence[tuple[Any, ...]] = (),
    *,
    output: str = "",
    exact: bool = False,
    threshold: float = 0.8,
) -> tuple[list[Verdict], list[int]]:
    """A verdict on each field of one form, and the lines that are meant for none.

    Parameters
    ----------
    fields, lines
        What is asked for, and what was done.
    elements
        Rows of page, x0, y0, x1, y1 and the path of the field that the element belongs to.
    output
        All that the system wrote, to find values in.
    exact
        Whether a value must be the same code points and is found anywhere in `output`, inside
        other words too, as in the paper; else it must be the same number, date, choice or
        normalised text, and stand in `output` by itself.
    threshold
        The similarity from which on a description is right, in [0, 1].

    Examples
    --------
    >>> name = Wanted("/Name", "string", "Ada", (Target("Ada", ((1, 0, 0, 50, 10),)),))
    >>> verdicts, spare = judge([name], [Line(20, 5, "Ada"), Line(20, 5, "")], output="Ada")
    >>> verdicts[0].clicked, verdicts[0].placed, spare
    (True, True, [1])
    """
    items = [(place, item) for place, want in enumerate(fields) for item in want.items]
    points = np.array([(line.page, line.x, line.y) for line in lines], dtype=float).reshape(-1, 3)
    gaps = _gaps(points, [item for _, item in items])
    same, similarity = _agreement(fields, items, lines, exact=exact, threshold=threshold)
    ticked = np.array([fields[place].kind in _TICKED for place, _ in items], dtype=bool)
    bare = np.array([not line.value.strip() for line in lines], dtype=bool)
    same |= (gaps == 0) & ticked[None, :] & bare[:, None]
    chosen = pair(gaps == 0, same, similarity)
    close = nearest(points, np.array([e[:5] for e in elements], dtype=float).reshape(-1, 5))
    owners = [elements[number][5] if number >= 0 else None for number in close]
    spare = sorted(set(range(len(lines))) - set(chosen.tolist()))
    readable = output if exact else text.normalise(output)
    verdicts = []
    for place, want in enumerate(fields):
        mine = [number for number, (owner, _) in enumerate(items) if owner == place]
        verdict = _verdict(want, mine, chosen, gaps, same, lines, owners)
        verdict.found = verdict.right or _found(want, readable, inside=exact)
        if want.alone:
            verdict.made = sum(_actions(lines[n]) for n in verdict.lines if n in spare)
        verdicts.append(verdict)
    return verdicts, spare


def _gaps(points: np.ndarray, items: Sequence[Target]) -> np.ndarray:
    if not items:
        return np.zeros((len(points), 0))
    per = [distances(points, np.array(item.boxes, dtype=float)) for item in items]
    return np.stack([gap.min(axis=1, initial=np.inf) for gap in per], axis=1)


def _agreement(
    fields: Sequence[Wanted], items: Sequence[tuple[int, Target]], lines: Sequence[Line],
    *, exact: bool, threshold: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Whether each line types each value, and how alike they are from `threshold` on."""
    wants = [fields[place] for place, _ in items]
    # A single option of a multiple choice is no list.
    kinds = ["dropdown" if want.kind == "choice" else want.kind for want in wants]
    rungs = text.ladders(
        [item.value for _, item in items] * len(lines),
        [line.value for line in lines for _ in items],
        kinds * len(lines),
        [(w.value, *w.accepted) if len(w.items) == 1 else () for w in wants] * len(lines),
        threshold=threshold,
    )
    shape = (len(lines), len(items))
    typed = rungs["exact" if exact else "typed"].to_numpy().reshape(shape)
    alike = np.where(rungs["fuzzy"], rungs["similarity"], 0.0).astype(float).reshape(shape)
    long = np.array([want.kind == DESCRIPTION for want in wants], dtype=bool)
    # Of a description the paper asks for likeness, not for the same words.
    return typed | (rungs["fuzzy"].to_numpy().reshape(shape) & long[None, :]), alike


def _verdict(
    want: Wanted, mine: list[int], chosen: np.ndarray, gaps: np.ndarray, same: np.ndarray,
    lines: Sequence[Line], owners: Sequence[str | None],
) -> Verdict:  # fmt: skip
    if want.alone:
        return _untouched(want, lines, owners)
    known = all(want.items[k].boxes for k in range(len(mine)))
    verdict = Verdict(expected=(2 if known else 1) * len(mine))
    hits, rights = [], []
    for number in mine:
        line = int(chosen[number])
        hit = line >= 0 and bool(gaps[line, number] == 0)
        right = line >= 0 and bool(same[line, number])
        hits.append(hit)
        rights.append(right)
        if line < 0:
            continue
        verdict.lines.append(line)
        verdict.made += 1 + (known and _is_click(lines[line]))
        verdict.matched += right + (known and hit)
        if known and not hit and np.isnan(verdict.distance):
            verdict.distance, verdict.near = float(gaps[line, number]), owners[line]
    if verdict.lines:
        said = [lines[n].value.strip() or want.items[k].value for k, n in enumerate(verdict.lines)]
        plain = lines[verdict.lines[0]].value if want.kind not in _TICKED else said[0]
        verdict.text = plain if len(mine) == 1 else ", ".join(said)
    verdict.clicked = all(hits) if known else None
    verdict.right = all(rights)
    verdict.placed = verdict.right and (all(hits) or not known)
    return verdict


def _untouched(want: Wanted, lines: Sequence[Line], owners: Sequence[str | None]) -> Verdict:
    """The verdict on a field to leave alone; to say there that it stays empty is right too."""
    plain = {want.value, *want.accepted}
    touched = [
        number
        for number, line in enumerate(lines)
        if owners[number] == want.path and _is_click(line) and line.value.strip() not in plain
    ]
    done = not touched
    said = want.value if done else lines[touched[0]].value
    return Verdict(None if done else False, right=done, placed=done, text=said, lines=touched)


def _actions(line: Line) -> int:
    return _is_click(line) + bool(line.value.strip())


def _is_click(line: Line) -> bool:
    return not (np.isnan(line.x) or np.isnan(line.y))


def _found(want: Wanted, readable: str, *, inside: bool) -> bool:
    if len(want.items) > 1:
        return all(_stands((item.value,), readable, inside=inside) for item in want.items)
    return _stands((want.value, *want.accepted), readable, inside=inside)


def found_in(values: Sequence[str], output: str, *, inside: bool) -> bool:
    """Whether one of `values` stands in `output`: anywhere at all, or by itself.

    By itself, white space, case, dashes and quotes do not count.

    Examples
    --------
    >>> found_in(["9"], "[10,20] 19", inside=True), found_in(["9"], "[10,20] 19", inside=False)
    (True, False)
    """
    return _stands(values, output if inside else text.normalise(output), inside=inside)


def _stands(values: Sequence[str], readable: str, *, inside: bool) -> bool:
    if inside:
        return any(value.strip() and value in readable for value in values)
    keys = filter(None, map(text.normalise, values))
    # Looked up as a plain text first: that is much faster than the pattern, and mostly says no.
    return any(
        key in readable and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", readable) for key in keys
    )
