"""One form open in a browser: what an agent sees of it, and its actions carried out and logged."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any

from PIL import Image

from formlab import files
from formlab_arena import page_observer, ruler
from formlab_arena.account import Account
from formlab_arena.actions import (
    Action,
    Answer,
    Click,
    DoubleClick,
    Press,
    RightClick,
    Scroll,
    Tab,
    Type,
    as_json,
    mapped,
)
from formlab_arena.driver import DialogOpen, Driver, PageLeft, TimeLimit
from formlab_arena.observation import Element, Observation, Observe, OpenDialog, OpenTab

VIEWPORT = (1280, 800)
LONGEST = 20_000
# Seconds that the network has to become quiet after an action, and that a page has after the last
# one to send what it sends of itself.
SETTLING, AFTERWARDS = 3.0, 2.0


class Session:
    """An open page, its log, and the one folder from which files may be uploaded.

    ``events.jsonl`` and the screenshots go to `folder`; its ``files`` are what can be uploaded.
    `scale` is the width of the image the agent sees over that of the window, above 0, at most 1;
    with `rulers` pixel axes are drawn on it. `page` is the active tab, whichever that is.
    """

    def __init__(
        self, driver: Driver, account: Account, folder: Path, text: str, *, scale: float = 1.0,
        rulers: bool = False,
    ) -> None:  # fmt: skip
        self.driver, self.account, self.page = driver, account, driver.page
        self.folder, self.text = folder, text
        self.scale, self.rulers, self.step = scale, rulers, 0
        self._chooser: Any = None
        self._refused: list[str] = []
        self._messages: list[str] = []
        self._image: Path | None = None
        self._acted = 0.0
        self.summary: dict[str, Any] = {}
        self._titles: dict[Any, str] = {}
        self._observer = page_observer.PageObserver(self.page, folder)
        self._state = page_observer.PageState((0, 0), None, [])
        context = driver.wrap(driver.context)
        context.set_default_timeout(15_000)
        context.on("page", self._watch)
        self._watch(self.page)

    def _watch(self, page: Any) -> None:
        page.on("filechooser", self._opened)

    def _opened(self, chooser: Any) -> None:
        self._chooser = chooser

    def open(self, address: str) -> None:
        """Go to an address; what hangs there, such as a picture, is not waited for long."""
        with contextlib.suppress(DialogOpen):
            self.page.goto(address, wait_until="domcontentloaded")
            with contextlib.suppress(TimeLimit):
                self.page.wait_for_load_state("load", timeout=SETTLING * 1000)
            self.driver.run(self.account.quiet(0.0, SETTLING))

    def close(self) -> None:
        """Log the contents of the fields, what was sent, and what was refused by the gate."""
        with contextlib.suppress(TimeLimit):
            self.driver.run(self.account.settled(), 3.0)
        self.summary = self.account.summary(self.contents)
        self._record()
        self.note(final=self.contents, blocked=self.summary["blocked"], account=self.summary)

    @property
    def uploads(self) -> Path:
        """The folder of files that can be uploaded."""
        return self.folder / "files"

    def look(self, observes: Observe = "pixels") -> Observation:
        """A screenshot, logged, with what else the agent may know.

        While a dialog waits for an answer the page cannot be looked at: the last picture is
        repeated.
        """
        self.step += 1
        try:
            image, elements = self._seen(observes)
        except DialogOpen:
            image, elements = self._image or self._blank(), ()
        self._image = image
        size = files.image_size(image)
        self._record()
        self.note(see=image.name, size=size, window=self._window, **self._state.as_seen())
        names = sorted(item.name for item in self.uploads.glob("*"))
        refused, self._refused = tuple(self._refused), []
        messages, self._messages = tuple(self._messages), []
        return Observation(
            self.step, image, size, self.text, tuple(names), elements, refused, messages,
            self.page.url, self.tabs, self.dialog,
        )  # fmt: skip

    def _seen(self, observes: Observe) -> tuple[Path, tuple[Element, ...]]:
        for attempt in range(5):
            try:
                image = self._picture()
                self._titles[self.driver.active] = self.page.title()[:LONGEST]
                _, screen = self._update()
                if screen:
                    self.note(**screen)
                return image, self.elements() if observes != "pixels" else ()
            # Another page came; where the last tab was closed none will.
            except PageLeft:
                if attempt == 4 or not self.tabs:
                    raise
                self.driver.run(asyncio.sleep(0.1))
        raise AssertionError

    def _picture(self) -> Path:
        image = self.folder / f"{self.step:03d}.png"
        self.page.screenshot(path=image, animations="disabled", scale="css", timeout=0)
        if self.scale != 1 or self.rulers:
            shot = files.read_image(image)
            if self.scale != 1:
                shot = shot.resize([max(1, round(side * self.scale)) for side in shot.size])
            (ruler.draw(shot) if self.rulers else shot).save(image)
        return image

    def _blank(self) -> Path:
        """What is seen of a page that shows a dialog before anything else."""
        image = self.folder / f"{self.step:03d}.png"
        size = [max(1, round(side * self.scale)) for side in self._window]
        Image.new("RGB", size, "white").save(image)
        return image

    @property
    def dialog(self) -> OpenDialog | None:
        """The dialog that waits for an answer."""
        for dialog in self.driver.dialogs[:1]:
            return OpenDialog(dialog.type, dialog.message[:LONGEST])
        return None

    @property
    def tabs(self) -> tuple[OpenTab, ...]:
        """The tabs that are open; the one that is active can be seen and used."""
        return tuple(
            OpenTab(number, tab.url, self._titles.get(tab, ""), tab is self.driver.active)
            for number, tab in enumerate(self.driver.tabs)
            if not tab.is_closed()
        )

    def elements(self) -> tuple[Element, ...]:
        """The controls of the page that can be seen when scrolled to."""
        return tuple(
            Element(
                **{key: control[key] for key in ("field", "option", "kind", "value", "checked")},
                options=tuple(control["options"] or ()), box=tuple(control["box"]),
            )
            for control in self._observer.listed()["controls"]
        )  # fmt: skip

    @property
    def _window(self) -> tuple[int, int]:
        size = self.page.viewport_size or {"width": VIEWPORT[0], "height": VIEWPORT[1]}
        return size["width"], size["height"]

    def do(self, action: Action) -> None:
        """Carry out one action given in pixels of the image, and log what came of it."""
        factor = self._window[0] / max(1, round(self._window[0] * self.scale))
        real = mapped(action, factor)
        event: dict[str, Any] = {"step": self.step, "asked": as_json(action)}
        if real != action:
            event |= {"done": as_json(real), "factor": factor}
        event |= self._location(real)
        screen = None
        try:
            event |= self._attempt(real)
            event["changed"] = []
            with contextlib.suppress(DialogOpen):
                event["changed"], screen = self._update()
        finally:
            self._log(event)
        if screen:
            self.note(**screen)
        self._record()
        if "refused" in event:
            self._refused.append(f"{action}: {event['refused']}"[:200])

    def _record(self) -> None:
        """Log what else happened, and tell the agent what it could not see."""
        for event in self.account.take():
            self.note(**event)
            told = event.get("left") or event.get("request") or {}
            if event.get("tab", {}).get("address"):
                self._messages.append(f"tab {event['tab']['number']} was opened")
            elif str(told.get("to")).startswith("chrome-error:"):
                self._messages.append("the page could not be reached")
            elif (told.get("status") or 0) >= 400:
                self._messages.append(f"the server answered {told['status']}")

    def extend(self, seconds: float) -> None:
        """Put the deadline off, by the time that the agent took."""
        self.driver.deadline += seconds

    def finish(self) -> None:
        """Wait until the page has sent what it was about to send."""
        while time.monotonic() < self._acted + AFTERWARDS and not self.driver.dialogs:
            self.driver.run(self.account.settled())
            sent = self.account.submissions(self.contents, self._acted)
            if any(item["outcome"] == "accepted" for item in sent):
                break
            self.driver.run(asyncio.sleep(0.05))
        self.driver.run(self.account.quiet(0.0, 10.0))

    @property
    def cdp_address(self) -> str:
        """Where others can connect to the same browser; empty unless it was asked for."""
        return self.driver.endpoint

    def note(self, **event: Any) -> None:
        """Log a note of an agent or of a run at this step."""
        self._log({"step": self.step, **event})

    @property
    def contents(self) -> dict[str, Any]:
        """The content of each field of the form when it was last seen, by the field's name."""
        return self._observer.contents()

    def _attempt(self, action: Action) -> dict[str, Any]:
        """What came of an action, whatever the page does meanwhile."""
        if isinstance(action, Answer):
            return self._answer(action.accept, action.text)
        if self.driver.dialogs:
            self._answer(False, "")
            self._messages.append("the dialog was dismissed, since it had no answer")
        if isinstance(action, Tab):
            open_ones = {tab.number for tab in self.tabs}
            if action.number not in open_ones:
                return {"refused": "no such tab"}
            self.driver.active = self.driver.tabs[action.number]
            self.page.bring_to_front()
            return {}
        self._acted = time.monotonic()
        try:
            outcome = self._perform(action)
            self.driver.run(self.account.quiet(self._acted, SETTLING))
            return outcome
        except DialogOpen:
            return {"dialog": dataclasses.asdict(self.dialog) if self.dialog else None}
        except PageLeft:
            return {"left": True}
        except TimeLimit as limit:
            if self.driver.is_late:
                raise
            return {"refused": f"no answer from the page: {limit}"[:200]}

    def _answer(self, accept: bool, text: str) -> dict[str, Any]:
        if not (dialog := self.dialog):
            return {"refused": "no dialog is open"}
        self._acted = time.monotonic()
        self.account.answered(accept, text)
        self.driver.answer(accept, text)
        self.driver.run(asyncio.sleep(0.05))
        self.driver.run(self.account.quiet(self._acted, SETTLING))
        return {"answered": dataclasses.asdict(dialog), "accepted": accept}

    def _update(self) -> tuple[list[list[Any]], dict[str, Any] | None]:
        self._state, changed, screen = self._observer.look()
        return changed, screen

    def _location(self, action: Action) -> dict[str, Any]:
        """The screen an action is done on, and a point in pixels of the whole page."""
        location: dict[str, Any] = {"on": self._state.screen}
        if isinstance(action, Click):
            left, top = self._state.scroll
            location["at"] = [round(action.x + left, 1), round(action.y + top, 1)]
        return location

    def _perform(self, action: Action) -> dict[str, Any]:
        mouse, keys = self.page.mouse, self.page.keyboard
        match action:
            case Click():
                if not (0 <= action.x < self._window[0] and 0 <= action.y < self._window[1]):
                    return {"refused": "the point is outside the window"}
                self._chooser = None
                handle = self.page.evaluate_handle(page_observer.AT, [action.x, action.y])
                asks = handle.evaluate("e => e?.type === 'file' && !e.disabled")
                hit = _shown(handle)
                mouse.click(
                    action.x,
                    action.y,
                    button="right" if isinstance(action, RightClick) else "left",
                    click_count=2 if isinstance(action, DoubleClick) else 1,
                )
                self._settle(dialog=asks and type(action) is Click)
                # Kept apart from its state afterwards, which a turned page takes away.
                return {"hit": hit, "target": _shown(handle)}
            case Type() if self._chooser:
                return self._upload(self._chooser, action.text)
            case Type():
                keys.insert_text(_typable(action.text))
            case Press():
                try:
                    keys.press(action.key)
                except Exception as error:
                    if "Unknown key" not in str(error):
                        raise
                    return {"refused": "no such key"}
                self.page.wait_for_load_state()
            case Scroll():
                mouse.move(self._window[0] - 3, self._window[1] / 2)
                mouse.wheel(0, action.dy)
                self.page.wait_for_timeout(120)
        return {"target": _shown(self.page.evaluate_handle("document.activeElement"))}

    def _settle(self, *, dialog: bool) -> None:
        self.page.wait_for_timeout(30)
        self.page.wait_for_load_state()
        # The file dialog is reported by an event, which a busy machine delays.
        for _ in range(100):
            if not dialog or self._chooser:
                return
            self.page.wait_for_timeout(50)

    def _upload(self, chooser: Any, name: str) -> dict[str, Any]:
        path = inside(self.uploads, name)
        if path is None:
            return {"refused": "no such file in the run's own folder"}
        self._chooser = None
        chooser.set_files(path)
        return {"target": chooser.element.evaluate(page_observer.SHOWN)}

    def _log(self, event: dict[str, Any]) -> None:
        with (self.folder / "events.jsonl").open("ab") as stream:
            stream.write((json.dumps(event) + "\n").encode())
            stream.flush()
            os.fsync(stream.fileno())


def _shown(handle: Any) -> Any:
    try:
        return handle.evaluate(page_observer.SHOWN)
    # A click that turned the page took its element away, and with it the state.
    except Exception as error:
        if "context was destroyed" in str(error) or "disposed" in str(error):
            return None
        raise


def inside(folder: Path, name: str) -> Path | None:
    """The file of this name in a folder; None for any other, also by link or ``..``.

    Examples
    --------
    >>> inside(Path("."), "../secret") is None
    True
    """
    try:
        path = (folder / name.strip()).resolve()
        return path if path.is_file() and path.parent == folder.resolve() else None
    # A NUL, half a surrogate pair or a name of a megabyte is no file either.
    except (OSError, ValueError):
        return None


def _typable(text: str) -> str:
    clean = text[:LONGEST].replace("\0", "")
    return clean.encode("utf-8", "replace").decode()
