import polars as pl

from formlab.analysis.fields import read_fields

BOX = ("x0", "y0", "x1", "y1")


def fields(*boxes):
    rows = [("1", f"/{n}", *map(float, box)) for n, box in enumerate(boxes)]
    return pl.DataFrame(rows, schema=["doc_id", "path", *BOX], orient="row")


def words(*items, kind="word"):
    rows = [
        ("1", kind, text, 0.5 + n / 10, *map(float, box)) for n, (text, box) in enumerate(items)
    ]
    return pl.DataFrame(rows, schema=["doc_id", "kind", "value", "confidence", *BOX], orient="row")


def read(boxes, seen):
    return read_fields(fields(*boxes), seen)["pred"].to_list()


def test_word_with_three_quarters_under_the_box_belongs_to_it_whole():
    # The word spans 0 to 100; boxes end at 75 (0.75 of it) and at 74.
    seen = words(("abcd", (0, 0, 100, 10)))
    assert read([(0, 0, 75, 10)], seen) == ["abcd"]
    # Centres of the characters at 12.5, 37.5, 62.5, 87.5: three of them lie up to 74.
    assert read([(0, 0, 74, 10)], seen) == ["abc"]


def test_word_across_two_fields_is_cut_between_them():
    seen = words(("Fax:123", (0, 0, 70, 10)))
    assert read([(0, 0, 40, 10), (40, 0, 70, 10)], seen) == ["Fax:", "123"]


def test_word_with_less_than_half_its_height_in_the_box_is_not_its():
    seen = words(("above", (0, 0, 50, 10)), ("inside", (0, 20, 50, 30)))
    assert read([(0, 6, 50, 40)], seen) == ["inside"]
    assert read([(0, 5, 50, 40)], seen) == ["above inside"]


def test_words_are_joined_in_reading_order_with_their_mean_confidence():
    seen = words(("c", (0, 20, 10, 30)), ("b", (20, 0, 30, 10)), ("a", (0, 0, 10, 10)))
    row = read_fields(fields((0, 0, 40, 40)), seen).row(0, named=True)
    assert row["pred"] == "a b c"
    # Three words of one character each, read with 0.5, 0.6 and 0.7.
    assert abs(row["confidence"] - 0.6) < 1e-12
    assert (row["pred_x0"], row["pred_y0"], row["pred_x1"], row["pred_y1"]) == (0, 0, 30, 30)


def test_field_with_nothing_under_it_is_read_as_empty():
    row = read_fields(fields((100, 100, 120, 120)), words(("a", (0, 0, 9, 9)))).row(0, named=True)
    assert (row["pred"], row["confidence"], row["pred_x0"]) == ("", None, None)


def test_lines_serve_where_there_are_no_words_and_words_go_first():
    line = words(("one line", (0, 0, 80, 10)), kind="line")
    assert read([(0, 0, 80, 10)], line) == ["one line"]
    both = pl.concat([line, words(("word", (0, 0, 40, 10)))])
    assert read([(0, 0, 80, 10)], both) == ["word"]


def test_field_of_a_page_that_nobody_read_has_no_row():
    other = fields((0, 0, 9, 9)).with_columns(doc_id=pl.lit("2"))
    assert read_fields(other, words(("a", (0, 0, 9, 9)))).height == 0
