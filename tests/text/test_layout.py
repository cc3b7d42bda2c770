import numpy as np

from formlab.text.layout import page_html, rows


def test_boxes_on_a_skewed_row_stay_one_row_from_left_to_right():
    # Each box lies 3 pixels lower than the one before; heights are 10, so neighbours share 7.
    boxes = np.array([[i * 20, i * 3, i * 20 + 15, i * 3 + 10] for i in (2, 0, 1)])
    assert rows(boxes) == [[1, 2, 0]]


def test_small_print_beside_a_tall_heading_joins_its_row():
    boxes = np.array([[0, 0, 50, 40], [60, 15, 90, 25], [0, 45, 50, 55]])
    assert rows(boxes) == [[0, 1], [2]]


def test_every_box_is_read_exactly_once():
    generator = np.random.default_rng(0)
    for _ in range(200):
        corner = generator.uniform(0, 100, (20, 2))
        boxes = np.hstack([corner, corner + generator.uniform(0, 30, (20, 2))])
        assert sorted(place for row in rows(boxes) for place in row) == list(range(20))


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
