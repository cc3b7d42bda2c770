import json

import pytest
from rapidfuzz.distance import Levenshtein

from formlab.text.markup import Flow, events, is_html, own_marks, read, unmarked, visible_text


def test_text_is_joined_by_spaces_and_hidden_parts_are_left_out():
    page = "<p>a<b>b</b></p><style>x</style><template>y</template><!-- z --> c&nbsp;&amp; d"
    assert visible_text(page) == "a b c & d"
    assert visible_text("5 &lt; 6 and\n x < y") == "5 < 6 and x < y"
    # Numeric references of Windows are read as browsers do, and an unknown name is text.
    assert visible_text("<p>a&#150;&eacute;&unknown;") == "a–é&unknown;"
    # A page that is nested too deeply is its text alone.
    assert visible_text("<b>Net &amp; " * 3000 + "gross") == "Net & " * 3000 + "gross"


def test_unknown_tags_stay_where_they_stand_in_a_table():
    stream = events("<table><number>1</number><tr><td>2")
    tags = [name for kind, name, _ in stream if kind == "start"]
    assert tags == ["html", "body", "table", "number", "tr", "td"]


@pytest.mark.parametrize(
    "junk", ["", "<", "<!--", "\0<p>", "\ud800<b>", "<p" * 50_000, "<div>" * 20_000]
)
def test_junk_is_read_without_an_error(junk):
    assert isinstance(visible_text(junk), str)
    assert isinstance(list(events(junk)), list)


@pytest.mark.parametrize(("text", "html"), [("a < b > c", False), ("<td>", True), ("x </p>", True)])
def test_a_tag_makes_html(text, html):
    assert is_html(text) is html


def test_edit_distances_of_pages_equal_the_released_code(shared):
    root = shared / "golden" / "fincriticaled"
    for page, known in json.loads((root / "text_metrics.json").read_text()).items():
        gold, pred = (
            visible_text((root / s / f"{s}_{page}.txt").read_text()) for s in ("gold", "pred")
        )
        assert Levenshtein.normalized_distance(gold, pred) == pytest.approx(
            known["edit_distance"], abs=1e-9
        )


def test_spans_move_the_cells_beside_and_below():
    page = "<table><tr><td rowspan=2>a<td colspan=2>b<tr><td>c<td>d<tr><td>e</table>"
    cells = [(u.text, u.row, u.column, u.span) for u in read(page).units]
    assert cells == [
        ("a", 0, 0, 1), ("b", 0, 1, 2), ("c", 1, 1, 1), ("d", 1, 2, 1), ("e", 2, 0, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        # Inline tags do not cut a value, blocks do; plain lines are cut at wide gaps.
        ("<p><b>$</b><i>66</i>.59<br>next<div>x</div></p>", ["$66.59", "next", "x"]),
        ("Net sales   4,310\t12\n\n x", ["Net sales", "4,310", "12", "x"]),
        # HTML tables inside Markdown keep the lines around them.
        ("one\ntwo\n<table><tr><td>a</td></tr></table>\nthree", ["one", "two", "a", "three"]),
    ],
)
def test_a_page_is_cut_into_units(page, texts):
    assert [unit.text for unit in read(page).units] == texts


def test_a_mark_that_is_cut_by_a_block_keeps_its_first_part():
    flow = Flow(events("<td><number>1 x</td><td>2</td>"), tags={"number"})
    assert flow.marks == {0: (0, 0, 3)}


def test_nested_tables_have_their_own_rows():
    page = "<table><tr><td>a<table><tr><td>in</td></tr></table></td><td>b</td></tr></table>"
    units = [(u.text, u.table, u.column) for u in read(page).units]
    assert units == [("a", 0, 0), ("in", 1, 0), ("b", 0, 1)]


def test_a_span_of_a_million_is_bounded():
    assert read("<table><tr><td colspan=1000000 rowspan=99999999999>a").units[0].span <= 100


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
