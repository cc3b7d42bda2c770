def talk(desk, *messages):
    """What the widget answers to each message, without the bytes of pages."""
    view, heard = desk.view(), []
    view.send = lambda content, buffers=None: heard.append(content | {"bytes": bool(buffers)})
    for message in messages:
        view._hear(view, message, [])
    return heard


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
