import pytest

from formlab.text.markup import own_marks, unmarked


def plain(text, **more):
    return " ".join(unmarked(text, **more)[0].split())


@pytest.mark.parametrize(
    ("marked", "said", "kinds"),
    [
        ("<b>Total</b> 9", "Total 9", {"tag": 2}),
        ("<td>A</td><td>B</td>", "A B", {"tag": 4}),
        ("R&amp;D &lt;5", "R&D <5", {"entity": 2}),
        ("## Form\nx # y", "Form x # y", {"heading": 1}),
        ("**Name:** Ada", "Name: Ada", {"emphasis": 2}),
        ("[here](http://x.y)", "[here", {"link": 1}),
        ("![logo](a.png) x", "logo x", {"image": 1, "link": 1}),
        ("| a | b |\n|---|---|\n| c | 1 |", "a b c 1", {"bar": 6, "rule": 1}),
        ("```text\nx\n```", "x", {"fence": 2}),
        (r"a\_b 5\*", "a_b 5*", {"escape": 2}),
        # The page's own: one bar, a comparison, underlines to write on, a product, a bullet.
        ("a | b < c ____ 2 * 3\n- x", "a | b < c ____ 2 * 3 - x", {}),
    ],
)
def test_marks_are_taken_out_and_counted(marked, said, kinds):
    assert plain(marked) == said
    assert unmarked(marked)[2] == kinds


def test_every_character_knows_its_place():
    marked = "<td>Net</td> **R&amp;D**"
    text, places, _ = unmarked(marked)
    for char, place in zip(text, places, strict=True):
        assert marked[place] == char or char in " &"


def test_marks_that_are_the_pages_own_stay():
    assert own_marks("# 5 of **") == {"heading", "emphasis"}
    assert plain("# 5 **a**", keep={"heading"}) == "# 5 a"


@pytest.mark.parametrize(
    "evil", ["<", "<a ", "<!--", "![", "](", "&amp", "_", "|-", "\n```", " \t", "-- ", "\n---|"]
)
def test_hostile_text_is_read_to_its_end_and_nothing_is_added(evil):
    assert len(plain(evil * 50_000)) <= len(evil) * 50_000
