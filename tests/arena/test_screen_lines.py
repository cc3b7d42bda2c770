from formlab_arena.screen_lines import (
    TextLine,
    lines_of,
    pieces,
    texts_beside,
    with_paragraphs,
)  # fmt: skip


def line(text, x0, y0, x1, y1):
    return TextLine(text, (x0, y0, x1, y1))


def test_words_of_ocr_belong_to_their_line():
    sides = {"x0": 1, "y0": 2, "x1": 3, "y1": 4}
    rows = [
        {"kind": kind, "path": path, "value": value} | sides
        for kind, path, value in (
            ("page", None, "a b"), ("line", "/ocr/lines/0", " a b "),
            ("word", "/ocr/lines/0/words/0", "a"), ("line", "/ocr/lines/1", " "),
        )
    ]  # fmt: skip
    [read] = lines_of(rows)
    assert (read.text, read.box, [word.text for word in read.words]) == ("a b", (1, 2, 3, 4), ["a"])


def test_line_across_several_boxes_and_marks_is_split_at_each():
    words = tuple(
        line(word, x, 10, x + 40, 30)
        for word, x in (("Town", 0), ("Oslo", 100), ("Zip", 300), ("O", 400), ("Yes", 450))
    )
    read = TextLine("Town Oslo Zip O Yes", (0, 10, 490, 30), words)
    boxes, marks = [(90, 5, 200, 35)], [(405, 12, 423, 30)]
    assert [part.text for part in pieces(read, boxes, marks)] == ["Town", "Oslo", "Zip", "Yes"]


def test_what_ocr_makes_of_a_ring_is_no_part_of_the_text():
    ring = (20, 10, 36, 26)
    for text, read in (("O Bus", "Bus"), ("OBus", "Bus"), ("Oslo", "Oslo")):
        assert texts_beside([ring], [line(text, 18, 8, 90, 28)]) == {ring: read}


def test_lines_of_one_paragraph_come_joined_too_and_labels_with_a_colon_do_not():
    lines = [line("In your", 10, 10, 90, 30), line("own words", 10, 31, 95, 51)]
    assert with_paragraphs(lines)[0].text == "In your own words"
    apart = [line("Town:", 10, 10, 90, 30), line("Street:", 10, 31, 95, 51)]
    assert with_paragraphs(apart) == apart
