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
from formlab.folders import Evaluation
from formlab.gallery.cases import diff
from tests.states import until_seen

KEY = {"benchmark": "demo", "split": "test", "doc_id": "1"}
ROW = KEY | {"system": "ocr", "task": "value", "outcome": "mismatch", "gold": "a", "pred": "b"}
BOX = {"x0": 400.0, "y0": 500.0, "x1": 480.0, "y1": 516.0}
PRED = {f"pred_{name}": value for name, value in BOX.items()}


@pytest.fixture
def root(tmp_path):
    """A page with a black box, a broken one, and both pages of a PDF that is 800 points wide."""
    page = Image.new("L", (800, 1000), 255)
    ImageDraw.Draw(page).rectangle((400, 500, 480, 516), fill=0)
    page.save(tmp_path / "page.png")
    blank = Image.new("L", page.size, 200)
    page.save(tmp_path / "page.pdf", resolution=72, save_all=True, append_images=[blank])
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    return tmp_path


def shown(root, *rows, image="page.png", width=None, **options):
    documents = tables.table("documents", [KEY | {"image": image, "width": width}])
    cases = tables.table("cases", [ROW | row for row in rows])
    names = {name: ROW[name] for name in ("benchmark", "split", "system")}
    of = Evaluation(documents, cases, tables.table("scores", []), **names, root=root)
    return gallery.errors(cases, of=of, **options)


def image_of(made, case):
    source = made.images[case["image"]]["src"]
    return Image.open(io.BytesIO(base64.b64decode(source.split(",")[1]))).convert("L")


def test_view_shows_exactly_the_gold_box(root):
    made = shown(root, BOX)
    image = image_of(made, made.cases[0])
    # The box is 80 x 16 at 400, 500; the least view of 240 x 84 lies around it: left 320, top 466.
    assert image.size == (240, 84)
    box = [round(x, 5) for x in (80 / 240, 34 / 84, 80 / 240, 16 / 84)]
    assert made.cases[0]["boxes"] == {"gold": box}
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


@pytest.mark.parametrize("width", [None, 1600])
def test_box_on_a_pdf_is_placed_in_the_unit_of_its_document(root, width):
    row = {name: value * (width or 800) / 800 for name, value in BOX.items()}
    made = shown(root, row, image="page.pdf", width=width)
    image = image_of(made, made.cases[0])
    x, y, across, down = made.cases[0]["boxes"]["gold"]
    at = [int((x + across / 2) * image.width), int((y + down / 2) * image.height)]
    assert image.getpixel(tuple(at)) < 60
    assert image.getpixel((int((x - 0.05) * image.width), at[1])) > 200


def test_page_of_the_gold_box_is_shown_and_what_is_elsewhere_is_named(root):
    pages = {"page": 1, "pred_page": 2}
    rows = [BOX | PRED | pages, PRED | pages, BOX | {"page": 9}]
    made = shown(root, *rows, image="page.pdf")
    both, alone, absent = made.cases
    assert set(both["boxes"]) == {"gold"}
    assert both["why"] == "the predicted box is on page 2"
    assert set(alone["boxes"]) == {"pred"}
    assert 190 < image_of(made, alone).getpixel((5, 5)) < 210
    assert absent["image"] is None
    assert absent["why"].startswith("no page 9, the PDF has 2")


def test_pictures_are_of_the_first_cases(root):
    made = shown(root, *[BOX | {"path": f"/{n}"} for n in range(4)], pictures=3)
    assert [bool(case["image"]) for case in made.cases] == [True, True, True, False]
    assert made.cases[3]["why"] == "pictures are shown of 3 cases"


def test_of_too_many_each_cause_has_its_share_in_the_order_of_the_cases(root):
    causes = ["digit"] * 6 + ["clipped"] * 3 + [None]
    rows = [{"doc_id": str(i % 3), "path": f"/{i}", "cause": c} for i, c in enumerate(causes)]
    made = shown(root, *rows, {"outcome": "match", "path": "/right"}, most=5)
    paths = [int(case["path"][1:]) for case in made.cases]
    assert paths == sorted(paths)
    # Of 6, 3 and 1 of ten, five are 3, 1.5 and 0.5: what is due first comes first.
    drawn = {cause: made.frame["cause"].to_list().count(cause) for cause in causes}
    assert drawn == {"digit": 3, "clipped": 2, None: 0}
    assert (len(made), made.total, made.asked) == (5, 10, 11)
    assert len(shown(root, *rows, most=None)) == 10
    assert [c["stage"] for c in shown(root, {"cause": "digit"}, {}).cases] == ["characters", None]


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
    scores = tables.table("scores", [])
    of = [Evaluation(documents, cases, scores, **about, system=name) for name in ("ocr", "chat")]
    by = ["length", "domain", "tags"]
    made = gallery.errors(cases, of=of, by=by, findings=findings)
    values = [tuple(case["slices"][name] for name in (*by, "modality")) for case in made.cases]
    assert values == [
        ("5–9", "tax", ["x", "y"], "textual"), ("1–4", "law", [], None), ("1–4", None, None, None),
    ]  # fmt: skip
    assert [case["finding"] for case in made.cases] == [[1, 2], [], [2, 4]]
    assert made.claims == ["a", "b", "c", "d"]
    with pytest.raises(UnknownName, match="column to slice by"):
        gallery.errors(cases, of=of, by=["domian"])


def test_diff_rebuilds_both_sides():
    rng = random.Random(5)
    for _ in range(3_000):
        gold, pred = ("".join(rng.choices("abc é😀.,1", k=rng.randrange(14))) for _ in range(2))
        runs = diff(gold, pred)
        assert "".join(text for op, text in runs if op != "insert") == gold
        assert "".join(text for op, text in runs if op != "delete") == pred
        assert all(text for _, text in runs)
        assert all(a[0] != b[0] for a, b in pairwise(runs))


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


LISTEN = """async ([source, token]) => {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    window.values = { token };
    window.saved = [];
    const model = { get: (name) => values[name], save_changes: () => saved.push(0),
      set: (name, value) => { values[name] = value; }, on: () => {} };
    (await import(url)).default.render({ model, el: document.createElement("div") });
    postMessage({ formlab: "selection", rows: [1] }, "*");
    document.querySelectorAll("iframe")[1].srcdoc += " ";
}"""


@pytest.mark.browser
def test_frame_draws_its_cards_runs_nothing_else_and_tells_python(root, tmp_path, monkeypatch):
    monkeypatch.delenv("FORMLAB_REPORT", raising=False)
    evil = "</script><script>parent.pwned=1</script><img src=x onerror=parent.pwned=2>"
    rows = [BOX | {"path": f"/{n}{evil}", "kind": "ab"[n % 2], "gold": evil} for n in range(5)]
    made = shown(root, *rows)
    paths = [row["path"] for row in rows]
    assert made.selected["path"].to_list() == paths
    frame, listener = made._repr_mimebundle_()["text/html"], made._listener
    assert frame.startswith('<iframe sandbox="allow-scripts allow-downloads" ')
    assert frame.count("<") == 2
    message = "{formlab: 'selection', rows: [0]}"
    other = f'<iframe srcdoc="<script>parent.postMessage({message}, `*`)</script>"></iframe>'
    (tmp_path / "lab.html").write_text(frame + other)
    with browser.page(tmp_path / "lab.html") as visit:
        page, inside = visit.page, visit.page.frame_locator("iframe >> nth=0")
        page.evaluate(LISTEN, [listener._esm, listener.token])
        expect(inside.locator(".fl-card")).to_have_count(5)
        expect(inside.locator(".fl-card").first).to_contain_text(evil)
        inside.get_by_label("Kind").select_option("b")
        inside.locator(".fl-card").first.click()
        expect(inside.locator("dialog[open] img")).to_have_count(1)
        inside.get_by_label("Tags").fill("blurred, ask")
        inside.get_by_label("Tags").press("Tab")
        until_seen(page, lambda: page.evaluate("saved.length") == 2)
        for name in ("rows", "tags"):
            setattr(listener, name, page.evaluate(f"values.{name}"))
        assert page.evaluate("typeof pwned") == "undefined"
    assert made.selected["path"].to_list() == [paths[1], paths[3]]
    assert made.tagged.select("path", "tags").rows() == [(paths[1], ["blurred", "ask"])]
    # Numbers of another gallery, from a page that is hostile, reach no other row.
    listener.rows, listener.tags = [99, 4, -1], [[99, ["x"]]]
    assert made.selected["path"].to_list() == [paths[4]]
    assert made.tagged.height == 0
