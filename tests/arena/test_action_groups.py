import json

import pytest

from formlab.errors import DataBroken
from formlab_arena import action_groups
from formlab_arena.action_groups import Reader, content_of

from ..made_arena import BOXES, CLUMSY, VALUES, click, fill, keys, screen


def entered(events):
    return [(line.field, line.value) for line in Reader().read(iter(events)).lines]


def test_line_is_a_click_and_what_is_entered_there():
    episode = Reader().read(iter(CLUMSY))
    assert [(line.field, line.value) for line in episode.lines] == [
        ("holder", "Ada Berg"), ("holder", "1970-02-03"), ("account", "Savings"),
        ("proof", "Identity card"), (None, "K1234567"),
    ]  # fmt: skip
    assert (episode.lines[4].x, episode.lines[4].y, episode.lines[4].page) == (150, 540, 1)
    assert episode.lines[1].changed == [("holder", "Ada Berg", "1970-02-03")]
    assert episode.content == {
        "holder": "1970-02-03", "born": "", "account": "Savings", "proof": "Identity card",
        "number": "",
    }  # fmt: skip


def test_text_is_what_is_left_after_corrections():
    corrected = [
        screen(),
        click(150, 110, "holder"),
        keys("Adda", "holder"),
        keys("<Backspace>", "holder"),
        keys("<Backspace>", "holder"),
        keys("a", "holder"),
        keys("<Control+A>", "holder"),
        keys("Bo", "holder"),
        keys(" Ek", "holder"),
    ]
    assert entered(corrected) == [("holder", "Bo Ek")]
    assert entered([*corrected, keys("<Control+A>", "holder"), keys("<Delete>", "holder")]) == [
        ("holder", "")
    ]


def test_field_entered_by_the_keyboard_is_a_line_in_its_middle_and_one_passed_over_is_none():
    episode = Reader().read(iter([
        screen(),
        *fill("holder", "Ada Berg"),
        keys("<Tab>", "born"),
        keys("<Tab>", "account"),
        keys("<S>", "account", [["account", None, "", "Savings"]]),
    ]))  # fmt: skip
    assert [(line.field, line.value, line.by) for line in episode.lines] == [
        ("holder", "Ada Berg", "mouse"), ("account", "Savings", "keyboard"),
    ]  # fmt: skip
    # The middle of [100, 300, 300, 330].
    assert (episode.lines[1].x, episode.lines[1].y) == (200, 315)


def test_date_picked_in_a_calendar_is_one_line():
    button = click(320, 210, "born")
    button["hit"]["kind"] = "button"
    day = click(330, 260, "born", [["born", None, "", "1970-02-03"]])
    day["hit"]["kind"] = "button"
    assert entered([screen(), button, button, day]) == [("born", "1970-02-03")]
    assert entered([screen(), button, day, *fill("born", "x", before="1970-02-03")]) == [
        ("born", "1970-02-03"), ("born", "x"),
    ]  # fmt: skip


def tick(option, after, kind="checkbox", field="tea"):
    state = {"field": field, "option": option, "kind": kind, "value": "true", "checked": after}
    event = click(10, 10) | {"hit": state, "target": state}
    return event | {"changed": [[field, option, not after, after]]}


def ticks(*options):
    made = [
        {"field": "tea", "option": option, "kind": "checkbox", "value": "", "checked": False,
         "options": None, "box": [0, 0, 20, 20], "labels": []}
        for option in options
    ]  # fmt: skip
    return screen() | {"controls": made}


def test_choices_of_a_group_are_its_content_together():
    log = [ticks("Red", "Green", "Black"), tick("Black", after=True), tick("Red", after=True)]
    episode = Reader().read(iter(log))
    assert episode.content == {"tea": "Red, Black"}
    assert episode.lines[1].changed == [("tea", "Black", "Red, Black")]
    assert content_of({"a": False, "b": False}) == ""


def test_refused_click_is_a_miss_and_its_text_goes_with_it():
    outside = click(900, 10) | {"refused": "the point is outside the window"}
    del outside["hit"], outside["target"]
    assert entered([screen(), outside, keys("lost")]) == [(None, "lost")]


def by_element(do, field, changed=(), **more):
    """An action by element, which was done in the middle of its box."""
    event = click(200, BOXES[field][1] + 15, field, changed)
    return event | {"asked": {"do": do, "element": "f1e1", **more}}


def test_actions_by_element_count_at_the_middle_of_its_box():
    log = [
        screen(),
        by_element("Fill", "holder", [["holder", None, "", "Ada"]], text="Ada"),
        by_element("Fill", "holder", [["holder", None, "Ada", "Bo"]], text="Bo"),
        by_element("Fill", "born", [["born", None, "", "1970-02-03"]], text="1970-02-03"),
        by_element("Select", "account", [["account", None, "", "savings"]], options=["Savings"]),
        by_element("Select", "proof", options=["Passport"]),
        by_element("Focus", "number"),
        keys("K1", "number"),
    ]
    lines = Reader().read(iter(log)).lines
    assert [(line.field, line.value, line.x, line.y) for line in lines] == [
        ("holder", "Ada", 200, 115), ("holder", "Bo", 200, 115), ("born", "1970-02-03", 200, 215),
        ("account", "savings", 200, 315), ("proof", "Passport", 200, 415),
        ("number", "K1", 200, 515),
    ]  # fmt: skip
    assert [line.by for line in lines] == ["mouse"] * 5 + ["keyboard"]


def test_what_answers_took_is_summed_and_unknown_where_one_is():
    took = {"attempts": 1, "tokens_in": 900, "tokens_out": 20, "cost": 0.25, "seconds": 1.5}
    log = [screen(), {"step": 1, "answer": {"status": "ok"} | took}, {"step": 2, "answer": took}]
    assert Reader().read(iter(log)).usage == {
        "attempts": 2, "tokens_in": 1800, "tokens_out": 40, "cost": 0.5, "seconds": 3.0,
    }  # fmt: skip
    unpriced = Reader().read(iter([*log, {"answer": took | {"cost": None}}])).usage
    assert (unpriced["cost"], unpriced["attempts"]) == (None, 3)
    # Logs of earlier versions do not say.
    assert Reader().read(iter([screen(), {"answer": {"status": "ok"}}])).usage == {}


def test_log_cut_short_by_a_crash_is_read_as_far_as_it_goes(tmp_path):
    file = tmp_path / "events.jsonl"
    assert action_groups.read(file).lines == []
    file.write_text("".join(json.dumps(event) + "\n" for event in CLUMSY) + '{"step": 1, "as')
    assert len(action_groups.read(file).lines) == len(VALUES)
    file.write_text('{"step": 1}\nnot json\n')
    with pytest.raises(DataBroken, match=r"events\.jsonl:2"):
        action_groups.read(file)
