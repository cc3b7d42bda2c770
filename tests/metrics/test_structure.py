import pytest

from formlab.metrics.page import structure, structure_shares

ROWS = "".join(
    f"<tr><td>Row {name}</td><td>{n}</td><td>{n + 40}</td></tr>" for n, name in enumerate("abcdef")
)
PAGE = f"<html><body><h1>Title</h1><table>{ROWS}</table><p>End note</p></body></html>"


def test_a_page_against_itself_keeps_all():
    assert structure(PAGE, PAGE) == 2
    assert set(structure_shares(PAGE, PAGE).values()) == {1.0}


def test_a_lost_row_of_six_is_a_point_less():
    # 5 of 6 rows are 0.83, and 17 of 20 blocks 0.85: below 0.9, above 0.5.
    pred = PAGE.replace("<tr><td>Row c</td><td>2</td><td>42</td></tr>", "")
    shares = structure_shares(PAGE, pred)
    assert structure(PAGE, pred) == 1
    assert (shares["order"], shares["rows"]) == (pytest.approx(17 / 20, abs=0.01), 5 / 6)


def test_blocks_in_another_order_are_told():
    turned = f"<html><body><p>End note</p><table>{ROWS}</table><h1>Title</h1></body></html>"
    # 20 blocks, of which the table's 18 keep their order.
    assert structure_shares(PAGE, turned)["order"] == pytest.approx(0.9, abs=0.03)


def test_tags_left_open_are_not_closed():
    pred = PAGE.replace("</h1>", "").replace("</table>", "")
    assert structure_shares(PAGE, pred)["closed"] < 1


@pytest.mark.parametrize(
    ("gold", "pred", "scores"),
    [
        *((PAGE, p, {0}) for p in ("", "  \n", "Row a 0 40\nRow b 1 41", "<" * 10_000, "\ud800\0")),
        ("<p>One.</p><p>Two.</p>", "One.\nTwo.", {2}),
        # Fact tags do not count as structure; columns that run together lose the score.
        (PAGE.replace("<td>5</td>", "<td><number>5</number></td>"), PAGE, {2}),
        (PAGE, PAGE.replace("</td><td>4", " 4"), {0, 1}),
    ],
)
def test_points_of_a_page(gold, pred, scores):
    assert structure(gold, pred) in scores
