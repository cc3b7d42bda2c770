"""The gallery as a page in Chromium: counts beside polars' own."""

import dataclasses
import re

import polars as pl
import pytest
from playwright.sync_api import expect

from formlab import browser, evaluate, gallery, readers, tables
from formlab.gallery import inline

pytestmark = pytest.mark.browser

COUNT = 130
KINDS = ("money", "date", "string")
CAUSES = {"mismatch": "digit", "missing": "missed", "spurious": "spurious", "match": None}


def row(i):
    outcome = ("mismatch", "missing", "spurious", "mismatch", "match")[i % 5]
    return {
        "benchmark": "demo", "split": "test", "doc_id": f"d{i % 4}", "system": "ocr",
        "task": "value", "path": f"/field/{i}", "kind": KINDS[i % 3], "outcome": outcome,
        "cause": CAUSES[outcome], "gold": f"total {i}.00", "pred": f"total {i}.O0",
        "confidence": i / COUNT,
    }  # fmt: skip


CASES = tables.table("cases", [row(i) for i in range(COUNT)])


@pytest.fixture
def page(tmp_path):
    """The page as it opens; nothing may have failed when a test ends."""
    made = gallery.errors(CASES, right=True)
    (tmp_path / "gallery.html").write_text(inline.document(made.payload), "utf-8")
    with browser.page(tmp_path / "gallery.html") as visit:
        yield visit.page
        assert visit.trouble == []


def shown(page):
    return int(re.match("[0-9]+", page.locator(".fl-count").text_content())[0])


def test_selection_shows_its_cases_and_a_key_opens_one(page):
    page.evaluate("""() => {
        window.shown = formlabGallery.galleries[0];
        window.heard = [];
        addEventListener('formlab-selection', (event) => heard.push(event.detail));
        window.read = formlabGallery.selection.read;
    }""")
    for line, chosen in {
        "slice=kind:money": pl.col("kind") == "money",
        "cause=digit&slice=kind:date": (pl.col("cause") == "digit") & (pl.col("kind") == "date"),
        "doc_id=d2&outcome=missing": (pl.col("doc_id") == "d2") & (pl.col("outcome") == "missing"),
        # Several values of a column are alternatives, and null is a value.
        "slice=cause&cause=missed": pl.col("cause").is_null() | (pl.col("cause") == "missed"),
    }.items():
        count = CASES.filter(chosen).height
        assert page.evaluate("line => shown.choose(read(line))", line) == shown(page) == count
    chips = page.locator(".fl-only")
    expect(chips).to_have_text(["cause: no value ×", "cause: missed ×"])
    assert page.evaluate("heard") == []
    page.get_by_role("button", name="Clear all").click()
    assert shown(page) == COUNT
    page.get_by_label("Kind", exact=True).select_option("date")
    heard = page.evaluate("heard.at(-1)")
    assert heard["line"] == "slice=kind:date"
    assert len(heard["keys"]) == len(set(heard["keys"])) == CASES.filter(kind="date").height
    knows = {"slice=kind:x": True, "slice=scanner:A": False, "finding=1": False}
    assert {line: page.evaluate("line => shown.knows(read(line))", line) for line in knows} == knows
    assert page.evaluate("shown.open('0000000000')") is False
    assert page.evaluate("shown.open(shown.cases[7].key)") is True
    # The title of a case without a label: the number of its path, behind its kind.
    expect(page.locator("dialog[open] h3")).to_have_text("date 7")
    link = page.locator("dialog .fl-link").get_attribute("href")
    assert link == f"#case={page.evaluate('shown.cases[7].key')}"


def test_search_order_slider_and_tags_find_cases_again(page):
    page.get_by_label("Confidence at least").fill("0.5")
    assert shown(page) == CASES.filter(pl.col("confidence") >= 0.5).height
    page.get_by_label("Confidence at least").fill("0")
    page.get_by_label("Sort").select_option("most confident")
    expect(page.locator(".fl-card").first).to_contain_text(f"total {COUNT - 1}.00")
    page.get_by_label("Sort").select_option("as given")
    page.locator(".fl-card").nth(3).click()
    expect(page.locator("dialog[open] h3")).to_have_text("money 3")
    page.get_by_label("Tags").fill("blurred, ask")
    page.get_by_label("Tags").press("Tab")
    page.get_by_role("button", name="All cases of this document").click()
    assert shown(page) == CASES.filter(doc_id="d3").height
    page.locator(".fl-only").click()
    page.get_by_label("Search").fill("blurred")
    assert shown(page) == 1
    expect(page.locator(".fl-chip.tag")).to_have_text(["blurred", "ask"])


def test_a_case_has_the_whole_answer_in_a_fold(tmp_path):
    corpus = readers.corpus({"a": {"total": "9"}, "b": {"total": "7"}})
    given = readers.read_predictions({"a": {"total": "8"}, "b": {"total": "7"}}, corpus)
    key = {"benchmark": "own", "split": corpus.split, "system": "another name", "task": "text"}
    text = '<img src=x onerror="alert(1)">\nThe total is 8.'
    responses = tables.table("responses", [{"doc_id": "a", "status": "ok", "text": text}], **key)
    result = evaluate(corpus, dataclasses.replace(given, responses=responses))
    made = gallery.errors(result, right=True)
    assert made.replies == [text]
    (tmp_path / "gallery.html").write_text(inline.document(made.payload), "utf-8")
    with browser.page(tmp_path / "gallery.html") as visit:
        for doc_id, count in {"a": 1, "b": 0}.items():
            visit.page.locator(".fl-card", has_text=f"{doc_id} /total").click()
            fold = visit.page.locator("details", has_text="The whole answer")
            expect(fold).to_have_count(count)
            if count:
                fold.locator("summary").click()
                expect(fold.locator(".fl-value")).to_have_text(text, use_inner_text=True)
            visit.page.keyboard.press("Escape")
