"""Serves pages and records what it is sent, by werkzeug's parsers and not by formlab's."""

import contextlib
import dataclasses
import json
import threading
import time
from pathlib import Path

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from formlab_arena.episode import RunSettings
from formlab_arena.form_url import fill_tasks
from formlab_arena.web_tasks import WebTask

HOME = Path(__file__).parent
OBSERVED = HOME.with_name("observed")
THANKS = "<!doctype html><title>Thanks</title><h1>Thank you</h1><p>We have your answers.</p>"
LOST = "<h1>404</h1><p>No such page.</p>"
TOWNS = ["Bergen", "Berlin", "Bern", "Oslo", "Östersund", "Tromsø", "Trondheim"]
# A form that is not ours: other markup, labels around their fields, no names of formlab's.
FOREIGN_TEXT = """Hello! I would like to sign up my daughter. Name of the child: Ada Berg. You can
write to me at lena.berg@example.org. The day of arrival is 5 July 2027. Tent: Large tent, please.
Food: Vegetarian. My child can swim. You may not take photographs."""
FOREIGN_RIGHT = {
    "child": "Ada Berg", "mail": "lena.berg@example.org", "arrival": "05/07/2027",
    "tent": "Large tent", "food": ["veg"], "swim": True, "photo": False,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Page:
    """A page, what an agent is told, the right answers by labels, and what must be sent."""

    name: str
    html: str
    gold: dict = dataclasses.field(default_factory=dict)
    sent: dict = dataclasses.field(default_factory=dict)
    text: str = ""
    files: dict = dataclasses.field(default_factory=dict)
    # The status of an episode that does all that can be done.
    status: str = "submitted"
    # Whether the page needs the other server, which an agent has to allow.
    other: bool = False
    shows: str = ""
    # Where the other files are that the page opens.
    folder: Path = HOME / "pages"


def page_of(name):
    """A page of the folder `observed`, of which nothing is asked."""
    return Page("camp", (OBSERVED / f"{name}.html").read_text("utf-8"))


def spoken(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


def pages(folder=HOME / "pages"):
    """The pages of a folder: an HTML file with a JSON file beside it."""
    found = []
    for file in sorted(folder.glob("*.json")):
        data = json.loads(file.read_text("utf-8"))
        lines = "\n".join(f"{label}: {spoken(value)}" for label, value in data["gold"].items())
        html = file.with_suffix(".html").read_text("utf-8")
        found.append(Page(name=file.stem, html=html, folder=folder, **{"text": lines} | data))
    return found


class Quiet(WSGIRequestHandler):
    def log(self, *_args, **_more):
        pass


class Host:
    """A running server: `url` of the page, `sent` by forms and scripts, all `requests`."""

    def __init__(self, page, other=None):
        self.page, self.other, self.requests = page, other, []
        self.closing = threading.Event()
        self.server = make_server("127.0.0.1", 0, self.app, threaded=True, request_handler=Quiet)
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        self.url = f"{self.root}/page/{page.name}"

    @property
    def sent(self):
        """What forms sent to the servers, but not what a page saves or counts by itself."""
        got = self.requests + (self.other.requests if self.other else [])
        quiet = ("/save", "/count")
        return [r for r in got if (r["values"] or r["method"] != "GET") and r["path"] not in quiet]

    def app(self, environ, start_response):
        request = Request(environ)
        values = request.form.to_dict(flat=False)
        for name, uploads in request.files.lists():
            values[name] = [upload.filename for upload in uploads]
        request.close()
        if request.is_json and request.method != "GET":
            for name, value in flat(request.get_json()):
                values.setdefault(name, []).append(value)
        if request.path == "/accept" and request.method == "GET":
            values = request.args.to_dict(flat=False)
        upgrade = environ.get("HTTP_UPGRADE", "")
        self.requests.append(
            {"path": request.path, "method": request.method, "values": values, "upgrade": upgrade}
        )
        return self.answer(request, values)(environ, start_response)

    def answer(self, request, values):
        step, _, rest = request.path.strip("/").partition("/")
        wrong = wrong_values(values)
        if step == "page" or (step == "return" and wrong):
            return self.file(rest, wrong if step == "return" else [], values)
        if step in ("slow", "never"):
            time.sleep(1.5) if step == "slow" else self.closing.wait(60)
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
        if step == "api":
            answer = json.dumps({"errors": wrong} if wrong else {"id": 17})
            return Response(answer, 422 if wrong else 201, content_type="application/json")
        if step in ("save", "count", "favicon.ico"):
            return Response(status=204)
        if step in ("accept", "slow", "return") and request.method == "POST":
            return redirect("/thanks", 303)
        text, code = (THANKS, 200) if step in ("thanks", "accept") else (LOST, 404)
        return Response(text, code, content_type="text/html")

    def file(self, name, wrong, values):
        file = self.page.folder / f"{name}.html"
        html = self.page.html if name == self.page.name else ""
        if not html and file.is_file():
            html = file.read_text("utf-8")
        html = html.replace("{{OTHER}}", self.other.root if self.other else "")
        back = json.dumps({"errors": wrong, "values": values if wrong else {}})
        html = html.replace("{{BACK}}", back.replace("<", "\\u003c"))
        kind = "text/html; charset=utf-8"
        return Response(html or LOST, 200 if html else 404, content_type=kind)

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


def wrong_values(values):
    """The server's own check: a postcode has four digits, and terms are agreed to."""
    code, terms = (values.get(n, [d])[0] for n, d in (("postcode", "0000"), ("terms", "on")))
    wrong = [] if code.isdigit() and len(code) == 4 else ["postcode: four digits"]
    return wrong + ["terms: must be accepted"] * (terms in ("", "false"))


def flat(value, path=""):
    """Pairs of path and text of a JSON body; the texts of a list have the same path."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from flat(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for each in value:
            yield from flat(each, path)
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)


@contextlib.contextmanager
def hosting(page):
    """A server with one page, and another one, `other`, that the page may try to reach."""
    with Host(page).running() as other, Host(page, other).running() as host:
        yield host


# --- pages that a test gives

# A button that can be clicked at (20, 20), and below it what a page adds.
SEND = '<button id=send style="position:fixed;left:0;top:0;width:90px;height:40px">Send</button>'


def script(text):
    """A page with the button and a script; `post(path, values)` sends JSON."""
    return f"""<!doctype html>{SEND}<script>
const post = (path, values) => fetch(path, {{method: 'POST', body: JSON.stringify(values),
  headers: {{'Content-Type': 'application/json'}}}});{text}</script>"""


def form(fields, attributes=""):
    """A page with a form that the button sends."""
    return f"<!doctype html><form method=post {attributes}>{fields}{SEND}</form>"


class Site(Host):
    """`pages` maps paths to HTML or (status, headers, HTML); status 0 is no answer."""

    def __init__(self, pages):
        super().__init__(Page("", ""))
        self.pages, self.url = pages, self.root

    def answer(self, request, _):
        answer = self.pages.get(request.path, (404, {}, "<h1>Not here</h1>"))
        status, headers, text = (200, {}, answer) if isinstance(answer, str) else answer
        if status == 0:
            self.closing.wait(60)
        kind = headers.get("Content-Type", "text/html; charset=utf-8")
        return Response(text, status or 200, headers, content_type=kind)

    def writes(self, path):
        """The values of each post to a path."""
        posts = (request for request in self.requests if request["method"] == "POST")
        return [request["values"] for request in posts if request["path"] == path]


def site(pages):
    return Site(pages).running()


# --- episodes on the pages, each page at a server of its own


@dataclasses.dataclass(frozen=True)
class Played:
    """A page, the result of its episode, and its server with what it was sent."""

    page: Page
    result: dict
    host: Host

    @property
    def told(self):
        """The values of each submission, as the account of the episode gives them."""
        return [sent["values"] for sent in (self.result["account"] or {}).get("submissions", [])]

    @property
    def got(self):
        """The values of each submission, as the server got them."""
        return [sent["values"] for sent in self.host.sent]

    @property
    def wrong(self):
        """What should have been sent, and what was at last, of the fields where these differ."""
        last = {name: value for sent in self.got for name, value in sent.items()}
        pairs = {name: (sent, last.get(name, [])) for name, sent in self.page.sent.items()}
        # Empty is as good as absent.
        return {n: pair for n, pair in pairs.items() if pair[0] != [v for v in pair[1] if v]}


def play(pages, out, system, *, workers=4, deadline=60):
    """Let a system fill in pages, several at a time; a `Played` for each."""
    played, settings = [], RunSettings(system, deadline=deadline)
    with contextlib.ExitStack() as stack:
        hosts = {page.name: stack.enter_context(hosting(page)) for page in pages}
        for other in (False, True):
            chosen = [page for page in pages if page.other == other]
            folder = out / ("allowed" if other else "own")
            tasks = [task_of(page, hosts[page.name], folder) for page in chosen]
            allow = [f"{hosts[page.name].other.root}/" for page in chosen] if other else []
            if tasks:
                results = fill_tasks(folder, settings, tasks, workers=workers, allow=allow)
                done = zip(chosen, results, strict=True)
                played += [Played(page, result, hosts[page.name]) for page, result in done]
    return played


def task_of(page, host, folder):
    uploads = []
    for name, content in page.files.items():
        uploads.append(folder / "uploads" / page.name / name)
        uploads[-1].parent.mkdir(parents=True, exist_ok=True)
        uploads[-1].write_text(content)
    return WebTask(page.name, host.url, page.text, tuple(uploads), dict(page.gold))
