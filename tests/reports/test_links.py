"""From a mark to its cases: bars, cells and rows of a page, and the address that they give."""

import json

import polars as pl
import pytest

from formlab import analysis, browser, charts, gallery, selection
from formlab.errors import DataBroken
from formlab.gallery import inline
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
    made = gallery.errors(wrong, root=result.root, by=BY)
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


def shown(page):
    """The address and the documents and paths of the cases that the gallery shows, on all pages."""
    line = page.evaluate("location.hash.slice(1)")
    keys = page.evaluate("galleryKeys()")
    return line, sorted(map(tuple, keys))


def expected(result, line):
    """The keys of the wrong cases that a line selects in Python."""
    made = gallery.errors(analysis.select(result, line))
    return sorted(case["key"] for case in made.cases)


def chosen(page):
    """The page's address, and the keys of the cases that its gallery shows."""
    seen = "() => [location.hash.slice(1), window.gallery.keys(), scrollY]"
    line, keys, scrolled = page.evaluate(seen)
    return line, sorted(keys), scrolled


def bar(page, label):
    return page.locator(f".fl-link[aria-label*='{label}']").first


def test_marks_cells_and_rows_lead_to_exactly_their_cases(page, result):
    pass
