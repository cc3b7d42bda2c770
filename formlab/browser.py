"""Find a Chromium, and open pages in it and log and stop the requests that leave them."""

import dataclasses
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from formlab import resources
from formlab.errors import NotAvailable

_COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# The switch is given twice where a page may reach servers: the last one holds.
_NAMES = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
# --no-sandbox: containers without user namespaces cannot start Chromium otherwise (SECURITY.md).
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
# Nothing goes round the proxy: no name that is looked up, and no datagram of WebRTC (the first of
# its switches was renamed; Chromium ignores the one that it does not know).
FLAGS += [_NAMES, "--webrtc-ip-handling-policy=disable_non_proxied_udp"]
FLAGS += ["--force-webrtc-ip-handling-policy=disable_non_proxied_udp"]
PATIENCE = 120_000  # milliseconds
_REMEDY = "python -m playwright install chromium, or set FORMLAB_CHROMIUM to a Chromium"
# Asked in a process of its own: Playwright's sync API refuses to start inside a running event loop,
# which is where a notebook cell lives.
_ASK = "from playwright.sync_api import sync_playwright as s\n"
_ASK += "with s() as p: print(p.chromium.executable_path)"


def find() -> Path:
    """The Chromium to use: FORMLAB_CHROMIUM, one on the PATH, or the one Playwright installed.

    `NotAvailable`, with the command that installs one, if there is none.
    """
    named = os.environ.get("FORMLAB_CHROMIUM")
    if command := next(filter(None, map(shutil.which, [named] if named else _COMMANDS)), None):
        return Path(command)
    if named:
        raise NotAvailable("FORMLAB_CHROMIUM names no executable file", where=named, remedy=_REMEDY)
    done = subprocess.run(  # noqa: S603 - our own interpreter and a constant
        [sys.executable, "-c", _ASK], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode == 0 and (path := Path(done.stdout.strip())).is_file():
        return path
    raise NotAvailable("no Chromium was found", remedy=_REMEDY)


@dataclasses.dataclass
class Visit:
    """A page, and every address that it asked for and was not allowed (none was reached)."""

    page: Any  # Of Playwright.
    requests: list[str] = dataclasses.field(default_factory=list)

    @property
    def trouble(self) -> list[str]:
        """The requests, and what the open page has of errors in its console and its scripts."""
        # The console's warnings are of the graphics driver.
        console = [entry.text for entry in self.page.console_messages() if entry.type == "error"]
        return [*self.requests, *console, *map(str, self.page.page_errors())]


@contextmanager
def page(
    address: str | Path | None = None,
    *,
    size: tuple[int, int] = (1280, 800),
    scheme: Literal["light", "dark"] = "light",
    allow: Sequence[str] = ("file:", "data:", "blob:", "about:"),
    scripts: bool = True,
) -> Iterator[Visit]:
    """A page in a fresh profile; each request that does not start as `allow` says is aborted.

    What does not ask, such as a socket, a datagram or the look-up of a name, reaches no server
    but those of `allow`. `address`, a file or a URL, is opened and waited for; without one the page
    is blank. `size` is that of the window in CSS pixels, `scheme` the user's preferred colours.
    """
    resources.need("browser")
    from playwright.sync_api import sync_playwright

    servers = [server for server in map(urlsplit, allow) if server.hostname]
    names = ", ".join([_NAMES, *(f"EXCLUDE {server.hostname}" for server in servers)])
    allowed = tuple(allow)
    with sync_playwright() as playwright, socket.socket() as closed:
        # A port that is taken and that nobody listens at: a proxy which refuses everything.
        closed.bind(("127.0.0.1", 0))
        # The last rule that fits an address holds; this one has loopback come to the proxy.
        bypass = ",".join(["<-loopback>", *(server.netloc for server in servers)])
        proxy = {"server": "http://{}:{}".format(*closed.getsockname()), "bypass": bypass}
        start = {"executable_path": find(), "args": [*FLAGS, names], "proxy": proxy}
        browser = playwright.chromium.launch(**start)
        try:
            window = {"viewport": {"width": size[0], "height": size[1]}, "color_scheme": scheme}
            context = browser.new_context(**window, java_script_enabled=scripts)
            # Playwright's half a minute is too little for a large page on a busy machine.
            context.set_default_timeout(PATIENCE)
            visit = Visit(context.new_page())

            def log(request: Any) -> None:
                visit.requests += [] if request.url.startswith(allowed) else [request.url]

            def gate(route: Any) -> None:
                if route.request.url.startswith(allowed):
                    route.continue_()
                elif not scripts and route.request.is_navigation_request():
                    # The answer "no content": the page stays, where an error would take its place.
                    route.fulfill(status=204)
                else:
                    route.abort()

            def forgive(request: Any) -> None:
                # Chromium tells of what the page's own policy stopped, too: that was never sent.
                if request.failure == "csp" and request.url in visit.requests:
                    visit.requests.remove(request.url)

            # Some requests, such as those of a redirect or a prefetch, are told and not handed
            # over: these fail at the proxy.
            context.on("request", log)
            context.on("requestfailed", forgive)
            context.route("**/*", gate)
            # What opens in another tab has left the page as well.
            context.on("page", lambda other: visit.requests.append(f"new page: {other.url}"))
            visit.page.on("websocket", log)
            if address is not None:
                url = address.resolve().as_uri() if isinstance(address, Path) else address
                visit.page.goto(url, wait_until="load")
            yield visit
        finally:
            browser.close()
