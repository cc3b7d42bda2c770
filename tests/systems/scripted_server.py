"""A server that speaks OpenAI's protocol and misbehaves as it is told to, counting every call."""

import contextlib
import email.utils
import gzip
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.states import until


def answer(text, *, finish="stop", refusal=None, tokens=(100, 20)):
    """The body of a completion."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    usage["total_tokens"] = sum(tokens)
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "m", "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }  # fmt: skip


def error(status, message, *, kind="error", after=None):
    """The status, the body and the headers of an error, which may ask to wait."""
    headers = {} if after is None else {"Retry-After": str(after)}
    return status, {"error": {"message": message, "type": kind, "code": kind}}, headers


# An answer with one field.
FORM = json.dumps({"fields": [{"label": "Name", "value": "Ada"}], "groups": []})


def no_schema(body):
    refused = error(400, "response_format is not supported")
    return refused if "response_format" in body else FORM


def only_object(body):
    refused = error(500, "('body', 'response_format', 'type'): should be 'json_object'")
    asked = body.get("response_format", {}).get("type")
    return refused if asked == "json_schema" else FORM


def no_images(body):
    shown = any(isinstance(message["content"], list) for message in body["messages"])
    return error(400, "no images, please") if shown else "{}"


def busy_until(_):
    return error(429, "slow down", after=email.utils.formatdate(time.time() + 2, usegmt=True))


def slow(_):
    time.sleep(5)
    return "{}"


def bomb(_):
    return 200, gzip.compress(b" " * 64_000_000, 1), {"Content-Encoding": "gzip"}


def drip(_):
    def spaces():
        for _ in range(600):
            yield b" "
            time.sleep(0.1)

    return 200, spaces(), {"Content-Length": 600}


# What comes by the name of a step; KEY is the key that the server was given.
REPLIES = {
    "busy": error(429, "slow down", after=1),
    "busy_until": busy_until,
    "busy_for_hours": error(429, "come back tomorrow", after=86400),
    "broken": error(500, "it broke"),
    "hostile_error": error(413, "\x1b[31mtoo large"),
    "too_large": error(413, "too large"),
    "no_quota": error(429, "pay first", kind="insufficient_quota"),
    "wrong_key": error(401, "Incorrect API key provided: KEY"),
    "says_the_key_in_an_error": error(400, "bad request with Bearer KEY"),
    "no_schema": no_schema,
    "only_object": only_object,
    "no_images": no_images,
    "slow": slow,
    "bomb": bomb,
    "drip": drip,
    "cut": (200, b'{"choices": [', {"Content-Length": 1000, "Connection": "close"}),
    "no_usage": answer(FORM) | {"usage": None},
    "not_json": b"<html>welcome to the proxy</html>",
    "empty": {"object": "chat.completion", "choices": []},
    "truncated": answer('{"fields": [{"label": "Na', finish="length"),
    "refused": answer(None, refusal="I will not read this form."),
    "filtered": answer("", finish="content_filter"),
}


class Server(ThreadingHTTPServer):
    """Answers call n with ``script[n]``, and once the script is over with `then`.

    A step is a name in `REPLIES`, ``hang_up``, a text to answer with, a body, or a callable that
    takes the request's body and gives any of these.
    """

    request_queue_size = 64

    def __init__(self, script, then, port):
        super().__init__(("127.0.0.1", port), Handler)
        self.script, self.then, self.calls, self.lock = list(script), then, [], threading.Lock()

    def handle_error(self, *_):
        """A client that hung up is no news."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server, key = self.server, self.headers["Authorization"] or ""
        with server.lock:
            step = server.script.pop(0) if server.script else server.then
            server.calls.append({"body": body, "at": time.monotonic(), "key": key})
        while callable(step) or (isinstance(step, str) and step in REPLIES):
            step = step(body) if callable(step) else REPLIES[step]
        if step == "hang_up":
            self.close_connection = True
            return
        step = answer(step) if isinstance(step, str) else step
        status, content, headers = step if isinstance(step, tuple) else (200, step, {})
        if not isinstance(content, Iterator):
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            data = data.replace(b"KEY", key.removeprefix("Bearer ").encode())
            headers, content = {"Content-Length": len(data)} | headers, [data]
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json"} | headers).items():
            self.send_header(name, str(value))
        self.end_headers()
        with contextlib.suppress(OSError):
            for piece in content:
                self.wfile.write(piece)
                self.wfile.flush()


@contextlib.contextmanager
def serving(*script, then="{}", port=0):
    """A server that runs in a thread of its own, at a port that another may hold for a moment."""

    def opened():
        with contextlib.suppress(OSError):
            return Server(script, then, port)

    with until(opened) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
