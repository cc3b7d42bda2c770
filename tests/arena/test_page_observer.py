import pytest

from formlab import pictures
from formlab_arena.actions import Click, Scroll, Type

from .conftest import events, opened


def at(session, name, kind=None):
    matches = [t for t in session.elements() if t.field == name and kind in (None, t.kind)]
    return Click(*matches[0].middle)


@pytest.mark.browser
def test_log_tells_screens_changes_and_places_on_the_whole_page(arena, tmp_path):
    with opened(arena, "C11", tmp_path) as session:
        session.look()
        session.do(at(session, "artist"))
        session.do(Type("Ada"))
        session.do(Type("-Bo"))
        session.do(Scroll(18))
        session.do(at(session, "title"))
        seen = session.look()
        # An agent is not told what is recorded.
        assert seen.elements == ()
        session.page.evaluate("show(1)")
        session.look()
        session.do(at(session, "sale"))
        session.look()
    log = events(tmp_path)
    screens = [event for event in log if "screen" in event]
    # The first page, the second, and the second with the price that "for sale" brings.
    assert [event["screen"] for event in screens] == [1, 2, 3]
    for event in screens:
        assert pictures.image_size(tmp_path / event["image"]) == tuple(event["size"])
    shown = {control["field"] for control in screens[2]["controls"]}
    assert shown - {control["field"] for control in screens[1]["controls"]} == {"price"}
    done = [event for event in log if "asked" in event]
    assert [event["changed"] for event in done] == [
        [], [["artist", None, "", "Ada"]], [["artist", None, "Ada", "Ada-Bo"]], [], [],
        [["sale", None, False, True]],
    ]  # fmt: skip
    looks = [event for event in log if "see" in event]
    assert [event["scroll"] for event in looks] == [[0, 0], [0, 18], [0, 0], [0, 0]]
    # The title's box on the page is where it was before the page was scrolled.
    boxes = [{c["field"]: c["box"] for c in event["controls"]} for event in looks[:2]]
    assert boxes[0]["title"] == boxes[1]["title"]
    x0, y0, x1, y1 = boxes[0]["title"]
    x, y = done[4]["at"]
    assert x0 < x < x1
    assert y0 < y < y1
    assert y - done[4]["asked"]["y"] == pytest.approx(18, abs=0.1)
