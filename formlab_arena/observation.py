"""What an agent is shown of a page: the screenshot, and as much of its elements as it may know."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

# What an agent is shown besides the screenshot: nothing, the boxes of what can be used, or all of
# the accessibility tree.
Observe = Literal["pixels", "boxes", "tree"]


@dataclasses.dataclass(frozen=True)
class Element:
    """Something on the page that can be read or used.

    Parameters
    ----------
    field
        The form's name for what it belongs to, unique on the page; the same for all options of a
        choice; empty for what takes no answer, such as a button.
    option
        What ticking it answers; None for all but the ticks of a choice.
    kind
        The type of an ``input``, ``select``, ``textarea``, ``button``, ``canvas``, …, or the
        ARIA role.
    value
        The present content as text.
    checked
        Whether it is ticked; None for what cannot be.
    options
        What can be chosen in it, as shown.
    box
        Left, top, right and bottom in pixels of the window, also inside frames.
    id
        What actions name it by; the same as long as the element is on the page.
    role, name
        Those of the accessibility tree; `name` is the label as people read it.
    label
        That of the field: of a tick of a choice the choice's own, else `name`.
    group
        What it stands in, from outside: frame, heading, dialog, group or legend.
    required, disabled
        As the page says.
    covered
        Whether something lies over it, such as a banner that is to be closed first.
    hint
        What the page says beside it: a placeholder, a pattern, a description.
    message
        What the page says is wrong with it.
    many
        Whether it takes several of `options`.
    """

    field: str
    option: str | None
    kind: str
    value: str
    checked: bool | None
    options: tuple[str, ...]
    box: tuple[float, float, float, float]
    id: str = ""
    role: str = ""
    name: str = ""
    required: bool = False
    disabled: bool = False
    hint: str = ""
    message: str = ""
    many: bool = False
    label: str = ""
    group: tuple[str, ...] = ()
    covered: bool = False

    @property
    def middle(self) -> tuple[float, float]:
        """The centre of the box."""
        x0, y0, x1, y1 = self.box
        return (x0 + x1) / 2, (y0 + y1) / 2


@dataclasses.dataclass(frozen=True)
class OpenTab:
    """A tab of the browser; `number` counts from 0 in the order in which they were opened."""

    number: int
    address: str
    title: str
    active: bool


@dataclasses.dataclass(frozen=True)
class OpenDialog:
    """A dialog of the page that waits for an answer: ``alert``, ``confirm``, ``prompt`` …"""

    kind: str
    text: str


@dataclasses.dataclass(frozen=True)
class Observation:
    """What an agent receives: a screenshot, the text, the files at hand.

    Parameters
    ----------
    step
        Counts from 1.
    image, size
        The screenshot, and its width and height in pixels.
    text, files
        The instructions, and the names of the files that can be uploaded.
    elements
        Empty where the agent sees ``pixels``; where it sees ``boxes``, without names, values,
        hints and options.
    refused
        Actions since the last look that were not carried out, with the reason.
    messages
        What else happened since: an action that changed nothing, a dialog, a page that was
        refused, a new tab.
    address, tabs, dialog
        Where the browser is, what is open, and the dialog that waits for an answer.
    scale
        The width of the screenshot over that of the window, in whose pixels boxes are.
    """

    step: int
    image: Path
    size: tuple[int, int]
    text: str
    files: tuple[str, ...]
    elements: tuple[Element, ...] = ()
    refused: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    address: str = ""
    tabs: tuple[OpenTab, ...] = ()
    dialog: OpenDialog | None = None
    scale: float = 1.0

    @property
    def tree(self) -> str:
        """The elements as text, one a line below what they stand in, as a model reads them.

        At most `LONGEST_TREE` characters. Links are left out first, then what is last on the page;
        the last line says how many.
        """
        lines, cut = _tree(self.elements)
        if not cut:
            return "\n".join(lines)
        others = [element for element in self.elements if element.role != "link"]
        lines, cut = _tree(others)
        links = len(self.elements) - len(others)
        return "\n".join([*lines, f"… not shown: {links} links, {cut} other elements"])


# In characters: of the whole tree, of a value; and the number of options that are shown of a list.
LONGEST_TREE, _LONGEST_VALUE, _MOST_OPTIONS = 20_000, 300, 60


def _tree(elements: Sequence[Element]) -> tuple[list[str], int]:
    """Lines that fit, and the number of elements that do not."""
    lines: list[str] = []
    room, before = LONGEST_TREE - 100, ()
    for number, element in enumerate(elements):
        group = element.group
        pairs = enumerate(zip(before, group, strict=False))
        shared = next((at for at, (a, b) in pairs if a != b), min(len(before), len(group)))
        heads = [f"{'  ' * at}# {group[at]}" for at in range(shared, len(group))]
        new = [*heads, "  " * len(group) + _line(element)]
        room -= sum(len(line) + 1 for line in new)
        if room < 0:
            return lines, len(elements) - number
        lines += new
        before = group
    return lines, 0


def _line(element: Element) -> str:
    ticked = element.checked is not None
    marks = {
        "required": element.required, "disabled": element.disabled, "covered": element.covered,
        "several": element.many, "checked": element.checked, "unchecked": element.checked is False,
    }  # fmt: skip
    value, choices = element.value[:_LONGEST_VALUE], list(element.options[:_MOST_OPTIONS])
    more = len(element.options) - len(choices)
    parts = [f"[{element.id}]", element.role or element.kind]
    parts += [f'"{element.name}"'] if element.name else []
    if element.label and element.label not in (element.name, *element.group):
        parts.append(f'of "{element.label}"')
    if not element.name:
        parts.append("at {:.0f},{:.0f},{:.0f},{:.0f}".format(*element.box))
    parts += [f"value={value!r}"] if value and not ticked else []
    parts += [f"options={choices}" + (f" and {more} more" if more else "")] if choices else []
    parts += [f"hint={element.hint!r}"] if element.hint else []
    parts += [f"wrong={element.message!r}"] if element.message else []
    return " ".join(parts + [mark for mark, holds in marks.items() if holds])
