from formlab_arena.actions import Click, DoubleClick, Press, RightClick, Scroll, Type, mapped, parse


def test_each_action_is_read():
    points = "Click(1,2)\nDoubleClick(3, 4.5)\nRightClick( 5 ,6)\n"
    actions, other = parse(points + "Type('a')\nPress(\"Enter\")\nScroll(-40)")
    clicks = [Click(1, 2), DoubleClick(3, 4.5), RightClick(5, 6)]
    assert (actions, other) == ([*clicks, Type("a"), Press("Enter"), Scroll(-40)], [])


def test_prose_and_half_actions_are_kept_apart():
    text = "Sure!\nClick(1)\nClick(a, b)\nClick(1, 2); Type(x)"
    assert parse(text) == ([], text.split("\n"))


def test_text_with_brackets_quotes_and_line_ends_stays_whole():
    assert parse('Type("a) \\"b\\" (c\\nd")')[0] == [Type('a) \\"b\\" (c\nd')]


def test_hostile_answer_costs_no_crash():
    text = "\0\x1b[2J\ud800 Click(" + "9" * 100_000 + ", 1)\nType(" + "(" * 100_000
    actions, other = parse(text)
    assert actions == []
    assert len(other) == 2


def test_coordinates_of_a_resized_image_are_mapped_back():
    # An image of half the window's width: each of its pixels is two of the window's.
    assert mapped(Click(320, 200), 2.0) == Click(640, 400)
    assert mapped(Scroll(10), 2.0) == Scroll(20)
    assert mapped(Press("Enter"), 2.0) == Press("Enter")
