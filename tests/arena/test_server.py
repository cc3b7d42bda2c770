"""The arena's server: its pages, its store, and clients that are slow, many, broken or foreign."""

import concurrent.futures
import contextlib
import http.client
import io
import os
import random
import signal
import socket
import sqlite3
import threading
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from formlab import browser
from formlab.errors import FormlabError
from formlab_arena import listening, server
from formlab_arena.process import serving
from formlab_arena.spec import forms
from formlab_arena.store import SubmissionStore
from tests.states import until

from .conftest import GOOD

JSON = {"Accept": "application/json"}


def test_wrong_answers_are_named_kept_in_the_page_and_not_stored(client, store):
    answer = client.post("/forms/E12", data={**GOOD, "born": "31.1.1970", "proof": ""})
    assert answer.status_code == 400
    assert "Born on: a date that exists" in answer.text
    assert "Proof of identity: must be filled in" in answer.text
    assert 'value="31.1.1970"' in answer.text
    assert store.ids() == []
    as_json = client.post("/forms/E12", data={}, headers=JSON)
    assert set(as_json.json["fields"]) == set(GOOD)


def test_html_in_a_value_is_stored_as_it_is_and_shown_inert(client, store):
    hostile = '"><script>alert(1)</script>{{ 7 * 7 }}'
    refused = client.post("/forms/E12", data={**GOOD, "holder": hostile, "born": hostile})
    stored = client.post("/forms/E12", data={**GOOD, "holder": hostile, "_episode": hostile})
    shown = client.get(stored.headers["Location"])
    open_session = client.get("/forms/E12", query_string={"episode": hostile})
    for page in (refused, shown, open_session):
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert(1)" in page.text
        assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert store.latest(hostile)["answers"]["holder"] == hostile
    unknown = client.post("/forms/E12", data={**GOOD, "<script>x": "1"})
    assert (unknown.status_code, "<script>x" in unknown.text) == (400, False)


def test_upload_is_stored_with_its_bytes(client, store):
    data = {
        "first": "Ada", "last": "Berg", "born": "1970-01-31", "career": "Established",
        "proposal": (io.BytesIO(b"%PDF"), "../../plan.pdf"),
    }  # fmt: skip
    received = client.post("/forms/A12", data=data, headers=JSON).json["id"]
    with store._open() as connection:
        row = connection.execute("SELECT * FROM uploads").fetchone()
    assert (row["submission"], row["field"], row["content"]) == (received, "proposal", b"%PDF")


def test_two_files_or_a_name_too_long_for_one_are_refused_and_not_dropped(client, store):
    data = {"first": "Ada", "last": "Berg", "born": "1970-01-31", "career": "Established"}
    two = [(io.BytesIO(b"%PDF"), f"{name}.pdf") for name in "ab"]
    refused = client.post("/forms/A12", data=data | {"proposal": two}, headers=JSON)
    assert "one answer only" in refused.json["fields"]["proposal"]
    long = (io.BytesIO(b"%PDF"), "a" * 252 + ".pdf")
    refused = client.post("/forms/A12", data=data | {"proposal": long}, headers=JSON)
    assert "at most 255" in refused.json["fields"]["proposal"]
    assert store.ids() == []


def test_store_that_does_not_write_is_said_and_nothing_acknowledged(client, store):
    store.path.write_bytes(b"no database" * 1000)
    answer = client.post("/forms/E12", data=GOOD, headers=JSON)
    assert (answer.status_code, "send it again" in answer.json["error"]) == (503, True)
    assert str(store.path) not in answer.text


@pytest.mark.parametrize("path", [
    "/static/../server.py", "/static/..%2fserver.py", "/static/..%5cserver.py", "/static/%00",
    "/static/arena.css%00.png", "/static/..%2f..%2f..%2fetc%2fpasswd",
    "/static/" + "x" * 5000, "/static/%ff", "/forms/..%2fE12", "/forms/E12%00", "/forms/%ff",
    "/forms/E12/../../received/1", "/forms/" + "x" * 5000, "/received/%00", "/received/%25%27--",
    "/play/", "/play/ada/E12-001",
])  # fmt: skip
def test_path_that_leads_elsewhere_is_not_found(client, path):
    assert client.get(path).status_code == 404
    assert client.post(path, data=GOOD).status_code in (404, 405)


def test_store_that_is_damaged_is_read_or_one_clear_error(tmp_path):
    whole = SubmissionStore(tmp_path / "s.sqlite")
    for number in range(40):
        whole.add("E12", "one", {"holder": f"Ada {number}" * 20}, {})
    with contextlib.closing(sqlite3.connect(whole.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data, draw, errors = whole.path.read_bytes(), random.Random(0), []
    want = whole.latest("one")["answers"].keys()
    for number in range(60):
        path, spoilt = tmp_path / f"{number}.sqlite", bytearray(data)
        at = draw.randrange(len(data))
        length = draw.choice((1, 50, 5000))
        spoilt[at : at + length] = draw.randbytes(len(spoilt[at : at + length]))
        path.write_bytes(spoilt[: draw.choice((len(spoilt), at))])
        try:
            latest = SubmissionStore(path).latest("one")
            assert latest is None or latest["answers"].keys() == want
        except FormlabError as error:
            errors.append((str(path), str(error)))
    assert 10 < len(errors) < 60
    assert all(path in error for path, error in errors)


def test_many_open_one_new_store_at_once(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        for number in range(40):
            path = tmp_path / f"{number}.sqlite"
            assert len(list(pool.map(SubmissionStore, [path] * 16))) == 16


@pytest.mark.browser
def test_every_form_fits_a_narrow_screen_and_has_labels_for_all_controls(arena):
    with browser.page(allow=(f"{arena}/", "data:"), size=(390, 800)) as visit:
        for code in forms():
            visit.page.goto(f"{arena}/forms/{code}")
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390, code
            unlabelled = visit.page.evaluate(
                "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
                ".filter(e => !e.labels.length).map(e => e.name)"
            )
            assert unlabelled == [], code
        assert visit.trouble == []


def test_hostile_values_come_back_as_they_were(store):
    answers = {"a": "<script>\0\x1b[2J\u2028'; DROP TABLE submissions; --", "b": "\ud800"}
    received = store.add("E12", "\ud800", answers, {"f": ("\ud800.pdf", b"\0")})
    assert store.get(received)["answers"] == answers
    assert store.ids() == [received]


FORM, MULTI = "application/x-www-form-urlencoded", "multipart/form-data; boundary=B"
BODY = urllib.parse.urlencode(GOOD).encode()
HEAD = b"POST /forms/E12 HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"


@contextlib.contextmanager
def running(store, host="127.0.0.1", **more):
    """The port of a server in this process."""
    listener = listening.listen(server.create(store, **more), host=host, port=0)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield listener.server_port
    finally:
        listener.shutdown()
        thread.join()


@pytest.fixture
def port(store):
    with running(store) as number:
        yield number


def post(port, body=BODY, host="127.0.0.1", **headers):
    """The status and the text of an answer to a post."""
    with contextlib.closing(http.client.HTTPConnection(host, port, timeout=30)) as line:
        sent = {"Content-Type": FORM, "Accept": "application/json"} | headers
        line.request("POST", "/forms/E12", body, sent)
        answer = line.getresponse()
        return answer.status, answer.read().decode()


def rest(line):
    """All that the server still sends before it closes a connection."""
    line.settimeout(30)
    with contextlib.suppress(ConnectionError), line.makefile("rb") as stream:
        return stream.read()
    return b""


def test_request_that_drips_ends_at_its_deadline(store, monkeypatch):
    monkeypatch.setattr(listening, "REQUEST", 0.5)
    with running(store) as port, socket.create_connection(("127.0.0.1", port)) as line:
        line.settimeout(0.02)
        line.sendall(HEAD + b"X: ")

        def is_ended():
            try:
                line.sendall(b"x")
                return line.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        until(is_ended)
    assert store.ids() == []


@pytest.mark.parametrize("kill", [False, True])
def test_client_that_dies_while_it_sends_stores_nothing(port, store, kill):
    head = b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n" % (FORM.encode(), len(BODY))
    for cut in (0, 1, len(BODY) // 2, len(BODY) - 1):
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(HEAD + head + BODY[:cut])
            if kill:  # The connection is reset.
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            else:
                line.shutdown(socket.SHUT_WR)
                assert b" 201 " not in rest(line)[:20]
    assert post(port)[0] == 201
    assert len(store.ids()) == 1


def part(name, content, file=None):
    end = f'; filename="{file}"' if file else ""
    head = f'--B\r\nContent-Disposition: form-data; name="{name}"{end}\r\n\r\n'
    return f"{head}{content}\r\n".encode()


LARGE = {
    "body": (FORM, b"a=" + b"x" * 9_000_000),
    "text": (FORM, b"a=" + b"x" * 1_000_000),
    "names": (FORM, b"&".join(b"n%d=" % n for n in range(2_000))),
    "values": (FORM, b"a=&" * 2_000),
    "part": (MULTI, part("holder", "x" * 1_100_000)),
    "file": (MULTI, part("n", "x" * 9_000_000, "a.pdf")),
    "parts": (MULTI, part("n", "x") * 1_001),
    "files": (MULTI, part("n", "x", "a.pdf") * 1_001),
    "name": (MULTI, part("n" * 2_000_000, "x")),
    "file name": (MULTI, part("holder", "x", "a" * 2_000_000)),
}


# What werkzeug has read before it refuses, it leaves to be closed by itself.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("kind", "body"), LARGE.values(), ids=LARGE)
def test_what_is_too_large_gets_a_short_answer_and_stores_nothing(port, store, kind, body):
    status, text = post(port, body, **{"Content-Type": kind})
    assert (status, "too large" in text, len(text) < 5_000) == (413, True, True)
    assert store.ids() == []


BROKEN = [
    text.encode("latin-1")
    for text in yaml.safe_load(Path(__file__).with_name("requests.yml").read_text("utf-8"))
]
BROKEN += [b"A" * 70_000 + b"\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 101 + b"\r\n"]
BROKEN += [HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n"]


@pytest.mark.parametrize("sent", BROKEN, ids=range(len(BROKEN)))
def test_broken_requests_are_refused_and_the_server_goes_on(port, store, capfd, sent):
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(sent)
        line.shutdown(socket.SHUT_WR)
        answer = rest(line)
    assert b" 201 " not in answer[:20]
    assert b" 500 " not in answer[:20]
    assert post(port)[0] == 201
    assert len(store.ids()) == 1
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(("host", "name"), [
    ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]"), ("::", "[::1]"),
    ("::", "127.0.0.1"), ("0.0.0.0", "localhost"), ("0.0.0.0", socket.gethostname()),
    ("127.0.0.1", "desk.example"),
])  # fmt: skip
def test_server_answers_to_its_addresses_and_names_and_to_no_other(store, host, name):
    # The address that the client came to is this machine's, whatever the server listens on.
    via = name.strip("[]") if name[-1] in "0123456789]" else "127.0.0.1"
    with running(store, host, hosts=(host, "desk.example", socket.gethostname())) as port:
        assert post(port, host=via, Host=f"{name}:{port}")[0] == 201
        for foreign in ("evil.example", f"{name}.evil.example", "8.8.8.8", "[::2]"):
            status, text = post(port, host=via, Host=f"{foreign}:{port}")
            assert (status, "--allow-host" in text) == (400, True)
    assert len(store.ids()) == 1


FOREIGN = ["http://evil.example", "null", "http://127.0.0.1:1", "http://[::1"]
OTHERS = [{"Origin": origin} for origin in FOREIGN]
OTHERS += [{"Sec-Fetch-Site": of} for of in ("cross-site", "same-site", "odd")]
OTHERS += [{"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1"}]


def test_posts_of_other_sites_are_refused(port, store):
    for headers in OTHERS:
        status, text = post(port, **headers)
        assert (status, "another site" in text, store.ids()) == (403, True, []), headers


def test_what_was_acknowledged_outlives_kills(tmp_path):
    database, acknowledged = tmp_path / "s.sqlite", set()

    def send(port):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return post(port)[1]

    with serving(database) as running, concurrent.futures.ThreadPoolExecutor(20) as pool:
        for _ in range(2):
            port = int(running.ensure().rpartition(":")[2])
            waiting = [pool.submit(send, port) for _ in range(150)]
            answered = concurrent.futures.as_completed(waiting)
            for _ in range(30):
                next(answered)
            os.kill(running.pid, signal.SIGKILL)
            texts = [future.result() for future in waiting]
            assert None in texts
            acknowledged |= {text.split('"')[3] for text in texts if text}
        assert len(acknowledged) >= 60
        assert acknowledged <= set(SubmissionStore(database).ids())
