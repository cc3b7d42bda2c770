"""From the rows of a page to groups and fields: headings open groups, rows hold fields."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from formlab_baselines.form_rows import Cell
from formlab_baselines.page_spec import Rect
from formlab_baselines.page_text import Word, lines_of

_NUMBER = re.compile(r"([A-Z]?[0-9]+[0-9a-z.]*|[A-Z]) ")
# How much larger the letters of a heading are than those of one below it.
_LARGER = 1.1


@dataclass
class FormField:
    """A field of the form; of a table that is one field `cells` are the texts, row by row."""

    label: str
    value: str
    box: Rect
    modality: str = "textual"
    subtype: str = "machine-printed"
    kind: str = "string"
    confidence: float | None = None
    cells: tuple[tuple[str, ...], ...] = ()


@dataclass
class FormGroup:
    """A group of fields.

    `size` is that of its heading's letters, `frame` what it is in; it `follows` where nothing
    stands between its heading and that of the group it is in.
    """

    label: str = ""
    box: Rect | None = None
    size: float = np.inf
    shaded: bool = False
    frame: Rect | None = None
    follows: bool = False
    fields: list[FormField] = field(default_factory=list)
    groups: list[FormGroup] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether it has neither fields nor groups yet."""
        return not (self.fields or self.groups)

    def holds(self, other: FormGroup) -> bool:
        """Whether a group whose heading comes later belongs into this one."""
        if self.frame is not None and self.frame != other.frame:
            return False
        number, longer = _NUMBER.match(self.label), _NUMBER.match(other.label)
        if number and longer:
            return longer[1] != number[1] and longer[1].startswith(number[1])
        if self.shaded != other.shaded:
            return self.shaded
        if max(self.size, other.size) > _LARGER * min(self.size, other.size):
            return self.size > other.size
        # Of two consecutive headings the first contains the second, unless it is itself a second.
        return self.is_empty and not self.follows


@dataclass
class Typography:
    """Widths of strokes, sizes and heights that are common among the text of a page."""

    stroke: float
    size: float
    height: float
    in_capitals: bool = False

    @classmethod
    def of(cls, words: list[Word]) -> Typography:
        """The medians over all lines of letters."""
        lines = [line for line in lines_of(words) if sum(map(str.isalpha, line.text)) > 2]
        values = [(line.stroke, line.size, line.box.height) for line in lines] or [(1, 1, 1)]
        capitals = sum(line.text == line.text.upper() for line in lines) > 0.4 * len(lines)
        return cls(*np.median(np.array(values, dtype=float), axis=0).tolist(), capitals)

    def is_heading(self, cell: Cell, bold: float) -> bool:
        """Whether text that stands alone looks like a heading."""
        lines = lines_of(cell.words)
        letters = [letter for letter in cell.text if letter.isalpha()]
        if not cell.is_plain or len(letters) < 2 or len(cell.label) > 10 or len(lines) != 1:
            return False
        line = lines[0]
        capitals = len(letters) > 5 and all(map(str.isupper, letters)) and not self.in_capitals
        strong = line.stroke > bold * self.stroke or line.size > 1.4 * self.size
        return (strong and line.score > 0.8) or line.shaded or capitals

    def is_scribble(self, words: list[Word]) -> bool:
        """Whether the words are a scribble: higher than a line, and of low confidence."""
        lines = lines_of(words)
        return any(line.box.height > 1.35 * self.height and line.score < 0.87 for line in lines)


def confidence(words: list[Word]) -> float | None:
    """The lowest confidence among the lines of the words."""
    return min((line.score for line in lines_of(words)), default=None)
