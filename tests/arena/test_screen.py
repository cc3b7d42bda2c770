import numpy as np
from PIL import Image, ImageDraw

from formlab_arena import screen
from formlab_arena.screen import Screen, TextLine, arrange


def page(*, ink=(90, 90, 90), paper=(255, 255, 255)):
    """Two fields in a row, one beside its label, two rings and a box to tick, a button."""
    image = Image.new("RGB", (640, 420), paper)
    pen = ImageDraw.Draw(image)
    for box in ((20, 50, 300, 86), (340, 50, 620, 86), (200, 110, 620, 200)):
        pen.rectangle(box, outline=ink)
    for y in (240, 270):
        pen.ellipse((24, y, 41, y + 17), outline=ink)
    pen.ellipse((29, 275, 36, 282), fill=ink)
    pen.rectangle((24, 310, 41, 327), outline=ink)
    pen.rectangle((20, 360, 140, 400), fill=(30, 60, 150))
    return np.asarray(image.convert("L"))


LINES = [
    TextLine("First name", (20, 24, 110, 46)),
    TextLine("Last name", (340, 24, 430, 46)),
    TextLine("Ada", (30, 58, 60, 78)),
    TextLine("Remarks", (110, 116, 190, 138)),
    TextLine("Travel", (22, 214, 80, 234)),
    TextLine("By rail", (50, 238, 110, 258)),
    TextLine("By bus", (20, 268, 110, 288)),  # OCR took the ring into the line.
    TextLine("I agree", (50, 308, 110, 328)),
    TextLine("Send", (55, 370, 105, 390)),
]


def test_fields_have_the_nearest_label_and_what_is_in_them():
    result = arrange(page(), LINES)
    assert [(f.labels[:1], f.text) for f in result.fields] == [
        (("First name",), "Ada"), (("Last name",), ""), (("Remarks",), ""), ((), "Send"),
    ]  # fmt: skip
    x0, y0, x1, y1 = result.fields[0].box
    assert max(abs(x0 - 20), abs(y0 - 50), abs(x1 - 301), abs(y1 - 87)) <= 2


def test_rings_and_boxes_are_apart_and_ticks_are_seen():
    result = arrange(page(), LINES)
    assert [[(m.text, m.ticked, m.is_ring) for m in group.marks] for group in result.groups] == [
        [("By rail", False, True), ("By bus", True, True)],
        [("I agree", False, False)],
    ]
    assert result.groups[0].labels == ("Travel",)


def test_pale_borders_and_dark_pages_are_read_too():
    for ink, paper in (((222, 226, 230), (255, 255, 255)), ((170, 170, 170), (20, 20, 20))):
        assert len(arrange(page(ink=ink, paper=paper), LINES).fields) >= 3


def test_line_that_runs_into_a_box_is_parted_at_its_side():
    words = (TextLine("Town", (120, 56, 160, 76)), TextLine("Oslo", (350, 56, 390, 76)))
    result = arrange(page(), [TextLine("Town Oslo", (120, 56, 390, 76), words)])
    assert result.fields[1].text == "Oslo"


def test_empty_page_has_nothing():
    assert arrange(np.full((50, 50), 255, np.uint8), []) == Screen((), (), ())


def test_same_picture_is_read_only_once(tmp_path, monkeypatch):
    read = []

    def start(settings, threads):
        def read_page(document, root):
            read.append(document["image"])
            return [{"kind": "page", "path": None, "value": ""}]

        return read_page

    monkeypatch.setattr("formlab.systems.ocr.start", start)
    reader = screen.reader()
    for name, colour in (("a", 255), ("b", 255), ("c", 0)):
        Image.new("RGB", (40, 30), (colour,) * 3).save(tmp_path / f"{name}.png")
        reader(tmp_path / f"{name}.png")
    assert read == ["a.png", "c.png"]
