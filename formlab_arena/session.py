"""One form open in a browser: what an agent sees of it, and its actions carried out and logged."""

import asyncio
import contextlib
import dataclasses
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from formlab import pictures
from formlab_arena import page_observer, ruler
from formlab_arena.account import Account
from formlab_arena.actions import (
    Action,
    Answer,
    Click,
    Done,
    Hover,
    Press,
    Tab,
    Wait,
    as_json,
    mapped,
)
from formlab_arena.address_secrets import Secrets
from formlab_arena.driver import DialogOpen, Driver, PageLeft, TimeLimit
from formlab_arena.hands import LONGEST, Hands
from formlab_arena.observation import Element, Observation, Observe, OpenDialog, OpenTab

VIEWPORT = (1280, 800)
# Controls whose clicks open what the browser itself draws, and no page knows of.
_POPUPS = ("select", "file", "date", "time", "month", "week", "datetime-local", "color")
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
        self._refused: list[str] = []
        self._messages: list[str] = []
        self._wrong: dict[str, str] = {}
        self._image: Path | None = None
        # When the first action could be done, and when the last one began and was done.
        self._begun = self._acted = self._done = 0.0
        self.was_alive = True
        self._hide = Secrets("")
        self.summary: dict[str, Any] = {}
        self._titles: dict[Any, str] = {}
        self._observer = page_observer.PageObserver(self.page, folder)
        self._state = page_observer.PageState((0, 0), None, [])
        self._hands = Hands(self.page, self._observer, self.uploads)
        context = driver.wrap(driver.context)
        context.set_default_timeout(15_000)
        context.on("page", self._hands.watch)
        self._hands.watch(self.page)

    def open(self, address: str) -> None:
        """Go to an address; what hangs there, such as a picture, is not waited for long.

        User, password and the values of its query are in no log, and are shown to no agent.
        """
        self._hide = Secrets(address)
        with contextlib.suppress(DialogOpen):
            try:
                self.page.goto(address, wait_until="commit")
            # Rarely the tab is still on its way to being blank, which ends the visit.
            except PageLeft:
                self.page.goto(address, wait_until="commit")
            with contextlib.suppress(TimeLimit):
                self.page.wait_for_load_state("domcontentloaded")
                self.page.wait_for_load_state("load", timeout=SETTLING * 1000)
            self.driver.run(self.account.quiet(0.0, SETTLING))
        self._begun = time.monotonic()

    def close(self) -> None:
        """Log the contents of the fields, what was sent, and what was refused by the gate."""
        self.was_alive = self.driver.is_connected
        with contextlib.suppress(TimeLimit):
            self.driver.run(self.account.settled(), 3.0)
        self.summary = self._hide(self.account.summary(self.contents))
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
        size = pictures.image_size(image)
        self._record()
        self.note(see=image.name, size=size, window=self._window, **self._state.as_seen())
        names = sorted(item.name for item in self.uploads.glob("*"))
        refused, self._refused = tuple(self._refused), []
        messages, self._messages = (*self._messages, *self._complaints(elements)), []
        return Observation(
            self.step, image, size, self.text, tuple(names), elements, refused, messages,
            self._hide(self.page.url), self.tabs, self.dialog, size[0] / self._window[0],
        )  # fmt: skip

    def _seen(self, observes: Observe) -> tuple[Path, tuple[Element, ...]]:
        for attempt in range(5):
            try:
                image = self._picture()
                self._titles[self.driver.active] = self.page.title()[:LONGEST]
                _, screen = self._update()
                if screen:
                    self.note(**screen)
                return image, self.elements(observes)
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
            shot = pictures.read_image(image)
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
            OpenTab(
                number, self._hide(tab.url), self._titles.get(tab, ""), tab is self.driver.active
            )
            for number, tab in enumerate(self.driver.tabs)
            if not tab.is_closed()
        )

    def elements(self, observes: Observe = "tree") -> tuple[Element, ...]:
        """What can be used on the page, also what has to be scrolled to."""
        return self._observer.elements(observes)

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
        screen, before = None, (self._hands.state(), self._state.screen)
        try:
            self._attempt(real, event)
            event["changed"] = []
            with contextlib.suppress(DialogOpen, PageLeft):
                event["changed"], screen = self._update()
            happened = self.account.take()
            self._compare(real, event, before, happened)
        finally:
            self._log(event)
        if screen:
            self.note(**screen)
        self._record(happened)
        if "refused" in event:
            self._refused.append(f"{action}: {event['refused']}"[:200])
        elif "holds" in event:
            self._messages.append(f"{action}: it holds {event['holds']!r} now"[:200])
        elif "idle" in event:
            self._messages.append(f"{action} changed nothing"[:200])

    def _compare(
        self, action: Action, event: dict[str, Any], before: tuple[Any, Any], happened: list[Any]
    ) -> None:
        """Note whether the page was left, or nothing was changed in it."""
        now = (self._hands.state(), self._state.screen)
        # The first of a state is the moment at which its document began.
        documents = {state[0][0] for state, _ in (now, before) if isinstance(state[0], list)}
        if len(documents) > 1:
            event["navigated"] = self.page.url
        unseen = isinstance(action, Hover | Wait | Tab | Answer | Done) or (
            # What a chord selects, and what the browser itself opens, is no part of a page.
            (isinstance(action, Press) and "+" in action.key)
            or (isinstance(action, Click) and (event.get("hit") or {}).get("kind") in _POPUPS)
        )  # fmt: skip
        if unseen or happened or now != before or "refused" in event or event["changed"]:
            return
        # On a busy machine a page takes a while to react.
        self.page.wait_for_timeout(100)
        if self._hands.state() == now[0]:
            event["idle"] = True

    def _record(self, happened: Sequence[dict[str, Any]] = ()) -> None:
        """Log what else happened, and tell the agent what it could not see."""
        for event in (*happened, *self.account.take(), *self._hands.take()):
            self.note(**event)
            answer = event.get("left") or event.get("request") or {}
            if event.get("tab", {}).get("address"):
                self._messages.append(f"tab {event['tab']['number']} was opened")
            elif "download" in event:
                self._messages.append(f"the page offered a file: {event['download']!r}"[:200])
            elif str(answer.get("to")).startswith("chrome-error:"):
                self._messages.append("the page could not be reached")
            elif (answer.get("status") or 0) >= 400:
                self._messages.append(f"the server answered {answer['status']}")

    def _complaints(self, elements: tuple[Element, ...]) -> list[str]:
        """What fields newly say is wrong with them, to an agent that may know it."""
        wrong = {(item.name or item.field): item.message for item in elements if item.message}
        known, self._wrong = self._wrong, wrong
        return [f"{name}: {text}"[:200] for name, text in wrong.items() if known.get(name) != text]

    def extend(self, seconds: float) -> None:
        """Put the deadline off, by the time that the agent took."""
        self.driver.deadline += seconds

    def finish(self) -> None:
        """Wait until the page has sent what it was about to send."""
        while time.monotonic() < self._done + AFTERWARDS and not self.driver.dialogs:
            self.driver.run(self.account.settled())
            sent = self.account.submissions(self.contents, self._acted)
            if any(item["outcome"] == "accepted" for item in sent):
                break
            self.driver.run(asyncio.sleep(0.05))
        self.driver.run(self.account.quiet(self._begun, 10.0))

    @property
    def cdp_address(self) -> str:
        """Where others can connect to the same browser; empty unless it was asked for."""
        return self.driver.endpoint

    @property
    def awaits_file(self) -> bool:
        """Whether a file dialog is open."""
        return self._hands.chooser is not None

    def watch(self) -> None:
        """Log what somebody else did in the browser since the last time."""
        with contextlib.suppress(DialogOpen, PageLeft):
            changed, screen = self._update()
            if screen:
                self.note(**screen)
            if changed:
                self.note(changed=changed, **self._state.as_seen())
        self._record()

    def note(self, **event: Any) -> None:
        """Log a note of an agent or of a run at this step."""
        self._log({"step": self.step, **event})

    @property
    def contents(self) -> dict[str, Any]:
        """The content of each field of the form when it was last seen, by the field's name."""
        return self._observer.contents()

    def _attempt(self, action: Action, event: dict[str, Any]) -> None:
        """Write into `event` what came of an action, whatever the page does meanwhile."""
        if isinstance(action, Answer):
            event |= self._answer(action.accept, action.text)
            return
        if self.driver.dialogs:
            self._answer(False, "")
            self._messages.append("the dialog was dismissed, since it had no answer")
        if isinstance(action, Tab):
            if action.number not in {tab.number for tab in self.tabs}:
                event["refused"] = "no such tab"
                return
            self.driver.active = self.driver.tabs[action.number]
            self.page.bring_to_front()
            return
        self._acted = time.monotonic()
        try:
            with contextlib.suppress(PageLeft):
                self._hands.perform(action, event)
            self.driver.run(self.account.quiet(self._acted, SETTLING))
        except DialogOpen:
            event["dialog"] = dataclasses.asdict(self.dialog) if self.dialog else None
        except TimeLimit as limit:
            if self.driver.is_late:
                raise
            event["refused"] = f"no answer from the page: {limit}"[:200]
        finally:
            self._done = time.monotonic()

    def _answer(self, accept: bool, text: str) -> dict[str, Any]:
        if not (dialog := self.dialog):
            return {"refused": "no dialog is open"}
        self._acted = time.monotonic()
        self.account.answered(accept, text)
        self.driver.answer(accept, text)
        self.driver.run(asyncio.sleep(0.05))
        self.driver.run(self.account.quiet(self._acted, SETTLING))
        self._done = time.monotonic()
        return {"answered": dataclasses.asdict(dialog), "accepted": accept}

    def _update(self) -> tuple[list[list[Any]], dict[str, Any] | None]:
        self._state, changed, screen = self._observer.look()
        self.account.complained(self._observer.messages)
        return changed, screen

    def _location(self, action: Action) -> dict[str, Any]:
        """The screen an action is done on, and a point in pixels of the whole page."""
        location: dict[str, Any] = {"on": self._state.screen}
        if getattr(action, "x", None) is not None:
            left, top = self._state.scroll
            location["at"] = [round(action.x + left, 1), round(action.y + top, 1)]
        return location

    def _log(self, event: dict[str, Any]) -> None:
        with (self.folder / "events.jsonl").open("ab") as stream:
            stream.write((json.dumps(self._hide(event)) + "\n").encode())
            stream.flush()
            os.fsync(stream.fileno())
