"""The account of an episode: what the page sent, what came of it, and what else happened."""

import asyncio
import contextlib
import dataclasses
import time
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any

from formlab_arena.driver import Driver
from formlab_arena.gate import Gate
from formlab_arena.sent_values import LONGEST, Values, carries, grouped, pairs_of, values_of

# Seconds after a click in which a request may belong to it, and those without any request that
# make a network quiet.
TRIGGERED, QUIET = 3.0, 0.2
# Seconds by which a request may be known before the click that made it.
TOGETHER = 0.02
# Pages are hostile: things of one kind that are kept.
MOST = 500
# Requests that may carry a form, or bring what is shown of it: no pictures, streams or beacons.
_KINDS = ("document", "xhr", "fetch", "script")
# What a page says of itself. The data of a form is told when the browser collects it to send it.
SCRIPT = """(() => { const tell = globalThis.__formlabAccount; if (!tell) return;
const cut = (v) => String(v instanceof File ? v.name : v).slice(0, 20000);
const say = (kind, more) => { try { tell({ kind, ...more }); } catch {} };
const told = (name, addresses) => globalThis[name] && (globalThis[name] = new Proxy(
  globalThis[name], { construct: (target, values, self) => {
    const made = Reflect.construct(target, values, self);
    try { for (const url of addresses(...values)) say('reach', { url: cut(url) }); } catch {}
    return made; } }));
for (const name of ['WebSocket', 'WebTransport']) told(name, (url) => [new URL(url, location)]);
told('RTCPeerConnection', (options) =>
  ['webrtc:', ...(options?.iceServers ?? []).flatMap(server => server.urls)]);
addEventListener('submit', () => say('submit'), true);
addEventListener('click', (e) => e.isTrusted && e.composedPath()[0].closest?.(
  'button, a, input[type=submit], input[type=image], input[type=button], [role=button]')
  && say('click'), true);
addEventListener('keydown', (e) => e.isTrusted && e.key === 'Enter' && say('click'), true);
addEventListener('invalid', (e) => say('invalid', { field: cut(e.target.name || e.target.id || ''),
  message: cut(e.target.validationMessage || '') }), true);
addEventListener('formdata', (e) => say('data', {
  action: cut(new URL(e.target.getAttribute('action') ?? '', document.baseURI)),
  values: [...e.formData].slice(0, 3000).map((pair) => pair.map(cut)) }));
})()"""
_SHOWN = """() => [...document.querySelectorAll('input, select, textarea')]
  .filter(e => e.name && !['hidden', 'password', 'submit'].includes(e.type)
    && (e.checked || !['radio', 'checkbox'].includes(e.type)) && e.checkVisibility())
  .flatMap(e => e.tagName === 'SELECT' ? [...e.selectedOptions].map(o => [e.name, o.value])
    : [[e.name, e.value]]).slice(0, 3000)"""


@dataclasses.dataclass
class _Request:
    """One request that may carry a form, with its place among what the page tells."""

    method: str
    url: str
    is_navigation: bool
    kind: str
    body: bytes | None
    content_type: str
    begun: float
    document: int
    status: int | None = None
    returned: bool = False


class Account:
    """Listens to a browser, and tells what it sent.

    A request is a submission if it is a navigation that carries a form, by POST or, with the data
    of a form as its query, by GET; or if it is a POST, PUT or PATCH of a script that carries
    something entered and comes within three seconds of a submission of a form, a click on a
    button or link, or Enter. Where the same address was also written to without any of these, as
    an autosave does, or where it is a beacon, it is a request and no submission.
    """

    def __init__(self, driver: Driver, gate: Gate) -> None:
        self._driver, self._gate = driver, gate
        self._events: list[dict[str, Any]] = []
        self._requests: list[_Request] = []
        self._open: dict[Any, tuple[float, _Request | None]] = {}
        # Counts the documents met so far: a click belongs to its own.
        self._document = 0
        self._triggers: list[tuple[int, float]] = []
        self._data: list[tuple[str, list[tuple[str, str]]]] = []
        self._validation: dict[tuple[str, str], None] = {}
        self._dialogs: list[dict[str, Any]] = []
        self._answers: dict[str, _Request] = {}
        self._statuses: dict[Any, int] = {}
        self._quiet_since = 0.0
        self._reading: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen to the driver's browser, which has loaded nothing yet."""
        context = self._driver.context
        await context.expose_binding("__formlabAccount", self._told)
        await context.add_init_script(SCRIPT)
        context.on("request", self._began)
        context.on("response", self._answered)
        context.on("requestfinished", self._ended)
        context.on("requestfailed", self._ended)
        context.on("dialog", self._asked)
        context.on("page", self._opened)
        self._opened(self._driver.tabs[0])

    def _told(self, _: Any, message: Any) -> None:
        if not isinstance(message, dict):
            return
        kind = message.get("kind")
        if kind in ("submit", "click"):
            self._triggers = [*self._triggers[-MOST:], (self._document, time.monotonic())]
        elif kind == "reach":
            self._gate.refuse(str(message.get("url")))
        elif kind == "invalid":
            self.complained([(str(message.get("field")), str(message.get("message")))])
        elif kind == "data":
            with contextlib.suppress(TypeError, ValueError):
                values = [(str(name), str(value)) for name, value in message["values"]]
                self._data = [*self._data[-MOST:], (str(message.get("action")), values)]

    def complained(self, messages: Iterable[tuple[str, str]]) -> None:
        """Note what fields say is wrong with them: each field with its message."""
        for field, text in messages:
            if len(self._validation) < MOST:
                self._validation[field[:300], text[:300]] = None

    def _began(self, request: Any) -> None:
        self._gate.refuse(request.url)
        kind, method, now = request.resource_type, request.method, time.monotonic()
        if kind not in _KINDS:
            return
        entry = None
        is_form = request.is_navigation_request()
        if (is_form or (kind in ("fetch", "xhr") and method != "GET")) and (
            len(self._requests) < MOST
        ):
            body = request.post_data_buffer if method != "GET" else None
            content_type = request.headers.get("content-type", "")
            where = self._document
            entry = _Request(method, request.url, is_form, kind, body, content_type, now, where)
            self._requests.append(entry)
        self._open[request] = now, entry

    def _answered(self, response: Any) -> None:
        request = response.request
        _, entry = self._open.get(request, (0, None))
        # Every body is taken, so that the next one sent to the same address is its own.
        body = self._gate.body(request.method, request.url) if request.method != "GET" else None
        if entry is None:
            return
        entry.body = entry.body if body is None else body
        entry.status = response.status
        if entry.is_navigation:
            self._answers[_address(entry.url)] = entry

    async def _read(self, entry: _Request, frame: Any) -> None:
        """Whether the form came back with what was entered."""
        # The page may hang, go, or show a dialog.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(3):
                await frame.wait_for_load_state("domcontentloaded")
                shown = await frame.evaluate(_SHOWN)
            sent = {(name, text) for name, texts in self._values(entry).items() for text in texts}
            sent = {(name, text.replace("\r\n", "\n")) for name, text in sent if text}
            back = sent & {(str(name), str(text)) for name, text in shown}
            entry.returned = bool(back) and 2 * len(back) >= len(sent)

    def _ended(self, request: Any) -> None:
        _, entry = self._open.pop(request, (0, None))
        if request.resource_type in ("fetch", "xhr"):
            self._quiet_since = time.monotonic()
        if entry:
            kind = "navigation" if entry.is_navigation else "fetch"
            line = {"method": entry.method, "url": entry.url[:2000], "status": entry.status}
            self._note(request=line | {"kind": kind})

    def _asked(self, dialog: Any) -> None:
        if len(self._dialogs) < MOST:
            line = {"kind": dialog.type, "text": dialog.message[:LONGEST], "accepted": None}
            self._dialogs.append(line)
            self._note(dialog=line)

    def answered(self, accepted: bool, text: str = "") -> None:
        """Note the answer to the dialog that waits."""
        for line in [line for line in self._dialogs if line["accepted"] is None][:1]:
            line |= {"accepted": accepted} | ({"answer": text} if text else {})

    def _opened(self, page: Any) -> None:
        page.on("framenavigated", self._left)
        page.on("websocket", lambda socket: self._gate.refuse(socket.url))
        page.on("close", lambda _: self._note(tab={"number": number, "closed": True}))
        number = self._driver.number(page)
        if number:
            self._note(tab={"number": number, "address": page.url[:2000]})

    def _left(self, frame: Any) -> None:
        entry = self._answers.pop(_address(frame.url), None)
        if entry and entry.method != "GET" and entry.status == 200:
            self._reading.add(asyncio.ensure_future(self._read(entry, frame)))
        if frame.parent_frame is None:
            self._document += bool(entry)
            # An address that a script only shows has no status; the last one stays.
            if entry:
                self._statuses[frame.page] = entry.status
            status = entry.status if entry else None
            self._note(left={"to": frame.url[:2000], "status": status})

    def _note(self, **event: Any) -> None:
        if len(self._events) < 4 * MOST:
            self._events.append(event)

    def take(self) -> list[dict[str, Any]]:
        """What happened since the last call, for the log."""
        events, self._events = self._events, []
        return events

    async def quiet(self, since: float, limit: float) -> None:
        """Wait for what was asked for after a moment and is under way, at most `limit` seconds."""
        end, waited = time.monotonic() + limit, False
        while (now := time.monotonic()) < end and not self._driver.dialogs:
            if any(begun >= since for begun, _ in self._open.values()):
                waited = True
            # What a script was waiting for may make it ask for more.
            elif not waited or now - self._quiet_since > QUIET:
                break
            await asyncio.sleep(0.02)

    async def settled(self) -> None:
        """Wait for the pages that came back to be read."""
        if self._reading:
            await asyncio.wait(self._reading, timeout=3)

    def submissions(self, contents: Mapping[str, Any], since: float = 0.0) -> list[dict[str, Any]]:
        """The submissions since a moment; `contents` are those of the fields, as last seen."""
        writes = [(entry, self._values(entry)) for entry in self._requests]
        background = {
            _address(entry.url).split("?")[0]
            for entry, _ in writes
            if not entry.is_navigation and not self._is_triggered(entry)
        }
        return [
            {
                "method": entry.method, "url": entry.url[:2000], "status": entry.status,
                "kind": "navigation" if entry.is_navigation else "fetch",
                "values": values, "outcome": _outcome(entry),
            }
            for entry, values in writes
            if entry.begun >= since and self._is_submission(entry, values, contents, background)
        ]  # fmt: skip

    def _is_triggered(self, entry: _Request) -> bool:
        return any(
            document == entry.document and -TOGETHER <= entry.begun - moment <= TRIGGERED
            for document, moment in self._triggers
        )

    def _is_submission(
        self, entry: _Request, values: Values, contents: Mapping[str, Any], background: set[str]
    ) -> bool:
        address = _address(entry.url).split("?")[0]
        if entry.is_navigation and entry.method == "GET":
            query = pairs_of(urllib.parse.urlsplit(entry.url).query)
            return any(action.split("?")[0].split("#")[0] == address and query == list(pairs)
                       for action, pairs in self._data if pairs)  # fmt: skip
        if entry.is_navigation:
            return True
        triggered = self._is_triggered(entry) and address not in background
        return triggered and entry.method in ("POST", "PUT", "PATCH") and carries(values, contents)

    def _values(self, entry: _Request) -> Values:
        if entry.method == "GET":
            return grouped(pairs_of(urllib.parse.urlsplit(entry.url).query))
        if entry.body is None:
            # Encrypted and with files: what the form collected last.
            return grouped(self._data[-1][1] if self._data else [])
        return values_of(entry.body, entry.content_type)

    def summary(self, contents: Mapping[str, Any]) -> dict[str, Any]:
        """The account, for the result of an episode."""
        submissions = self.submissions(contents)
        return {
            "submissions": submissions, "dialogs": self._dialogs,
            "validation": [{"field": f, "message": m} for f, m in self._validation],
            "tabs": [tab.url[:2000] for tab in self._driver.tabs],
            "http_status": self._statuses.get(self._driver.active), "blocked": self._gate.blocked,
        }  # fmt: skip


def _address(url: str) -> str:
    return urllib.parse.urldefrag(url)[0]


def _outcome(entry: _Request) -> str:
    if entry.status is None:
        return "failed"
    return "refused" if entry.status >= 400 else "returned" if entry.returned else "accepted"
