"""The system `rules` on pages made by hand: what OCR would have read, and what is drawn."""

import json

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from data.sample.generate.pdf import Sheet
from formlab import benchmarks, systems
from formlab.systems import ocr

RULES = systems.get("rules")
SAMPLE = benchmarks.SAMPLES / "vrdu"


@pytest.fixture
def read(tmp_path, monkeypatch):
    """The rows of a page, by path, with these lines: a text and its left and top in pixels."""

    def rows(*lines, draw=lambda pen: None, image=None, questions=(), **settings):
        def line(text, x, y):
            places = [(n, word) for n, word in zip(starts(text), text.split(), strict=True)]
            words = [(word, 0.9, box(x + 8 * n, y, word)) for n, word in places]
            return text, 0.9, box(x, y, text), words

        reading = [ocr.Line(*line(*each)) for each in lines]
        monkeypatch.setattr(ocr.Engine, "__call__", lambda *_, **__: reading)
        image = image or Image.new("L", (800, 600), 255)
        draw(ImageDraw.Draw(image))
        image.save(tmp_path / "page.png")
        asked = json.dumps({"questions": list(questions)})
        document = {"doc_id": "1", "image": "page.png", "meta": asked}
        found = RULES.start(RULES.defaults | settings, 1)(document, tmp_path)
        return {row["path"]: row for row in found if not str(row["path"]).startswith("/ocr")}

    return rows


def starts(text):
    return [n for n in range(len(text)) if text[n].strip() and not text[:n][-1:].strip()]


def box(x, y, text):
    """The corners of a text in letters of 8 by 20 pixels."""
    return [[x, y], [x + 8 * len(text), y], [x + 8 * len(text), y + 20], [x, y + 20]]


def values(rows):
    return {path: row["value"] for path, row in rows.items() if path and row["kind"] != "group"}


def frame(pen, x, y, *, ticked=False, is_round=False):
    """A box or circle to tick, left of a text that begins 20 pixels to the right."""
    (pen.ellipse if is_round else pen.rectangle)((x, y, x + 13, y + 13), outline=0, width=2)
    if ticked:
        pen.line((x + 2, y + 2, x + 11, y + 11), 0, 2)
        pen.line((x + 11, y + 2, x + 2, y + 11), 0, 2)


def test_a_label_ends_in_a_colon_and_its_value_stands_behind_or_below_it(read):
    rows = read(
        ("Permit to fish", 250, 20),
        ("Name: Ada Berg", 40, 100), ("Born:", 400, 101), ("1990", 500, 99),
        ("Boat:", 40, 130), ("Home port:", 400, 130), ("Oslo", 500, 130),
        ("Address:", 40, 160), ("12 Quay Road", 40, 180), ("Bergen", 40, 200),
        ("Age:9 Sex: f", 40, 230), ("Licence", 40, 260), ("X-204", 300, 260),
    )  # fmt: skip
    assert values(rows) == {
        "/Name": "Ada Berg", "/Born": "1990", "/Boat": "", "/Home port": "Oslo",
        "/Address": "12 Quay Road Bergen", "/Age": "9", "/Sex": "f", "/Licence": "X-204",
    }  # fmt: skip
    born, address = rows["/Born"], rows["/Address"]
    assert [born[side] for side in ("x0", "y0", "x1", "y1", "page")] == [500, 99, 532, 119, 1]
    assert [address[side] for side in ("x0", "y0", "x1", "y1")] == [40, 160, 136, 220]
    assert (born["task"], born["confidence"]) == ("text", 0.9)
    assert rows[None]["value"].startswith("Permit to fish\nName: Ada Berg Born: 1990\n")


def test_text_that_stands_apart_opens_a_group_and_the_title_does_not(read):
    rows = read(
        ("Permit to fish", 250, 20),
        ("Angler", 40, 70), ("Name: Ada", 40, 92),
        ("Catch", 40, 130), ("Trout", 40, 153), ("Number: 3", 40, 175),
        ("Signed: A. B.", 40, 240),
    )  # fmt: skip
    groups = [path for path, row in rows.items() if row["kind"] == "group"]
    # A heading right below another is inside it; what stands far below is in no group.
    assert groups == ["/Angler", "/Catch", "/Catch/Trout"]
    assert [*values(rows)] == ["/Angler/Name", "/Catch/Trout/Number", "/Signed"]


def test_ink_in_boxes_and_circles_is_what_was_chosen(read):
    def draw(pen):
        for x, y, ticked in ((150, 104, True), (300, 104, False), (150, 134, True)):
            frame(pen, x, y, ticked=ticked)
        frame(pen, 40, 164)
        for x, ticked in ((60, False), (200, True)):
            frame(pen, x, 224, ticked=ticked, is_round=True)
        frame(pen, 40, 264, ticked=True)

    rows = read(
        ("Fish", 40, 100), ("trout", 170, 100), ("pike", 320, 100), ("perch", 170, 130),
        ("Night fishing is planned", 60, 160),
        ("Water", 40, 200), ("lake", 80, 220), ("river", 220, 220),
        ("I have a boat: No. 17", 60, 260),
        draw=draw,
    )  # fmt: skip
    assert values(rows) == {
        "/Fish": "trout; perch",
        "/Night fishing is planned": "unchecked",
        "/Water": "river",
        "/I have a boat": "[x] I have a boat; No. 17",
    }
    assert [rows[path]["kind"] for path in ("/Fish", "/Water")] == ["checkbox", "radio"]
    assert {row["task"] for path, row in rows.items() if path} == {"marking", "cross"}


def test_ink_counts_from_the_share_that_is_set(read):
    lines = ("Terms", 40, 60), ("Agreed", 60, 120)
    drawn = {"draw": lambda pen: frame(pen, 40, 124, ticked=True)}
    assert values(read(*lines, **drawn)) == {"/Agreed": "checked"}
    assert values(read(*lines, **drawn, tick_ink=0.95)) == {"/Agreed": "unchecked"}


def test_rows_of_three_cells_below_each_other_are_a_table(read):
    cells = [["Lake", "Trout", "Pike"], ["North", "12", "30"], ["South", "", "25"]]
    lines = [
        (text, 60 + 200 * column, 80 + 30 * row)
        for row, texts in enumerate(cells)
        for column, text in enumerate(texts)
        if text
    ]
    (field,) = [row for path, row in read(*lines).items() if path]
    assert field["value"] == "Lake | Trout | Pike\nNorth | 12 | 30\nSouth |  | 25"
    assert (field["path"], field["subtype"]) == ("/Table", "table-grid")
    assert [field[side] for side in ("x0", "y0", "x1", "y1")] == [60, 80, 492, 160]


@pytest.mark.parametrize(
    ("question", "options", "answer"),
    [
        # "paid" stands in one name, "bill" in two.
        ("Who paid the bill?", [], "Ada"),
        # A number is asked for, and one value has digits.
        ("How much is the bill?", [], "90.00"),
        ("Which starters are served?", ["pate", "Salad", "soup"], "Salad; soup"),
        ("Which starters are not served?", ["pate", "Salad", "soup"], "pate"),
        # No name, or no mark, has to do with it.
        ("Why?", [], None),
        ("Was it signed?", ["yes", "no"], None),
    ],
)
def test_a_question_is_answered_by_the_nearest_field_or_by_what_is_marked(
    read, question, options, answer
):
    def draw(pen):
        for x, ticked in ((150, True), (300, True), (450, False)):
            frame(pen, x, 164, ticked=ticked)

    asked = {"id": "q1", "question": question, "options": options}
    rows = read(
        ("Bill total: 90.00", 40, 100), ("Bill paid by: Ada", 40, 130),
        ("Starter", 40, 160), ("soup", 170, 160), ("salad", 320, 160), ("pate", 470, 160),
        draw=draw, questions=[asked],
    )  # fmt: skip
    assert rows.get("/vqa/q1", {}).get("value") == answer


@pytest.mark.parametrize(
    "text", ["<script>:x", "a\x00b: \x1b[2J", "\u202e: \ufffd", "a/b~c: d", "::"]
)
def test_hostile_text_on_a_page_is_only_text(read, text):
    assert values(read((text, 40, 100), ("Age: 9", 40, 200)))["/Age"] == "9"


def test_noise_black_pages_and_hatching_have_no_boxes_to_tick(read):
    random = np.random.default_rng(7)
    hatched = np.full((700, 700), 255, np.uint8)
    hatched[::6] = hatched[:, ::6] = 0
    pages = random.integers(0, 256, (900, 900), dtype=np.uint8), np.zeros((300, 300), np.uint8)
    for page in (*pages, hatched):
        rows = read(("Age: 9", 60, 100), ("Yes", 60, 200), image=Image.fromarray(page))
        assert values(rows)["/Age"] == "9"


def test_a_page_a_few_pixels_high_has_no_text():
    assert ocr.Engine()(np.full((3, 900, 3), 255, np.uint8)) == []


def test_a_drawn_page_is_read_by_ocr(tmp_path):
    sheet = Image.new("L", (700, 400), 255)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(18)
    pen.text((250, 20), "Permit to fish", 0, ImageFont.load_default(30))
    pen.text((40, 125), "Name: Ada Berg", 0, font)
    pen.text((65, 180), "Night fishing is planned", 0, font)
    frame(pen, 40, 184, ticked=True)
    sheet.save(tmp_path / "page.png")
    document = {"doc_id": "x", "image": "page.png", "meta": None}
    rows = RULES.start(RULES.defaults, 1)(document, tmp_path)
    found = {row["path"]: row["value"] for row in rows}
    assert (found["/Name"], found["/Night fishing is planned"]) == ("Ada Berg", "checked")
    # All that the system `ocr` gives stands beside.
    lines = systems.get("ocr").start(systems.get("ocr").defaults, 1)(document, tmp_path)
    assert [row for row in rows if row in lines] == lines


ADVERTISER = ("Advertiser:", 10, 10), ("Friends of", 100, 10), ("Ada Quill", 100, 18)


@pytest.mark.parametrize(
    ("runs", "values"),
    [
        # A value stands inside, right of or below its label.
        ([("Contract # 26804224", 10, 10)], {"contract_num": "26804224"}),
        (
            [("Advertiser", 10, 10), ("Ada Quill", 120, 10), ("Product", 10, 30)],
            {"advertiser": "Ada Quill"},
        ),
        (
            [("Contract Dates", 10, 10), ("04/24/20 - 04/30/20", 10, 22)],
            {"flight_from": "04/24/20", "flight_to": "04/30/20"},
        ),
        # A longer label is another label, and a label is no value.
        ([("Advertiser Code", 10, 10), ("769", 120, 10), ("Agency Ref", 10, 30)], {}),
        # A name goes on in the line right below, unless that has a label.
        (ADVERTISER, {"advertiser": "Friends of Ada Quill"}),
        ([*ADVERTISER, ("Product", 10, 18)], {"advertiser": "Friends of", "product": "Ada Quill"}),
        # An amount must look like one.
        (
            [("Gross Total", 10, 10), ("pending", 100, 10), ("Totals", 10, 50),
             ("$1,200.50", 100, 50)],
            {"gross_amount": "$1,200.50"},
        ),
    ],
)  # fmt: skip
def test_an_entity_stands_in_a_pdf_where_its_key_words_say(runs, values, tmp_path):
    sheet = Sheet()
    for text, x, y in (*runs, ("Nothing else is written here", 300, 600)):
        sheet.put(x, y, text)
    (tmp_path / "page.pdf").write_bytes(sheet.pdf())
    document = {"doc_id": "1", "image": "page.pdf", "width": None, "meta": None}
    rows = RULES.start(RULES.defaults, 1)(document, tmp_path)
    assert {row["kind"]: row["value"] for row in rows} == values


def test_a_scan_of_the_sample_is_read_by_ocr_in_the_units_of_its_gold():
    corpus = benchmarks.load("vrdu", split="MadeFilings-pdfs")
    document = corpus.documents.row(-1, named=True)
    gold = corpus.records.filter(doc_id=document["doc_id"]).rows_by_key("path", named=True)
    rows = RULES.start(RULES.defaults, 1)(document, corpus.root)
    number = next(row for row in rows if row["path"] == "/registration_num")
    (wanted,) = gold["/registration_num"]
    assert number["value"] in [*wanted["accepted"], wanted["value"]]
    # It is where one of its surface forms was drawn, in pixels of the page.
    width, height = document["width"], document["height"]
    drawn = [(x * width, y * height) for _, x, y, *_ in json.loads(wanted["meta"])["boxes"]]
    assert any((number["x0"], number["y0"]) == pytest.approx(place, abs=5) for place in drawn)
