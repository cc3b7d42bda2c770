"""A server of pages with fields of every kind (``observed/``), which keeps what is posted."""

import contextlib
import http.server
import threading
import urllib.parse
from pathlib import Path

FOLDER = Path(__file__).parent / "observed"
MANY = "".join(
    f"<p><a href='#{at}'>Link number {at}</a> <label>Field {at} <input name=n{at}></label></p>"
    for at in range(1600)
)
LONG = "".join(
    f"<div><label for=i{at}>Field {at} *</label><input id=i{at} name=n{at}>"
    "<small class=hint>Help</small></div>"
    for at in range(80)
)


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def _send(self, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        name = self.path.strip("/")
        drawn = {"many": MANY, "long": f"<form>{LONG}</form>", "favicon.ico": " "}
        page = drawn.get(name) or (FOLDER / f"{name}.html").read_text("utf-8")
        self._send("<!doctype html>" + page.replace("OTHER", self.server.other))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.posts[self.path] = urllib.parse.parse_qs(body, keep_blank_values=True)
        self._send("<h1>Thank you</h1>")


@contextlib.contextmanager
def hosting():
    """The server: `url`, a second origin `other`, and `posts` by path."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = server.server_address[1]
    server.url, server.other = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
    server.posts = {}
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
