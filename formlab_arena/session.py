"""One form open in a browser: what an agent sees of it, and its actions carried out and logged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formlab import files
from formlab_arena import page_observer, ruler
from formlab_arena.actions import (
    Action,
    Click,
    DoubleClick,
    Press,
    RightClick,
    Scroll,
    Type,
    as_json,
    mapped,
)
from formlab_arena.observation import Element, Observation, Observe

if TYPE_CHECKING:
    from playwright.sync_api import FileChooser, Page

VIEWPORT = (1280, 800)
LONGEST = 20_000


class Session:
    """An open page, its log, and the one folder from which files may be uploaded.

    ``events.jsonl`` and the screenshots go to `folder`; its ``files`` are what can be uploaded.
    `scale` is the width of the image the agent sees over that of the window, above 0, at most 1;
    with `rulers` pixel axes are drawn on it.
    """

    def __init__(
        self, page: Page, folder: Path, text: str, *, scale: float = 1.0, rulers: bool = False
    ) -> None:
        self.page, self.folder, self.text = page, folder, text
        self.scale, self.rulers, self.step = scale, rulers, 0
        self._chooser: FileChooser | None = None
        self._refused: list[str] = []
        self._observer = page_observer.PageObserver(page, folder)
        self._state = page_observer.PageState((0, 0), None, [])
        page.on("filechooser", self._opened)
        page.set_default_timeout(15_000)

    def _opened(self, chooser: FileChooser) -> None:
        self._chooser = chooser

    @property
    def uploads(self) -> Path:
        """The folder of files that can be uploaded."""
        return self.folder / "files"

    def look(self, observes: Observe = "pixels") -> Observation:
        """A screenshot, logged, with what else the agent may know."""
        self.step += 1
        image = self.folder / f"{self.step:03d}.png"
        self.page.screenshot(path=image, animations="disabled")
        if self.scale != 1 or self.rulers:
            shot = files.read_image(image)
            if self.scale != 1:
                shot = shot.resize([max(1, round(side * self.scale)) for side in shot.size])
            (ruler.draw(shot) if self.rulers else shot).save(image)
        size = files.image_size(image)
        _, screen = self._update()
        if screen:
            self.note(**screen)
        self.note(see=image.name, size=size, window=self._window, **self._state.as_seen())
        elements = self.elements(observes)
        names = sorted(item.name for item in self.uploads.glob("*"))
        refused, self._refused = tuple(self._refused), []
        return Observation(self.step, image, size, self.text, tuple(names), elements, refused)

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
        screen = None
        try:
            event |= self._perform(real)
            event["changed"], screen = self._update()
        finally:
            self._log(event)
        if screen:
            self.note(**screen)
        if "refused" in event:
            self._refused.append(f"{action}: {event['refused']}"[:200])

    def note(self, **event: Any) -> None:
        """Log a note of an agent or of a run at this step."""
        self._log({"step": self.step, **event})

    @property
    def contents(self) -> dict[str, Any]:
        """The content of each field of the form when it was last seen, by the field's name."""
        return self._observer.contents()

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
                handle = self._observer.at(action.x, action.y)
                asks = handle.evaluate("e => e?.type === 'file' && !e.disabled")
                hit = self._shown(handle)
                mouse.click(
                    action.x,
                    action.y,
                    button="right" if isinstance(action, RightClick) else "left",
                    click_count=2 if isinstance(action, DoubleClick) else 1,
                )
                self._settle(dialog=asks and type(action) is Click)
                # Kept apart from its state afterwards, which a turned page takes away.
                return {"hit": hit, "target": self._shown(handle)}
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
        return {"target": self._shown(self._observer.active())}

    def _shown(self, handle: Any) -> Any:
        try:
            return self._observer.shown(handle)
        # A click that turned the page took its element away, and with it the state.
        except Exception as error:
            if "context was destroyed" in str(error) or "disposed" in str(error):
                return None
            raise

    def _settle(self, *, dialog: bool) -> None:
        self.page.wait_for_timeout(30)
        self.page.wait_for_load_state()
        # The file dialog is reported by an event, which a busy machine delays.
        for _ in range(100):
            if not dialog or self._chooser:
                return
            self.page.wait_for_timeout(50)

    def _upload(self, chooser: FileChooser, name: str) -> dict[str, Any]:
        path = inside(self.uploads, name)
        if path is None:
            return {"refused": "no such file in the run's own folder"}
        self._chooser = None
        chooser.set_files(path)
        return {"target": self._observer.shown(chooser.element)}

    def _log(self, event: dict[str, Any]) -> None:
        with (self.folder / "events.jsonl").open("ab") as stream:
            stream.write((json.dumps(event) + "\n").encode())
            stream.flush()
            os.fsync(stream.fileno())


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
