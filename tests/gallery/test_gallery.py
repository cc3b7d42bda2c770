import base64
import io
import math
import random
from itertools import pairwise

import polars as pl
import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import expect

from formlab import browser, gallery, tables
from formlab.analysis.finding import Finding
from formlab.errors import UnknownName
from formlab.gallery.cases import diff
from tests.states import until_seen

KEY = {"benchmark": "demo", "split": "test", "doc_id": "1"}
ROW = KEY | {"system": "ocr", "task": "value", "outcome": "mismatch", "gold": "a", "pred": "b"}
BOX = {"x0": 400.0, "y0": 500.0, "x1": 480.0, "y1": 516.0}


@pytest.fixture
def root(tmp_path):
    page = Image.new("L", (800, 1000), 255)
    ImageDraw.Draw(page).rectangle((400, 500, 480, 516), fill=0)
    page.save(tmp_path / "page.png")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    return tmp_path


def shown(root, *rows, image="page.png", **options):
    documents = tables.table("documents", [KEY | {"image": image}])
    cases = tables.table("cases", [ROW | row for row in rows])
    return gallery.errors(cases, root=root, documents=documents, **options)


def image_of(made, case):
    source = made.images[case["image"]]["src"]
    return Image.open(io.BytesIO(base64.b64decode(source.split(",")[1]))).convert("L")


def test_view_shows_exactly_the_gold_box(root):
    made = shown(root, BOX)
    case = made.cases[0]
    image = image_of(made, case)
    # The box is 80 x 16 at 400, 500; the least view of 240 x 84 lies around it: left 320, top 466.
    assert image.size == (240, 84)
    assert case["boxes"] == {"gold": [round(x, 5) for x in (80 / 240, 34 / 84, 80 / 240, 16 / 84)]}
    assert image.getpixel((120, 42)) < 40
    assert image.getpixel((40, 42)) > 215


def test_click_and_reversed_and_far_boxes_are_placed(root):
    click = {"pred_x0": 440.0, "pred_y0": 508.0, "pred_x1": 440.0, "pred_y1": 508.0}
    far = {"pred_x0": 1e300, "pred_y0": 5.0, "pred_x1": 2e300, "pred_y1": 6.0}
    reverse = {"x0": 480.0, "y0": 516.0, "x1": 400.0, "y1": 500.0}
    nan = BOX | {"x0": math.nan}
    first, second, third, fourth = shown(root, BOX | click, BOX | far, reverse, nan).cases
    # In the view of 240 x 84 at 320, 466.
    assert first["boxes"]["pred"] == [120 / 240, 42 / 84, 0.0, 0.0]
    assert "pred" not in second["boxes"]
    assert second["why"] == "the predicted box lies off the page"
    assert third["boxes"] == {"gold": first["boxes"]["gold"]}
    assert fourth["boxes"] == {}


@pytest.mark.parametrize("image", ["gone.png", "broken.png", "a\x00b", "../" * 40 + "etc", None])
def test_case_without_a_usable_image_says_why_and_one_of_no_page_nothing(root, image):
    case = shown(root, BOX, image=image).cases[0]
    assert case["image"] is None
    assert bool(case["why"]) == (image is not None)
    assert case["gold"] == "a"


def test_diff_rebuilds_both_sides():
    rng = random.Random(5)
    for _ in range(3_000):
        gold, pred = ("".join(rng.choices("abc é😀.,1", k=rng.randrange(14))) for _ in range(2))
        runs = diff(gold, pred)
        assert "".join(text for op, text in runs if op != "insert") == gold
        assert "".join(text for op, text in runs if op != "delete") == pred
        assert all(text for _, text in runs)
        assert all(a[0] != b[0] for a, b in pairwise(runs))


def test_cases_carry_the_slices_asked_for_and_the_findings_they_are_behind():
    rows = [
        ROW | {"path": "/a", "gold": "abcdef", "modality": "textual"},
        ROW | {"path": "/b", "benchmark": "other"},
        ROW | {"path": "/c", "doc_id": "2", "system": "chat"},
    ]
    cases = tables.table("cases", rows).with_columns(tags=pl.Series([["x", "y"], [], None]))
    places = [{"domain": "tax"}, {"doc_id": "2"}, {"benchmark": "other", "domain": "law"}]
    documents = tables.table("documents", [KEY | place for place in places])
    keys = cases.select("doc_id", "task", "path")
    about = {"benchmark": "demo", "split": "test"}
    findings = [
        Finding("a", "slice", cases=keys.head(2), system="ocr", **about),
        Finding("b", "systems", cases=keys, system="ocr, chat", **about),
        Finding("c", "slice", cases=keys, system="nobody", **about),
        Finding("d", "slice", cases=keys, system="chat", **about),
    ]
    # Two systems read the same documents.
    twice = pl.concat([documents, documents])
    made = gallery.errors(
        cases, documents=twice, by=["length", "domain", "tags"], findings=findings
    )
    assert [case["slices"] for case in made.cases] == [
        {"length": "5–9", "domain": "tax", "tags": ["x", "y"], "modality": "textual"},
        {"length": "1–4", "domain": "law", "tags": [], "modality": None},
        {"length": "1–4", "domain": None, "tags": None, "modality": None},
    ]
    assert [case["finding"] for case in made.cases] == [[1, 2], [], [2, 4]]
    assert made.payload["claims"] == ["a", "b", "c", "d"]
    with pytest.raises(UnknownName, match="column to slice by"):
        gallery.errors(cases, documents=documents, by=["domian"])


@pytest.mark.browser
def test_frame_for_lab_draws_its_cards_and_runs_nothing_else(root, tmp_path, monkeypatch):
    monkeypatch.delenv("FORMLAB_REPORT", raising=False)
    evil = "</script><script>parent.pwned=1</script><img src=x onerror=parent.pwned=2>"
    made = shown(root, BOX | {"gold": evil, "pred": "x", "path": evil}, {"outcome": "missing"})
    page = made._repr_mimebundle_()["text/html"]
    assert page.startswith('<iframe sandbox="allow-scripts allow-downloads" ')
    assert page.count("<") == 2
    (tmp_path / "lab.html").write_text(page)
    with browser.page(tmp_path / "lab.html") as visit:
        frame = visit.page.frame_locator("iframe")
        expect(frame.locator(".fl-card")).to_have_count(2)
        expect(frame.locator(".fl-card").first).to_contain_text(evil)
        frame.locator(".fl-card").first.click()
        expect(frame.locator("dialog[open] img")).to_have_count(1)
        assert visit.page.evaluate("typeof pwned") == "undefined"
        assert visit.trouble == []


@pytest.mark.browser
def test_cases_chosen_in_the_frame_are_selected_in_python(root, tmp_path, monkeypatch):
    monkeypatch.delenv("FORMLAB_REPORT", raising=False)
    made = shown(root, *({"path": f"/{n}", "kind": "ab"[n % 2]} for n in range(5)))
    assert made.selected["path"].to_list() == ["/0", "/1", "/2", "/3", "/4"]
    frame = made._repr_mimebundle_()["text/html"]
    message = "{formlab: 'selection', line: 'x', rows: [0]}"
    evil = f'<iframe srcdoc="<script>parent.postMessage({message}, `*`)</script>"></iframe>'
    listener = made._listener
    (tmp_path / "lab.html").write_text(frame + evil)
    with browser.page(tmp_path / "lab.html") as visit:
        visit.page.evaluate(
            """async ([source, token]) => {
                const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
                window.values = { token };
                window.saved = [];
                const model = { get: (name) => values[name], save_changes: () => saved.push(0),
                  set: (name, value) => { values[name] = value; }, on: () => {} };
                (await import(url)).default.render({ model, el: document.createElement("div") });
                postMessage({ formlab: "selection", line: "", rows: [1] }, "*");
                const evil = document.querySelectorAll("iframe")[1];
                evil.srcdoc += " ";
            }""",
            [listener._esm, listener.token],
        )
        visit.page.frame_locator("iframe >> nth=0").get_by_label("Kind").select_option("b")
        until_seen(visit.page, lambda: visit.page.evaluate("saved.length"))
        assert visit.page.evaluate("saved.length") == 1
        assert visit.page.evaluate("values.line") == "slice=kind:b"
        listener.rows = visit.page.evaluate("values.rows")
    assert made.selected["path"].to_list() == ["/1", "/3"]
    # Numbers of another gallery, from a page that is hostile, reach no other row.
    listener.rows = [99, 4, -1]
    assert made.selected["path"].to_list() == ["/4"]
    assert listener.bundle()["text/plain"] == ""


@pytest.fixture
def pdf(root):
    """The page of `root` as the first of two in a PDF that is 800 points wide."""
    with Image.open(root / "page.png") as first:
        blank = Image.new("L", first.size, 200)
        first.save(root / "page.pdf", resolution=72, save_all=True, append_images=[blank])
    return root


def of_pdf(root, row, width):
    documents = tables.table("documents", [KEY | {"image": "page.pdf", "width": width}])
    return gallery.errors(tables.table("cases", [ROW | row]), root=root, documents=documents)


@pytest.mark.parametrize("width", [None, 1600])
def test_box_on_a_pdf_is_placed_in_the_unit_of_its_document(pdf, width):
    scale = (width or 800) / 800
    made = of_pdf(pdf, {name: value * scale for name, value in BOX.items()}, width)
    image = image_of(made, made.cases[0])
    x, y, across, down = made.cases[0]["boxes"]["gold"]
    at = [int((x + across / 2) * image.width), int((y + down / 2) * image.height)]
    assert image.getpixel(tuple(at)) < 60
    assert image.getpixel((int((x - 0.05) * image.width), at[1])) > 200


def test_page_of_the_gold_box_is_shown_and_what_is_elsewhere_is_named(pdf):
    boxes = {f"pred_{name}": value for name, value in BOX.items()}
    case = of_pdf(pdf, BOX | boxes | {"page": 1, "pred_page": 2}, None).cases[0]
    assert set(case["boxes"]) == {"gold"}
    assert case["why"] == "the predicted box is on page 2"
    alone = of_pdf(pdf, boxes | {"page": 1, "pred_page": 2}, None)
    assert set(alone.cases[0]["boxes"]) == {"pred"}
    assert 190 < image_of(alone, alone.cases[0]).getpixel((5, 5)) < 210
    absent = of_pdf(pdf, BOX | {"page": 9}, None).cases[0]
    assert absent["image"] is None
    assert absent["why"].startswith("no page 9, the PDF has 2")


def test_of_too_many_each_cause_has_its_share_in_the_order_of_the_cases(root):
    causes = ["digit"] * 6 + ["clipped"] * 3 + [None]
    rows = [{"doc_id": str(i % 3), "path": f"/{i}", "cause": c} for i, c in enumerate(causes)]
    made = shown(root, *rows, {"outcome": "match", "path": "/right"}, most=5)
    paths = [int(case["path"][1:]) for case in made.cases]
    assert paths == sorted(paths)
    # Of 6, 3 and 1 of ten, five are 3, 1.5 and 0.5: what is due first comes first.
    assert made.drawn == [["digit", 3, 6], ["clipped", 2, 3], ["mismatch", 0, 1]]
    assert (len(made), made.total, made.asked) == (5, 10, 11)
    assert len(shown(root, *rows, most=None)) == 10
    assert [c["stage"] for c in shown(root, {"cause": "digit"}, {}).cases] == ["characters", None]


@pytest.mark.parametrize(
    ("gold", "pred", "marked"),
    [
        # By word: what is missing or extra is a whole word.
        ("Rheumatic fever", "fever", "-[Rheumatic ]fever"),
        ("fever", "Rheumatic fever", "+[Rheumatic ]fever"),
        ("total amount due", "amount due now", "-[total ]amount due+[ now]"),
        # By character, where words are alike.
        ("9.00", "9.0O", "9.0-[0]+[O]"),
        ("1,234.00", "1234.00", "1-[,]234.00"),
        ("free from 05:30", "free frorn 05:30", "free fro-[m]+[rn] 05:30"),
        ("HARBOUR BOARD", "HARBOURBOARD", "HARBOUR-[ ]BOARD"),
        # Words that are not alike are exchanged whole, and so are values.
        ("Dr. J. Doe", "Dr. Mary Doe", "Dr. -[J.]+[Mary] Doe"),
        ("tea", "Sugar 12", "-[tea]+[Sugar 12]"),
        ("John Smith", "Mary Poppins", "-[John Smith]+[Mary Poppins]"),
        ("9.00", "8.11", "-[9.00]+[8.11]"),
    ],
)
def test_diff_marks_no_more_than_what_differs(gold, pred, marked):
    signs = {"equal": "{}", "delete": "-[{}]", "insert": "+[{}]"}
    assert "".join(signs[op].format(text) for op, text in diff(gold, pred)) == marked


def test_pictures_are_of_the_first_cases_and_evenly_of_the_others(root):
    made = shown(root, *[BOX | {"path": f"/{n}"} for n in range(40)], pictures=30)
    places = [n for n, case in enumerate(made.cases) if case["image"]]
    assert places[:24] == list(range(24))
    assert len(places) == 30
    assert places[-1] > 35
    assert made.cases[39]["why"] == "pictures are shown of 30 cases"
