"""From a mark to its cases: bars, cells and rows of a page, and the address that they give."""

import re
from urllib.parse import unquote

import polars as pl
import pytest
from playwright.sync_api import expect

from formlab import analysis, browser, charts, explore, gallery, selection
from formlab.errors import DataBroken
from formlab.gallery.cases import keys
from formlab.reports import figures
from formlab.reports import page as page_of
from tests.reports.conftest import whole_page
from tests.states import draw_all, until_seen
from tests.test_tables import ODD as ODD_NAMES

pytestmark = pytest.mark.browser

BY = ["kind", "length"]
CLIPPED, LONG = "#cause=clipped", "#slice=level:field&slice=length:10–19"
QUESTIONS = "#slice=level:field&slice=kind:question&slice=length:5–9"
ODD = [
    *ODD_NAMES, "!'()*~.-_", "😀", "\ufeffx", "%2F", "\x00", "__proto__", "1",
    "<img src=x onerror=pwned=1>",
]  # fmt: skip
LINES = [
    "", "x", "slice=", "slice=%zz:%E2%80", "slice=a:%E2a%80", "slice=a:%e2é%ff%F0%9F", "case=12",
    "case=0123456789&cause=x", "cause=a&&b", "cause=%", "r.html#slice=a:b:c", "cause=a=b",
    "colour=red", "slice=%41", "&cause=x&", "case", "=x", "slice=a:%ED%A0%80", "slice=a:%C0%80",
    "slice=a:+", "finding=2",
]  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return analysis.open_evaluation(benchmark="funsd", system="ocr")


@pytest.fixture(scope="module")
def page(result, tmp_path_factory):
    """A page with bars, a heatmap, two tables and a gallery of all errors."""
    summary = analysis.summarise(result, by=BY, average="pooled", resamples=0)
    rows = summary.filter(metric="cer").drop_nulls("slice_by")
    cells = analysis.surface(result, "cer", *BY, resamples=0)
    wrong = wrong_of(result.cases)
    made = gallery.errors(wrong, of=result, by=BY, most=None, pictures=0)
    objects = [
        ("vega", charts.bars(rows.filter(slice_by="kind"), "slice_value", metric="cer").to_dict()),
        ("vega", charts.heatmap(cells, "x_value", "y_value").to_dict()),
        ("vega", charts.bars(analysis.cause_counts(result.cases), "cause", "cases").to_dict()),
        ("vega", charts.bars(rows.with_columns(slice_by=pl.lit("ink")), "slice_value").to_dict()),
        ("table", charts.table(rows, "slice_value", "value").payload),
        ("table", charts.table(wrong.select("path", "pred"), rows=40).payload),
        ("gallery", made.payload),
    ]  # fmt: skip
    return report(tmp_path_factory.mktemp("links") / "page.html", objects)


def report(file, objects):
    """A page of these kinds and payloads, with what draws them."""
    outputs = [page_of.Output(kind, data, "alt") for kind, data in objects]
    figures.draw(outputs)
    shown = map(page_of.markup, outputs)
    file.write_text(whole_page(f'<h2 id="part-1">Bars</h2>{"".join(shown)}'), "utf-8")
    return file


def wrong_of(cases):
    return cases.filter(pl.col("outcome").is_in(["mismatch", "missing", "spurious"]))


def drawn(page):
    """Bring every chart into view once, without motion, and wait until it is drawn."""
    page.emulate_media(reduced_motion="reduce")
    draw_all(page)


def chosen(page, seen=lambda view: True):
    """The page's address, and the keys of the cases that its gallery shows, once `seen` holds."""
    see = "[location.hash, formlabReport.links.galleries[0].keys()]"

    def view():
        address, found = page.evaluate(see)
        shown = (unquote(address), sorted(found))
        return seen(shown) and shown

    page.wait_for_timeout(50)
    return until_seen(page, view)


def shows(page, result, address):
    """Whether the page comes to show just the cases that this address selects in Python."""
    wanted = (address, expected(result, address))
    return bool(chosen(page, lambda view: view == wanted))


def expected(result, address):
    """The keys of the wrong cases that an address selects in Python."""
    return sorted(keys(wrong_of(analysis.select(result, quoted(address)))))


def quoted(address):
    return address.replace("–", "%E2%80%93").replace(" ", "%20")


def mark(page, chart, *words):
    """The first mark of a chart whose label has all these words."""
    marks = page.locator(".fl-object").nth(chart).locator("a[href]:visible")
    labels = marks.evaluate_all("marks => marks.map(m => m.querySelector('title').textContent)")
    return marks.nth(next(n for n, text in enumerate(labels) if all(w in text for w in words)))


def test_bars_cells_and_rows_lead_to_exactly_their_cases(page, result):
    every = expected(result, "")
    with browser.page(page) as visit:
        drawn(visit.page)
        assert shows(visit.page, result, "")
        for place, address in (
            (mark(visit.page, 0, "slice_value: header"), "#slice=level:field&slice=kind:header"),
            (mark(visit.page, 1, "x value: question", "y value: 5–9"), QUESTIONS),
            (mark(visit.page, 2, "cause: clipped"), CLIPPED),
            (visit.page.locator("tr.fl-leads", has_text="10–19").locator("td").last, LONG),
        ):  # fmt: skip
            place.click()
            assert shows(visit.page, result, address)
            assert 0 < len(expected(result, address)) < len(every)
            expect(visit.page.locator(".fl-gallery")).to_be_in_viewport()
            visit.page.go_back()
            assert shows(visit.page, result, "")
        # What the page's gallery cannot show leads nowhere.
        expect(visit.page.locator(".fl-object").nth(3).locator("a[href]")).to_have_count(0)
        expect(visit.page.locator(".fl-object").nth(5).locator("a[href]")).to_have_count(0)
        assert visit.trouble == []
    with browser.page(f"{page.as_uri()}{quoted(QUESTIONS)}") as visit:
        assert shows(visit.page, result, QUESTIONS)


def test_keys_lead_to_cases_and_addresses_are_read_as_python_reads_them(page, result):
    case = expected(result, "slice=kind:header")[0]
    with browser.page(f"{page.as_uri()}#case={case}") as visit:
        expect(visit.page.locator("dialog[open]")).to_have_count(1)
        visit.page.keyboard.press("Escape")
        drawn(visit.page)
        mark(visit.page, 0, "slice_value: header").press("Enter")
        assert shows(visit.page, result, "#slice=level:field&slice=kind:header")
        visit.page.go_back()
        assert shows(visit.page, result, "")
        # Filters of the gallery are in the address; a heading's anchor changes none of them.
        visit.page.get_by_label("Kind", exact=True).select_option("question")
        assert shows(visit.page, result, "#slice=kind:question")
        go(visit.page, "#part-1")
        assert chosen(visit.page) == ("#part-1", expected(result, "slice=kind:question"))
        # Nothing of what is hostile or unknown is shown, and nothing is filtered by it.
        for bad in HOSTILE:
            go(visit.page, "#")
            assert shows(visit.page, result, "")
            go(visit.page, bad)
            none = bad.startswith("#slice=kind:")
            assert len(chosen(visit.page)[1]) == (0 if none else len(expected(result, "")))
        expect(visit.page.locator(".fl-notice")).to_contain_text("<img src=x")
        assert visit.page.locator("img[src=x]").count() == 0
        table = visit.page.locator(".fl-object").nth(5)
        expect(table.locator("tbody tr:visible")).to_have_count(15)
        table.get_by_role("searchbox").fill("/ENTITIES/1")
        rows = table.locator("tbody tr:visible").all_text_contents()
        assert rows
        assert all("/entities/1" in row for row in rows)
        expect(table.get_by_role("status")).to_have_text(f"{len(rows)} of 40")
        table.get_by_role("searchbox").fill("")
        table.get_by_role("button", name="show all 40 rows").click()
        expect(table.locator("tbody tr:visible")).to_have_count(40)
        assert visit.page.evaluate("globalThis.pwned") is None
        selections = [{name: [*ODD, None], "kind": ["answer"]} for name in filter(None, ODD)]
        written = [selection.text(each) for each in selections]
        script = "all => all.map(one => formlabGallery.selection.text(new Map(one)))"
        assert visit.page.evaluate(script, [list(each.items()) for each in selections]) == written
        script = """lines => lines.map(line => {
            const chosen = formlabGallery.selection.read(line);
            return chosen && [...chosen];
        })"""
        lines = [*written, *LINES]
        assert visit.page.evaluate(script, lines) == [in_python(line) for line in lines]
        assert visit.trouble == []


HOSTILE = [
    "#slice=%zz&cause=%E0%A4%A", "#slice=__proto__:x", "#javascript:pwned=1", "#finding=99",
    "#slice=ink:<img src=x onerror=pwned=1>", "#slice=kind:<img src=x onerror=pwned=1>",
]  # fmt: skip


def go(page, address):
    page.evaluate("to => { location.hash = to; }", address)


def in_python(line):
    try:
        return [list(pair) for pair in selection.read(line).items()]
    except DataBroken:
        return None


def test_a_finding_of_the_first_screen_leads_to_its_cases_in_the_explorer(result, tmp_path):
    explorer = explore.Explorer([result])
    explorer.findings = analysis.findings([result])
    first = charts.first_screen([result], explorer.findings)
    objects = [("cards", first.payload), ("explorer", explorer.payload)]
    with browser.page(report(tmp_path / "page.html", objects)) as visit:
        drawn(visit.page)
        links = visit.page.locator("a[href^='#finding=']")
        # The explorer has no cases of whole pages: such a finding has no link.
        rows = [row for row in first.payload["findings"]
                if explorer.findings[row["place"] - 1].about != "pages"]  # fmt: skip
        assert links.count() == len(rows) > 0
        for n, row in enumerate(rows):
            links.nth(n).click()
            address = f"finding={row['place']}"
            chosen = analysis.select(result, address, findings=explorer.findings)
            begin = re.compile(rf"^\s*{wrong_of(chosen).height} of ")
            expect(visit.page.locator(".fl-count"), row["claim"]).to_have_text(begin)
        assert visit.trouble == []
