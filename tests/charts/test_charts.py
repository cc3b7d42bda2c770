import math
import random
import re
from importlib import resources

import polars as pl
import pytest

from formlab import browser, charts, metrics, tables
from formlab.analysis import Finding
from formlab.analysis.compare import COMPARISON
from formlab.charts import theme
from formlab.charts._shared import LINKS_VARIABLE
from formlab.charts.words import FOLDER
from tests.made_slices import of
from tests.seeds import seeds


def test_surface_is_level_over_each_cell_and_has_gaps():
    rows = [("4", "2", 0.5), ("4", "3", None), ("8", "2", 1.0), ("8", "3", 1 / 3)]
    table = pl.DataFrame(rows, ["fields", "kinds", "value"], orient="row")
    sheet, points = charts.surface(table, "fields", "kinds")[0].to_dict()["data"]
    # Five grid lines a value: wall, top, top, wall, gap. Rows are of y, 2 and then 3.
    assert (len(sheet["z"]), len(sheet["z"][0])) == (10, 10)
    assert sheet["z"][1] == [0.0, 0.5, 0.5, 0.0, None, 0.0, 1.0, 1.0, 0.0, None]
    # No form has 4 fields of 3 types.
    assert sheet["z"][6][:5] == [None] * 5
    assert sheet["z"][4] == [None] * 10
    assert sheet["surfacecolor"][1][5:9] == [1.0] * 4
    assert sorted(points["z"]) == pytest.approx([1 / 3, 0.5, 1.0])


@pytest.mark.browser
def test_styles_that_jupyterlab_has_for_elements_do_not_reach_what_is_displayed():
    lab = "<style>.x dt, .x td { float: left; text-align: right }</style><div class=x>"
    shown = [charts.Cards([charts.Card("CER", 0.5)]), charts.table(pl.DataFrame({"x": ["y"]}))]
    look = "nodes => nodes.map(n => getComputedStyle(n).float + getComputedStyle(n).textAlign)"
    with browser.page() as visit:
        visit.page.set_content(lab + "".join(o._repr_mimebundle_()["text/html"] for o in shown))
        assert visit.page.locator("dt, td").evaluate_all(look) == ["nonestart", "noneleft"]


def tokens(theme_of):
    """The colours of a page by name, each with six digits."""
    text = resources.files("formlab").joinpath("charts/assets/tokens.css").read_text("utf-8")
    found = re.findall(r"--([\w-]+): light-dark\(#(\w+), #(\w+)\)", text)
    pairs = {name: {"light": light, "dark": dark} for name, light, dark in found}
    colours = {name: pair[theme_of] for name, pair in pairs.items()}
    return {n: f"#{c * 2 if len(c) == 3 else c}" for n, c in colours.items() if len(c) in (3, 6)}


def contrast(one, other):
    """The ratio of WCAG 2.2, from 1 to 21, of two colours in hexadecimal digits."""

    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", ["light", "dark"])
def test_marks_and_texts_stand_out_from_their_page(page):
    colours = tokens(page)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    tables = (theme.OUTCOME_COLOURS, theme.STATUS_COLOURS, theme.STAGE_COLOURS, theme.EDIT_COLOURS)
    marks = {*theme.SYSTEM_COLOURS, theme.NEUTRAL, theme.SOFT, theme.GOLD}
    marks |= {colour for table in tables for colour in table.values()}
    for mark in marks:
        # What stands in a chart as text has the soft colour.
        shown = colours["soft" if mark == theme.SOFT else f"c-{mark[1:].lower()}"]
        assert page == "dark" or shown == mark.lower()
        for ground in ("paper", "raised"):
            assert contrast(shown, colours[ground]) >= 3, mark
    for ground in ("paper", "raised", "sunk"):
        for text in ("ink", "soft", "accent"):
            assert contrast(colours[text], colours[ground]) >= 4.5, text
    for text, ground in (("del", "del-bg"), ("ins", "ins-bg"), ("warn", "warn-bg")):
        assert contrast(colours[text], colours[ground]) >= 4.5, text


def summary_of(*rows):
    """A summary of rows of metric, level and value."""
    same = {"benchmark": "b", "split": "s", "system": "x", "settings": {}}
    same |= {"n_docs": 2, "n_cases": 4, "n_missing": 0, "n_undefined": 0}
    made = [
        same | of(name, metric) | {"metric": metric, "value": value}
        | {"ci_low": value - 0.1, "ci_high": value + 0.1}
        for metric, name, value in rows
    ]  # fmt: skip
    return tables.table("summary", made)


def test_n_beside_a_ratio_is_of_the_fields_it_is_taken_over():
    # Of four fields one is to be left alone: three clicks are asked for. A mean over documents
    # leaves out documents, and its fields are all there.
    rows = summary_of(("click_accuracy", "fields", 0.5))
    for average, n in (("pooled", 3), ("macro", 4)):
        rows = rows.with_columns(n_undefined=pl.lit(1, pl.Int64), average=pl.lit(average))
        assert f"n = {n} in 2 documents" in charts.caption("X.", rows).text
    assert "those that only an answer has" in str(charts.scores_table(rows).payload)


@pytest.mark.parametrize("seed", seeds(30))
def test_every_number_of_a_caption_and_of_cards_stands_in_its_rows(seed):
    draw = random.Random(seed)
    names = draw.sample(sorted(set(metrics.METRICS)), 3)
    values = [draw.choice([math.nan, 0.0, 1.0, draw.random() * 3]) for _ in names]
    rows = summary_of(*zip(names, ["fields"] * 3, values, strict=True))
    caption = charts.caption("X.", rows, name="metric").text
    cards = str(charts.score_cards(rows, dict(zip(names, names, strict=True))))
    for name, value in zip(names, values, strict=True):
        number = "undefined" if math.isnan(value) else f"{value:.3f}"
        assert f"{name} {number} (" in caption
        span = f"95 % interval {value - 0.1:.3f} to {value + 0.1:.3f}, n = 4 in 2 documents"
        card = f"{name}: {value:.3f} ({span})".replace("-", "−")
        assert (card in cards) == (not math.isnan(value))
    assert "nan" not in f"{caption} {cards}".split()


@pytest.mark.parametrize("name", sorted(file.stem for file in FOLDER.glob("*.csv")))
def test_every_published_table_is_read_with_its_source(name):
    table = charts.published(name)
    assert table.height
    assert table["source"].null_count() == 0
    assert "value" not in table.columns or table["value"].is_finite().all()


def test_published_figures_by_level_are_those_of_their_tables():
    printed = charts.published("levels")
    # FORMCRAFT table 4, FinCriticalED table 4, FormFactory table 2 (72.7 %).
    values = {(s, m): v for s, m, v in printed.select("system", "metric", "value").rows()}
    assert values["GPT-5 on formcraft", "vqa_accuracy"] == pytest.approx(0.7913, abs=5e-5)
    assert values["DeepSeek-OCR on fincriticaled", "fact_accuracy"] == 0.7715
    assert values["Qwen-VL-Max on formfactory", "episodic_value"] == pytest.approx(0.727)
    for row in printed.to_dicts():
        of = {"system": row["system"].partition(" on ")[0], "source": row["source"]}
        cells = charts.published(row["table"]).filter(**of).rows()
        cells = [float(x) for of in cells for x in of if re.fullmatch(r"[\d.]+", str(x))]
        assert min(abs(x / unit - row["value"]) for x in cells for unit in (1, 100)) < 1e-9, row


def compared(value, difference, low, high, *, b="n", p_holm=0.001):
    """A row of `formlab.compare` of m and `b`, over all or of a kind."""
    shown = p_holm <= 0.05 and (low > 0 or high < 0)
    return dict.fromkeys(COMPARISON) | {
        "metric": "cer", "level": "field", "slice_by": "kind" if value else None,
        "slice_value": value, "system_a": "m", "system_b": b, "difference": difference,
        "ci_low": low, "ci_high": high, "p_holm": p_holm,
        "better": ("m" if difference > 0 else b) if shown else None,
    }  # fmt: skip


def test_dots_have_a_systems_colour_only_where_test_and_interval_agree():
    rows = [(None, -0.1, -0.15, -0.05), ("a", 0.1, -0.01, 0.2), ("c", 0.1, 0.05, 0.2)]
    rows = [*(compared(*row) for row in rows), compared("b", 0.1, 0.05, 0.2, p_holm=0.06)]
    drawn = charts.difference_dots(pl.DataFrame(rows, COMPARISON)).to_dict()
    (shown,) = drawn["datasets"].values()
    none = "none was shown"
    assert [row["better"] for row in shown if "pair" in row] == ["n", none, "m", none]
    # Each pair of several has a panel.
    rows.append(compared("c", 0.1, 0.05, 0.2, b="third"))
    drawn = charts.difference_dots(pl.DataFrame(rows, COMPARISON)).to_dict()
    assert drawn["facet"]["sort"] == ["m → n", "m → third"]


def test_own_rows_stand_beside_published_ones_and_say_on_which_forms():
    printed = charts.published("formcraft_table4").filter(metric="tree_edit_distance")
    both = charts.beside(summary_of(("tree_edit_distance", "all", 40.0)), printed).sort("value")
    # Smaller is better: 30.20, 40, 45.15, 60.15, 76.06.
    assert both["system"].to_list() == [
        "Claude 4 Sonnet", "x on b:s", "GPT-5", "Gemini 2.5 Flash", "Qwen2.5-VL-72B",
    ]  # fmt: skip
    assert set(both.filter(kind=charts.PUBLISHED)["system"]) == set(printed["system"])
    assert charts.beside(summary_of(), printed).height == 4
    assert charts.cited(printed).endswith("Table 4a.")
    assert charts.cited(printed.clear()) == ""


def test_page_of_a_notebook_that_shows_another_sample_is_none_of_a_finding(monkeypatch):
    numbers = {"effect": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n_cases": 4, "n_docs": 2}
    of = {"benchmark": "funsd", "split": "test", "system": "ocr"}
    findings = [Finding("half is lost", "cause", **of, **numbers)]
    monkeypatch.setenv(LINKS_VARIABLE, '{"10_content": [], "20_layout": []}')
    for notebook, pages in (("10_content", ["10_content.html"]), ("20_layout--", [])):
        frame = charts.findings_table(findings, {"funsd": notebook}).frame
        assert (frame["report"].to_list() if "report" in frame.columns else []) == pages


def test_only_a_page_beside_the_report_becomes_a_link():
    names = ["10_a.html", "javascript:alert(1)//.html", "../x.html", "<b>.html"]
    table = charts.table(pl.DataFrame({"report": names, "text": names}))
    page = table._repr_mimebundle_()["text/html"]
    assert page.count("<a ") == 1
    assert '<a href="10_a.html">10_a.html</a>' in page


def test_lines_of_two_trees_stand_side_by_side_and_what_is_kept_is_folded():
    rows = [  # path, predicted path, label, predicted label, edit
        ("/A", "/A", "A", "A", "kept"), ("/A/b", None, "b", None, "deleted"),
        (None, "/A/e", None, "e", "inserted"), ("/C", "/C", "C", "C", "kept"),
        *((f"/C/{n}", f"/C/{n}", n, n, "kept") for n in "1234"),
        ("/C/f", "/A/f", "f", "f", "moved"), ("/D", "/D", "D", "D", "kept"),
    ]  # fmt: skip
    names = ("path", "pred_path", "gold", "pred", "subtype")
    same = {"doc_id": "1", "level": "node"}
    cases = [same | dict(zip(names, row, strict=True)) for row in rows]
    for case in cases:
        case["depth"] = (case["path"] or case["pred_path"]).count("/")
    sizes = {"doc_id": "1", "distance": 3.0, "similarity": 0.5, "nodes": 5, "given": 5}
    over, table = charts.edit_trees(tables.table("cases", cases), pl.DataFrame([sizes]))
    assert over.text.startswith("1: 5 nodes in the gold tree, 5 predicted; ")
    assert table.frame.rows() == [
        ("A", "", "A"), ("\u2003b", "deleted", None), (None, "inserted", "\u2003e"),
        ("C", "", "C"), ("\u2003⋯ 4 kept", "", "\u2003⋯ 4 kept"),
        ("\u2003f", "moved", "\u2003f (now in A)"), ("D", "", "D"),
    ]  # fmt: skip
    nothing = charts.edit_trees(tables.table("cases", []), pl.DataFrame([sizes]).clear())
    assert [part.label for part in nothing] == ["Note"]
