"""The gallery as a page in Chromium: 130 cases, one of them hostile; counts beside polars' own."""

import re

import polars as pl
import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import expect

from formlab import browser, gallery, tables
from formlab.gallery import inline

pytestmark = pytest.mark.browser

COUNT = 130
EVIL = (
    "</script><script>globalThis.pwned=1</script><img src=x onerror=globalThis.pwned=2>"
    "<a href='javascript:globalThis.pwned=3'>x</a>"
    "\x1b[31m\x00\u202etxet \ud800 ${globalThis.pwned=4}"
)
KINDS = ("money", "date", "string")
OUTCOMES = ("mismatch", "missing", "spurious", "mismatch", "match")
CAUSES = {"mismatch": "digit", "missing": "missed", "spurious": "spurious", "match": None}


def row(i):
    outcome = OUTCOMES[i % 5]
    x, y = 40.0 + 90 * (i % 6), 60.0 + 11 * (i % 60)
    box = {"x0": x, "y0": y, "x1": x + 80, "y1": y + 9}
    rungs = dict.fromkeys(("exact", "normalised", "typed", "fuzzy"), outcome == "match")
    return {
        "benchmark": "demo", "split": "test", "doc_id": f"d{i % 4}", "system": "ocr",
        "task": "value", "path": f"/field/{i}", "kind": KINDS[i % 3], "outcome": outcome,
        "cause": CAUSES[outcome], "gold": None if outcome == "spurious" else f"total {i}.00",
        "pred": None if outcome == "missing" else f"total {i}.{'00' if rungs['exact'] else 'O0'}",
        "similarity": (i % 50) / 50,
        **rungs, **box, **{f"pred_{name}": value + 2 for name, value in box.items()},
    }  # fmt: skip


ROWS = [row(i) for i in range(COUNT - 1)] + [
    row(COUNT - 1) | dict.fromkeys(("path", "gold", "pred", "kind", "cause", "doc_id"), EVIL)
]
CASES = tables.table("cases", ROWS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for number in range(4):
        page = Image.new("L", (600, 800), 255)
        ImageDraw.Draw(page).rectangle((40, 60, 120, 69), fill=number * 20)
        page.save(folder / f"d{number}.png")
    return folder


def written(folder, name, cases=CASES, **options):
    documents = tables.table("documents", [
        {"benchmark": "demo", "split": "test", "doc_id": f"d{n}", "image": f"d{n}.png"}
        for n in range(4)
    ])  # fmt: skip
    made = gallery.errors(cases, root=folder, documents=documents, right=True, **options)
    (folder / name).write_text(inline.document(made.payload), "utf-8")
    return folder / name


@pytest.fixture(scope="module")
def opened(folder):
    with browser.page(written(folder, "gallery.html")) as visit:
        yield visit


@pytest.fixture
def page(opened, folder):
    """The page as it opens; nothing may have run, loaded or failed when a test ends."""
    opened.page.set_viewport_size({"width": 1280, "height": 800})
    opened.page.goto((folder / "gallery.html").as_uri())
    yield opened.page
    assert opened.page.evaluate("typeof globalThis.pwned") == "undefined"
    assert opened.trouble == []


def shown(page):
    return re.match("[0-9,]+", page.locator(".fl-count").text_content())[0]


def name(i):
    """The title of a case without a label: the number of its path, behind its kind."""
    return f"{KINDS[i % 3]} {i}"


def heading(page):
    return page.locator("dialog[open] h3").text_content()


def test_selection_shows_its_cases_and_a_key_opens_one(page):
    page.evaluate("""() => {
        window.shown = formlabGallery.galleries[0];
        window.heard = [];
        addEventListener('formlab-selection', (event) => heard.push(event.detail));
        window.choose = (line) => shown.choose(formlabGallery.selection.read(line));
    }""")
    lines = {
        "slice=kind:money": {"kind": "money"},
        "cause=digit&slice=kind:date": {"cause": "digit", "kind": "date"},
        "doc_id=d2&outcome=missing": {"doc_id": "d2", "outcome": "missing"},
    }
    for line, equal in lines.items():
        count = tables.only(CASES, **equal).height
        assert page.evaluate("line => choose(line)", line) == count
        assert shown(page) == str(count)
        parts = page.evaluate("shown.line()").split("&")
        assert sorted(parts) == sorted(line.split("&"))
    # Several values of a column are alternatives, and null is a value.
    count = CASES.filter(pl.col("cause").is_null() | (pl.col("cause") == "missed")).height
    assert page.evaluate("line => choose(line)", "slice=cause&cause=missed") == count
    expect(page.locator(".fl-only")).to_have_text("cause: none or missed ×")
    assert page.evaluate("heard") == []
    page.locator(".fl-only").click()
    assert shown(page) == str(COUNT)
    page.get_by_label("Kind", exact=True).select_option("date")
    heard = page.evaluate("heard.at(-1)")
    assert heard["line"] == "slice=kind:date"
    assert len(heard["keys"]) == len(set(heard["keys"])) == CASES.filter(kind="date").height
    knows = "line => shown.knows(formlabGallery.selection.read(line))"
    assert page.evaluate(knows, "slice=kind:x") is True
    assert page.evaluate(knows, "slice=scanner:A") is False
    assert page.evaluate(knows, "finding=1") is False
    assert page.evaluate("shown.open('0000000000')") is False
    assert page.evaluate("shown.open(shown.cases[7].key)") is True
    assert heading(page) == name(7)
    link = page.locator("dialog .fl-link").get_attribute("href")
    assert link == f"#case={page.evaluate('shown.cases[7].key')}"


def test_tags_and_the_chosen_cases_of_a_document_are_found_again(page):
    page.locator(".fl-card").nth(3).click()
    assert heading(page) == name(3)
    page.get_by_label("Tags").fill("blurred, ask")
    page.get_by_label("Tags").press("Tab")
    page.get_by_role("button", name="All cases of this document").click()
    same = CASES.filter(pl.col("doc_id") == "d3").height
    assert shown(page) == str(same)
    page.locator(".fl-only").click()
    page.get_by_label("Search").fill("blurred")
    assert shown(page) == "1"
    expect(page.locator(".fl-chip.tag")).to_have_text(["blurred", "ask"])
