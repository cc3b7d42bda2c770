"""A form from the words and ticks of a page: groups, fields, tables."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import median
from typing import Any

import numpy as np

from formlab.benchmarks.formcraft import TASK_OF, Paths
from formlab_baselines.page import TICKED, TICKS
from formlab_baselines.words import Run, cells_of, merged

Row = dict[str, Any]
# A row that is so many heights of a line below another does not belong to its group.
_FAR = 0.75
_COLONS = (":", "：")
_MARKING = {"modality": "marking", "subtype": "checkbox"}


@dataclass
class _Part:
    """Words of a line that stand together: a label and its value, an option, or plain text."""

    label: list[Run] = field(default_factory=list)
    value: list[Run] = field(default_factory=list)
    tick: Run | None = None

    @property
    def has_colon(self) -> bool:
        return bool(self.label) and self.label[-1].text.endswith(_COLONS)

    @property
    def is_plain(self) -> bool:
        return not (self.value or self.tick or self.has_colon)

    @property
    def name(self) -> str:
        return merged(self.label).text.rstrip(": ：")

    @property
    def words(self) -> Run:
        return merged([*self.label, *self.value])


def read(words: Iterable[Run], paths: Paths) -> list[Row]:
    """Rows of the groups and fields of a page, each with its place as `run`, from top to bottom."""
    # A label ends in a colon, and its value stands behind it or below. A tick before a text is an
    # option; the text before or above several is their question. Three lines or more with cells
    # below each other are a table. Text alone in its line, nearer to the next, opens a group.
    lines = [
        parts
        for _, cells in groupby(cells_of(list(words)), key=lambda cell: cell.row)
        if (parts := _parts([cell.words for cell in cells]))
    ]
    form, place = _Form(lines, paths), 0
    while place < len(lines):
        place = form.add(place)
    return form.rows


def _parts(cells: list[list[Run]]) -> list[_Part]:
    """The parts of a line from left to right."""
    parts: list[_Part] = []
    for cell in cells:
        for number, word in enumerate(cell):
            last, is_near = parts[-1] if parts else _Part(), number > 0
            if word.text in TICKS:
                parts.append(_Part(tick=word))
            elif last.has_colon and (is_near or not last.value):
                last.value.append(word)
                if word.text.endswith(_COLONS):
                    parts.append(_cut(last))
            elif is_near and last.value:
                last.value.append(word)
            elif parts and (is_near or not last.label):
                last.label.append(word)
            else:
                parts.append(_Part([word]))
    return [part for part in parts if part.label]


def _cut(part: _Part) -> _Part:
    """A label that ends a value as a part of its own, without which the value is left."""
    wide = [
        place
        for place, (before, word) in enumerate(pairwise([part.label[-1], *part.value]))
        if word.x0 - before.x1 > 0.6 * (word.y1 - word.y0) and word.text[0].isalpha()
    ]
    # A label begins behind a gap that is wider than others; without one it is a word.
    start = wide[-1] if wide else len(part.value) - 1
    label, part.value = part.value[start:], part.value[:start]
    return _Part(label)


class _Form:
    """Reads the lines of a page as groups and fields."""

    def __init__(self, lines: list[list[_Part]], paths: Paths) -> None:
        self.lines, self.paths = lines, paths
        self.rows: list[Row] = []
        self.places = [merged(part.words for part in line) for line in lines]
        self.height = median([run.y1 - run.y0 for run in self.places] or [0]) or 1.0
        # The path of the open group, and whether it has fields.
        self.group, self.has_fields = "", True
        # What may name the options below it; a field whose value may follow below; the last field
        # with options, and where these begin.
        self.names: list[_Part] = []
        self.waiting: Row | None = None
        self.options: tuple[Row, list[float]] | None = None

    def gap(self, place: int) -> float:
        """How far a line is below the one before, in heights of a line."""
        if not 0 < place < len(self.places):
            return np.inf
        return (self.places[place].y0 - self.places[place - 1].y1) / self.height

    def add(self, place: int) -> int:
        """Add what begins in a line; the place of the next."""
        line, gap = self.lines[place], self.gap(place)
        if self._is_heading(place):
            self._open(line[0], gap)
            return place + 1
        if gap > _FAR:
            self.names, self.waiting = [], None
            # A heading may stand far from what it is about: only a group with fields ends.
            self.group = "" if self.has_fields else self.group
        if stop := self._table(place):
            return stop
        if any(part.tick for part in line):
            self._add_options(line)
        elif not self._goes_on(line):
            self._add_fields(line)
        return place + 1

    def _is_heading(self, place: int) -> bool:
        """Whether a line is the heading of those below; what stands on top is the form's title."""
        (part, *others), above, below = self.lines[place], self.gap(place), self.gap(place + 1)
        if others or not part.is_plain or place == 0 or below > 1.5 or self._is_question(place):
            return False
        letters = sum(map(str.isalpha, part.name))
        is_short = len(part.label) < 8 and letters > 1 and not part.name.endswith((".", ","))
        if not is_short or not (part.name[0].isupper() or part.name[0].isdigit()):
            return False
        is_nested = not self.has_fields and above < 0.3
        return is_nested or above - below > 0.1 or (letters > 5 and part.name.isupper())

    def _is_question(self, place: int) -> bool:
        """Whether the line below has options that belong to this one."""
        options = [part for part in self.lines[place + 1] if part.tick]
        indent = options[0].tick.x0 - self.places[place].x0 if options else 0
        return len(options) > 1 or indent > 0.4 * self.height

    def _open(self, part: _Part, gap: float) -> None:
        """Open a group, inside the one before if that has only its heading so far."""
        parent = "" if self.has_fields or gap > 0.3 else self.group
        self.group, self.has_fields = self.paths.of(parent, part.name), False
        self._forget()
        row = {"task": "layout", "path": self.group, "kind": "group", "value": part.name}
        self.rows.append(row | {"run": part.words})

    def _forget(self) -> None:
        self.names, self.waiting, self.options = [], None, None

    def _field(self, label: str, value: str, run: Run, score: float, **kind: str) -> Row:
        """Add a field; `kind` has its modality, subtype and kind where it is no printed text."""
        row = {"modality": "textual", "subtype": "machine-printed", "kind": "string"} | kind
        row |= {"task": TASK_OF[row["modality"]], "path": self.paths.of(self.group, label)}
        self.rows.append(row | {"value": value, "confidence": score, "run": run})
        self.has_fields = True
        return self.rows[-1]

    def _goes_on(self, line: list[_Part]) -> bool:
        """Whether the line is the value, or more of it, of the label above."""
        words, above = line[0].words, self.waiting
        if above is None or len(line) > 1 or not line[0].is_plain or words.x1 < above["run"].x0:
            return False
        above["value"] = f"{above['value']} {words.text}".strip()
        above["run"], above["confidence"] = merged([above["run"], words]), words.score
        return True

    def _add_fields(self, line: list[_Part]) -> None:
        self._forget()
        if len(line) == 2 and all(part.is_plain for part in line):
            name, value = line
            if any(map(str.isalpha, name.name)) and any(map(str.isdecimal, value.name)):
                line = [_Part(name.label, value.label)]
        self.names = [part for part in line if part.is_plain]
        for part in line:
            if not part.is_plain and part.name:
                value = merged(part.value or part.label)
                text = value.text if part.value else ""
                added = self._field(part.name, text, value, part.words.score)
                self.waiting = added if len(line) == 1 and not part.value else None

    def _add_options(self, line: list[_Part]) -> None:
        """Add fields of ticks: of a question before or above them, else each its own."""
        first = next(place for place, part in enumerate(line) if part.tick)
        before, options = line[:first], [part for part in line[first:] if part.tick]
        names, last, left, reach = self.names, self.options, options[0].tick.x0, self.height / 2
        around = merged(run for part in options for run in (part.words, part.tick))
        self._add_fields(before[:-1])
        self.names = []
        if last and not before and min(abs(left - other) for other in last[1]) < reach:
            self.options = last
        elif question := before or [n for n in names if n.words.x0 <= left + reach]:
            name, kind = question[-1], TICKS[options[0].tick.text]
            field = self._field(name.name, "", around, name.words.score, **_MARKING, kind=kind)
            self.options = (field, [])
        if self.options:
            field, lefts = self.options
            chosen = [part.words.text for part in options if part.tick.text in TICKED]
            field["value"] = "; ".join(filter(None, [field["value"], *chosen]))
            field["run"] = merged([field["run"], around])
            lefts += [part.tick.x0 for part in options]
        else:
            for part in options:
                self._add_single(part)

    def _add_single(self, part: _Part) -> None:
        """Add a tick of its own; with a value behind it, both are one field."""
        is_ticked, words = part.tick.text in TICKED, part.words
        value, kind = "checked" if is_ticked else "unchecked", _MARKING | {"kind": "checkbox"}
        if part.value:
            value = f"[{'x' if is_ticked else ' '}] {part.name}; {merged(part.value).text}"
            kind = {"modality": "cross", "subtype": "cross"}
        self._field(part.name, value, merged([words, part.tick]), words.score, **kind)

    def _table(self, place: int) -> int:
        """The place after a table that begins in a line, which is added; 0 if none does."""
        columns, stop = [part.words for part in self.lines[place]], place
        while stop < len(self.lines) and (stop == place or self.gap(stop) < _FAR):
            line = self.lines[stop]
            is_below = all(any(map(part.words.is_below, columns)) for part in line)
            if len(line) < 2 or not is_below or not all(part.is_plain for part in line):
                break
            stop += 1
        if len(columns) < 3 or stop - place < 3:
            return 0
        table = [[part.words for part in line] for line in self.lines[place:stop]]
        value = "\n".join(
            " | ".join(
                " ".join(run.text for run in line if run.is_below(column)) for column in columns
            )
            for line in table
        )
        name = self.names[-1].name if self.names else "Table"
        run = merged(cell for line in table for cell in line)
        self._forget()
        self._field(name, value, run, run.score, modality="marking", subtype="table-grid")
        return stop
