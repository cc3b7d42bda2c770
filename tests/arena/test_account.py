import time

import pytest

from formlab_arena.actions import Answer, Click, Press, Type
from formlab_arena.episode import RunSettings, open_session, prepare
from tests.states import LONG

from .conftest import events, go
from .sites import SEND, form, script, site

GO = Click(20, 20)
NAME = '<input name=name autofocus style="margin-top:60px">'
PAGES = {
    "/": form(NAME + "<textarea name=note></textarea><input type=hidden name=token value=t>"),
    "/many": form(
        NAME + '<input type=file name="pläne" multiple>'
        "<input name=x value=1><input name=x value=2>",
        'action="/received" enctype=multipart/form-data',
    ),
    "/search": f'<!doctype html><form action="/results">{NAME}{SEND}</form>',
    "/results": '<!doctype html><a href="/results?name=link" style="font-size:60px">more</a>',
    "/received": "<h1>Thanks</h1>",
    "/again": form(NAME.replace("name=name", "name=name value=Ada"), 'action="/again"'),
    "/moved": (303, {"Location": "/received"}, ""),
    "/away": form(NAME, 'action="/moved"'),
    "/wrong": form(NAME, 'action="/gone"'),
    "/new": form(NAME, 'action="/received" target=_blank'),
    "/sure": form(NAME, 'action="/received" onsubmit="return confirm(\'Sure?\')"'),
    "/must": form("<input name=name required><input type=email name=mail value=x>"),
    "/app": NAME + script("""
      const field = document.querySelector('input');
      field.oninput = () => post('/draft', {name: field.value});
      setInterval(() => navigator.sendBeacon('/beacon', field.value), 100);
      send.onclick = () => {
        post('/clicked', {event: 'click'}); post('/draft', {name: field.value});
        post('/orders', {person: {name: field.value}, tags: ['a', 'b'], ok: true, none: null}); };
    """),
    "/orders": (201, {}, "{}"), "/draft": "{}", "/clicked": "{}", "/beacon": "",
    "/late": NAME + script("""send.onclick = () => setTimeout(() => post('/orders',
      {name: document.querySelector('input').value}), 1500);"""),
}  # fmt: skip


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("account")
    prepare(tmp_path, "", {"a b.pdf": b"%PDF", "é.pdf": b"%PDF"})
    with (
        site(PAGES) as server,
        open_session(f"{server.url}/", tmp_path, "", RunSettings("x")) as session,
    ):
        session.server = server
        yield session


def sent(session, path, typed="Ada", count=1):
    """The submissions of one page, when its first field was filled and its button clicked."""
    since = time.monotonic()
    go(session.page, session.server.url + path)
    session.do(Click(40, 75))
    session.do(Press("Control+A"))
    session.do(Type(typed))
    session.do(GO)
    return answered(session, since, count)


def answered(session, since, count=1):
    """The submissions since a moment, when so many have come: a busy machine takes its time."""
    end = time.monotonic() + LONG
    while True:
        session.driver.run(session.account.settled())
        items = session.account.submissions(session.contents, since)
        done = [item for item in items if item["outcome"] != "failed"]
        if len(done) >= count or time.monotonic() > end:
            return items
        session.page.wait_for_timeout(50)


@pytest.mark.browser
def test_account_of_forms_equals_what_the_server_received(session):
    server = session.server
    (plain,) = sent(session, "/", "Ada Møller & Co")
    assert plain["values"] == server.writes("/")[-1]
    assert plain["values"] == {"name": ["Ada Møller & Co"], "note": [""], "token": ["t"]}
    assert (plain["kind"], plain["status"], plain["outcome"]) == ("navigation", 200, "accepted")

    go(session.page, f"{server.url}/many")
    files = sorted(session.uploads.glob("*"))
    session.page.set_input_files("input[type=file]", files)
    since = time.monotonic()
    session.do(GO)
    (many,) = answered(session, since)
    assert many["values"] == server.writes("/received")[-1]
    assert many["values"]["pläne"] == [file.name for file in files]
    assert many["values"]["x"] == ["1", "2"]

    (search,) = sent(session, "/search")
    assert (search["method"], search["values"]) == ("GET", {"name": ["Ada"]})
    since = time.monotonic()
    session.do(Click(40, 40))
    session.page.wait_for_url("**?name=link")
    assert answered(session, since, 0) == []

    outcomes = {path: sent(session, path)[0] for path in ("/again", "/away", "/wrong")}
    assert [(item["status"], item["outcome"]) for item in outcomes.values()] == [
        (200, "returned"), (303, "accepted"), (404, "refused"),
    ]  # fmt: skip
    assert session.look().messages[-1] == "the server answered 404"
    assert session.account.summary({})["http_status"] == 404
    assert sent(session, "/new")[0]["outcome"] == "accepted"
    session.page.wait_for_load_state()
    assert [tab.active for tab in session.tabs] == [False, True]
    assert session.page.url == f"{server.url}/received"
    assert session.account.summary({})["blocked"] == []

    # A submission that the browser holds back is none, and the page's message is told.
    assert sent(session, "/must", "", count=0) == []
    messages = {
        item["field"]: item["message"] for item in session.account.summary({})["validation"]
    }
    assert sorted(messages) == ["mail", "name"]
    assert all(messages.values())


@pytest.mark.browser
def test_submission_of_a_script_is_told_from_what_it_sends_aside(session):
    (order,) = sent(session, "/app")
    assert order["url"].endswith("/orders")
    values = {"person.name": ["Ada"], "tags": ["a", "b"], "ok": ["true"]}
    assert session.server.writes("/orders")[0] == values | {"none": ["null"]}
    assert order["values"] == values
    assert (order["kind"], order["status"], order["outcome"]) == ("fetch", 201, "accepted")
    assert session.server.writes("/draft")
    assert session.server.writes("/clicked")

    # What is sent a while after the last click is waited for.
    since = time.monotonic()
    assert sent(session, "/late", count=0) == []
    session.finish()
    assert answered(session, since)[0]["outcome"] == "accepted"
    assert session.server.writes("/orders")[1] == {"name": ["Ada"]}


@pytest.mark.browser
def test_dialog_is_seen_logged_and_answered_or_dismissed(session):
    assert sent(session, "/sure", count=0) == []
    seen = session.look("tree")
    assert (seen.dialog.kind, seen.dialog.text) == ("confirm", "Sure?")
    session.do(Answer(accept=False))
    assert session.look().dialog is None
    session.do(GO)
    session.do(Press("Tab"))
    assert session.look().messages[-1] == "the dialog was dismissed, since it had no answer"
    session.do(GO)
    since = time.monotonic()
    session.do(Answer())
    assert answered(session, since)[0]["outcome"] == "accepted"
    assert session.server.writes("/received")[-1] == {"name": ["Ada"]}
    session.do(Answer())
    assert session.look().refused == ("Answer(): no dialog is open",)
    told = session.account.summary({})["dialogs"]
    assert [item["accepted"] for item in told] == [False, False, True]
    assert [e["dialog"]["text"] for e in events(session.folder) if "kind" in e.get("dialog", {})]
