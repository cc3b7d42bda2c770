import itertools
import json

import numpy as np
import polars as pl
import pytest

from formlab.errors import UnknownName
from formlab.scoring.fields import LEAST, READERS, described, others, read_fields
from tests.seeds import seeds

BOX = ("x0", "y0", "x1", "y1")


def fields(*boxes, page=1):
    rows = [("1", f"/{n}", page, *map(float, box)) for n, box in enumerate(boxes)]
    return pl.DataFrame(rows, schema=["doc_id", "path", "page", *BOX], orient="row")


def words(*items, kind="word", page=1):
    """Words from text, box and, where given, what the record's `meta` holds."""
    rows = [
        ("1", page, kind, text, 0.5 + n / 10, *map(float, box), json.dumps(*meta) if meta else None)
        for n, (text, box, *meta) in enumerate(items)
    ]
    schema = {"doc_id": pl.String, "page": pl.Int64, "kind": pl.String, "value": pl.String}
    schema |= {"confidence": pl.Float64} | dict.fromkeys(BOX, pl.Float64) | {"meta": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def read(boxes, seen, reader="centre"):
    return read_fields(fields(*boxes), seen, reader=reader)["pred"].to_list()


FAX, STRAY = ("Fax:123", (0, 0, 70, 10)), ("stray", (0, 0, 100, 10))
INNER, TALL = ("inner", (10, 10, 30, 20)), ("tall", (0, 0, 40, 30))
# Of a word of 100 by 10, a box that begins at x holds 100 - x percent.
EDGE = 100 * (1 - LEAST)


@pytest.mark.parametrize(
    ("reader", "word", "boxes", "expected"),
    [
        # The centre is at 35, and the word goes whole to the field that holds it.
        ("centre", FAX, [(0, 0, 40, 10), (40, 0, 70, 10)], ["Fax:123", ""]),
        ("centre", FAX, [(0, 0, 30, 10), (30, 0, 70, 10)], ["", "Fax:123"]),
        # Words whose box is twice as high as the gold's, and words wider than it.
        ("centre", ("Hours", (99, 95, 141, 116)), [(100, 100, 140, 110)], ["Hours"]),
        ("centre", ("ADDRESS:", (98, 98, 174, 112)), [(100, 100, 164, 110)], ["ADDRESS:"]),
        ("centre", ("51484", (90, 98, 141, 112)), [(100, 100, 130, 110)], ["51484"]),
        # A word whose centre no box holds goes where enough of it lies: 30 % or 35 %.
        ("centre", STRAY, [(EDGE, 0, 300, 10)], ["stray"]),
        ("centre", STRAY, [(EDGE + 1, 0, 300, 10)], [""]),
        ("centre", STRAY, [(0, 0, 30, 10), (65, 0, 300, 10)], ["", "stray"]),
        # Of boxes that hold a centre the fuller wins, then the smaller.
        ("centre", INNER, [(0, 0, 25, 40), (5, 5, 100, 40)], ["", "inner"]),
        ("centre", INNER, [(0, 0, 100, 100), (5, 5, 40, 25)], ["", "inner"]),
        ("centre", INNER, [(5, 5, 40, 25), (0, 0, 100, 100)], ["inner", ""]),
        # 24 of 40 pixels of width are shared; 10 of the word's 30 in height, all of the box.
        ("overlap", TALL, [(16, 10, 90, 20)], ["tall"]),
        ("overlap", TALL, [(21, 10, 90, 20)], [""]),
        # Most of the word is in the second, though the first holds enough of it.
        ("overlap", TALL, [(0, 0, 19, 30), (19, 0, 40, 30)], ["", "tall"]),
        # Each field gets its characters; a word mostly inside is left whole.
        ("cut", ("abcd", (0, 0, 100, 10)), [(0, 0, 75, 10)], ["abcd"]),
        # Centres of the characters at 12.5, 37.5, 62.5, 87.5: three of them lie up to 74.
        ("cut", ("abcd", (0, 0, 100, 10)), [(0, 0, 74, 10)], ["abc"]),
        ("cut", FAX, [(0, 0, 40, 10), (40, 0, 70, 10)], ["Fax:", "123"]),
    ],
)
def test_field_has_the_words_that_a_rule_gives_it(reader, word, boxes, expected):
    assert read(boxes, words(word), reader) == expected


@pytest.mark.parametrize("reader", READERS)
def test_lines_of_the_gold_take_no_word_from_the_fields_that_stand_in_them(reader):
    # A receipt's company is its first line, its total the end of the second.
    boxes = [(0, 0, 50, 10), (0, 0, 50, 10), (0, 20, 100, 30), (70, 20, 100, 30)]
    kinds = pl.Series("kind", ["line", "company", "line", "total"])
    seen = words(("Shop", (0, 0, 50, 10)), ("TOTAL", (0, 20, 50, 30)), ("9.00", (70, 20, 100, 30)))
    found = read_fields(fields(*boxes).with_columns(kinds), seen, reader=reader)
    found = dict(found.select("path", "pred").iter_rows())
    assert found == {"/0": "Shop", "/1": "Shop", "/2": "TOTAL 9.00", "/3": "9.00"}


def test_readings_are_what_the_other_rules_read_in_their_order():
    boxes = fields((0, 0, 40, 10), (40, 0, 70, 10))
    seen = words(("Fax:123", (0, 0, 70, 10)))
    found = {name: read_fields(boxes, seen, reader=name) for name in READERS}
    for name, one in found.items():
        expected = zip(*(found[other]["pred"].to_list() for other in others(name)), strict=True)
        assert one["readings"].to_list() == [list(texts) for texts in expected]
    assert described("cut").endswith("|readings=centre,overlap")
    with pytest.raises(UnknownName, match="reading rule 'center'"):
        read_fields(boxes, seen, reader="center")


def test_words_are_joined_in_reading_order_with_their_mean_confidence():
    seen = words(("c", (0, 20, 10, 30)), ("b", (20, 0, 30, 10)), ("a", (0, 0, 10, 10)))
    row = read_fields(fields((0, 0, 40, 40)), seen).row(0, named=True)
    assert row["pred"] == "a b c"
    # Three words of one character each, read with 0.5, 0.6 and 0.7.
    assert abs(row["confidence"] - 0.6) < 1e-12
    assert (row["pred_x0"], row["pred_y0"], row["pred_x1"], row["pred_y1"]) == (0, 0, 30, 30)


@pytest.mark.parametrize("height", [0.5, 1, 2.5])
@pytest.mark.parametrize("skew", [-0.1, 0, 0.1])
def test_rows_survive_skew_and_boxes_of_any_height(height, skew):
    # Three rows 12 apart of words 10 high; over 100 pixels of width the skew comes to 10.
    text = [["The", "tug", "is", "free"], ["from", "noon", "on", "Tuesday"], ["until", "then"]]
    items = []
    for number, row in enumerate(text):
        for place, word in enumerate(row):
            x, y = 14 + 28 * place, 30 + 12 * number + skew * 28 * place
            items.append((word, (x - 12, y - 5 * height, x + 12, y + 5 * height)))
    expected = " ".join(itertools.chain(*text))
    order = np.random.default_rng(0).permutation(len(items))
    assert read([(0, 0, 130, 80)], words(*(items[place] for place in order))) == [expected]


def test_field_with_nothing_under_it_is_read_as_empty():
    row = read_fields(fields((100, 100, 120, 120)), words(("a", (0, 0, 9, 9)))).row(0, named=True)
    assert (row["pred"], row["confidence"], row["pred_x0"]) == ("", None, None)
    assert row["readings"] == ["", ""]


def test_lines_serve_where_there_are_no_words_and_words_go_first():
    line = words(("one line", (0, 0, 80, 10)), kind="line")
    assert read([(0, 0, 80, 10)], line) == ["one line"]
    both = pl.concat([line, words(("word", (0, 0, 40, 10)))])
    assert read([(0, 0, 80, 10)], both) == ["word"]


def test_line_is_split_at_its_spaces_between_the_fields():
    # Ten pixels a character, with the spaces at the ends without ink: the gap is at 50 to 60.
    boxes = [(0, 0, 54, 10), (56, 0, 120, 10)]
    for kind in ("line", "word"):
        assert read(boxes, words(("  Name: Ada B ", (0, 0, 110, 10)), kind=kind)) == [
            "Name:",
            "Ada B",
        ]


def test_pages_are_read_apart_and_a_page_without_a_number_is_the_first():
    boxes = pl.concat([fields((0, 0, 40, 10)), fields((0, 0, 40, 10), page=2)]).with_columns(
        path=pl.Series(["/a", "/b"]), page=pl.Series([None, 2], dtype=pl.Int64)
    )
    seen = pl.concat([words(("one", (0, 0, 30, 10))), words(("two", (0, 0, 30, 10)), page=2)])
    found = read_fields(boxes, seen)
    assert found.select("path", "pred", "pred_page").rows() == [("/a", "one", 1), ("/b", "two", 2)]


@pytest.mark.parametrize("reader", READERS)
def test_boxes_without_a_place_or_an_area_are_passed_over(reader):
    for odd in (float("inf"), float("nan")):
        seen = words(("odd", (0, 0, odd, 10)), ("odd", (-odd, 0, odd, 10)), ("a", (1, 1, 9, 9)))
        assert read([(0, 0, 40, 10), (0, 0, odd, 10)], seen, reader) == ["a"]
    flat = words(("flat", (5, 5, 5, 5)), ("back", (40, 8, 30, 2)))
    # A box without an area has a centre, and shares no area with any field.
    assert read([(0, 0, 10, 10)], flat, reader) == ["flat" if reader == "centre" else ""]
    assert read([(0, 0, 10, 10)], words(), reader) == []


def random_page(seed):
    generator = np.random.default_rng(seed)

    def boxes(count, size):
        low = generator.uniform(0, 100, (count, 2))
        return np.hstack([low, low + generator.uniform(0, size, (count, 2))]).tolist()

    return boxes(12, 40), [(f"w{n}", box) for n, box in enumerate(boxes(40, 25))]


def plainly(boxes, items):
    """The rule ``centre`` word by word, in plain Python."""

    def shared(one, other):
        width = min(one[2], other[2]) - max(one[0], other[0])
        height = min(one[3], other[3]) - max(one[1], other[1])
        return max(width, 0) * max(height, 0)

    def area(box):
        return (box[2] - box[0]) * (box[3] - box[1])

    found = [set() for _ in boxes]
    for text, box in items:
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        of = [n for n, b in enumerate(boxes) if b[0] <= x <= b[2] and b[1] <= y <= b[3]]
        of = of or [n for n, b in enumerate(boxes) if shared(b, box) >= LEAST * area(box)]
        if of:
            found[max(of, key=lambda n: (shared(boxes[n], box), -area(boxes[n])))].add(text)
    return found


@pytest.mark.parametrize("seed", seeds(20))
def test_rule_equals_a_plain_count_and_no_word_goes_to_two_fields(seed):
    boxes, items = random_page(seed)
    found = [set(text.split()) for text in read(boxes, words(*items))]
    assert found == plainly(boxes, items)
    for reader in ("centre", "overlap"):
        given = [word for text in read(boxes, words(*items), reader) for word in text.split()]
        assert len(given) == len(set(given))
