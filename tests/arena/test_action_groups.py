from formlab_arena.action_groups import Reader, content_of

from ..made_arena import BOXES, CLUMSY, click, fill, keys, screen


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
