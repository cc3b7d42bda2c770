"""The web server of the arena: shows the forms, checks what is sent, stores it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, abort, jsonify, redirect, render_template, request, url_for
from werkzeug.exceptions import HTTPException, ServiceUnavailable

from formlab.errors import FormlabError
from formlab_arena import validate
from formlab_arena.listening import LOCAL
from formlab_arena.spec import FOLDER, WebForm, forms
from formlab_arena.store import SubmissionStore

if TYPE_CHECKING:
    from formlab_arena.people import People

LARGEST, LARGEST_TEXT, MOST_NAMES = 8_000_000, 1_000_000, 1000
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HEADERS = {
    # Nothing but the arena's own files runs or loads, whatever a value holds.
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # Other sites are told nothing; without a referrer our own posts would have no origin either.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def create(
    store: SubmissionStore, *, folder: Path = FOLDER, hosts: tuple[str, ...] = (),
    people: People | None = None,
) -> Flask:  # fmt: skip
    """The application over the forms of a folder of YAML files.

    `hosts` are names, besides the address that a browser came to, under which it may address the
    server. Any other is refused, so that a foreign page cannot reach the server through a name it
    owns; so is what the page of another site sends. With `people` there are the pages ``/play``,
    on which they fill in tasks and are scored.

    Examples
    --------
    >>> import tempfile
    >>> app = create(SubmissionStore(Path(tempfile.mkdtemp()) / "s.sqlite"))
    >>> app.test_client().get("/forms/E12").status_code
    200
    """
    app = Flask("formlab_arena", root_path=str(Path(__file__).parent))
    app.config.update(
        MAX_CONTENT_LENGTH=LARGEST,
        MAX_FORM_MEMORY_SIZE=LARGEST_TEXT,
        MAX_FORM_PARTS=MOST_NAMES,
    )
    trusted = {host.lower() for host in (*_LOOPBACK, *hosts)}
    # Flask escapes by the ending of the file's name, and .j2 is none it knows.
    app.jinja_env.autoescape = True
    known = {**forms(folder), **(people.tasks.forms if people else {})}
    if people:
        # Agents' runs have servers of their own, which need none of this.
        from formlab_arena.people import blueprint

        app.register_blueprint(blueprint(people))

    def named(code: str) -> WebForm:
        return known[code] if code in known else abort(404, f"there is no form {code[:40]!r}")

    @app.before_request
    def check() -> None:
        _check_sender(trusted)

    @app.get("/")
    def index() -> str:
        return render_template("index.html.j2", forms=known.values(), people=people)

    @app.get("/forms/<code>")
    def show(code: str) -> str:
        return _page(named(code), request.args.get("episode", ""), {}, {})

    @app.get("/forms/<code>/look.css")
    def look(code: str) -> Response:
        sheet = f":root {{ --accent: {named(code).style['colour']}; }}\n"
        return Response(sheet, mimetype="text/css")

    @app.post("/forms/<code>")
    def receive(code: str) -> Any:
        return _receive(named(code), store)

    @app.get("/received/<identity>")
    def received(identity: str) -> Any:
        submission = store.get(identity) or abort(404, "no such submission")
        if _wants_json():
            return jsonify(submission)
        form = named(submission["form"])
        return render_template("received.html.j2", submission=submission, form=form)

    @app.errorhandler(HTTPException)
    def refuse(error: HTTPException) -> Any:
        what = error.description or error.name
        if error.code == 413:
            what = (
                f"what was sent is too large: at most {LARGEST // 10**6} MB, "
                f"{LARGEST_TEXT // 10**6} MB of it text, and {MOST_NAMES} fields"
            )
        if _wants_json():
            return jsonify(error=what), error.code
        return render_template("refused.html.j2", name=error.name, what=what), error.code

    @app.errorhandler(FormlabError)
    def not_stored(error: FormlabError) -> Any:
        # Where files are on this machine is nobody's business.
        return refuse(ServiceUnavailable(f"send it again: {error.what}"))

    @app.after_request
    def guard(response: Response) -> Response:
        response.headers.update(_HEADERS)
        return response

    return app


def _check_sender(trusted: set[str]) -> None:
    """Refuse what is not for this server, is not from its own pages, or is too large."""
    host = re.sub(r":\d+$", "", request.host).strip("[]").lower()
    if host not in trusted and host != request.environ.get(LOCAL):
        abort(400, f"this is not {host[:80]!r}; --allow-host names it, if it is")
    if request.method in ("GET", "HEAD", "OPTIONS"):
        return
    # Every browser sends one of the two; what has neither is a program, which no page can steer.
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    foreign = site not in ("same-origin", "none") if site else (
        origin is not None and origin.partition("://")[2] != request.host
    )  # fmt: skip
    if foreign:
        abort(403, "sent from another site")
    if "Transfer-Encoding" in request.headers:
        # werkzeug cuts such a body in silence where it is too long.
        abort(411, "what is sent needs its length")
    if request.mimetype == "application/x-www-form-urlencoded":
        # Its own limits are for the parts of the other kind.
        request.max_content_length = LARGEST_TEXT
        if sum(map(len, request.form.listvalues())) > MOST_NAMES:
            abort(413)


def _receive(form: WebForm, store: SubmissionStore) -> Any:
    sent, names, uploads = validate.sent(request)
    answers, wrong = validate.read(form, sent, names)
    episode = request.form.get("_episode", "")[:200]
    if wrong:
        if _wants_json():
            return jsonify(error="some fields are wrong", fields=wrong), 400
        return _page(form, episode, sent, wrong), 400
    content = {
        name: (answers[name], file.read()) for name, file in uploads.items() if answers[name]
    }
    identity = store.add(form.code, episode, answers, content)
    if _wants_json():
        return jsonify(id=identity), 201
    return redirect(url_for("received", identity=identity), 303)


def _page(form: WebForm, episode: str, sent: dict[str, list[str]], wrong: dict[str, str]) -> str:
    return render_template("form.html.j2", form=form, episode=episode, sent=sent, wrong=wrong)


def _wants_json() -> bool:
    return request.accept_mimetypes.best == "application/json"
