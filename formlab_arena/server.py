"""The web server of the arena: shows the forms, checks what is sent, stores it."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, abort, jsonify, redirect, render_template, request, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, make_server

from formlab.errors import NotAvailable
from formlab_arena import validate
from formlab_arena.spec import FOLDER, WebForm, forms
from formlab_arena.store import SubmissionStore

if TYPE_CHECKING:
    from formlab_arena.people import People

LARGEST = 8_000_000
_HEADERS = {
    # Nothing but the arena's own files runs or loads, whatever a value holds.
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def create(
    store: SubmissionStore, *, folder: Path = FOLDER, hosts: tuple[str, ...] = (),
    people: People | None = None,
) -> Flask:  # fmt: skip
    """The application over the forms of a folder of YAML files.

    `hosts` are names, besides this machine's own, under which browsers may address the server. Any
    other is refused, so that a foreign page cannot reach the server through a name it owns. With
    `people` there are the pages ``/play``, on which they fill in tasks and are scored.

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
        MAX_FORM_MEMORY_SIZE=1_000_000,
        TRUSTED_HOSTS=["127.0.0.1", "localhost", "[::1]", *hosts],
    )
    # Flask escapes by the ending of the file's name, and .j2 is none it knows.
    app.jinja_env.autoescape = True
    known = {**forms(folder), **(people.tasks.forms if people else {})}
    if people:
        # Agents' runs have servers of their own, which need none of this.
        from formlab_arena.people import blueprint

        app.register_blueprint(blueprint(people))

    def named(code: str) -> WebForm:
        return known[code] if code in known else abort(404, f"there is no form {code[:40]!r}")

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
            what = f"what was sent is too large: at most {LARGEST // 10**6} MB, 1 MB of it text"
        if _wants_json():
            return jsonify(error=what), error.code
        return render_template("refused.html.j2", name=error.name, what=what), error.code

    @app.after_request
    def guard(response: Response) -> Response:
        response.headers.update(_HEADERS)
        return response

    return app


def _receive(form: WebForm, store: SubmissionStore) -> Any:
    sent = {name: request.form.getlist(name) for name in request.form if name != "_episode"}
    uploads = {name: file for name, file in request.files.items() if file.filename}
    names = {name: file.filename or "" for name, file in uploads.items()}
    answers, wrong = validate.read(form, sent, names)
    episode = request.form.get("_episode", "")[:200]
    if wrong:
        if _wants_json():
            return jsonify(error="some fields are wrong", fields=wrong), 400
        return _page(form, episode, sent, wrong), 400
    content = {
        name: (names[name], file.read()) for name, file in uploads.items() if answers.get(name)
    }
    identity = store.add(form.code, episode, answers, content)
    if _wants_json():
        return jsonify(id=identity), 201
    return redirect(url_for("received", identity=identity), 303)


def _page(form: WebForm, episode: str, sent: dict[str, list[str]], wrong: dict[str, str]) -> str:
    return render_template("form.html.j2", form=form, episode=episode, sent=sent, wrong=wrong)


def _wants_json() -> bool:
    return request.accept_mimetypes.best == "application/json"


def listen(app: Flask, *, host: str = "127.0.0.1", port: int = 8000) -> BaseWSGIServer:
    """A server bound to an address, many threads wide; `serve_forever` starts it.

    Raises
    ------
    NotAvailable
        If the port is taken or the address is not this machine's.
    """
    try:
        return make_server(host, port, app, threaded=True)
    # werkzeug ends the process where the port is taken.
    except (OSError, SystemExit) as error:
        raise NotAvailable(
            "cannot listen", where=f"{host}:{port}", remedy="another --port (0 takes a free one)"
        ) from error


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
