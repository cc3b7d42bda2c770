import contextlib

import pytest

from formlab_arena import actions as do
from formlab_arena.actions import Fill, Select
from formlab_arena.run import RunSettings, open_session

from .conftest import events, go
from .web.hosting import hosting, page_of


@contextlib.contextmanager
def visiting(name, folder):
    """A session at a page, and the server."""
    with (
        hosting(page_of(name)) as host,
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
    host.page = page_of("keys")
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
        session.do(do.Focus(of(session, name)))
        session.do(do.Type(text))
    assert [value(session, name) for name in ("born", "start", "digits", "a", "b", "c")] == [
        "2027-07-05", "14:30", "12", "12", "34", "5678",
    ]  # fmt: skip
    # What is typed after a click on a list goes to the list, and not to the field before.
    session.do(do.Click(element=of(session, "plain")))
    session.do(do.Type("Berg"))
    session.do(do.Click(element=of(session, "land")))
    session.do(do.Type("Nor"))
    session.do(do.Press("Enter"))
    assert (value(session, "land"), value(session, "plain")) == ("Norway", "Berg")


@pytest.mark.browser
def test_action_that_changed_nothing_is_told(session):
    session.do(do.Click(element=of(session, "Nothing")))
    session.look()
    click, press, focus, type_, scroll = do.Click, do.Press, do.Focus, do.Type, do.Scroll
    for action in (
        click(element=of(session, "Nothing")), click(3, 4), click(3, 4), press("F2"),
        press("Control+A"), focus(of(session, "digits")), type_("x"), type_("1"),
        scroll(9), scroll(-9), scroll(-9),
    ):  # fmt: skip
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
    session.do(do.Click(element=of(session, "low")))
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
    session.do(do.Fill(of(session, "low"), "x"))
    assert last(session)["refused"] == 'covered by div "We use cookies Fine"'
    assert "covered by div" in session.look().refused[0]
    session.do(do.Click(element=of(session, "Fine")))
    session.do(do.Fill(of(session, "low"), "x"))
    assert value(session, "low") == "x"
    for gone in ("f1e999", "e5", "", "__proto__", "f1e" + "9" * 50):
        session.do(do.Hover(element=gone))
        assert last(session)["refused"]


@pytest.mark.browser
def test_elements_of_frames_and_shadow_roots_are_reached_and_covered_like_others(shared_session):
    session, host = shared_session
    host.page = page_of("inner-pane")
    go(session.page, host.url)
    session.look()
    for name in ("inner", "shady", "mail"):
        session.do(do.Fill(of(session, name), "Ada"))
        assert last(session)["changed"] == [[name, None, "", "Ada"]]
        assert last(session)["hit"]["field"] == name
    session.do(do.Click(element=of(session, "Go")))
    assert of(session, "9")
    session.page.evaluate("veil.style.inset = 0")
    session.do(do.Fill(of(session, "inner"), "Bo"))
    assert last(session)["refused"] == 'covered by div "Wait"'


@pytest.mark.browser
def test_ticks_files_and_waits(session):
    tea, cv, more = [of(session, name) for name in ("tea", "cv", "more")]
    ticked = "document.getElementsByName('tea')[0].checked"
    states = []
    for wanted in (True, True, False):
        session.do(do.Check(tea, ticked=wanted))
        states.append((session.page.evaluate(ticked), last(session).get("idle", False)))
    assert states == [(True, False), (True, True), (False, False)]
    named = "[...document.getElementsByName('%s')[0].files].map(f => f.name)"
    session.do(do.Upload(cv, ("cv.pdf",)))
    session.do(do.Upload(cv, ("../events.jsonl",)))
    session.do(do.Upload(cv, ("cv.pdf", "b.pdf")))
    assert session.page.evaluate(named % "cv") == ["cv.pdf"]
    refused = [event["refused"] for event in events(session.folder)[-2:] if "refused" in event]
    assert refused == ["no such file in the run's own folder", "the field takes one file"]
    session.do(do.Upload(more, ("cv.pdf", "b.pdf")))
    assert session.page.evaluate(named % "more") == ["cv.pdf", "b.pdf"]
    session.page.evaluate("bar.remove()")
    session.do(do.Wait(0.1))
    session.do(do.Press("x", of(session, "plain")))
    session.do(do.Select(of(session, "land"), ("Iceland",)))
    assert (value(session, "plain"), value(session, "land")) == ("x", "Iceland")


@pytest.mark.browser
def test_mouse_points_twice_with_its_second_button_and_drags(session):
    two = of(session, "Two")
    session.do(do.Hover(element=two))
    session.do(do.DoubleClick(element=two))
    session.do(do.RightClick(element=two))
    assert session.page.inner_text("#saw") == "-123"
    session.page.evaluate("bar.remove()")
    session.page.locator("#pad").scroll_into_view_if_needed()
    box = session.page.locator("#pad").bounding_box()
    session.do(do.Drag(box["x"] + 10, box["y"] + 10, box["x"] + 150, box["y"] + 40))
    ink = "pad.getContext('2d').getImageData(0, 0, 200, 60).data.filter(n => n).length"
    assert session.page.evaluate(ink) > 100
    assert "idle" not in last(session)
    session.do(do.Drag(element=of(session, "Ball"), to=of(session, "Box")))
    assert session.page.inner_text("#box") == "full"
    session.do(do.Drag(box["x"], box["y"], 5000, 10))
    assert last(session)["refused"] == "the end is outside the window"


@pytest.fixture(scope="module")
def widgets(tmp_path_factory):
    with visiting("widgets", tmp_path_factory.mktemp("widgets")) as (widgets, _):
        yield widgets


@pytest.mark.browser
def test_native_controls_take_their_values_as_html_writes_them(widgets):
    wanted = {
        "day": "2027-03-05", "at": "14:30", "month": "2027-03", "week": "2027-W09",
        "both": "2027-03-05T14:30", "ink": "#ff8800", "share": "30", "count": "12.5",
        "city": "Oslo",
    }  # fmt: skip
    for name, text in wanted.items():
        widgets.do(Fill(of(widgets, name), text.upper() if name == "ink" else text))
    assert {name: value(widgets, name) for name in wanted} == wanted
    heard = widgets.page.evaluate("heard")
    for name in ("day", "ink", "share"):
        assert {f"input {name}", f"change {name}"} <= set(heard)
    assert heard.count("keydown city") >= 4
    for name, text, why in (
        ("day", "5 March", "a date cannot hold '5 March'"), ("fixed", "8", "read-only"),
        ("tick", "yes", "use Click, Check or Upload"),
    ):  # fmt: skip
        widgets.do(Fill(of(widgets, name), text))
        assert why in last(widgets)["refused"]
    widgets.do(Fill(of(widgets, "short"), "12345"))
    assert last(widgets)["holds"] == "123"
    assert "it holds '123' now" in widgets.look().messages[-1]


@pytest.mark.browser
def test_options_are_chosen_by_text_or_value_and_a_wrong_one_is_named(widgets):
    chosen = "[...document.getElementsByName('%s')[0].selectedOptions].map(o => o.text.trim())"
    widgets.do(Select(of(widgets, "drinks"), ("Tea", "w")))
    widgets.do(Select(of(widgets, "land"), ("norway",)))
    assert widgets.page.evaluate(chosen % "drinks") == ["Tea", "Water"]
    assert widgets.page.evaluate(chosen % "land") == ["Norway"]
    widgets.do(Fill(of(widgets, "land"), "Iceland"))
    assert value(widgets, "land") == "is"
    widgets.do(Select(of(widgets, "land"), ("Peru",)))
    assert last(widgets)["refused"] == (
        "there is no option 'Peru', but 'Choose', 'Iceland', 'Norway'"
    )
    widgets.do(Select(of(widgets, "land"), ("Iceland", "Norway")))
    assert last(widgets)["refused"] == "the list takes one option"


@pytest.mark.browser
def test_widgets_of_aria_are_used_by_keys_and_clicks(widgets):
    widgets.do(Fill(of(widgets, "letter"), "Dear\nAda"))
    assert widgets.page.inner_text("[aria-label=letter]").split() == ["Dear", "Ada"]
    widgets.do(Fill(of(widgets, "level"), "7"))
    assert widgets.page.inner_text("[role=slider]") == "7"
    widgets.do(Fill(of(widgets, "level"), "20"))
    assert last(widgets)["refused"] == "the element stays at 9"
    widgets.do(Select(of(widgets, "fruit"), ("Plum", "Fig")))
    assert widgets.page.evaluate(
        "[...document.querySelectorAll('[aria-selected=true]')].map(o => o.textContent)"
    ) == ["Plum", "Fig"]
    widgets.do(Select(of(widgets, "size"), ("l",)))
    assert widgets.page.inner_text("[aria-label=size]") == "Large"
    widgets.do(Select(of(widgets, "bird"), ("Wren",)))
    assert widgets.page.input_value("[aria-label=bird]") == "Wren"
    widgets.do(Select(of(widgets, "Add"), ("Fork",)))
    assert widgets.page.inner_text("#menu") == "Fork"
    widgets.do(Select(of(widgets, "fruit"), ("Kiwi",)))
    assert last(widgets)["refused"] == "there is no option 'Kiwi', but 'Plum', 'Pear', 'Fig'"
