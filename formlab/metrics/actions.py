"""Filling in a form by clicks and typing: is each click right, and does each value arrive?

The rules are those of FormFactory (Li et al., arXiv:2506.01520, section 5.1.2). Settled beyond
them: a line of output is meant for the value it types, else for the place it clicks; a box to leave
alone is right where nothing clicks it. A click on it is counted in `unwanted_clicks`, so that the
denominator of `click_accuracy` follows from the gold alone.

The paper's report has "an overall task score" (section 4.1) and no formula for it. `task_score` is
0 for a form that was not sent; else the mean of two shares: of its fields whose value was submitted
right, and of its fields to click that were clicked right. `episodic_click` and `episodic_value` are
shares of a form's fields, a description counting with its BLEU unless it is to be left empty;
`form_completed` is 1 where every field is right, as it was submitted if it was.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from formlab import text
from formlab.metrics import assign, ratio, shares
from formlab.metrics.text import bleu_statistics, sentence_bleu

# Clicking one of these enters its value; the rest must be typed or chosen.
TICKED = ("checkbox", "radio", "choice")
DESCRIPTION = "description"


class TargetValue(NamedTuple):
    """One value to enter and where: rows of page, x0, y0, x1, y1; none if not known."""

    value: str
    boxes: Sequence[Sequence[float]] = ()


@dataclass(frozen=True, slots=True)
class GoldField:
    """One field to fill in, its value as annotated and in `items`; none for one to leave alone."""

    path: str
    kind: str
    value: str
    items: tuple[TargetValue, ...]
    # Further ways to write the only value, and which of day and month the form writes first.
    accepted: tuple[str, ...] = ()
    order: str | None = None


class ActionLine(NamedTuple):
    """A click at (x, y) in pixels on a page from 1, and the text typed; NaN is not given."""

    x: float
    y: float
    value: str
    page: float = math.nan
    # The path of the field that it is said to be for.
    field: str | None = None

    @property
    def clicks(self) -> bool:
        """Whether it has a point."""
        return not (math.isnan(self.x) or math.isnan(self.y))

    @property
    def named(self) -> bool:
        """Whether its place is a field's name and no point."""
        return self.field is not None and not self.clicks

    @property
    def count(self) -> int:
        """How many actions it is: a click, a value, or both."""
        return self.clicks + bool(self.value.strip())


@dataclass(slots=True)
class FieldVerdict:
    """The verdict on one field; None where nothing can be said."""

    clicked: bool | None = None
    unwanted: bool | None = None  # Whether a click hits a field to leave alone.
    # The value anywhere in the output, that of the line meant for it, and the same in its place.
    found: bool = False
    right: bool = False
    placed: bool = False
    submitted: bool | None = None
    # How far a miss is off, in pixels: infinite on another page; the path of what it is next to.
    distance: float = np.nan
    near: str | None = None
    lines: list[int] = field(default_factory=list)
    text: str | None = None
    made: int = 0  # Actions.
    expected: int = 0
    matched: int = 0


def nearest(points: Any, boxes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of each point the box it hits, of several the smallest, else the nearest or -1; how far.

    Points (page, x, y) and boxes (page, x0, y0, x1, y1) are rows. A distance is 0 inside, and
    infinite to another page and for no point.
    """
    page, x, y = np.asarray(points, dtype=float).reshape(-1, 3).T[..., None]
    other, x0, y0, x1, y1 = np.asarray(boxes, dtype=float).reshape(-1, 5).T
    gaps = np.hypot(x - np.clip(x, x0, x1), y - np.clip(y, y0, y1))
    gaps[(~np.isnan(page) & (page != other)) | np.isnan(gaps)] = np.inf
    least = gaps.min(axis=1, initial=np.inf)
    if not gaps.size:
        return np.full(len(gaps), -1), least
    sizes = (x1 - x0) * (y1 - y0)
    near = np.where(gaps == least[:, None], sizes, np.inf).argmin(axis=1)
    return np.where(np.isfinite(least), near, -1), least


def _typed(want: GoldField) -> str:
    return ", ".join(item.value for item in want.items) or want.value


@dataclass
class Filled:
    """One form: its fields, the actions on it, and all that the system wrote."""

    fields: Sequence[GoldField]
    lines: Sequence[ActionLine]
    # Rows of page, x0, y0, x1, y1 and the path of the field an element belongs to.
    elements: Sequence[Sequence[Any]] = ()
    output: str = ""

    def judge(
        self, *, exact: bool = False, threshold: float = 0.8
    ) -> tuple[list[FieldVerdict], list[int]]:
        """The verdict on each field, and the lines that are meant for none."""
        self.exact, self.values = exact, [(want, i) for want in self.fields for i in want.items]
        self.same, self.alike = self._likeness(threshold)
        # How far each line is from each value, and which field it hits or is next to.
        points = [(line.page, line.x, line.y) for line in self.lines]
        gaps = [nearest(points, item.boxes)[1] for _, item in self.values]
        self.gaps = np.array(gaps).reshape(self.same.shape[::-1]).T
        near, self.off = nearest(points, [element[:5] for element in self.elements])
        self.owners = [self.elements[n][5] if n >= 0 else None for n in near.tolist()]
        for number, line in enumerate(self.lines):
            # A line that names its field is in its place there, and nowhere else.
            if line.named:
                self.owners[number], self.off[number] = line.field, 0.0
                is_there = [want.path == line.field for want, _ in self.values]
                self.gaps[number] = np.where(is_there, 0.0, np.inf)
        ticked = np.array([want.kind in TICKED for want, _ in self.values], dtype=bool)
        bare = np.array([not line.value.strip() for line in self.lines], dtype=bool)
        self.same |= (self.gaps == 0) & ticked & bare[:, None]
        # The text that a line types tells more than its place and any likeness together.
        worths = 4.0 * self.same + 2.0 * (self.gaps == 0) + self.alike
        chosen = {value: line for line, value in assign(worths)}
        texts = self._most_alike(chosen) if self.exact else {}
        for value, line in texts.items():
            if line is not None and line not in chosen.values():
                chosen.setdefault(value, line)
        unmatched = sorted({*range(len(self.lines))} - {*chosen.values()})
        readable = self.output if self.exact else text.normalise(self.output)
        verdicts, start = [], 0
        for want in self.fields:
            places = range(start, start + len(want.items))
            verdict = self._verdict(want, places, chosen) if places else self._untouched(want)
            if not want.items:
                verdict.made = sum(self.lines[n].count for n in verdict.lines if n in unmatched)
            elif start in texts:
                line = texts[start]
                verdict.text = None if line is None else self.lines[line].value
            ways = [(item.value,) for item in want.items]
            ways = ways if len(ways) > 1 else [(want.value, *want.accepted)]
            verdict.found = verdict.right or all(self._stands(way, readable) for way in ways)
            verdicts.append(verdict)
            start = places.stop
        return verdicts, unmatched

    def _likeness(self, threshold: float) -> tuple[np.ndarray, np.ndarray]:
        """Of each line and value: are they the same, and how alike, 0 if below the threshold."""
        shape = (len(self.lines), len(self.values))
        rows = [(want, item, line) for line in self.lines for want, item in self.values]
        rungs = text.ladders(
            [item.value for _, item, _ in rows],
            [line.value for *_, line in rows],
            # A single option of a multiple choice is no list.
            ["dropdown" if want.kind == "choice" else want.kind for want, *_ in rows],
            [(w.value, *w.accepted) if len(w.items) == 1 else () for w, *_ in rows],
            threshold=threshold,
            # As published, a value is written as it is; dates that are alike pair lines only.
            orders=["either" if self.exact else want.order for want, *_ in rows],
        )
        columns = ("exact" if self.exact else "typed", "fuzzy", "similarity")
        same, close, alike = (rungs[name].to_numpy().reshape(shape) for name in columns)
        # Of a description the paper asks for likeness, not for the same words.
        is_long = np.array([want.kind == DESCRIPTION for want, _ in self.values], dtype=bool)
        return same | (close & is_long), np.where(close, alike, 0.0)

    def _most_alike(self, chosen: Mapping[int, int]) -> dict[int, int | None]:
        """The line with the text of each description, None for none, by the best sum of BLEU."""
        wants = [want for want, _ in self.values]
        long = [number for number, want in enumerate(wants) if want.kind == DESCRIPTION]
        typed = assign(4.0 * self.same + self.alike)
        taken = {line for line, number in typed if number not in long}
        free = [line for line in range(len(self.lines)) if line not in taken]
        golds = [_typed(wants[number]) for _ in free for number in long]
        preds = [self.lines[line].value for line in free for _ in long]
        scores = np.nan_to_num(sentence_bleu(bleu_statistics(golds, preds)))
        pairs = assign(scores.reshape(len(free), len(long)))
        best = {long[number]: free[line] for line, number in pairs}
        idle = {*free} - {*best.values()}
        clicked = {n: line for n, line in chosen.items() if n in long and line in idle}
        return dict.fromkeys(long) | clicked | best

    def _verdict(self, want: GoldField, places: range, chosen: Mapping[int, int]) -> FieldVerdict:
        """The verdict on a field from the line of each of its values, if there is one."""
        has_boxes, lines = all(item.boxes for item in want.items), self.lines
        made = [(chosen[place], place) for place in places if place in chosen]
        hits = [pair for pair in made if self.gaps[pair] == 0]
        right = [pair for pair in made if self.same[pair]]
        clicks = [line for line, _ in hits if lines[line].clicks]
        verdict = FieldVerdict(
            clicked=len(clicks) == len(places) if has_boxes else None,
            right=len(right) == len(places),
            placed=len(right) == len(places) and (len(hits) == len(places) or not has_boxes),
            lines=[line for line, _ in made],
            made=sum(1 + (has_boxes and lines[line].clicks) for line, _ in made),
            expected=(1 + has_boxes) * len(places),
            matched=len(right) + has_boxes * len(clicks),
        )
        if has_boxes and (missed := [pair for pair in made if pair not in hits]):
            verdict.distance = float(self.gaps[missed[0]])
            verdict.near = self.owners[missed[0][0]]
        if made:
            values = [lines[line].value for line in verdict.lines]
            alone = len(want.items) == 1 and want.kind not in TICKED
            texts = (value.strip() or want.items[n].value for n, value in enumerate(values))
            verdict.text = values[0] if alone else ", ".join(texts)
        return verdict

    def _untouched(self, want: GoldField) -> FieldVerdict:
        """The verdict on a field that must stay empty; to leave it empty by a line is right."""
        # To click a mark without a word sets it.
        plain = {want.value, *want.accepted} - ({""} if want.kind in TICKED else set())
        lines = self.lines
        touched = [
            number
            for number, line in enumerate(lines)
            if self.owners[number] == want.path
            and self.off[number] == 0
            and line.value.strip() not in plain
        ]
        entered = lines[touched[0]].value if touched else want.value
        verdict = FieldVerdict(right=not touched, placed=not touched, text=entered, lines=touched)
        if want.path in {element[5] for element in self.elements}:
            verdict.unwanted = any(lines[number].clicks for number in touched)
        return verdict

    def _stands(self, values: Sequence[str], readable: str) -> bool:
        """Whether one of `values` stands in an output: anywhere at all, or by itself."""
        given = filter(str.strip, values)
        keys = given if self.exact else map(text.normalise, given)
        # Looked up as a plain text first: much faster than the pattern, and mostly it says no.
        return any(
            key in readable
            and (self.exact or re.search(rf"(?<!\w){re.escape(key)}(?!\w)", readable))
            for key in keys
        )


def counts(fields: Sequence[GoldField], verdicts: Sequence[FieldVerdict]) -> dict[str, np.ndarray]:
    """Tallies of the metrics of single fields: shape (n, 2), for `description_bleu` (n, 10)."""
    is_long = np.array([want.kind == DESCRIPTION for want in fields], dtype=bool)

    def column(name: str) -> np.ndarray:
        # None, where nothing can be said, is NaN as a number.
        return np.array([getattr(verdict, name) for verdict in verdicts], dtype=float)

    missed = column("distance")
    actions = 2 * column("matched"), column("expected") + column("made")
    tallies = {
        "click_accuracy": shares(column("clicked")),
        "unwanted_clicks": shares(column("unwanted")),
        "action_match_rate": np.stack(actions, axis=1),
        "click_distance": shares(np.where(np.isinf(missed), np.nan, missed)),
    }
    for name in ("found", "placed", "submitted"):
        tallies[f"value_{name}_accuracy"] = shares(np.where(is_long, np.nan, column(name)))
    # Texts of other fields are empty, and so are their counts.
    golds = [_typed(want) if want.kind == DESCRIPTION else "" for want in fields]
    preds = [v.text or "" if long else "" for v, long in zip(verdicts, is_long, strict=True)]
    return tallies | {"description_bleu": bleu_statistics(golds, preds)}


def episodes(
    fields: Sequence[GoldField],
    verdicts: Sequence[FieldVerdict],
    sizes: Sequence[int],
    parts: Mapping[str, np.ndarray],
    sent: Sequence[bool] | None = None,
) -> dict[str, np.ndarray]:
    """Tallies of the metrics of whole forms, of `sizes` fields one after the other."""
    bleu = np.nan_to_num(sentence_bleu(parts["description_bleu"])).tolist()
    values = [
        score if want.kind == DESCRIPTION and want.items else verdict.found
        for want, verdict, score in zip(fields, verdicts, bleu, strict=True)
    ]
    done = [v.placed if v.submitted is None else v.submitted for v in verdicts]
    first = np.cumsum([0, *sizes[:-1]])
    value, entered = np.add.reduceat(np.array([values, done], float), first, axis=1) / sizes
    click = ratio(np.add.reduceat(parts["click_accuracy"], first))
    scores = {
        "episodic_click": click,
        "episodic_value": value,
        "form_completed": (entered == 1).astype(float),
        "task_score": np.nanmean([entered, click], axis=0) * (np.nan if sent is None else sent),
    }
    return {name: shares(score) for name, score in scores.items()}
