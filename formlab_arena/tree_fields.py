"""What a text has for the fields of a page."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

from formlab.text import typed
from formlab.text.dates import Order
from formlab_arena.instruction_text import InstructionText, LabelMention
from formlab_arena.matching import closest, file_named, options_in, several
from formlab_arena.observation import Element
from formlab_arena.page_fields import Content, PageField
from formlab_arena.value_patterns import in_control

if TYPE_CHECKING:
    from formlab_arena.page_reading import PageValues

# Fields for parts of a date, and how these are written.
_PARTS = {"day": ("%d",), "dd": ("%d",), "year": ("%Y",), "yyyy": ("%Y",), "yy": ("%y",)}
_PARTS |= dict.fromkeys(("month", "mm"), ("%B", "%b", "%m"))
# What the type of an input asks for, in the words of a label.
_ASKS = {"tel": "phone", "email": "email", "url": "url", "date": "date"}


def date_part(field: PageField, value: str, order: Order | None = None) -> str:
    """The day, month or year of a date, as a field of that name has it; else empty.

    Examples
    --------
    >>> from formlab_arena.page_fields import fields_of
    >>> month = Element("m", None, "select", "", None, ("Feb", "Mar"), (0, 0, 9, 9), name="Month")
    >>> date_part(fields_of([month])["m"], "5 March 1990")
    'Mar'
    """
    name = field.label.casefold().strip(" *:.")
    iso = in_control(value, "date", order=order) if name in _PARTS else None
    if iso is None:
        return ""
    day, options = datetime.date.fromisoformat(iso), field.first.options
    texts = [f"{day:{form}}" for form in _PARTS[name]]
    return next((t for t in texts if closest(t, options) is not None), "" if options else texts[-1])


def content_for(
    field: PageField, text: InstructionText | PageValues, mention: LabelMention | None, *,
    files: Sequence[str] = (), order: Order | None = None,
) -> Content | None:  # fmt: skip
    """What a field is to hold, by what the text says about it; None where it says nothing.

    Parameters
    ----------
    field, text, mention
        The field, the instructions, and what they say about it.
    files
        The names of the files that can be uploaded.
    order
        That of day and month in the text.
    """
    first, value = field.first, mention.value if mention else ""
    if field.marks and field.kind != "listbox":
        return _ticked(field.marks, text, mention)
    if field.kind == "file":
        named = [name for name in files if first.many and name in value]
        likely = file_named(field.label, value, files) if mention or first.required else None
        names = named or ([likely] if likely else [])
        return tuple(names) if names and not first.value else None
    if field.takes_text:
        written = _written(field, text, mention, order)
        return None if "read-only" in first.hint else written
    if not first.options or not value:
        return (value,) if value else None
    near = [closest(value, first.options)]
    near = near if near != [None] else options_in(mention.whole, first.options)[:1]
    chosen = several(mention.whole, first.options) if first.many else near
    return tuple(first.options[at] for at in chosen) or None


def _written(
    field: PageField, text: InstructionText | PageValues, mention: LabelMention | None,
    order: Order | None,
) -> str | None:  # fmt: skip
    e = field.first
    labelled = getattr(text, "labelled", True)
    if mention is None and labelled:
        return None
    asks = _ASKS.get(e.kind, "")
    value = text.span(field.label, mention, hint=f"{e.hint} {asks}")
    if value is None and mention:
        tall = e.kind in ("textarea", "textbox")
        value = mention.whole if tall else " ".join(mention.value.split())
    if not value:
        return None
    if e.options and (at := closest(value, e.options)) is not None:
        return e.options[at]
    kind = "number" if e.kind in ("spinbutton", "slider") else e.kind
    return in_control(value, kind, hint=f"{e.hint} {field.label} {field.message}", order=order)


def _ticked(
    ticks: Sequence[Element], text: InstructionText | PageValues, mention: LabelMention | None
) -> frozenset[int] | None:
    """Which ticks are on; None where none is to be touched."""
    if len(ticks) > 1 or ticks[0].kind == "radio":
        return frozenset(_options(ticks, text, mention)) or None
    yes = typed.checked(mention.value) if mention else None
    if yes is None:
        # What must be ticked before a form is sent needs no word in the text.
        yes = not mention.denies if mention else ticks[0].required
    return frozenset([0] if yes else []) if mention or yes else None


def _options(
    ticks: Sequence[Element], text: InstructionText | PageValues, mention: LabelMention | None
) -> set[int]:
    """Which ticks of a choice the text means."""
    names, values = [e.name or e.option or "" for e in ticks], [e.option or "" for e in ticks]
    many = ticks[0].kind == "checkbox"
    if mention and mention.value:
        if many:
            return set(several(mention.whole, names) or several(mention.whole, values))
        at = closest(mention.value, names)
        at = closest(mention.value, values) if at is None else at
        return {at} if at is not None else set(options_in(mention.whole, names)[:1])
    own = [text.about(name) for name in names]
    if any(m and m.plain for m in own):
        named = {n for n, m in enumerate(own) if m and not m.denies}
        return named if many or len(named) == 1 else set()
    named = set() if getattr(text, "labelled", True) else set(options_in(text.text, names))
    return named if len(named) == 1 else set()
