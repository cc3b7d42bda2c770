"""A browser in a thread of its own: calls from any thread, each with a time limit."""

import asyncio
import contextlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, ClassVar

from formlab import files
from formlab.errors import UnknownName

# Tabs that are kept open; a page that opens more is hostile.
MOST_TABS = 20
# Seconds that a browser has to close, an answer to a dialog to take effect, and the rest to end.
CLOSING, ANSWERING, ENDING = 5.0, 5.0, 30.0


class TimeLimit(Exception):
    """The browser or the page took longer than a call, or the episode, may take."""


class DialogOpen(Exception):
    """A dialog opened during a call, or waits for its answer, and the page answers nothing."""


class PageLeft(Exception):
    """The page that was asked has gone: another one came, or its tab was closed."""


# How Playwright says that.
_LEFT = (
    "context was destroyed", "has been closed", "was detached", "Cannot find context",
    "only in the context they were created", "not attached to the DOM",
    "Unable to capture screenshot", "interrupted by another navigation",
)  # fmt: skip


# The event loop of all sessions, in a thread of its own.
_LOOP = asyncio.new_event_loop()
_THREAD = threading.Thread(target=_LOOP.run_forever, daemon=True)
_THREAD.start()


class Driver:
    """Runs Playwright's async API on an event loop in a thread, for callers without one.

    `page` is the active tab, and `wrap` makes of any of Playwright's objects one whose methods can
    be called from all threads, also under a running event loop. No call lasts longer than
    `deadline`, a moment of `time.monotonic`; then `TimeLimit` is raised, and `PageLeft` where the
    page went. Dialogs stay open until `answer`: a call that opens one goes on in the background
    and raises `DialogOpen`, as others do till then.
    """

    # Playwright's processes, which take a second to start, of sessions that ended well.
    _idle: ClassVar[list[Any]] = []

    def __init__(self, seconds: float = 300.0) -> None:
        self.deadline = time.monotonic() + seconds
        self.dialogs: list[Any] = []
        self.context: Any = None
        self._playwright: Any = None
        self.endpoint = ""
        self.pid: int | None = None
        self._background: set[asyncio.Task[Any]] = set()
        self.at_end = contextlib.AsyncExitStack()
        self._opened = asyncio.Event()
        self.tabs: list[Any] = []
        self.active: Any = None
        self.page = _Active(self)
        self._closed = False

    def start(
        self, launch: Mapping[str, Any], *, device: str = "", state: Path | None = None,
        cdp: bool = False, **view: Any,
    ) -> None:  # fmt: skip
        """Open a browser with Playwright's options of a launch and a context, `view`.

        `device` names one of Playwright's descriptors, `state` a file of cookies and local
        storage; with `cdp` `endpoint` is where others can connect to the same browser.
        """
        self.run(self._start(dict(launch), device, state, cdp, view))

    async def _start(
        self, launch: dict[str, Any], device: str, state: Path | None, cdp: bool,
        view: dict[str, Any],
    ) -> None:  # fmt: skip
        from playwright.async_api import async_playwright

        playwright = self._idle.pop() if self._idle else await async_playwright().start()
        self._playwright = playwright
        if device and device not in playwright.devices:
            raise UnknownName.of("device", device, playwright.devices)
        if device:
            view |= playwright.devices[device]
            view.pop("default_browser_type")
        if cdp:
            # Others see the pages of the browser's own context only: those of a profile.
            profile = self.at_end.enter_context(
                tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            )
            launch["args"] = [*launch.get("args", ()), "--remote-debugging-port=0"]
            self.context = await playwright.chromium.launch_persistent_context(
                profile, **launch, **view
            )
            port = (Path(profile) / "DevToolsActivePort").read_text().split()[0]
            self.endpoint = f"http://127.0.0.1:{port}"
        else:
            browser = await playwright.chromium.launch(**launch)
            self.context = await browser.new_context(**view)
        connection = await self.context.browser.new_browser_cdp_session()
        processes = (await connection.send("SystemInfo.getProcessInfo"))["processInfo"]
        self.pid = next(item["id"] for item in processes if item["type"] == "browser")
        if state:
            await self.context.set_storage_state(files.read_json(state))
        if not cdp:
            # Somebody else who drives the browser answers its dialogs as well.
            self.context.on("dialog", self._dialog)
        self.context.on("page", self._tab)
        if cdp:
            self._tab(self.context.pages[0])
        else:
            await self.context.new_page()

    def _tab(self, page: Any) -> None:
        if len([tab for tab in self.tabs if not tab.is_closed()]) >= MOST_TABS:
            self._keep(asyncio.ensure_future(page.close()))
            return
        # As in a window: what opens comes to the front, and what closes makes way for another.
        self.tabs.append(page)
        self.active = page

        def closed(_: Any) -> None:
            left = [tab for tab in self.tabs if not tab.is_closed()]
            if self.active is page and left:
                self.active = left[-1]

        page.on("close", closed)

    def number(self, page: Any) -> int:
        """The place of a tab among all that were opened; -1 for one that was too many."""
        return self.tabs.index(page) if page in self.tabs else -1

    @property
    def is_connected(self) -> bool:
        """Whether the browser is alive."""
        return self.context.browser.is_connected()

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    def run(self, task: Coroutine[Any, Any, Any], seconds: float | None = None) -> Any:
        """The result of a coroutine on the loop; `TimeLimit` after `seconds` or at the deadline."""
        from playwright.async_api import Error
        from playwright.async_api import TimeoutError as PageTimeout

        if self._closed:
            task.close()
            raise PageLeft("the browser is closed")
        left = self.deadline - time.monotonic() if seconds is None else seconds
        future = asyncio.run_coroutine_threadsafe(task, _LOOP)
        try:
            return future.result(max(0.0, left))
        except TimeoutError:
            future.cancel()
            raise TimeLimit("no answer from the browser or the page") from None
        except PageTimeout as error:
            raise TimeLimit(str(error)) from None
        except Error as error:
            if any(words in str(error) for words in _LEFT):
                raise PageLeft(str(error)) from None
            raise

    def wrap(self, value: Any) -> Any:
        """What Playwright gave, with its objects as `Remote` ones."""
        if isinstance(value, list | tuple):
            return type(value)(map(self.wrap, value))
        if type(value).__module__.startswith("playwright.async_api"):
            return Remote(self, value)
        return value

    def call(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """A method's result; from a callback, which the loop itself runs, it is not waited for."""
        args, options = _unwrapped(list(args)), _unwrapped(options)
        if threading.current_thread() is not _THREAD:
            return self.wrap(self.run(self._called(method, args, options)))
        if isinstance(value := method(*args, **options), Awaitable):
            value = self._keep(asyncio.ensure_future(value))
        return self.wrap(value)

    async def _called(self, method: Callable[..., Any], args: Any, options: Any) -> Any:
        value = method(*args, **options)
        return await self._until_dialog(value) if isinstance(value, Awaitable) else value

    async def _until_dialog(self, work: Awaitable[Any]) -> Any:
        task, opened = asyncio.ensure_future(work), asyncio.ensure_future(self._opened.wait())
        if self.dialogs:
            task.cancel()
            raise DialogOpen("a dialog of the page waits for an answer")
        try:
            await asyncio.wait({task, opened}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            self._keep(task)
            raise DialogOpen("a dialog opened")
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            opened.cancel()

    def _keep(self, task: asyncio.Task[Any]) -> None:
        # Nobody waits for it any more: its fault, such as a page that went, is nobody's.
        self._background.add(task)
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        task.add_done_callback(self._background.discard)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog)
        self._opened.set()

    def answer(self, accept: bool, text: str = "") -> None:
        """Answer the dialog that opened first; back when what it had stopped is done."""
        self.run(self._answer(accept, text))

    async def _answer(self, accept: bool, text: str) -> None:
        dialog = self.dialogs.pop(0)
        if not self.dialogs:
            self._opened.clear()
        if not accept:
            await dialog.dismiss()
        else:
            await (dialog.accept(text) if dialog.type == "prompt" else dialog.accept())
        if self._background:
            waiting = asyncio.wait(set(self._background), timeout=ANSWERING)
            with contextlib.suppress(DialogOpen):
                await self._until_dialog(waiting)

    def close(self) -> None:
        """Close the browser; one that does not close is killed. Closing twice is no fault."""
        if self._closed:
            return
        try:
            self.run(self.context.browser.close(), CLOSING)
            self._idle.append(self._playwright)
        except Exception:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL) if self.pid else None
            with contextlib.suppress(Exception):
                self.run(self._playwright.stop(), ENDING)
        with contextlib.suppress(Exception):
            self.run(self.at_end.aclose(), ENDING)
        self._closed = True


class Remote:
    """One of Playwright's objects, with the methods of its synchronous API."""

    def __init__(self, driver: Driver, target: Any) -> None:
        self._driver, self._target = driver, target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value):
            return self._driver.wrap(value)
        return lambda *args, **options: self._driver.call(value, *args, **options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and self._target is other._target

    def __hash__(self) -> int:
        return hash(self._target)

    def on(self, event: str, handler: Callable[..., Any]) -> None:
        """Call `handler` on every event, on the loop: what it calls itself is not waited for."""
        wrap = self._driver.wrap
        self._driver.call(self._target.on, event, lambda *values: handler(*map(wrap, values)))


class _Active(Remote):
    """The tab that is active at the moment of each call."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    @property
    def _target(self) -> Any:
        return self._driver.active


def _unwrapped(value: Any) -> Any:
    if isinstance(value, Remote):
        return value._target
    if isinstance(value, Mapping):
        return {key: _unwrapped(item) for key, item in value.items()}
    return [_unwrapped(item) for item in value] if isinstance(value, list | tuple) else value
