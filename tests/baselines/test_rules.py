import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from formlab import benchmarks
from formlab_baselines import keywords
from formlab_baselines.form_build import build
from formlab_baselines.keywords import RULES, entities
from formlab_baselines.page_marks import find
from formlab_baselines.page_text import words
from formlab_baselines.rules import FORMS, answers, forms
from formlab_baselines.words import DEFAULTS, Run

FIELDS = [
    {"task": "text", "path": "/Bill/Total", "value": "90.00"},
    {"task": "text", "path": "/Bill/Paid by", "value": "Ada"},
    {"task": "text", "path": "/Guests/Name", "value": ""},
    {"task": "marking", "path": "/Menu/Starter", "value": "soup; salad"},
    {"task": "marking", "path": "/Menu/Wine", "value": None},
]


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
    question, options, answer
):
    asked = [{"id": "q1", "question": question, "options": options}]
    rows = [(row["task"], row["path"], row["value"]) for row in answers(asked, FIELDS)]
    assert rows == ([("vqa", "/vqa/q1", answer)] if answer else [])


SMALL, LARGE = ImageFont.load_default(18), ImageFont.load_default(30)


class Sheet:
    """A drawn form: black on white, 18 pixel letters, headings bold."""

    def __init__(self, width=800, height=600):
        self.image = Image.new("L", (width, height), 255)
        self.pen = ImageDraw.Draw(self.image)

    def text(self, x, y, text, font=SMALL):
        self.pen.text((x, y), text, 0, font)

    def heading(self, x, y, text):
        self.pen.text((x, y), text, 0, SMALL, stroke_width=0.8)

    def rule(self, x0, x1, y):
        self.pen.line((x0, y, x1, y), 0, 1)

    def box(self, x, y, tick=False):
        self.pen.rectangle((x, y, x + 16, y + 16), outline=0, width=2)
        if tick:
            self.pen.line((x + 3, y + 3, x + 13, y + 13), 0, 2)
            self.pen.line((x + 13, y + 3, x + 3, y + 13), 0, 2)

    def circle(self, x, y, filled=False):
        self.pen.ellipse((x, y, x + 16, y + 16), outline=0, width=2)
        if filled:
            self.pen.ellipse((x + 5, y + 5, x + 11, y + 11), fill=0)


def permit():
    sheet = Sheet()
    sheet.text(250, 20, "Permit to fish", LARGE)
    sheet.heading(40, 90, "Angler")
    sheet.text(40, 125, "Name:")
    sheet.text(130, 122, "Ada Berg")
    sheet.rule(120, 380, 145)
    sheet.text(420, 125, "Born: 1990")
    sheet.text(40, 160, "Boat:")
    sheet.rule(120, 380, 180)
    sheet.heading(40, 215, "Catch")
    sheet.text(40, 250, "Fish")
    for x, label, tick in ((150, "trout", True), (300, "pike", False), (450, "perch", True)):
        sheet.box(x, 251, tick)
        sheet.text(x + 25, 250, label)
    sheet.text(40, 290, "Water")
    for x, label, filled in ((150, "lake", False), (300, "river", True)):
        sheet.circle(x, 291, filled)
        sheet.text(x + 25, 290, label)
    sheet.box(40, 331)
    sheet.text(65, 330, "Night fishing is planned")
    sheet.text(40, 370, "Days")
    for x, label in ((150, "two"), (300, "four"), (450, "seven")):
        sheet.text(x, 370, label)
    sheet.pen.ellipse((285, 362, 355, 400), outline=0, width=2)
    return sheet


def table():
    sheet = Sheet(height=400)
    cells = [["Lake", "Trout", "Pike"], ["North", "12", "30"], ["South", "14", "25"]]
    for row, texts in enumerate(cells):
        for column, text in enumerate(texts):
            sheet.pen.rectangle(
                (60 + 200 * column, 80 + 40 * row, 260 + 200 * column, 120 + 40 * row), outline=0
            )
            sheet.text(75 + 200 * column, 90 + 40 * row, text)
    return sheet


@pytest.fixture(scope="module")
def read():
    return forms(FORMS, 1)


@pytest.fixture(scope="module")
def fields(read, tmp_path_factory):
    folder = tmp_path_factory.mktemp("permit")
    permit().image.save(folder / "page.png")
    return {row["path"]: row for row in read({"doc_id": "1", "image": "page.png"}, folder)}


def values(fields, task):
    return {path: row["value"] for path, row in fields.items() if row["task"] == task}


def test_labels_get_what_stands_right_of_them_on_or_off_a_line(fields):
    assert values(fields, "text") | {None: ""} == {
        None: "", "/Angler/Name": "Ada Berg", "/Angler/Born": "1990", "/Angler/Boat": "",
    }  # fmt: skip
    subtypes = [fields[f"/Angler/{name}"]["subtype"] for name in ("Name", "Born")]
    assert subtypes == ["handwritten", "machine-printed"]


def test_bold_text_alone_in_its_row_opens_a_group_and_the_title_does_not(fields):
    groups = [path for path, row in fields.items() if row["kind"] == "group"]
    assert groups == ["/Angler", "/Catch"]


def test_ink_in_boxes_and_circles_and_rings_around_words_are_what_was_chosen(fields):
    assert values(fields, "marking") == {
        "/Catch/Fish": "trout; perch",
        "/Catch/Water": "river",
        "/Catch/Night fishing is planned": "unchecked",
        "/Catch/Days": "four",
    }
    kinds = [fields[f"/Catch/{name}"]["kind"] for name in ("Fish", "Water", "Days")]
    assert kinds == ["checkbox", "radio", "choice"]


def test_boxes_are_where_the_values_were_drawn(fields):
    name = fields["/Angler/Name"]
    # Drawn from (130, 122), in letters of 18 pixels, about 75 pixels wide.
    assert name["x0"] == pytest.approx(130, abs=8)
    assert name["y1"] == pytest.approx(142, abs=8)
    assert name["x1"] < 230
    assert 0.5 < name["confidence"] <= 1


def test_turned_page_is_read_alike_and_its_boxes_are_turned_back(read, fields, tmp_path):
    turned = permit().image.rotate(-1.2, Image.Resampling.BICUBIC, fillcolor=255)
    turned.save(tmp_path / "page.png")
    records = {row["path"]: row for row in read({"doc_id": "1", "image": "page.png"}, tmp_path)}
    assert values(records, "marking") == values(fields, "marking")
    # Turned by 1.2 degrees clockwise about (400, 300): what is 260 left of it rises by 5.
    moved = records["/Catch/Fish"]["y0"] - fields["/Catch/Fish"]["y0"]
    assert moved == pytest.approx(-250 * np.sin(np.radians(1.2)), abs=3)


def test_table_is_a_field_of_lines_or_a_group_of_rows(read, tmp_path):
    table().image.save(tmp_path / "page.png")
    document = {"doc_id": "1", "image": "page.png"}
    (field,) = [row for row in read(document, tmp_path) if row["task"] == "marking"]
    assert field["value"] == "Lake | Trout | Pike\nNorth | 12 | 30\nSouth | 14 | 25"
    assert (field["subtype"], field["x0"], field["y1"]) == (
        "table-grid", pytest.approx(60, abs=3), pytest.approx(200, abs=3),
    )  # fmt: skip
    as_rows = forms(FORMS | {"tables": "rows"}, 1)
    records = {row["path"]: row["value"] for row in as_rows(document, tmp_path)}
    assert records["/Table/South/Pike"] == "25"


def line(text, x0, y0, x1, y1):
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], dtype=float)
    return corners, text


def tree_of(*lines, gray=None):
    """The tree of lines that an OCR would have read on a page, without running one."""
    gray = np.full((400, 800), 255, np.uint8) if gray is None else gray
    result = SimpleNamespace(
        boxes=[corners for corners, _ in lines], txts=[text for _, text in lines],
        scores=[0.99] * len(lines), word_results=None,
    )  # fmt: skip
    marks, clean = find(gray)
    return build(words(result, clean), marks, FORMS)


@pytest.mark.parametrize(
    "text", ["<script>:x", "a\x00b: \x1b[2J", "\u2028\u202e: \ufffd", "a/b~c: d", ":" * 5000, "::"]
)
def test_hostile_text_on_a_page_is_only_text(text):
    form = tree_of(line(text, 40, 100, 700, 120), line("Age: 9", 40, 200, 140, 220))
    assert [field.value for field in form.fields if field.label == "Age"] == ["9"]


def test_noise_black_pages_and_hatching_do_not_crash(read, tmp_path):
    random = np.random.default_rng(7)
    stripes = np.full((700, 700), 255, np.uint8)
    stripes[::6] = stripes[:, ::6] = 0
    pages = [random.integers(0, 256, (900, 900), dtype=np.uint8), np.zeros((300, 300), np.uint8)]
    for page in [*pages, stripes]:
        Image.fromarray(page).save(tmp_path / "page.png")
        rows = read({"doc_id": "x", "image": "page.png"}, tmp_path)
        assert rows[0]["path"] is None
        paths = [row["path"] for row in rows]
        assert len(paths) == len(set(paths))


SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "vrdu"


ADVERTISER = ("Advertiser:", 10, 10), ("Friends of", 100, 10), ("Ada Quill", 100, 20)


@pytest.mark.parametrize(
    ("runs", "values"),
    [
        # A value stands inside, right of or below its label.
        ([("Contract # 26804224", 10, 10)], {"contract_num": "26804224"}),
        (
            [("Advertiser", 10, 10), ("Ada Quill", 120, 10), ("Product", 10, 22)],
            {"advertiser": "Ada Quill"},
        ),
        (
            [("Contract Dates", 10, 10), ("04/24/20 - 04/30/20", 10, 22)],
            {"flight_from": "04/24/20", "flight_to": "04/30/20"},
        ),
        # A longer label is another label, and a label is no value.
        (
            [("Advertiser Code", 10, 10), ("769", 120, 10), ("Agency Ref", 10, 22)],
            {"advertiser": None, "agency": None},
        ),
        # A name goes on in the line right below, unless that has a label.
        (ADVERTISER, {"advertiser": "Friends of Ada Quill"}),
        ([*ADVERTISER, ("Product", 10, 20)], {"advertiser": "Friends of"}),
        # An amount must look like one.
        (
            [("Gross Total", 10, 10), ("pending", 100, 10), ("Totals", 10, 40),
             ("$1,200.50", 100, 40)],
            {"gross_amount": "$1,200.50"},
        ),
    ],
)  # fmt: skip
def test_value_stands_where_its_rule_says(runs, values):
    read = entities([Run(t, 1, x, y, x + 6 * len(t), y + 9) for t, x, y in runs], list(values))
    assert {name: read[name].text if name in read else None for name in values} == values


def test_sample_is_read_from_text_layer_and_from_scans():
    corpus = benchmarks.get("vrdu").load("MadeFilings-pdfs", SAMPLE)
    read = keywords.start(DEFAULTS, 1)
    gold = {
        row["path"]: row
        for row in corpus.records.to_dicts()
        if row["doc_id"] == corpus.documents["doc_id"][-1]
    }
    # The last document is a scan: RapidOCR reads it.
    for document in (corpus.documents.row(0, named=True), corpus.documents.row(-1, named=True)):
        records = read(document, SAMPLE)
        assert {row["path"] for row in records} == {
            f"/{name}" for name in RULES if f"/{name}" in gold
        }
    number = next(row for row in records if row["path"] == "/registration_num")
    gold_number = gold["/registration_num"]
    assert number["value"] in gold_number["accepted"] + [gold_number["value"]]
    # It is where one of its surface forms was drawn, in pixels of the page.
    width, height = corpus.documents.select("width", "height").row(-1)
    drawn = [(box[1] * width, box[2] * height) for box in json.loads(gold_number["meta"])["boxes"]]
    assert any((number["x0"], number["y0"]) == pytest.approx(place, abs=5) for place in drawn)
