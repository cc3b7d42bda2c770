"""The arena's server under clients that are slow, many, broken or foreign."""

import concurrent.futures
import contextlib
import http.client
import os
import signal
import socket
import threading
import time
import urllib.parse

import pytest

from formlab_arena import listening, server
from formlab_arena.process import serving
from formlab_arena.store import SubmissionStore

GOOD = {
    "holder": "Ada Berg", "born": "1970-01-31", "account": "Joint", "proof": "Passport",
    "number": "A1234567",
}  # fmt: skip
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
        begun = time.monotonic()
        line.sendall(HEAD + b"X: ")
        while time.monotonic() < begun + 30:
            try:
                line.sendall(b"x")
                if line.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() < begun + 30
    assert store.ids() == []


@pytest.mark.parametrize("cut", [0, 1, len(BODY) // 2, len(BODY) - 1])
@pytest.mark.parametrize("kill", [False, True])
def test_client_that_dies_while_it_sends_stores_nothing(port, store, cut, kill):
    head = b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n" % (FORM.encode(), len(BODY))
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


@pytest.mark.parametrize("sent", [
    b"\0" * 100, b"GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n", b"A" * 70_000 + b"\r\n\r\n",
    b"POST /forms/E12 HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /forms/E12 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1e9\r\n\r\n",
    b"POST /forms/E12 HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n",
    HEAD + b"Content-Type: multipart/form-data\r\nContent-Length: 3\r\n\r\nabc",
    HEAD + b"Content-Type: multipart/form-data; boundary=\xff\r\nContent-Length: 3\r\n\r\nabc",
    b"GET /forms/\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://[::1/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 101 + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n", b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
])  # fmt: skip
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


@pytest.mark.parametrize("headers", [
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://[::1"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1"}, {"Sec-Fetch-Site": "odd"},
])  # fmt: skip
def test_posts_of_other_sites_are_refused(port, store, headers):
    status, text = post(port, **headers)
    assert (status, "another site" in text, store.ids()) == (403, True, [])


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
