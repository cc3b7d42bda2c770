"""Match actions to the fields of filled-in forms, and score each field."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from formlab import text
from formlab.metrics._bleu import sentence_score, statistics
from formlab.metrics._field_values import Pairs, field_found, match_values
from formlab.metrics._forms import (
    DESCRIPTION,
    TICKED,
    ActionLine,
    FieldVerdict,
    Filled,
    GoldField,
    TargetValue,
)
from formlab.metrics._geometry import closest, pair, separation

# Pairs of lines and values judged at once: bounds the memory.
_CHUNK = 1 << 18
Judged = tuple[list[FieldVerdict], list[int]]


def match_forms(
    forms: Sequence[Filled], *, exact: bool = False, threshold: float = 0.8
) -> list[Judged]:
    """For each form a verdict on each of its fields, and the lines that are meant for none.

    With `exact` a value must be the same code points and is found anywhere in the output, inside
    other words too, as in the paper; else it must be the same number, date, choice or normalised
    text, and stand in the output by itself. From the similarity `threshold` on, in [0, 1], a
    description is right.

    Examples
    --------
    >>> name = GoldField("/Name", "string", "Ada", (TargetValue("Ada", ((1, 0, 0, 50, 10),)),))
    >>> lines = [ActionLine(20, 5, "Ada"), ActionLine(20, 5, "")]
    >>> [(verdicts, unmatched)] = match_forms([Filled([name], lines, output="Ada")])
    >>> verdicts[0].clicked, verdicts[0].placed, unmatched
    (True, True, [1])
    """
    return [
        judged
        for chunk in _chunks(forms)
        for judged in _judge(chunk, exact=exact, threshold=threshold)
    ]


def _chunks(forms: Sequence[Filled]) -> Iterator[list[Filled]]:
    chunk: list[Filled] = []
    size = 0
    for form in forms:
        chunk.append(form)
        size += len(form.lines) * (len(form.fields) + len(form.elements))
        if size >= _CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _judge(forms: list[Filled], *, exact: bool, threshold: float) -> Iterator[Judged]:
    lines = [line for form in forms for line in form.lines]
    points = np.array([(line.page, line.x, line.y) for line in lines], dtype=float).reshape(-1, 3)
    owners, hits = _owners(forms, points)
    for number, line in enumerate(lines):
        if line.named:
            owners[number] = hits[number] = line.field
    items = [(want, item) for form in forms for want in form.fields for item in want.items]
    sizes = [sum(len(want.items) for want in form.fields) for form in forms]
    pairs = Pairs([len(form.lines) for form in forms], sizes)
    gaps = _gaps(forms, points, pairs, [item for _, item in items])
    _name(gaps, pairs, lines, items)
    same, alike = match_values(
        pairs, [line.value for line in lines], items, exact=exact, threshold=threshold
    )
    ticked = np.array([want.kind in TICKED for want, _ in items], dtype=bool)
    bare = np.array([not line.value.strip() for line in lines], dtype=bool)
    same |= (gaps == 0) & ticked[pairs.second] & bare[pairs.first]
    first = 0
    for number, (form, size) in enumerate(zip(forms, sizes, strict=True)):
        window = slice(*pairs.offsets[number : number + 2].tolist())
        shape = (len(form.lines), size)
        own = _Own(form, gaps[window].reshape(shape), same[window].reshape(shape))
        near = alike[window].reshape(shape)
        chosen = pair(own.gaps == 0, own.same, near).tolist()
        texts = own.most_alike(near, chosen) if exact else {}
        for item, line in texts.items():
            if chosen[item] < 0 and line not in chosen:
                chosen[item] = line
        last = first + len(form.lines)
        yield own.judged(chosen, texts, owners[first:last], hits[first:last], exact=exact)
        first = last


def _owners(forms: list[Filled], points: np.ndarray) -> tuple[list[str | None], list[str | None]]:
    """The field whose element each line hits or is next to, and the one it hits."""
    elements = [element for form in forms for element in form.elements]
    # Instances of one form share the list of their elements.
    shared = {id(form.elements): form.elements for form in forms}
    rows = {
        key: np.array([e[:5] for e in elements_of_form], dtype=float)
        for key, elements_of_form in shared.items()
    }
    boxes = np.concatenate([rows[id(form.elements)].reshape(-1, 5) for form in forms])
    pairs = Pairs([len(form.lines) for form in forms], [len(form.elements) for form in forms])
    near, gaps = closest(points, boxes, pairs.first, pairs.second)
    owners = [elements[number][5] if number >= 0 else None for number in near.tolist()]
    hits = (gaps == 0).tolist()
    return owners, [owner if hit else None for owner, hit in zip(owners, hits, strict=True)]


def _gaps(
    forms: list[Filled], points: np.ndarray, pairs: Pairs, items: list[TargetValue]
) -> np.ndarray:
    """How far the line of each pair is from the nearest place of its value."""
    boxes = np.array([box for item in items for box in item.boxes], dtype=float).reshape(-1, 5)
    owner = np.repeat(np.arange(len(items)), [len(item.boxes) for item in items])
    sizes = [sum(len(item.boxes) for want in form.fields for item in want.items) for form in forms]
    places = Pairs([len(form.lines) for form in forms], sizes)
    gaps = np.full(len(pairs.first), np.inf)
    # The pair of a line and a value is as far from the line's first pair as the two values are.
    start = np.searchsorted(pairs.first, places.first)
    at = start + owner[places.second] - pairs.second[start] if len(start) else start
    np.minimum.at(gaps, at, separation(points[places.first], boxes[places.second]))
    return gaps


def _name(
    gaps: np.ndarray,
    pairs: Pairs,
    lines: list[ActionLine],
    items: list[tuple[GoldField, TargetValue]],
) -> None:
    """A line that names its field instead of a point is in its place there, and nowhere else."""
    named = np.array([line.named for line in lines], dtype=bool)
    if not named.any():
        return
    stated = np.array([line.field for line in lines], dtype=object)
    own = np.array([want.path for want, _ in items], dtype=object)
    rows = np.flatnonzero(named[pairs.first])
    gaps[rows] = np.where(stated[pairs.first[rows]] == own[pairs.second[rows]], 0.0, np.inf)


class _Own:
    """What is known of one form."""

    def __init__(self, form: Filled, gaps: np.ndarray, same: np.ndarray) -> None:
        self.form, self.gaps, self.same = form, gaps, same

    def most_alike(self, alike: np.ndarray, chosen: list[int]) -> dict[int, int]:
        """The line with the text of each description, -1 for none, by the best sum of BLEU.

        As published, a value counts wherever it was entered, so clicks play no part, and as BLEU
        has no threshold, neither do lines have one here. What types another field is left out. A
        description without any line like it has the one in its place, whose BLEU is 0.
        """
        wants = [want for want in self.form.fields for _ in want.items]
        long = [number for number, want in enumerate(wants) if want.kind == DESCRIPTION]
        typed = pair(np.zeros_like(self.same), self.same, alike).tolist()
        taken = {line for number, line in enumerate(typed) if number not in long}
        free = [line for line in range(len(self.form.lines)) if line not in taken]
        if not (long and free):
            return dict.fromkeys(long, -1)
        pairs = [
            (wants[number].typed, self.form.lines[line].value)
            for line, number in itertools.product(free, long)
        ]
        scores = np.nan_to_num(sentence_score(statistics(*zip(*pairs, strict=True))))
        scores = scores.reshape(len(free), len(long))
        best = pair(np.zeros_like(scores), np.zeros_like(scores), scores).tolist()
        found = [free[line] if line >= 0 else -1 for line in best]
        idle = set(free) - set(found)
        return {
            number: line if line >= 0 else chosen[number] if chosen[number] in idle else -1
            for number, line in zip(long, found, strict=True)
        }

    def judged(
        self, chosen: list[int], texts: dict[int, int], owners: list[str | None],
        hits: list[str | None], *, exact: bool,
    ) -> Judged:  # fmt: skip
        """The verdicts, and the lines that are meant for no field; `texts` are of descriptions."""
        form = self.form
        unmatched = sorted(set(range(len(form.lines))) - set(chosen))
        readable = form.output if exact else text.normalise(form.output)
        verdicts = []
        placed = {element[5] for element in form.elements}
        start = 0
        for want in form.fields:
            if want.leave_empty:
                verdict = _untouched(want, form.lines, hits)
                touched = any(form.lines[number].clicks for number in verdict.lines)
                verdict.unwanted = touched if want.path in placed else None
                verdict.made = sum(_actions(form.lines[n]) for n in verdict.lines if n in unmatched)
            else:
                end = start + len(want.items)
                verdict = self._verdict(want, start, chosen[start:end], owners)
                if (line := texts.get(start)) is not None:
                    verdict.text = form.lines[line].value if line >= 0 else None
                start = end
            verdict.found = verdict.right or field_found(want, readable, inside=exact)
            verdicts.append(verdict)
        return verdicts, unmatched

    def _verdict(
        self, want: GoldField, start: int, chosen: list[int], owners: list[str | None]
    ) -> FieldVerdict:
        lines = self.form.lines
        known = all(item.boxes for item in want.items)
        verdict = FieldVerdict(expected=(2 if known else 1) * len(chosen))
        hits, clicks, rights = [], [], []
        for number, line in enumerate(chosen, start):
            gap = float(self.gaps[line, number]) if line >= 0 else np.inf
            hit, right = gap == 0, line >= 0 and bool(self.same[line, number])
            click = hit and lines[line].clicks
            hits.append(hit)
            clicks.append(click)
            rights.append(right)
            if line < 0:
                continue
            verdict.lines.append(line)
            verdict.made += 1 + (known and lines[line].clicks)
            verdict.matched += right + (known and click)
            if known and not hit and np.isnan(verdict.distance):
                verdict.distance, verdict.near = gap, owners[line]
        if verdict.lines:
            verdict.text = _entered(want, [lines[number].value for number in verdict.lines])
        verdict.clicked = all(clicks) if known else None
        verdict.right = all(rights)
        verdict.placed = verdict.right and (all(hits) or not known)
        return verdict


def _entered(want: GoldField, values: list[str]) -> str:
    if len(want.items) == 1 and want.kind not in TICKED:
        return values[0]
    return ", ".join(value.strip() or want.items[n].value for n, value in enumerate(values))


def _untouched(
    want: GoldField, lines: Sequence[ActionLine], hit: Sequence[str | None]
) -> FieldVerdict:
    """Score a field that must stay empty; explicitly leaving it empty is correct."""
    plain = {want.value, *want.accepted}
    # To click a mark without a word sets it.
    plain -= {""} if want.kind in TICKED else set()
    touched = [
        number
        for number, line in enumerate(lines)
        if hit[number] == want.path and line.value.strip() not in plain
    ]
    done = not touched
    entered = want.value if done else lines[touched[0]].value
    return FieldVerdict(right=done, placed=done, text=entered, lines=touched)


def _actions(line: ActionLine) -> int:
    return line.clicks + bool(line.value.strip())
