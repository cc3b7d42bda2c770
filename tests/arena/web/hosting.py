"""Serves one page and records what it is sent, by werkzeug's parsers and not by formlab's."""

import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

PAGES = Path(__file__).parent / "pages"
THANKS = "<!doctype html><title>Thanks</title><h1>Thank you</h1><p>We have your answers.</p>"
TOWNS = ["Bergen", "Berlin", "Bern", "Oslo", "Östersund", "Tromsø", "Trondheim"]
SLOW = 1.5


@dataclasses.dataclass(frozen=True)
class Page:
    """A page, what an agent is told, the right answers by labels, and what must be sent."""

    name: str
    html: str
    gold: Mapping[str, Any]
    sent: Mapping[str, list[str]]
    text: str = ""
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # The status of an episode that does all that can be done.
    status: str = "submitted"
    # Whether the page needs the other server, which an agent has to allow.
    other: bool = False
    shows: str = ""
    # Where the other files are that the page opens.
    folder: Path = PAGES


def lines(gold: Mapping[str, Any]) -> str:
    """The answers as a text of "Label: value" lines."""
    return "\n".join(f"{label}: {_spoken(value)}" for label, value in gold.items())


def _spoken(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


def pages(folder: Path = PAGES) -> list[Page]:
    """The pages of a folder: an HTML file with a JSON file beside it."""
    found = []
    for file in sorted(folder.glob("*.json")):
        data = json.loads(file.read_text("utf-8"))
        data.setdefault("text", lines(data["gold"]))
        html = file.with_suffix(".html").read_text("utf-8")
        found.append(Page(name=file.stem, html=html, folder=folder, **data))
    return found


class _Quiet(WSGIRequestHandler):
    def log(self, *_args, **_more):
        pass


class Host:
    """A running server: `url` of the page, `sent` by forms and scripts, all `requests`."""

    def __init__(self, page: Page, other: "Host | None" = None) -> None:
        self.page, self.other = page, other
        self.requests: list[dict[str, Any]] = []
        self.closing = threading.Event()
        self.server = make_server("127.0.0.1", 0, self._app, threaded=True, request_handler=_Quiet)
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        self.url = f"{self.root}/page/{page.name}"

    @property
    def sent(self) -> list[dict[str, Any]]:
        """What forms sent to the servers, but not what a page saves or counts by itself."""
        got = self.requests + (self.other.requests if self.other else [])
        quiet = ("/save", "/count")
        return [r for r in got if (r["values"] or r["method"] != "GET") and r["path"] not in quiet]

    @property
    def values(self) -> dict[str, list[str]]:
        """The values of all that was sent; of a name that was sent twice, the last."""
        return {name: value for sent in self.sent for name, value in sent["values"].items()}

    def _app(self, environ, start_response):
        request = Request(environ)
        values = request.form.to_dict(flat=False)
        for name, uploads in request.files.lists():
            values[name] = [upload.filename for upload in uploads]
        request.close()
        if request.is_json and request.method != "GET":
            for name, value in _flat(request.get_json()):
                values.setdefault(name, []).append(value)
        if request.path == "/accept" and request.method == "GET":
            values = request.args.to_dict(flat=False)
        upgrade = environ.get("HTTP_UPGRADE", "")
        self.requests.append(
            {"path": request.path, "method": request.method, "values": values, "upgrade": upgrade}
        )
        return self._answer(request, values)(environ, start_response)

    def _answer(self, request: Request, values: Mapping[str, list[str]]) -> Response:
        step, _, rest = request.path.strip("/").partition("/")
        if step == "page":
            return self._file(rest)
        if step == "slow":
            time.sleep(SLOW)
        if step == "never":
            self.closing.wait(60)
        if step == "next":
            return redirect(f"/page/{rest}", 303)
        if step == "elsewhere":
            return redirect(f"{self.other.root}/pixel", 302)
        if step == "suggest":
            letters = request.args.get("q", "").lower()
            towns = [town for town in TOWNS if letters and town.lower().startswith(letters)]
            return Response(json.dumps(towns), content_type="application/json")
        if step == "refuse":
            return Response("<h1>Not accepted</h1>", 422, content_type="text/html")
        if step == "return" and (wrong := _wrong(values)):
            return self._file(rest, wrong, values)
        if step == "api":
            problem = _wrong(values)
            answer = json.dumps({"errors": problem} if problem else {"id": 17})
            return Response(answer, 422 if problem else 201, content_type="application/json")
        if step in ("save", "count", "favicon.ico"):
            return Response(status=204)
        if step in ("accept", "slow", "return") and request.method == "POST":
            return redirect("/thanks", 303)
        if step in ("thanks", "accept"):
            return Response(THANKS, content_type="text/html")
        return Response("<h1>404</h1><p>No such page.</p>", 404, content_type="text/html")

    def _file(self, name: str, wrong: tuple[str, ...] = (), values=None) -> Response:
        file = self.page.folder / f"{name}.html"
        html = self.page.html if name == self.page.name else ""
        if not html and file.is_file():
            html = file.read_text("utf-8")
        if not html:
            return Response("<h1>404</h1><p>No such page.</p>", 404, content_type="text/html")
        html = html.replace("{{OTHER}}", self.other.root if self.other else "")
        back = json.dumps({"errors": wrong, "values": values or {}}).replace("<", "\\u003c")
        return Response(html.replace("{{BACK}}", back), content_type="text/html; charset=utf-8")

    @contextlib.contextmanager
    def running(self):
        """Serve until the block is left."""
        thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.closing.set()
            self.server.shutdown()
            self.server.server_close()
            thread.join()


def _wrong(values: Mapping[str, list[str]]) -> tuple[str, ...]:
    """The server's own check: a postcode has four digits, and terms are agreed to."""
    wrong = []
    code = values.get("postcode", ["0000"])[0]
    if not (code.isdigit() and len(code) == 4):
        wrong.append("postcode: four digits")
    if values.get("terms", ["on"])[0] in ("", "false"):
        wrong.append("terms: must be accepted")
    return tuple(wrong)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Pairs of path and text of a JSON body; the texts of a list have the same path."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _flat(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for each in value:
            yield from _flat(each, path)
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)


@contextlib.contextmanager
def hosting(page: Page):
    """A server with one page, and another one, `other`, that the page may try to reach."""
    with Host(page).running() as other, Host(page, other).running() as host:
        yield host
