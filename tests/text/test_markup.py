import json

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from formlab.text.markup import (
    Flow,
    events,
    in_rows,
    is_html,
    own_marks,
    page_html,
    read,
    unmarked,
    visible_text,
    written_events,
)


def test_text_is_joined_by_spaces_and_hidden_parts_are_left_out():
    page = "<p>a<b>b</b></p><style>x</style><template>y</template><!-- z --> c&nbsp;&amp; d"
    assert visible_text(page) == "a b c & d"
    assert visible_text("5 &lt; 6 and\n x < y") == "5 < 6 and x < y"
    assert [*map(is_html, ("a < b > c", "<td>", "x </p>"))] == [False, True, True]


def test_written_events_keep_tags_where_they_stand():
    events = written_events("<table><number>1</number><tr><td>2")
    assert [name for kind, name, _ in events if kind == "start"] == ["table", "number", "tr", "td"]


def test_tags_that_come_again_are_read_as_the_first_time():
    page = '<td rowspan="2">a &lt; b</td><number >1</number>\n<br/><b x="a>b">c</b><i x=1>d</i>'
    page += '<i x="1"><!-- e --><?pi?></i ><style><td></style><textarea>&amp;<td></textarea><p <hr>'
    assert written_events(page * 3) == written_events(page) * 3


def test_numeric_references_of_windows_are_read_as_browsers_do():
    assert visible_text("a&#150;b <i>c</i>") == "a–b c"
    assert [name for _, name, _ in written_events("&#150;&eacute;&unknown;")] == ["–é&unknown"]


@pytest.mark.parametrize(
    "junk", ["", "<", "<!--", "\0<p>", "\ud800<b>", "<p" * 50_000, "<div>" * 20_000]
)
def test_junk_is_read_without_an_error(junk):
    assert isinstance(visible_text(junk), str)
    assert isinstance(list(events(junk)), list)


def test_edit_distances_of_pages_equal_the_released_code(shared):
    root = shared / "golden" / "fincriticaled"
    for page, known in json.loads((root / "text_metrics.json").read_text()).items():
        gold, pred = (
            visible_text((root / s / f"{s}_{page}.txt").read_text()) for s in ("gold", "pred")
        )
        assert Levenshtein.normalized_distance(gold, pred) == pytest.approx(
            known["edit_distance"], abs=1e-9
        )


@pytest.mark.parametrize(
    ("page", "cells"),
    [
        # Spans move the cells beside and below.
        ("<table><tr><td rowspan=2>a<td colspan=2>b<tr><td>c<td>d<tr><td>e</table>",
         [("a", 0, 0, 0), ("b", 0, 0, 1), ("c", 0, 1, 1), ("d", 0, 1, 2), ("e", 0, 2, 0)]),
        # Nested tables have their own rows.
        ("<table><tr><td>a<table><tr><td>in</td></tr></table></td><td>b</td></tr></table>",
         [("a", 0, 0, 0), ("in", 1, 0, 0), ("b", 0, 0, 1)]),
        # Inline tags do not cut a value, blocks do; plain lines are cut at wide gaps.
        ("<p><b>$</b><i>66</i>.59<br>next<div>x</div></p>", ["$66.59", "next", "x"]),
        ("Net sales   4,310\t12\n\n x", ["Net sales", "4,310", "12", "x"]),
        # HTML tables inside Markdown keep the lines around them.
        ("one\ntwo\n<table><tr><td>a</td></tr></table>\nthree",
         ["one", "two", ("a", 0, 0, 0), "three"]),
    ],
)  # fmt: skip
def test_a_page_is_cut_into_blocks_and_cells(page, cells):
    whole = [cell if isinstance(cell, tuple) else (cell, -1, -1, -1) for cell in cells]
    assert [(u.text, u.table, u.row, u.column) for u in read(page).units] == whole


def test_a_mark_that_is_cut_by_a_block_keeps_its_first_part():
    flow = Flow(written_events("<td><number>1 x</td><td>2</td>"), tags={"number"})
    assert flow.marks == {0: (0, 0, 3)}


def test_a_span_is_counted_and_one_of_a_million_is_bounded():
    page = "<table><tr><td colspan=2>a<td colspan=1000000 rowspan=99999999999>b"
    assert [unit.span for unit in read(page).units] == [2, 100]


def test_boxes_stand_in_rows_from_left_to_right():
    # Each box lies 3 pixels lower than the one before; heights are 10, so neighbours share 7.
    skewed = np.array([[i * 20, i * 3, i * 20 + 15, i * 3 + 10] for i in (2, 0, 1)])
    assert in_rows(skewed) == [[1, 2, 0]]
    # Small print beside a tall heading joins its row.
    assert in_rows(np.array([[0, 0, 50, 40], [60, 15, 90, 25], [0, 45, 50, 55]])) == [[0, 1], [2]]


def test_every_box_is_read_exactly_once():
    generator = np.random.default_rng(0)
    for _ in range(200):
        corner = generator.uniform(0, 100, (20, 2))
        boxes = np.hstack([corner, corner + generator.uniform(0, 30, (20, 2))])
        assert sorted(place for row in in_rows(boxes) for place in row) == list(range(20))


def test_a_page_as_html_has_a_table_where_rows_have_several_boxes():
    boxes = np.array([
        [40, 0, 60, 10],  # a heading
        [0, 20, 30, 30], [50, 20, 60, 30], [80, 20, 95, 30],
        [0, 40, 45, 50], [84, 40, 95, 50],  # no box in the middle column
        [0, 60, 90, 70],
    ])  # fmt: skip
    html = page_html(boxes, ["R&D", "Sales", "4", "5", "Costs in all", "(7)", "<end>"])
    assert html.splitlines() == [
        "<p>R&amp;D</p>", "<table>", "<tr><td>Sales</td><td>4</td><td>5</td></tr>",
        "<tr><td>Costs in all</td><td></td><td>(7)</td></tr>", "</table>", "<p>&lt;end&gt;</p>",
    ]  # fmt: skip
    assert page_html(np.zeros((0, 4)), []) == ""


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
    text, places, counts = unmarked(marked)
    assert counts == kinds
    # Every character that is the page's own knows its place.
    shown = [(char, marked[at]) for char, at in zip(text, places, strict=True)]
    assert all(char == other or other in "&<|" or char == " " for char, other in shown)


def test_marks_that_are_the_pages_own_stay():
    assert own_marks("# 5 of **") == {"heading", "emphasis"}
    assert plain("# 5 **a**", keep={"heading"}) == "# 5 a"


@pytest.mark.parametrize(
    "evil", ["<", "<a ", "<!--", "![", "](", "&amp", "_", "|-", "\n```", " \t", "-- ", "\n---|"]
)
def test_hostile_text_is_read_to_its_end_and_nothing_is_added(evil):
    assert len(plain(evil * 50_000)) <= len(evil) * 50_000
