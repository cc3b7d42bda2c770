"""A server whose pages are given by the test, and what it received."""

import contextlib
import http.server
import io
import itertools
import json
import threading
import time
import urllib.parse

from werkzeug.formparser import FormDataParser

# A button that can be clicked at (20, 20), and below it what a page adds.
SEND = '<button id=send style="position:fixed;left:0;top:0;width:90px;height:40px">Send</button>'


def _received(body, kind, options):
    """The values by a parser that is not formlab's; those of JSON as they are."""
    if "json" in kind:
        return json.loads(body)
    _, texts, files = FormDataParser().parse(io.BytesIO(body), kind, len(body), options)
    for file in itertools.chain.from_iterable(files.listvalues()):
        file.close()
    names = {name: [file.filename for file in files.getlist(name)] for name in files}
    return texts.to_dict(flat=False) | names


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        values = _received(
            body, self.headers.get_content_type(), dict(self.headers.get_params() or ())
        )
        values |= urllib.parse.parse_qs(parts.query, keep_blank_values=True)
        self.server.received.append((self.command, parts.path, values))
        answer = self.server.pages.get(parts.path, (404, {}, "<h1>Not here</h1>"))
        status, headers, text = answer if isinstance(answer, tuple) else (200, {}, answer)
        if status == 0:
            time.sleep(headers["seconds"])
            return
        data = text.encode()
        self.send_response(status)
        kind = "text/html; charset=utf-8"
        for name, value in ({"Content-Type": kind, "Content-Length": len(data)} | headers).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET  # noqa: N815 - as the library asks for it


@contextlib.contextmanager
def site(pages):
    """`pages` maps paths to HTML or (status, headers, HTML); status 0 is no answer."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.pages, server.received = pages, []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    server.writes = lambda path: [v for m, p, v in server.received if (m, p) == ("POST", path)]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def script(text):
    """A page with the button and a script; `post(path, values)` sends JSON."""
    return f"""<!doctype html>{SEND}<script>
const post = (path, values) => fetch(path, {{method: 'POST', body: JSON.stringify(values),
  headers: {{'Content-Type': 'application/json'}}}});{text}</script>"""


def form(fields, attributes=""):
    """A page with a form that the button sends."""
    return f"<!doctype html><form method=post {attributes}>{fields}{SEND}</form>"
