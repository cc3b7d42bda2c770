"""Enters contents into one element of a page: text fields, native controls, and ARIA's widgets."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formlab_arena.hands import Hands

# Kinds of input that take a value as HTML writes it, whatever the page shows.
PICKED = ("date", "time", "month", "week", "datetime-local", "color", "range")
# Presses of an arrow key on the way to a number, seconds for a list to open, options and characters
# that are told.
_PRESSES, _OPENING, _MOST, _LONGEST = 500, 1.5, 15, 300
# Widgets whose options lie open.
_OPEN = ("listbox", "radiogroup", "group", "menu", "menubar", "tree", "tablist")
_FIELD = """(e) => {
  const css = ['input:not([type=hidden])', 'textarea', 'select',
    '[contenteditable]:not([contenteditable=false])'].join();
  return e.matches(`${css}, [role=slider], [role=spinbutton]`) || e.isContentEditable ? e
    : e.control ?? (e.shadowRoot ?? e).querySelector(css); }"""
_KIND = """(e) => ({ kind: e.localName === 'input' ? e.type : e.localName, role: e.role ?? '',
  lines: e.localName !== 'input', written: e.isContentEditable, suggests: Boolean(e.list),
  fixed: e.matches(':disabled') || e.ariaDisabled === 'true' ? 'disabled'
    : e.readOnly || e.ariaReadOnly === 'true' ? 'read-only' : '' })"""
_CONTENT = "(e) => e.value ?? e.innerText ?? ''"
_TICKED = """(e) => { const on = e.checked ?? (e.ariaChecked || e.ariaPressed || e.ariaSelected);
  return on === true || on === 'true'; }"""
_FILE = """(e) => [e, e.control, e.querySelector?.('input[type=file]')]
  .find(n => n?.type === 'file' && !n.disabled) ?? null"""
_LIST = "e => ({ many: e.multiple, options: [...e.options].map(o => [o.text.trim(), o.value]) })"
# The options that an ARIA widget shows: its own, those it names, else all that lie open.
_OPTIONS = """(e, opened) => {
  const css = ['option', 'radio', 'menuitem', 'menuitemradio', 'menuitemcheckbox', 'treeitem']
    .map(role => `[role=${role}]`).join();
  const ids = `${e.getAttribute('aria-controls') ?? ''} ${e.getAttribute('aria-owns') ?? ''}`;
  const root = e.getRootNode(), named = ids.split(/\\s+/).filter(Boolean)
    .map(id => root.getElementById(id) ?? document.getElementById(id)).filter(Boolean);
  const around = [e, ...named].map(n => [n, ', li']);
  if (opened) around.push([root, ''], [document, '']);
  for (const [place, more] of around) {
    const all = [...place.querySelectorAll(css + more)].filter(o => o.checkVisibility());
    if (all.length) return all.slice(0, 3000);
  }
  return []; }"""
_TEXTS = """(all) => all.map(o => [(o.ariaLabel || o.innerText).replace(/\\s+/g, ' ').trim(),
  o.dataset.value ?? o.getAttribute('value') ?? '',
  [o.ariaSelected, o.ariaChecked].includes('true')])"""


class Refused(Exception):
    """An action that cannot be carried out, with the reason for the agent."""


def is_ticked(handle: Any) -> bool:
    """Whether a check box, a switch, an option or a pressed button is on."""
    return handle.evaluate(_TICKED)


def file_field(handle: Any) -> Any:
    """The field for files that an element is, labels or holds; None for any other."""
    return handle.evaluate_handle(_FILE).as_element()


def fill(hands: Hands, handle: Any, text: str, event: dict[str, Any]) -> None:
    """Replace the content of a field by a text; `event` has what it `holds` then, if not that.

    A text is typed key by key, a date or a colour is set as a picker sets it. `Refused` if nothing
    can be entered there.
    """
    field = handle.evaluate_handle(_FIELD).as_element()
    about = field.evaluate(_KIND) if field else {"fixed": "no field"}
    if about["fixed"]:
        raise Refused(f"the element is {about['fixed']}")
    kind = about["kind"]
    if kind == "select":
        select(hands, field, (text,), event)
    elif kind in ("radio", "checkbox", "file"):
        raise Refused(f"a {kind} takes no text: use Click, Check or Upload")
    elif kind in PICKED:
        text = text.strip().lower() if kind == "color" else text.strip()
        try:
            field.fill(text)
        except Exception as error:
            if "alformed" not in str(error):
                raise
            raise Refused(f"a {kind} cannot hold {text!r}") from None
    elif about["role"] in ("slider", "spinbutton") and about["lines"] and not about["written"]:
        _count(hands, field, text)
    else:
        _write(hands, field, text if about["lines"] else text.replace("\n", " "), event)


def _write(hands: Hands, field: Any, text: str, event: dict[str, Any]) -> None:
    field.fill("")
    for number, line in enumerate(text.split("\n")):
        if number:
            # Enter alone sends what is written in some of the fields that take lines.
            hands.page.keyboard.press("Shift+Enter")
        hands.type(line)
    content = field.evaluate(_CONTENT)
    if content.split() != text.split():
        event["holds"] = content[:_LONGEST]


def _count(hands: Hands, field: Any, text: str) -> None:
    """Bring a slider or spin button of ARIA to a number by the arrow keys."""
    try:
        goal, now = float(text), float(field.evaluate("e => e.ariaValueNow"))
    except (TypeError, ValueError):
        raise Refused("the element takes numbers, and says at which it is") from None
    field.focus()
    for _ in range(_PRESSES):
        if now == goal:
            return
        before = now
        hands.page.keyboard.press("ArrowUp" if goal > now else "ArrowDown")
        now = float(field.evaluate("e => e.ariaValueNow"))
        if now == before or (goal - now) * (goal - before) < 0:
            break
    raise Refused(f"the element stays at {now:g}")


def select(
    hands: Hands, handle: Any, options: Sequence[str], event: dict[str, Any] | None = None
) -> None:
    """Choose options of a native list, or of a list box, combobox, radio group or menu of ARIA.

    Options are named by text or value. `Refused` if one is not there, or too many are named.
    """
    about = handle.evaluate(_KIND)
    if about["fixed"]:
        raise Refused(f"the element is {about['fixed']}")
    if about["kind"] == "select":
        listed = handle.evaluate(_LIST)
        if len(options) > 1 and not listed["many"]:
            raise Refused("the list takes one option")
        handle.select_option(index=[_number(option, listed["options"]) for option in options])
    elif about["suggests"]:
        fill(hands, handle, options[0], {} if event is None else event)
    else:
        _pick(hands, handle, options, opens=about["role"] not in _OPEN)


def _number(option: str, listed: Sequence[Sequence[Any]]) -> int:
    """The number of an option in a list, by its text, its value, or its text in other letters."""
    for column, plain in ((0, str), (1, str), (0, _plain)):
        for number, texts in enumerate(listed):
            if plain(texts[column]) == plain(option):
                return number
    names = ", ".join(repr(texts[0]) for texts in listed[:_MOST])
    raise Refused(f"there is no option {option!r}, but {names or 'none'}")


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def _pick(hands: Hands, handle: Any, options: Sequence[str], *, opens: bool) -> None:
    for option in options:
        listed, number = _opened(hands, handle, option, opens=opens)
        _, _, chosen = listed.evaluate(_TEXTS)[number]
        if not (chosen and len(options) > 1):
            listed.evaluate_handle("(all, n) => all[n]", number).as_element().click()
    if handle.evaluate("e => e.ariaMultiSelectable === 'true'"):
        listed = handle.evaluate_handle(_OPTIONS, arg=False)
        texts = listed.evaluate(_TEXTS)
        kept = {_number(option, texts) for option in options}
        for number, (_, _, chosen) in enumerate(texts):
            if chosen and number not in kept:
                listed.evaluate_handle("(all, n) => all[n]", number).as_element().click()


def _opened(hands: Hands, handle: Any, option: str, *, opens: bool) -> tuple[Any, int]:
    """The open list of a widget and an option's number in it: a click or letters bring it up."""
    is_open = handle.evaluate("e => e.ariaExpanded === 'true'")
    steps = [] if not opens else [_letters] if is_open else [_click, _letters]
    end = 0.0
    while True:
        listed = handle.evaluate_handle(_OPTIONS, opens and (is_open or end > 0))
        try:
            return listed, _number(option, listed.evaluate(_TEXTS))
        except Refused:
            if time.monotonic() > end:
                if not steps or not steps.pop(0)(hands, handle, option):
                    raise
                end = time.monotonic() + _OPENING
        hands.page.wait_for_timeout(50)


def _click(_hands: Hands, handle: Any, _option: str) -> bool:
    handle.click()
    return True


def _letters(hands: Hands, handle: Any, option: str) -> bool:
    """Type an option into the field of a combobox; False if it has none."""
    field = handle.evaluate_handle(_FIELD).as_element()
    if field is None or field.evaluate(_KIND)["fixed"]:
        return False
    field.fill("")
    hands.type(option)
    return True
