import json

import formlab_review as review
from formlab import decisions

from .conftest import EVIL


def talk(desk, *messages):
    """What the widget answers to each message, without the bytes of pages."""
    view, heard = desk.view(), []
    view.send = lambda content, buffers=None: heard.append(content | {"bytes": bool(buffers)})
    for message in messages:
        view._hear(view, message, [])
    return heard


def test_the_state_comes_from_the_file_and_starts_at_the_first_open_item(desk):
    desk().decide(0, "accept")
    (state,) = talk(desk(), {"type": "hello"})
    assert (state["type"], state["first"], list(state["entries"])) == ("state", 1, ["0"])


def test_a_decision_is_answered_once_it_is_on_the_disk(desk):
    session = desk()
    edit = {"type": "decide", "at": 1, "decision": "edit", "parts": {"value": "8"}, "note": None}
    decided, undone, refused = talk(session, edit, {"type": "undo"}, {"type": "undo"})
    assert (decided["type"], decided["entry"]["value"]) == ("decided", "8")
    assert (undone["type"], undone["at"], undone["entry"]) == ("undone", 1, None)
    assert (refused["type"], refused["why"]) == ("refused", "there is nothing to undo")
    assert decisions.read(session.file).height == 0


def test_what_cannot_be_saved_is_refused_and_changes_nothing(desk, tmp_path):
    session = desk()
    bad = [
        {"type": "decide", "at": 99, "decision": "accept"},
        {"type": "decide", "at": 0, "decision": "maybe"},
        {"type": "decide", "at": 0, "decision": "edit", "parts": ["x"]},
        {"type": "decide"},
    ]
    assert [answer["type"] for answer in talk(session, *bad)] == ["refused"] * 4
    (tmp_path / "reviews").write_text("a file where the folder should be")
    (answer,) = talk(session, {"type": "decide", "at": 0, "decision": "accept"})
    assert answer["type"] == "refused"
    assert session.done == {}


def test_a_refused_window_is_told_what_another_one_decided(desk):
    session = desk()
    desk().decide(0, "accept")
    (refused,) = talk(session, {"type": "decide", "at": 0, "decision": "reject"})
    assert (refused["type"], refused["entries"]["0"]["decision"]) == ("refused", "accept")
    assert "in another window since" in refused["why"]


def test_pages_are_sent_as_bytes_or_with_the_reason(desk):
    good, bad = talk(
        desk(), {"type": "page", "doc": "form", "page": 1}, {"type": "page", "doc": "x", "page": 1}
    )
    assert (good["width"], good["height"], good["bytes"]) == (400, 200, True)
    assert bad["why"].startswith("no page image is known")


def test_hostile_text_travels_as_json_and_long_text_is_not_edited(desk):
    session = desk()
    items = session.view().items
    json.dumps(items, ensure_ascii=False).encode()
    assert items[2]["parts"][0][1] == EVIL
    long = review.Item(session.items[0].key, "x", {"value": "x" * 30_000})
    view = review.Review([long], session.folder, "bob").view()
    assert view.items[0]["editable"] is False
    assert len(view.items[0]["parts"][0][1]) < 21_000
