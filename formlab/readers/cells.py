"""What stands in a cell: a value and what is said of it, or an answer and what is around it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from formlab import tables
from formlab.readers import Row, leaves
from formlab.readers.door import around, as_text, number
from formlab.text import answers
from formlab.text.answers import by_name, plain_name, unwrapped, value_in

_SAID = {name: answers.MEMBERS[name] for name in ("confidence", "page", "box")}
# A text without any of these marks is a value as it stands.
MARKS = re.compile(r"[<{\[`◁]")
# The path of a value ("" for the text of a page), the value, and what is said of it.
Leaf = tuple[str, Any, Row]


def values_in(cell: Any, path: str, said: Row, whole: Collection[str] = ()) -> Iterator[Leaf]:
    """The values in a cell, at `whole` paths as they are, each with what is said of it."""
    inner = unwrapped(cell) if isinstance(cell, dict) and not path else cell
    for leaf in values_of(inner, path, said, whole):
        yield from _answers(*leaf)


def values_of(cell: Any, path: str, said: Row, whole: Collection[str] = ()) -> Iterator[Leaf]:
    """The values in a cell; an object of a value and its confidence, page or box is one value."""
    if path in whole:
        yield path, as_text(cell), said
        return
    for place, leaf in leaves(cell, path, value_in):
        if not isinstance(leaf, dict):
            yield place, leaf, said
            continue
        members = {plain_name(name): member for name, member in leaf.items()}
        stated = {key: members[n] for key, names in _SAID.items() for n in names if n in members}
        # Four numbers, eight, or points.
        sides = [side for _, side in leaves(stated.pop("box", ()))]
        corners = around(zip(sides[::2], sides[1::2], strict=False)) or ()
        stated = {key: number(text) for key, text in stated.items()}
        stated |= zip(tables.BOX, corners, strict=False)
        yield from values_of(leaf[str(value_in(leaf))], place, stated)


def _answers(path: str, value: Any, said: Row) -> Iterator[Leaf]:
    """A value, or the fields of JSON in a text, without a model's reasoning; broken JSON stays."""
    if not isinstance(value, str) or not MARKS.search(value):
        yield path, value, said
        return
    parsed = answers.plain(value) if path else answers.read(value)
    status = {"status": parsed.status}
    if isinstance(parsed.value, str | None):
        if parsed.changes:
            value, said = value if parsed.status == "bad_json" else parsed.value, said | status
        yield path, value, said
        return
    inner = unwrapped(parsed.value) if isinstance(parsed.value, dict) else by_name(parsed.value)
    if isinstance(inner, dict) and inner.keys() == {"/"}:
        yield from _answers("", inner["/"], said)
        return
    below = [leaf for leaf in values_of(inner, "", {}) if as_text(leaf[1]) is not None]
    for place, leaf, stated in below or [("", None, {})]:
        yield place, leaf, stated | status
