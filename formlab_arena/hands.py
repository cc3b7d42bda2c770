"""Carries actions out as a person does: mouse moves, clicks and key presses in the open page."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formlab_arena import uploads, widgets
from formlab_arena.actions import (
    Action,
    Back,
    Check,
    Click,
    DoubleClick,
    Drag,
    Fill,
    Focus,
    Hover,
    Press,
    RightClick,
    Scroll,
    Select,
    Type,
    Upload,
    Wait,
)
from formlab_arena.driver import PageLeft
from formlab_arena.widgets import Refused

# Characters of a text: those that are typed key by key, and all; the rest of a text is pasted.
TYPED, LONGEST = 500, 20_000
# Seconds: of a wait at most, and for a file dialog to open.
LONGEST_WAIT, OPENING = 30.0, 5.0
# Moves of a drag, downloads that are told.
_STEPS, _MOST = 12, 20
_SIZE = "({ width: innerWidth, height: innerHeight })"
_OVER = """([x, y]) => { let e = document.elementFromPoint(x, y), inner = null;
  while (e?.shadowRoot && (inner = e.shadowRoot.elementFromPoint(x, y)) && inner !== e) e = inner;
  return e; }"""
# What lies over an element: nothing if it is a part of the element or of its label.
_COVER = """(hit, e) => { for (let n = hit; n; n = n.assignedSlot ?? n.parentNode ?? n.host)
  if (n === e || (n.localName === 'label' && n.control === e)) return '';
  const name = (hit.ariaLabel || hit.innerText || hit.id || '').replace(/\\s+/g, ' ').trim();
  return `${hit.localName} "${name.slice(0, 60)}"`; }"""
# Where the wheel turns the page and nothing else: in the middle of the window, beside fields.
_CALM = """([width, height]) => [.5, .25, .75, .02].map(share => share * width).find(x =>
  !document.elementFromPoint(x, height / 2)?.closest('input, select, textarea, [contenteditable]'))
  ?? width - 3"""
_STATE = """() => { const all = [...document.querySelectorAll('*')]; let hash = 5381;
  const add = (text) => { for (let n = 0; n < text.length; n += 1)
    hash = (hash * 33 ^ text.charCodeAt(n)) | 0; };
  const e = document.activeElement, scroll = [scrollX, scrollY];
  for (const n of all) { if (n.scrollTop || n.scrollLeft) scroll.push(n.scrollTop, n.scrollLeft);
    if (n.matches('input, select, textarea')) add(`${n.value}${n.checked}`);
    if (n.localName === 'canvas') try { add(n.toDataURL()); } catch { /* of another server */ } }
  add(document.documentElement.outerHTML.slice(0, 5e6));
  return [performance.timeOrigin, location.href, all.indexOf(e), e?.selectionStart ?? null,
    e?.selectionEnd ?? null, ...scroll, hash]; }"""


class Hands:
    """What a person's hands do in the page of a session; files come from `uploads` only.

    `page` is the active tab; `observer` finds elements by their ids, and knows what was hit.
    """

    def __init__(self, page: Any, observer: Any, uploads: Path) -> None:
        self.page, self.observer, self.uploads = page, observer, uploads
        self.chooser: Any = None
        self._downloads: list[dict[str, Any]] = []

    def watch(self, page: Any) -> None:
        """Listen for what a tab opens: file dialogs and downloads."""
        page.on("filechooser", self._opened)
        page.on("download", self._offered)

    def _opened(self, chooser: Any) -> None:
        self.chooser = chooser

    def _offered(self, download: Any) -> None:
        # Nothing of a page is kept on the disk.
        download.cancel()
        if len(self._downloads) < _MOST:
            self._downloads.append({"download": download.suggested_filename[:200]})

    def take(self) -> list[dict[str, Any]]:
        """The files that the page offered since the last call, for the log."""
        downloads, self._downloads = self._downloads, []
        return downloads

    @property
    def window(self) -> tuple[int, int]:
        """Width and height of the window in CSS pixels."""
        size = self.page.viewport_size or self.page.evaluate(_SIZE)
        return size["width"], size["height"]

    def state(self) -> list[Any]:
        """What an action can change in the page, by frame: it is compared and never read."""
        states = []
        for frame in self.page.frames[:10]:
            try:
                states.append(frame.evaluate(_STATE))
            except Exception as error:
                # A frame that just goes; a page with an open dialog says so itself.
                states.append(type(error).__name__)
        return states

    def perform(self, action: Action, event: dict[str, Any]) -> None:
        """Carry an action out in pixels of the window, and write into `event` what came of it.

        `hit` is the control under the pointer before, `at` where on the page an element was used,
        `target` the control used, else what has the focus then, `refused` why nothing was done.
        """
        try:
            self._perform(action, event)
            if "target" not in event:
                event["target"] = self.shown(self.observer.active())
        except Refused as refusal:
            event["refused"] = str(refusal)

    def _perform(self, action: Action, event: dict[str, Any]) -> None:
        keys = self.page.keyboard
        match action:
            case Click():
                self._click(action, event)
            case Drag():
                self._drag(action, event)
            case Type() if self.chooser:
                event["target"] = self._choose([action.text])
            case Type():
                self.type(typable(action.text))
                self.settle()
            case Fill() | Select() | Check() | Focus() | Upload():
                self._use(action, event)
            case Press():
                if action.element:
                    self.handle(action.element).focus()
                try:
                    keys.press(action.key)
                except Exception as error:
                    if "Unknown key" in str(error):
                        raise Refused("no such key") from None
                    raise
                self.settle()
            case Scroll():
                self._scroll(action)
            case Wait():
                self.page.wait_for_timeout(min(max(action.seconds, 0.0), LONGEST_WAIT) * 1000)
            case Back():
                self.page.go_back(wait_until="domcontentloaded")
                if self.page.url.startswith("about:"):
                    self.page.go_forward(wait_until="domcontentloaded")
                    raise Refused("there is no page before this one")

    def _use(self, action: Any, event: dict[str, Any]) -> None:
        """Do something with one element, which has to be in reach as for a click."""
        if isinstance(action, Upload):
            self._upload(action, event)
            return
        x, y, handle = self.place(None, None, action.element, event)
        if isinstance(action, Focus):
            handle.focus()
        elif isinstance(action, Check):
            if widgets.is_ticked(handle) != action.ticked:
                self.page.mouse.click(x, y)
            else:
                # Not a click, so that none is logged.
                del event["hit"], event["at"]
        elif isinstance(action, Fill):
            widgets.fill(self, handle, typable(action.text), event)
        else:
            widgets.select(self, handle, action.options, event)
        self.settle()
        event["target"] = self.shown(handle)

    def type(self, text: str) -> None:
        """Press the keys of a text; what is long is pasted at its end."""
        self.page.keyboard.type(text[:TYPED])
        if len(text) > TYPED:
            self.page.keyboard.insert_text(text[TYPED:])

    def handle(self, element: str) -> Any:
        """The element of an id; `Refused` if it is not on the page."""
        handle = self.observer.handle(element)
        if handle is None:
            raise Refused(f"there is no element {element!r} now")
        return handle

    def place(
        self, x: float | None, y: float | None, element: str, event: dict[str, Any]
    ) -> tuple[float, float, Any]:
        """A point in the window and what a click there uses; `Refused` if it cannot be clicked.

        An element is scrolled into view, and its point is the middle of what is seen of it.
        """
        if not element:
            width, height = self.window
            if x is None or y is None or not (0 <= x < width and 0 <= y < height):
                raise Refused("the point is outside the window")
            handle = self.observer.at(x, y)
            event["hit"] = self.shown(handle)
            return x, y, handle
        handle, cover = self.handle(element), ""
        for _ in range(4):
            x, y = self._middle(element)
            cover = self._cover(handle, x, y)
            if not cover:
                event["hit"] = self.shown(handle)
                left, top = self.page.evaluate("[scrollX, scrollY]")
                event["at"] = [round(x + left, 1), round(y + top, 1)]
                return x, y, handle
            # Under a bar that stays in place, or one that is about to go.
            handle.evaluate("e => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
            self.page.wait_for_timeout(100)
        raise Refused(f"covered by {cover}")

    def _middle(self, element: str) -> tuple[float, float]:
        """The middle of what is seen of an element once it is scrolled into view."""
        box, (width, height) = self.observer.reach(element), self.window
        if box is None:
            raise Refused("the element cannot be seen")
        x0, y0, x1, y1 = max(box[0], 0), max(box[1], 0), min(box[2], width), min(box[3], height)
        if x0 >= x1 or y0 >= y1:
            raise Refused("the element cannot be scrolled into view")
        return (x0 + x1) / 2, (y0 + y1) / 2

    def _cover(self, handle: Any, x: float, y: float) -> str:
        """What a click at a point would hit in place of an element, also across frames."""
        frame, left, top, hit = self.page.main_frame, 0.0, 0.0, None
        while frame:
            hit = frame.evaluate_handle(_OVER, [x - left, y - top]).as_element()
            frame = hit and hit.content_frame()
            if frame:
                box = hit.bounding_box()
                inset = hit.evaluate("e => [e.clientLeft, e.clientTop]")
                left, top = box["x"] + inset[0], box["y"] + inset[1]
        if hit is None:
            return "nothing that can be clicked"
        if hit.owner_frame() != handle.owner_frame():
            return hit.evaluate(_COVER, None)
        cover = hit.evaluate(_COVER, handle)
        # A button may stand for a hidden field.
        used = self.observer.at(x, y) if cover else None
        stands = used and used.as_element() and used.evaluate("(a, b) => a === b", handle)
        return "" if stands else cover

    def _click(self, action: Click, event: dict[str, Any]) -> None:
        self.chooser = None
        x, y, handle = self.place(action.x, action.y, action.element, event)
        asks = handle.evaluate("e => e?.type === 'file' && !e.disabled")
        if isinstance(action, Hover):
            self.page.mouse.move(x, y)
        else:
            self.page.mouse.click(
                x,
                y,
                button="right" if isinstance(action, RightClick) else "left",
                click_count=2 if isinstance(action, DoubleClick) else 1,
            )
        self.settle(dialog=asks and type(action) is Click)
        # Kept apart from its state before, which a turned page takes away.
        event["target"] = self.shown(handle)

    def _drag(self, action: Drag, event: dict[str, Any]) -> None:
        if action.to:
            # Scrolled to first, so that the start comes into view last and both are seen.
            self.place(None, None, action.to, {})
        x, y, handle = self.place(action.x, action.y, action.element, event)
        to_x, to_y = self._middle(action.to) if action.to else (action.to_x, action.to_y)
        width, height = self.window
        if to_x is None or to_y is None or not (0 <= to_x < width and 0 <= to_y < height):
            raise Refused("the end is outside the window")
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        mouse.move(to_x, to_y, steps=_STEPS)
        # What is dropped on wants a move of its own before.
        mouse.move(to_x, to_y)
        mouse.up()
        self.settle()
        event["target"] = self.shown(handle)

    def _scroll(self, action: Scroll) -> None:
        width, height = self.window
        if action.element:
            self.handle(action.element)
            x, y = self._middle(action.element)
        elif action.x is not None and action.y is not None:
            x, y = action.x, action.y
        else:
            x, y = self.page.evaluate(_CALM, [width, height]), height / 2
        self.page.mouse.move(x, y)
        self.page.mouse.wheel(action.dx, action.dy)
        self.page.wait_for_timeout(120)

    def _upload(self, action: Upload, event: dict[str, Any]) -> None:
        handle = self.handle(action.element) if action.element else None
        if handle is None or not (field := widgets.file_field(handle)):
            self._click(Click(action.x, action.y, action.element), event)
            self._await_chooser()
            if not self.chooser:
                raise Refused("no file dialog opened")
            event["target"] = self._choose(action.names)
            return
        event["hit"] = self.shown(field)
        if box := self.observer.reach(action.element):
            left, top = self.page.evaluate("[scrollX, scrollY]")
            event["at"] = [(box[0] + box[2]) / 2 + left, (box[1] + box[3]) / 2 + top]
        several = field.evaluate("e => e.multiple")
        field.set_input_files(uploads.paths(self.uploads, action.names, several=several))
        event["target"] = self.shown(field)

    def _choose(self, names: Sequence[str]) -> Any:
        """Choose files in the dialog that is open; what they were chosen for."""
        several = self.chooser.is_multiple()
        paths = uploads.paths(self.uploads, names, several=several)
        chooser, self.chooser = self.chooser, None
        chooser.set_files(paths)
        return self.shown(chooser.element)

    def settle(self, *, dialog: bool = False) -> None:
        """Give the page a moment to react, and until a file dialog is open."""
        self.page.wait_for_timeout(30)
        if dialog:
            self._await_chooser()

    def _await_chooser(self) -> None:
        # The file dialog is reported by an event, which a busy machine delays.
        end = time.monotonic() + OPENING
        while not self.chooser and time.monotonic() < end:
            self.page.wait_for_timeout(50)

    def shown(self, handle: Any) -> Any:
        """What an element is to the log; None if a turned page took it away."""
        try:
            return self.observer.shown(handle)
        except PageLeft:
            return None
        except Exception as error:
            if "disposed" in str(error):
                return None
            raise


def typable(text: str) -> str:
    """A text without what no keyboard types, cut at `LONGEST` characters."""
    clean = text[:LONGEST].replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    return clean.encode("utf-8", "replace").decode()
