import pytest

from formlab_arena.actions import Click, Press, Type

from .conftest import events, opened


@pytest.fixture(scope="module")
def shared_session(arena, tmp_path_factory):
    folder = tmp_path_factory.mktemp("session")
    (folder / "files").mkdir()
    (folder / "files" / "plan.pdf").write_text("%PDF")
    (folder / "secret.pdf").write_text("secret")
    (folder / "files" / "link.pdf").symlink_to(folder / "secret.pdf")
    with opened(arena, "A12", folder) as session:
        yield session


@pytest.fixture
def session(shared_session, arena):
    shared_session.page.goto(f"{arena}/forms/A12")
    shared_session.look()
    return shared_session


def field(session, name, option=None):
    return next(t for t in session.elements() if (t.field, t.option) == (name, option))


@pytest.mark.browser
def test_upload_takes_the_named_file_and_refuses_any_other(session):
    before = len(events(session.folder))
    session.do(Click(*field(session, "proposal").middle))
    session.do(Type("../secret.pdf"))
    assert field(session, "proposal").value == ""
    session.do(Type("plan.pdf"))
    assert field(session, "proposal").value == "plan.pdf"
    refused = [event for event in events(session.folder)[before:] if "refused" in event]
    assert [event["asked"]["text"] for event in refused] == ["../secret.pdf"]


@pytest.mark.browser
def test_hostile_text_and_keys_cost_no_crash(session):
    session.do(Click(*field(session, "first").middle))
    session.do(Type("<b>\0\ud800\u2028\x1b"))
    session.do(Type("x" * 50_000))
    session.do(Press("NoSuchKey"))
    assert field(session, "first").value.startswith("<b>")


@pytest.mark.browser
def test_page_is_not_left_before_its_fields_are_right(session):
    session.do(Click(*field(session, "_submit").middle))
    assert "/forms/A12" in session.page.url
    assert session.page.evaluate("document.activeElement.name") == "first"
