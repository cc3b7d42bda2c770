"""From a mark to its cases: bars, cells and rows of a page, and the address that they give."""

import polars as pl
import pytest

from formlab import analysis, browser, charts, gallery
from formlab.gallery.inline import policy
from formlab.reports import _draw, page_assets

pytestmark = pytest.mark.browser

BY = ["kind", "length"]
ODD = [
    "a:b", "a&b=c", "50 %", "#", "ü–½", "", "null", " ", "slice", "\u2028", "a/b", "!'()*~.-_",
    "😀", "\ufeffx", "%2F", "\x00", "__proto__", "1", "<img src=x onerror=pwned=1>",
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
    summary = analysis.summarise(result, by=BY, resamples=0)
    rows = summary.filter(metric="cer").drop_nulls("slice_by")
    cells = analysis.surface(result, "cer", *BY, resamples=0)
    wrong = wrong_of(result.cases)
    made = gallery.errors(wrong, documents=result.documents, by=BY, most=None)
    objects = [
        ("vega", charts.bars(rows.filter(slice_by="kind"), "slice_value", metric="cer")),
        ("vega", charts.heatmap(cells, "x_value", "y_value")),
        ("vega", charts.cause_bars(result.cases)),
        ("vega", charts.bars(rows.with_columns(slice_by=pl.lit("ink")), "slice_value")),
        ("table", charts.table(rows, "slice_value", "value")._payload()),
        ("table", charts.table(wrong.select("path", "pred"), rows=40)._payload()),
        ("gallery", made.payload),
    ]  # fmt: skip
    shown = [
        _draw.output({f"application/vnd.formlab.{kind}+json": payload(kind, data)})
        for kind, data in objects
    ]
    sources = list(page_assets.scripts({"vega"}).values())
    file = tmp_path_factory.mktemp("links") / "page.html"
    file.write_text(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(sources)}">'
        f"<style>{page_assets.styles()}</style></head><body><main>"
        f'<h2 id="part-1">Bars</h2>{"".join(shown)}</main>'
        f"{''.join(f'<script>{source}</script>' for source in sources)}</body></html>",
        "utf-8",
    )
    return file


def payload(kind, data):
    return {"spec": data.to_dict(), "alt": data.description} if kind == "vega" else data


def wrong_of(cases):
    return cases.filter(pl.col("outcome").is_in(["mismatch", "missing", "spurious"]))


def drawn(page):
    """Bring every chart into view once, and wait until it is drawn."""
    page.emulate_media(reduced_motion="reduce")
    waiting = """() => {
        const left = [...document.querySelectorAll('.fl-object')].filter(b => !b.dataset.state);
        left[0]?.scrollIntoView();
        return left.length;
    }"""
    while page.evaluate(waiting):
        page.wait_for_timeout(50)


def chosen(page):
    """The page's address, and the keys of the cases that its gallery shows."""
    page.wait_for_timeout(100)
    see = "[decodeURIComponent(location.hash), formlabReport.links.galleries[0].keys()]"
    address, keys = page.evaluate(see)
    return address, sorted(keys)


def expected(result, address):
    """The keys of the wrong cases that an address selects in Python."""
    made = gallery.errors(analysis.select(result, quoted(address)), most=None)
    return sorted(case["key"] for case in made.cases)


def quoted(address):
    return address.replace("–", "%E2%80%93").replace(" ", "%20")


def mark(page, chart, *words):
    """The first mark of a chart whose label has all these words."""
    marks = page.locator(".fl-object").nth(chart).locator(".fl-link[tabindex]")
    labels = marks.evaluate_all("marks => marks.map(m => m.getAttribute('aria-label'))")
    return marks.nth(next(n for n, text in enumerate(labels) if all(w in text for w in words)))


def test_bars_cells_and_rows_lead_to_exactly_their_cases(page, result):
    with browser.page(page) as visit:
        drawn(visit.page)
        every = expected(result, "")
        assert chosen(visit.page) == ("", every)
        seen = []
        for place in (
            mark(visit.page, 0, "slice_value: header"),
            mark(visit.page, 1, "x value: question", "y value: 5–9"),
            mark(visit.page, 2, "cause: clipped", "kind: answer"),
            visit.page.locator("tr.fl-link", has_text="10–19"),
        ):
            place.click()
            address, keys = chosen(visit.page)
            assert keys == expected(result, address)
            assert 0 < len(keys) < len(every)
            top = visit.page.locator(".fl-gallery").bounding_box()["y"]
            assert -1 <= top <= 200
            seen.append((address, keys))
            visit.page.go_back()
            assert chosen(visit.page) == ("", every)
        assert [address for address, _ in seen] == [
            "#slice=level:field&slice=kind:header",
            "#slice=level:field&slice=kind:question&slice=length:5–9",
            "#cause=clipped&slice=kind:answer",
            "#slice=level:field&slice=length:10–19",
        ]
        # What the page's gallery cannot show leads nowhere.
        assert visit.page.locator(".fl-object").nth(3).locator(".fl-link").count() == 0
        assert visit.page.locator(".fl-object").nth(5).locator(".fl-link").count() == 0
        assert visit.trouble == []
    for address, keys in seen[1:2]:
        with browser.page(f"{page.as_uri()}{quoted(address)}") as visit:
            assert chosen(visit.page) == (address, keys)
