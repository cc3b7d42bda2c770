"""A server whose pages are given by the test, and what it received."""

from werkzeug.wrappers import Response

from tests.arena.web.hosting import Host, Page

# A button that can be clicked at (20, 20), and below it what a page adds.
SEND = '<button id=send style="position:fixed;left:0;top:0;width:90px;height:40px">Send</button>'


class Site(Host):
    """`pages` maps paths to HTML or (status, headers, HTML); status 0 is no answer."""

    def __init__(self, pages):
        super().__init__(Page("", "", {}, {}))
        self.pages, self.url = pages, self.root

    def _answer(self, request, _):
        answer = self.pages.get(request.path, (404, {}, "<h1>Not here</h1>"))
        status, headers, text = answer if isinstance(answer, tuple) else (200, {}, answer)
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


def script(text):
    """A page with the button and a script; `post(path, values)` sends JSON."""
    return f"""<!doctype html>{SEND}<script>
const post = (path, values) => fetch(path, {{method: 'POST', body: JSON.stringify(values),
  headers: {{'Content-Type': 'application/json'}}}});{text}</script>"""


def form(fields, attributes=""):
    """A page with a form that the button sends."""
    return f"<!doctype html><form method=post {attributes}>{fields}{SEND}</form>"
