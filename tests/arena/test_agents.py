from formlab_arena.actions import Click, Press, Scroll, Type
from formlab_arena.agents import Oracle
from formlab_arena.observation import Element, Observation


def target(field, kind="text", *, value="", checked=None, option=None, options=(), y=100):
    return Element(field, option, kind, value, checked, tuple(options), (100, y, 300, y + 40))


def acts(values, *targets, size=(1280, 800)):
    return Oracle(values).act(Observation(1, None, size, "", (), targets))


def test_fields_in_view_are_filled_in_and_right_ones_left_alone():
    done = acts(
        {"name": "Ada", "town": "Oslo", "age": 40, "note": None},
        target("name"), target("town", value="Oslo", y=150), target("age", y=200),
        target("note", y=250), target("_submit", "button", y=300),
    )  # fmt: skip
    assert done == [
        Click(200, 120), Press("Control+A"), Type("Ada"),
        Click(200, 220), Press("Control+A"), Type("40"),
    ]  # fmt: skip


def test_points_are_in_pixels_of_a_smaller_screenshot():
    assert acts({"name": "Ada"}, target("name"), size=(640, 400))[0] == Click(100, 60)


def test_list_is_set_by_keys_and_the_page_looked_at_again():
    done = acts(
        {"tent": "Large", "name": "Ada"},
        target("tent", "select", options=("Choose", "Small", "Large")), target("name", y=200),
    )  # fmt: skip
    assert done == [
        Click(200, 120), Press("Home"), Press("ArrowDown"), Press("ArrowDown"), Press("Enter"),
    ]  # fmt: skip


def test_marks_are_ticked_and_unticked_as_the_answers_say():
    ring = {"kind": "radio", "checked": False}
    assert acts({"food": "veg"}, target("food", option="any", **ring)) == []
    assert acts({"food": "veg"}, target("food", option="veg", **ring)) == [Click(200, 120)]
    assert acts({"news": False}, target("news", "checkbox", checked=True)) == [Click(200, 120)]


def test_what_is_out_of_view_is_scrolled_to_and_then_the_page_is_turned():
    assert acts({"name": "Ada"}, target("name", y=900)) == [Scroll(480)]
    assert acts({"name": "Ada"}, target("name", y=-200)) == [Scroll(-480)]
    assert acts({}, target("_next", "button")) == [Click(200, 120)]
    assert acts({}) == []
