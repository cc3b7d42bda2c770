import contextlib

import pytest

from formlab_arena.actions import (
    Check,
    Click,
    DoubleClick,
    Drag,
    Fill,
    Focus,
    Hover,
    Press,
    RightClick,
    Scroll,
    Select,
    Type,
    Upload,
    Wait,
)
from formlab_arena.run import RunSettings, open_session

from .conftest import events, go
from .foreign import page
from .web import hosting


@contextlib.contextmanager
def visiting(name, folder):
    """A session at a page, and the server."""
    with (
        hosting(page(name)) as host,
        open_session(host.url, folder, "", RunSettings("tests")) as session,
    ):
        session.look()
        yield session, host


@pytest.fixture(scope="module")
def shared_session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hands")
    (folder / "files").mkdir()
    for name in ("cv.pdf", "b.pdf"):
        (folder / "files" / name).write_text("%PDF")
    with visiting("keys", folder) as (session, host):
        yield session, host


@pytest.fixture
def session(shared_session):
    session, host = shared_session
    host.page = page("keys")
    go(session.page, host.url)
    session.look()
    return session


def of(session, name):
    """The id of an element by its field, or its name."""
    return next(e.id for e in session.elements() if name in (e.field, e.name))


def value(session, name):
    return session.page.evaluate(f"document.getElementsByName('{name}')[0].value")


def last(session):
    return [event for event in events(session.folder) if "asked" in event][-1]


@pytest.mark.browser
def test_keys_reach_native_dates_filters_fields_that_advance_and_lists(session):
    for name, text in (("born", "07052027"), ("start", "0230PM"), ("digits", "a1-b2"),
                       ("a", "12345678")):  # fmt: skip
        session.do(Focus(of(session, name)))
        session.do(Type(text))
    assert [value(session, name) for name in ("born", "start", "digits", "a", "b", "c")] == [
        "2027-07-05", "14:30", "12", "12", "34", "5678",
    ]  # fmt: skip
    # What is typed after a click on a list goes to the list, and not to the field before.
    session.do(Click(element=of(session, "plain")))
    session.do(Type("Berg"))
    session.do(Click(element=of(session, "land")))
    session.do(Type("Nor"))
    session.do(Press("Enter"))
    assert (value(session, "land"), value(session, "plain")) == ("Norway", "Berg")


@pytest.mark.browser
def test_action_that_changed_nothing_is_told(session):
    session.do(Click(element=of(session, "Nothing")))
    session.look()
    for action in (Click(element=of(session, "Nothing")), Click(3, 4), Click(3, 4), Press("F2"),
                   Press("Control+A"), Focus(of(session, "digits")), Type("x"), Type("1"),
                   Scroll(9), Scroll(-9), Scroll(-9)):  # fmt: skip
        session.do(action)
    logged = [event for event in events(session.folder) if "asked" in event][-11:]
    assert [event.get("idle", False) for event in logged] == [
        True, False, True, True, False, False, True, False, False, False, True,
    ]  # fmt: skip
    button = of(session, "Nothing")
    assert session.look().messages == (
        f"Click(element='{button}') changed nothing", "Click(x=3, y=4) changed nothing",
        "Press(key='F2') changed nothing", "Type(text='x') changed nothing",
        "Scroll(dy=-9) changed nothing",
    )  # fmt: skip


@pytest.mark.browser
def test_element_is_scrolled_into_view_and_what_covers_it_is_named(session):
    session.do(Click(element=of(session, "low")))
    assert session.page.evaluate("document.activeElement.name") == "low"
    event = last(session)
    # In pixels of the whole page, in the middle of its box.
    box = session.page.evaluate(
        "(b => [b.left, b.top + scrollY, b.right, b.bottom + scrollY])"
        "(document.getElementsByName('low')[0].getBoundingClientRect())"
    )
    assert event["at"] == pytest.approx([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2], abs=1)
    assert event["hit"]["field"] == "low"
    session.page.evaluate("bar.style.height = '100%'")
    session.do(Fill(of(session, "low"), "x"))
    assert last(session)["refused"] == 'covered by div "We use cookies Fine"'
    assert "covered by div" in session.look().refused[0]
    session.do(Click(element=of(session, "Fine")))
    session.do(Fill(of(session, "low"), "x"))
    assert value(session, "low") == "x"
    for gone in ("f1e999", "e5", "", "__proto__", "f1e" + "9" * 50):
        session.do(Hover(element=gone))
        assert last(session)["refused"]


@pytest.mark.browser
def test_elements_of_frames_and_shadow_roots_are_reached_and_covered_like_others(shared_session):
    session, host = shared_session
    host.page = page("inner-pane")
    go(session.page, host.url)
    session.look()
    for name in ("inner", "shady", "mail"):
        session.do(Fill(of(session, name), "Ada"))
        assert last(session)["changed"] == [[name, None, "", "Ada"]]
        assert last(session)["hit"]["field"] == name
    session.do(Click(element=of(session, "Go")))
    assert of(session, "9")
    session.page.evaluate("veil.style.inset = 0")
    session.do(Fill(of(session, "inner"), "Bo"))
    assert last(session)["refused"] == 'covered by div "Wait"'


@pytest.mark.browser
def test_ticks_files_and_waits(session):
    tea, cv, more = [of(session, name) for name in ("tea", "cv", "more")]
    ticked = "document.getElementsByName('tea')[0].checked"
    states = []
    for wanted in (True, True, False):
        session.do(Check(tea, ticked=wanted))
        states.append((session.page.evaluate(ticked), last(session).get("idle", False)))
    assert states == [(True, False), (True, True), (False, False)]
    named = "[...document.getElementsByName('%s')[0].files].map(f => f.name)"
    session.do(Upload(cv, ("cv.pdf",)))
    session.do(Upload(cv, ("../events.jsonl",)))
    session.do(Upload(cv, ("cv.pdf", "b.pdf")))
    assert session.page.evaluate(named % "cv") == ["cv.pdf"]
    refused = [event["refused"] for event in events(session.folder)[-2:] if "refused" in event]
    assert refused == ["no such file in the run's own folder", "the field takes one file"]
    session.do(Upload(more, ("cv.pdf", "b.pdf")))
    assert session.page.evaluate(named % "more") == ["cv.pdf", "b.pdf"]
    session.page.evaluate("bar.remove()")
    session.do(Wait(0.1))
    session.do(Press("x", of(session, "plain")))
    session.do(Select(of(session, "land"), ("Iceland",)))
    assert (value(session, "plain"), value(session, "land")) == ("x", "Iceland")


@pytest.mark.browser
def test_mouse_points_twice_with_its_second_button_and_drags(session):
    two = of(session, "Two")
    session.do(Hover(element=two))
    session.do(DoubleClick(element=two))
    session.do(RightClick(element=two))
    assert session.page.inner_text("#saw") == "-123"
    session.page.evaluate("bar.remove()")
    session.page.locator("#pad").scroll_into_view_if_needed()
    box = session.page.locator("#pad").bounding_box()
    session.do(Drag(box["x"] + 10, box["y"] + 10, box["x"] + 150, box["y"] + 40))
    ink = "pad.getContext('2d').getImageData(0, 0, 200, 60).data.filter(n => n).length"
    assert session.page.evaluate(ink) > 100
    assert "idle" not in last(session)
    session.do(Drag(element=of(session, "Ball"), to=of(session, "Box")))
    assert session.page.inner_text("#box") == "full"
    session.do(Drag(box["x"], box["y"], 5000, 10))
    assert last(session)["refused"] == "the end is outside the window"
