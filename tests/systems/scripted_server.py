"""A server that speaks OpenAI's protocol and misbehaves as it is told to, counting every call."""

import contextlib
import email.utils
import gzip
import json
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler


def answer(text, *, finish="stop", refusal=None, tokens=(100, 20)):
    """The body of a completion."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    usage["total_tokens"] = sum(tokens)
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "m", "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }  # fmt: skip


# An answer with one field.
FORM = json.dumps({"fields": [{"label": "Name", "value": "Ada"}], "groups": []})
# By the name of a step: the status and the message of an error …
ERRORS = {
    "busy": (429, "slow down", {"Retry_After": "1"}),
    "busy_two_minutes": (429, "slow down", {"Retry_After": "110"}),
    "down_two_minutes": (503, "down", {"Retry_After": "110"}),
    "busy_for_hours": (429, "come back tomorrow", {"Retry_After": "86400"}),
    "broken": (500, "it broke", {}),
    "hostile_error": (413, "\x1b[31mtoo large", {}),
    "too_large": (413, "too large", {}),
}
# … or what comes in place of a plain answer.
BODIES = {
    "not_json": b"<html>welcome to the proxy</html>",
    "empty": {"object": "chat.completion", "choices": []},
    "truncated": answer('{"fields": [{"label": "Na', finish="length"),
    "refused": answer(None, refusal="I will not read this form."),
    "filtered": answer("", finish="content_filter"),
}


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Answers call n with ``script[n]``, and once the script is over with `then`.

    A step is a name in `ERRORS` or `BODIES`, that of a method ``do_<name>`` of `Handler`, a text to
    answer with, or a callable that takes the request's body and gives any of these.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, script=(), then="{}", delay=0.0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.then, self.delay = list(script), then, delay
        # How many connections are open.
        self.calls, self.open = [], 0
        self.lock = threading.Lock()

    def process_request(self, *arguments):
        with self.lock:
            self.open += 1
        super().process_request(*arguments)

    def shutdown_request(self, *arguments):
        super().shutdown_request(*arguments)
        with self.lock:
            self.open -= 1

    def handle_error(self, *_):
        """A client that hung up is no news."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            step = server.script.pop(0) if server.script else server.then
            server.calls.append(
                {"body": body, "at": time.monotonic(), "key": self.headers["Authorization"]}
            )
        if server.delay:
            time.sleep(server.delay)
        step = step(body) if callable(step) else step
        if step in ERRORS:
            code, message, headers = ERRORS[step]
            self._error(code, message, **headers)
        elif step.isidentifier() and hasattr(self, f"do_{step}"):
            getattr(self, f"do_{step}")(body)
        else:
            self._send(200, BODIES.get(step) or answer(step))

    def _send(self, code, body, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def _error(self, code, message, **headers):
        self._send(code, {"error": {"message": message, "type": "error"}}, **headers)

    def do_busy_until(self, _):
        until = email.utils.formatdate(time.time() + 2, usegmt=True)
        self._error(429, "slow down", Retry_After=until)

    def do_no_quota(self, _):
        error = {"message": "pay first", "type": "insufficient_quota", "code": "insufficient_quota"}
        self._send(429, {"error": error})

    def do_slow(self, _):
        time.sleep(5)
        self._send(200, answer("{}"))

    def _drip(self, data):
        with contextlib.suppress(OSError):
            for byte in data:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.1)

    def do_drip(self, _):
        self.send_response(200)
        self.send_header("Content-Length", "600")
        self.end_headers()
        self._drip(b" " * 600)

    def do_bomb(self, _):
        data = gzip.compress(b" " * 64_000_000, 1)
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_no_usage(self, _):
        self._send(200, answer(FORM) | {"usage": None})

    def do_cut(self, _):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.wfile.flush()
        # The socket itself stays open while this handler has files over it.
        self.close_connection = True

    def do_hang_up(self, _):
        self.close_connection = True

    def do_no_schema(self, body):
        if "response_format" in body:
            self._error(400, "response_format is not supported")
        else:
            self._send(200, answer(FORM))

    def do_only_object(self, body):
        if body.get("response_format", {}).get("type") == "json_schema":
            self._error(500, "('body', 'response_format', 'type'): should be 'json_object'")
        else:
            self._send(200, answer(FORM))

    def do_no_images(self, body):
        shown = any(isinstance(message["content"], list) for message in body["messages"])
        self._error(400, "no images, please") if shown else self._send(200, answer("{}"))

    def do_wrong_key(self, _):
        key = self.headers["Authorization"].removeprefix("Bearer ")
        self._error(401, f"Incorrect API key provided: {key}")

    def do_says_the_key_in_an_error(self, _):
        self._error(400, f"bad request with {self.headers['Authorization']}")


@contextlib.contextmanager
def serving(*script, then="{}", delay=0.0):
    """A server that runs in a thread of its own."""
    server = Server(script, then, delay)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
