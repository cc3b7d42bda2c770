import pytest

from formlab.text.markup import Flow, read, written_events


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
    flow = Flow(written_events("<td><number>1 x</td><td>2</td>"), tags={"number"})
    assert flow.marks == {0: (0, 0, 3)}


def test_nested_tables_have_their_own_rows():
    page = "<table><tr><td>a<table><tr><td>in</td></tr></table></td><td>b</td></tr></table>"
    units = [(u.text, u.table, u.column) for u in read(page).units]
    assert units == [("a", 0, 0), ("in", 1, 0), ("b", 0, 1)]


def test_a_span_of_a_million_is_bounded():
    assert read("<table><tr><td colspan=1000000 rowspan=99999999999>a").units[0].span <= 100
