import pytest

from formlab_arena.actions import Fill, Select

from .test_hands import last, of, visiting


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with visiting("widgets", tmp_path_factory.mktemp("widgets")) as (session, _):
        yield session


def value(session, name):
    return session.page.evaluate(f"document.getElementsByName('{name}')[0].value")


@pytest.mark.browser
def test_native_controls_take_their_values_as_html_writes_them(session):
    wanted = {
        "day": "2027-03-05", "at": "14:30", "month": "2027-03", "week": "2027-W09",
        "both": "2027-03-05T14:30", "ink": "#ff8800", "share": "30", "count": "12.5",
        "city": "Oslo",
    }  # fmt: skip
    for name, text in wanted.items():
        session.do(Fill(of(session, name), text.upper() if name == "ink" else text))
    assert {name: value(session, name) for name in wanted} == wanted
    heard = session.page.evaluate("heard")
    for name in ("day", "ink", "share"):
        assert {f"input {name}", f"change {name}"} <= set(heard)
    assert heard.count("keydown city") >= 4
    for name, text, why in (
        ("day", "5 March", "a date cannot hold '5 March'"), ("fixed", "8", "read-only"),
        ("tick", "yes", "use Click, Check or Upload"),
    ):  # fmt: skip
        session.do(Fill(of(session, name), text))
        assert why in last(session)["refused"]
    session.do(Fill(of(session, "short"), "12345"))
    assert last(session)["holds"] == "123"
    assert "it holds '123' now" in session.look().messages[-1]


@pytest.mark.browser
def test_options_are_chosen_by_text_or_value_and_a_wrong_one_is_named(session):
    chosen = "[...document.getElementsByName('%s')[0].selectedOptions].map(o => o.text.trim())"
    session.do(Select(of(session, "drinks"), ("Tea", "w")))
    session.do(Select(of(session, "land"), ("norway",)))
    assert session.page.evaluate(chosen % "drinks") == ["Tea", "Water"]
    assert session.page.evaluate(chosen % "land") == ["Norway"]
    session.do(Fill(of(session, "land"), "Iceland"))
    assert value(session, "land") == "is"
    session.do(Select(of(session, "land"), ("Peru",)))
    assert last(session)["refused"] == (
        "there is no option 'Peru', but 'Choose', 'Iceland', 'Norway'"
    )
    session.do(Select(of(session, "land"), ("Iceland", "Norway")))
    assert last(session)["refused"] == "the list takes one option"


@pytest.mark.browser
def test_widgets_of_aria_are_used_by_keys_and_clicks(session):
    session.do(Fill(of(session, "letter"), "Dear\nAda"))
    assert session.page.inner_text("[aria-label=letter]").split() == ["Dear", "Ada"]
    session.do(Fill(of(session, "level"), "7"))
    assert session.page.inner_text("[role=slider]") == "7"
    session.do(Fill(of(session, "level"), "20"))
    assert last(session)["refused"] == "the element stays at 9"
    session.do(Select(of(session, "fruit"), ("Plum", "Fig")))
    assert session.page.evaluate(
        "[...document.querySelectorAll('[aria-selected=true]')].map(o => o.textContent)"
    ) == ["Plum", "Fig"]
    session.do(Select(of(session, "size"), ("l",)))
    assert session.page.inner_text("[aria-label=size]") == "Large"
    session.do(Select(of(session, "bird"), ("Wren",)))
    assert session.page.input_value("[aria-label=bird]") == "Wren"
    session.do(Select(of(session, "Add"), ("Fork",)))
    assert session.page.inner_text("#menu") == "Fork"
    session.do(Select(of(session, "fruit"), ("Kiwi",)))
    assert last(session)["refused"] == "there is no option 'Kiwi', but 'Plum', 'Pear', 'Fig'"
