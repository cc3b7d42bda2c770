"""No mark, label, title or table is cut off, whatever the data and the width of the window."""

import json
import time

import plotly.io as pio
import polars as pl
import pytest

from formlab import browser, charts
from formlab.gallery.inline import policy
from formlab.reports import _draw, page_assets
from tests import states
from tests.reports.geometry import SIZES, cut_off, draw_all

pytestmark = pytest.mark.browser

LONG = "the name of a category that is far longer than a phone has room for beside its mark"
TITLE = {"value": "a title of an axis that says in a whole sentence what is measured along it"}
KINDS = [charts.OWN, *[charts.PUBLISHED] * 5]
ONE = pl.DataFrame({"label": ["the only row"], "group": ["x"], "value": [0.5], "n_cases": [3]})
HARD = pl.DataFrame(
    {
        "label": [f"{LONG} {n}" for n in range(6)], "group": list("xyzxyz"),
        "value": [0.5, 1e-7, 0.99, 0.25, 0.26, 1.0], "n_cases": [1_234_567, 8, 3, 1, 2, 9],
        "ci_low": [0.4, 0.0, 0.9, 0.1, 0.2, 1.0], "ci_high": [0.6, 0.1, 1.0, 0.4, 0.3, 1.0],
        "size": [1, 20, 300, 4_000, 50_000, 6], "system": [f"model {n}" for n in range(6)],
        "kind": KINDS,
    }
)  # fmt: skip
MANY = pl.DataFrame(
    {"label": [f"kind {n}" for n in range(40)], "value": [n / 40 for n in range(40)],
     "group": [f"colour of a long name {n % 8}" for n in range(40)]}
)  # fmt: skip
SIGNED = HARD.with_columns(pl.col("^(value|ci_low|ci_high)$") * -1e6)
CROSS = pl.DataFrame(
    {
        "label": ["strict", "less strict", "typed", "fuzzy"] * 6,
        "group": [f"panel {n} with its name" for n in range(6) for _ in range(4)],
        "side": [f"side {n % 2}" for n in range(6) for _ in range(4)],
        "value": [n / 24 for n in range(24)], "n_cases": list(range(24)),
    }
)  # fmt: skip
PUBLISHED = pl.DataFrame(
    {
        "label": ["one kind"] * 9 + ["another"] * 3, "kind": [charts.OWN] + [charts.PUBLISHED] * 11,
        "value": [0.5, 0.6, 0.61, 0.612, 0.62, 0.9, 0.0, 1.0, 0.99, 0.2, 0.5, 0.8],
        "other": [0.5, 0.6, 0.61, 0.612, 0.62, 0.9, 0.0, 1.0, 0.99, 0.2, 0.5, 0.8],
        "system": ["ours", *[f"Model-{n} Pro Preview" for n in range(11)]],
    }
)  # fmt: skip


def drawn():
    """Every generic chart of data that are hard to lay out, by name."""
    several = HARD.with_columns(label=pl.Series(["a", "a", "a", "b", "b", "b"]))
    shares = several.with_columns(share=pl.col("value") / 3)
    cells = {"titles": TITLE, "n": "n_cases"}
    return {
        "dots": charts.dots(HARD, titles=TITLE),
        "dots of one row": charts.dots(ONE),
        "dots by colour": charts.dots(several, colour="group", n="n_cases"),
        "dots of many": charts.dots(MANY, colour="group", zero=True),
        "differences": charts.dots(SIGNED, zero=True, titles=TITLE),
        "names above": charts.dots(HARD, above=True, facet="group"),
        "panels": charts.dots(several, facet="group", across=True, titles=TITLE),
        "published": charts.dots(PUBLISHED, kind="kind"),
        "published by colour": charts.dots(several, kind="kind", colour="group"),
        "scatter": charts.dots(PUBLISHED, "other", kind="kind", titles=TITLE),
        "bars": charts.bars(HARD, n="n_cases", titles=TITLE),
        "bars by colour": charts.bars(several, colour="group", facet="kind"),
        "bars of one row": charts.bars(ONE.with_columns(value=1)),
        "stacked": charts.stacked(shares, colour="system", n="n_cases"),
        "stacked, long": charts.stacked(HARD, x="value", colour="label", percent=False),
        "lines": charts.lines(CROSS, "label", colour="group", titles=TITLE),
        "lines of numbers": charts.lines(HARD, "size", log=True, row="group", column="kind"),
        "rows of lines": charts.lines(CROSS, "label", row="group", titles=TITLE),
        "panels of lines": charts.lines(CROSS, "label", row="side", column="group"),
        "heat map": charts.heatmap(HARD, "label", "system", **cells),
        "heat maps": charts.heatmap(CROSS, "label", "group", column="side", **cells),
        "slope": charts.slope(HARD.with_columns(a=pl.col("n_cases").rank("min"),
                                                b=pl.col("size").rank("min")), "a", "b"),
        "table": charts.table(HARD.with_columns(wide=pl.lit(LONG), wider=pl.lit(LONG))),
        "surface": charts.surface(CROSS, "group", "label", titles=TITLE),
    }  # fmt: skip


def bundle(shown):
    if isinstance(shown, charts.Table):
        return shown._repr_mimebundle_()
    if hasattr(shown, "to_plotly_json"):
        figure = json.loads(pio.to_json(shown, validate=False))
        fallback = figure["layout"]["meta"].pop("fallback")
        return {"application/vnd.formlab.plotly+json": {"figure": figure, "fallback": fallback}}
    return {"application/vnd.formlab.vega+json": {"spec": shown.to_dict(), "alt": "a chart"}}


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """A page with all of `drawn`, as a report has them."""
    objects = []
    for shown in drawn().values():
        parts = shown if isinstance(shown, list) else [shown]
        cell = "".join(str(_draw.output(bundle(part) | {"text/plain": "x"})) for part in parts)
        objects.append(f'<section class="fl-cell">{cell}</section>')
    scripts = list(page_assets.scripts({"vega", "plotly"}).values())
    file = tmp_path_factory.mktemp("gallery") / "gallery.html"
    file.write_text(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{page_assets.styles()}</style></head><body><div class='fl-layout'>"
        f"<main>{''.join(objects)}</main></div>"
        f"{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>"
    )
    return file


@pytest.mark.complete
def test_no_chart_or_table_is_cut_off_at_any_width_also_after_a_turn(gallery):
    numbers = [name for name, shown in drawn().items()
               for _ in (shown if isinstance(shown, list) else [shown])]  # fmt: skip
    names = dict(enumerate(numbers))
    with browser.page(gallery, size=SIZES[0]) as visit:
        draw_all(visit.page)
        for width, height in SIZES:
            # The page stays open: charts are laid out anew for each width.
            visit.page.set_viewport_size({"width": width, "height": height})
            visit.page.wait_for_timeout(700)
            end = time.monotonic() + states.LONG
            # On a busy machine that takes longer.
            while (found := cut_off(visit.page)) and time.monotonic() < end:
                visit.page.wait_for_timeout(200)
            assert found == [], f"{names} at {width} px"
        widths = visit.page.eval_on_selector_all(
            ".fl-vega svg", "all => all.map(s => s.getBoundingClientRect().width)"
        )
        # On a phone a chart has the width of the phone.
        assert sum(width > 300 for width in widths) > 0.8 * len(widths)
        assert visit.trouble == []
