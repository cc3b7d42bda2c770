"""Reads a screenshot: lines of text, boxes to fill in, marks to tick."""

import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from formlab import files, pictures
from formlab_arena.screen_lines import TextLine, lines_of, pieces, texts_beside, with_paragraphs
from formlab_arena.shapes import Box, has_arrow, holds, is_low, is_time, middle, outlines, ticked

# How far above a box, or to its left, its label may be; and how many screens are kept.
_ABOVE, _LEFT = 48, 700
_KEPT = 64
FILE = re.compile(r"choose ?files?|no ?files? ?(?:chosen|selected)|browse|upload", re.IGNORECASE)
_CHOOSE = re.compile(
    r"\W*(?:please )?(?:choose|select|pick)\b(?! ?files?)|[-–—]{2,}", re.IGNORECASE
)
# What the browser shows in its own fields, as far as OCR reads it.
_NATIVE = {
    "datetime-local": re.compile(r"\W*[mdy]{1,4}\s*/[mdy/\s]*,?[\s-]*:", re.IGNORECASE),
    "date": re.compile(r"\W*[mdy]{1,4}\s*/\s*[a-z]{0,2}\s*/?\s*y{0,4}[^a-z]{0,4}", re.IGNORECASE),
    "time": re.compile(r"[-–—\s]+:[-–—\s]*[^a-z]{0,4}"),
    "month": re.compile(r"[-–—]{4,}\s+[-–—]{3,}[^a-z]{0,4}"),
}
# What OCR makes of the arrow of a list.
_ARROW = re.compile(r"(?:^|\s+)[Vv∨⌄▾▼]$")


@dataclasses.dataclass(frozen=True)
class ScreenField:
    """A box to write in, the text in it, and the lines that may be its label, likeliest first.

    `kind` is ``list``, ``file`` or ``button`` where it looks like one, else empty.
    """

    box: Box
    text: str
    labels: tuple[str, ...]
    kind: str = ""


@dataclasses.dataclass(frozen=True)
class TickMark:
    """A box or ring to tick, the text at its right, whether it is ticked, whether it is a ring."""

    box: Box
    text: str
    ticked: bool
    is_ring: bool = False


@dataclasses.dataclass(frozen=True)
class MarkGroup:
    """Marks that stand together, and the lines that may say what is asked."""

    marks: tuple[TickMark, ...]
    labels: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Screen:
    """The content of one screenshot; boxes in its pixels."""

    lines: tuple[TextLine, ...]
    fields: tuple[ScreenField, ...]
    groups: tuple[MarkGroup, ...]


def reader(threads: int = 1) -> Callable[[Path], Screen]:
    """A reader of screenshots by OCR, in so many threads; it reads the same picture only once."""
    from formlab.systems import ocr

    read = ocr.start(dict(ocr.SYSTEM.defaults), threads)
    kept: dict[str, Screen] = {}

    def once(path: Path) -> Screen:
        digest = files.sha256(path)
        if digest not in kept:
            rows = read({"doc_id": path.name, "image": path.name}, path.parent)
            gray = np.asarray(pictures.read_image(path).convert("L"))
            kept[digest] = arrange(gray, lines_of(rows))
            if len(kept) > _KEPT:
                del kept[next(iter(kept))]
        return kept[digest]

    return once


def arrange(gray: np.ndarray, lines: Sequence[TextLine]) -> Screen:
    """Boxes and marks of a page with the lines that belong to them.

    `gray` is the screenshot, shape (height, width), 0 black and 255 white; `lines` its text.
    """
    drawn = outlines(gray, [line.box for line in lines])
    states = {box: ticked(gray, box, kind) for box, kind in drawn.marks.items()}
    states = {box: state for box, state in states.items() if state is not None}
    lines = [piece for line in lines for piece in pieces(line, drawn.boxes, states)]
    marks = [
        TickMark(box, text, states[box], drawn.marks[box] == "ring")
        for box, text in texts_beside(states, lines).items()
    ]
    texts = {box: [line for line in lines if holds(box, line.box)] for box in drawn.boxes}
    boxes, zones = _to_write_in(texts, [mark.box for mark in marks])
    texts |= {box: [line for line in lines if holds(box, line.box)] for box in drawn.lines}
    boxes += [box for box in drawn.lines if not any(holds(box, mark.box) for mark in marks)]
    # What reaches across the window is a bar.
    boxes = [box for box in boxes if box[0] > 0 or box[2] < gray.shape[1]]
    boxes.sort(key=lambda box: (box[1], box[0]))
    squares = [mark.box for mark in marks]
    boxes = [
        box
        for box in _without_addons(boxes, texts, zones)
        if not texts[box] or not any(_is_cell(box, other) for other in (*boxes, *squares))
    ]
    taken = {id(line) for box in boxes for line in texts[box]}
    taken |= {id(line) for line in lines if any(line.text == m.text for m in marks)}
    free = with_paragraphs([line for line in lines if id(line) not in taken])
    fields = []
    for box in boxes:
        name, value = _parted(box, texts[box])
        labels = (*name, *_labels(zones.get(box, box), free, (*boxes, *squares)))
        kind = _kind(gray, box, value)
        value = _ARROW.sub("", value) if kind == "list" else value
        fields.append(ScreenField(box, value, labels, kind))
    # The nearest label of a box is not that of marks below it.
    owned = {field.labels[0] for field in fields if field.labels}
    rest = [line for line in free if line.text not in owned]
    groups = tuple(
        MarkGroup(tuple(some), _labels(some[0].box, rest, boxes, indent=60))
        for some in _grouped(marks)
    )
    return Screen(tuple(lines), tuple(fields), groups)


def _to_write_in(
    texts: Mapping[Box, Sequence[TextLine]], marks: Sequence[Box]
) -> tuple[list[Box], dict[Box, Box]]:
    """The boxes that are no frames around others or around marks, and no cells of a table.

    With the box around the button of a file field, by whose place its label is looked for.
    """
    frames, zones = [], {}
    for box in texts:
        smaller = (b for b in (*texts, *marks) if _area(b) < _area(box))
        if inner := [b for b in smaller if holds(box, b)]:
            frames.append(box)
        if len(inner) == 1 and is_low(box):
            zones[inner[0]] = box
    whole = [box for box in texts if box not in frames]
    kept = [box for box in whole if not any(_touch(box, frame) for frame in frames)]
    return kept, zones


def _is_cell(box: Box, other: Box) -> bool:
    """Whether a box is the cell of a table, with the other one in the next cell."""
    beside = -3 <= other[0] - box[2] <= 40
    return beside and box[1] <= other[1] - 2 and other[3] + 2 <= box[3]


def _parted(box: Box, lines: Sequence[TextLine]) -> tuple[tuple[str, ...], str]:
    """A label that floats above the value in a box of one line, and the value."""
    rows = sorted(lines, key=lambda line: line.box[1])
    if is_low(box) and len(rows) > 1 and rows[1].box[1] >= middle(rows[0].box)[1]:
        below = sorted(rows[1:], key=lambda line: line.box[0])
        return (rows[0].text,), " ".join(line.text for line in below)
    return (), " ".join(line.text for line in lines)


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _touch(one: Box, other: Box) -> bool:
    """Whether two boxes lie side by side or below one another without a gap, as cells do."""
    for along, across in ((0, 1), (1, 0)):
        gap = min(abs(one[along + 2] - other[along]), abs(other[along + 2] - one[along]))
        low, high = max(one[across], other[across]), min(one[across + 2], other[across + 2])
        if gap <= 3 and high - low > 0.8 * (one[across + 2] - one[across]):
            return True
    return False


def _without_addons(
    boxes: Sequence[Box], texts: Mapping[Box, Sequence[TextLine]], zones: dict[Box, Box]
) -> list[Box]:
    """The boxes without those of a short text beside another, which `zones` then includes."""
    addons = set()
    for box, other in itertools.permutations(boxes, 2):
        short = 0 < len("".join(line.text for line in texts[box])) <= 6
        beside = abs(box[1] - other[1]) <= 4 and abs(box[3] - other[3]) <= 4 and _touch(box, other)
        if short and beside and box[2] - box[0] < 0.5 * (other[2] - other[0]):
            addons.add(box)
            zones[other] = (min(box[0], other[0]), other[1], max(box[2], other[2]), other[3])
    return [box for box in boxes if box not in addons]


def _kind(gray: np.ndarray, box: Box, text: str) -> str:
    if FILE.search(text):
        return "file"
    for kind, pattern in _NATIVE.items():
        if (pattern.match if kind == "datetime-local" else pattern.fullmatch)(text):
            return kind
    if len(text) < 4 and is_time(gray, box):
        return "time"
    # A label that floats in the upper half.
    if is_low(box) and box[3] - box[1] > 40 and is_time(gray, (*box[:1], middle(box)[1], *box[2:])):
        return "time"
    if _CHOOSE.match(text) or has_arrow(gray, box):
        return "list"
    if not text or not is_low(box) or len(text) > 40:
        return ""
    x0, y0, x1, y1 = (int(side) for side in box)
    inside = gray[y0 + 3 : y1 - 3, x0 + 3 : x1 - 3].astype(float)
    around = gray[y0:y1, max(0, x0 - 6) : max(0, x0 - 2)]
    ink = np.flatnonzero((np.abs(inside - np.median(inside)) > 50).any(axis=0))
    if not ink.size or not around.size:
        return ""
    centred = abs(ink[0] - (inside.shape[1] - 1 - ink[-1])) <= 5 and ink[0] >= 2
    return "button" if centred and abs(np.median(inside) - np.median(around)) > 3 else ""


def _labels(
    box: Box, lines: Sequence[TextLine], boxes: Sequence[Box], indent: float = 24
) -> tuple[str, ...]:
    """Lines at the left of a box or above it, nearest first."""
    ranked = []
    for line in lines:
        x0, y0, x1, y1 = line.box
        _, at = middle(line.box)
        gap = box[0] - x1
        beside = -14 <= gap <= _LEFT and y0 - 4 <= box[3] and (
            box[1] - 4 <= at <= min(box[3], box[1] + 44) + 2 or y0 <= middle(box)[1] <= y1
        )  # fmt: skip
        if beside and gap > 40:
            between = (x1, min(y0, box[1]), box[0], max(y1, box[3]))
            beside = not any(holds(between, b) and b[1] < box[3] and box[1] < b[3] for b in boxes)
        above = box[1] - y1
        over = -10 <= above <= _ABOVE and x0 < box[2] and -indent - 10 <= x0 - box[0]
        over = over and x0 - box[0] <= max(60.0, 0.3 * (box[2] - box[0]))
        if over and above > 6:
            # A label with another box below it is that box's.
            over = not any(
                b[0] < x1 and x0 < b[2] and y1 - 6 <= middle(b)[1] < box[1] and b != box
                for b in boxes
            )
        if beside:
            ranked.append((min(45.0, 0.3 * max(0.0, gap)), line.text))
        elif over:
            ranked.append((max(0.0, above) + 0.1 * abs(x0 - box[0]), line.text))
    return tuple(text for _, text in sorted(ranked, key=lambda pair: pair[0])[:4])


def _grouped(marks: list[TickMark]) -> list[list[TickMark]]:
    """Marks below one another at one indent, or side by side in one row, near enough."""
    groups: list[list[TickMark]] = []
    for mark in sorted(marks, key=lambda mark: (mark.box[1], mark.box[0])):
        for group in groups:
            if any(mark.is_ring == other.is_ring and _near(mark.box, other.box) for other in group):
                group.append(mark)
                break
        else:
            groups.append([mark])
    return groups


def _near(box: Box, other: Box) -> bool:
    under = abs(box[0] - other[0]) <= 5 and 0 < box[1] - other[3] <= 26
    beside = abs(box[1] - other[1]) <= 5 and 0 < box[0] - other[2] <= 260
    return under or beside


def differs(before: Screen | None, after: Screen | None) -> bool:
    """Whether two screens show different text, apart from small differences of OCR.

    Examples
    --------
    >>> a = Screen((TextLine("Name", (0, 0, 40, 20)),), (), ())
    >>> differs(a, a), differs(a, Screen((TextLine("Name", (0, 90, 40, 110)),), (), ()))
    (False, True)
    """
    if before is None or after is None:
        return True
    old, new = (
        {(line.text, round(line.box[1] / 12)) for line in page.lines} for page in (before, after)
    )
    return len(old & new) < 0.8 * max(len(old), len(new), 1)
