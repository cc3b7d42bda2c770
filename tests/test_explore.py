"""The explorer: its rates beside those of other functions, and its page beside its Python."""

import dataclasses

import polars as pl
import pytest
from playwright.sync_api import expect
from polars.testing import assert_frame_equal

from formlab import analysis, benchmarks, browser, charts, explore, gallery, tables
from formlab.folders import Predictions
from formlab.gallery import inline

# Values that would end a string, a line or an element, or split an address.
ODD = ["\"a'\n\\", "</script><b>b</b>\u2028", "x:y&z=%41#ü"]
NAMES = ["value", "ci_low", "ci_high", "n_docs", "n_cases"]


def made(name, worse):
    """The sample of FUNSD, read without fault but for one kind, whose values are reversed."""
    corpus = benchmarks.load("funsd", split="test")
    gold = corpus.records.filter(pl.col("path").is_not_null(), pl.col("task") == "text")
    value = pl.when(pl.col("kind") == worse).then(pl.col("value").str.reverse())
    answer = {"role": pl.lit("prediction"), "system": pl.lit(name), "status": pl.lit("ok")}
    records = gold.with_columns(value=value.otherwise("value"), **answer)
    predictions = Predictions(records, tables.table("responses", []), system=name)
    result = analysis.evaluate(corpus, predictions)
    # A column of the user's own, with a value that is not known.
    own = pl.Series("odd", [*ODD, None])
    scans = own.gather(pl.int_range(result.documents.height, eager=True) % len(own))
    return dataclasses.replace(result, documents=result.documents.with_columns(scans))


@pytest.fixture(scope="module")
def results():
    return [made("first", "header"), made("second", "answer")]


@pytest.mark.parametrize("measure", ["cer", "exact_accuracy"])
def test_rates_are_those_of_the_summary_with_its_intervals(results, measure):
    summary = analysis.summarise(results[0], by=["kind", "length"], average="pooled")
    for by in ("kind", "length"):
        expected = summary.filter(slice_by=by, metric=measure).filter(pl.col("n_docs") > 1)
        expected = expected.with_columns(n_cases=pl.col("n_cases") - pl.col("n_undefined"))
        rates = explore.rates(results[0], by=by, measure=measure).filter(pl.col("n_docs") > 1)
        both = [frame.select("slice_value", *NAMES[:3], "n_cases") for frame in (rates, expected)]
        assert_frame_equal(both[0], both[1].filter(pl.col("n_cases") > 0))


def test_rate_of_errors_counts_chosen_errors_among_all_values(results):
    first = results[0]
    asked = first.fields.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")
    wrong = asked.filter(pl.col("outcome") != "match")
    cause = wrong["cause"][0]
    rows = explore.rates(first, by="kind", measure="errors", line=f"cause={cause}")
    expected = {
        kind: wrong.filter(kind=kind, cause=cause).height / asked.filter(kind=kind).height
        for kind in asked["kind"].unique()
    }
    assert dict(rows.select("slice_value", "value").iter_rows()) == pytest.approx(expected)
    causes = explore.rates(first, by="cause", measure="errors")
    assert causes["value"].sum() == pytest.approx(wrong.height / asked.height)
    assert set(causes["n_cases"]) == {asked.height}


ROWS = """() => { const [{ rows, of, counts }] = formlabGallery.galleries;
  return rows.flatMap((row) => of.map((e, at) => row.own[at]
    && [counts.evaluations[e].system, row.label, row.own[at]]).filter(Boolean)); }"""
CHOSEN = """() => { const [{ fit, of, counts }] = formlabGallery.galleries;
  return of.flatMap((e) => [...fit].flatMap((n, unit) => (n === 2 && counts.of(unit) === e
    ? [[e, unit - counts.evaluations[e].start]] : []))); }"""


def same(page, explorer):
    """What the page shows is what its Python makes; intervals within the error of 1,000 draws."""
    code, shown = page.locator(".fx-python pre").text_content(), []
    space = {"display": lambda *parts: shown.extend(map(type, parts))}
    space["evaluations"] = list(explorer.evaluations.values())
    exec(compile(code, "shown", "exec"), space)
    assert {gallery.Gallery, charts.Table} <= set(shown)
    rows = {(system, label): row for system, label, row in page.evaluate(ROWS)}
    assert rows.keys() == set(space["table"].select("system", "slice_value").iter_rows())
    # The ends are those of 1,000 other draws: between the ends of 99 % and of 90 %.
    (call,) = (line[8:-1] for line in code.splitlines() if "explore.rates(" in line)
    ends = [eval(f"{call}, level={level})", space).to_dicts() for level in (0.99, 0.9)]
    for other, wide, narrow in zip(space["table"].to_dicts(), *ends, strict=True):
        row = rows[other["system"], other["slice_value"]]
        row = {name: float("nan") if each is None else each for name, each in row.items()}
        assert (row["cases"], row["documents"]) == (other["n_cases"], other["n_docs"])
        assert row["value"] == pytest.approx(other["value"], abs=1e-6, nan_ok=True)
        if other["ci_low"] != other["ci_low"]:
            assert row["low"] != row["low"]
            continue
        assert wide["ci_low"] - 1e-5 <= row["low"] <= narrow["ci_low"] + 1e-5
        assert narrow["ci_high"] - 1e-5 <= row["high"] <= wide["ci_high"] + 1e-5
    every = [explore.cases(each) for each in space["evaluations"]]
    chosen = [every[e].row(unit) for e, unit in page.evaluate(CHOSEN)]
    assert chosen == [row for cases in space["cases"] for row in cases.rows()]


@pytest.mark.browser
def test_chart_filters_gallery_address_and_python_agree(results, tmp_path):
    explorer = explore.Explorer(results, findings=analysis.findings(results))
    file = tmp_path / "explorer.html"
    file.write_text(inline.document(explorer.payload, kind="explorer"), "utf-8")
    with browser.page(file) as visit:
        page, chips = visit.page, visit.page.locator(".fl-only")

        def press(name, **how):
            row = page.locator(".fx-panel tbody button", has_text=name).first
            row.click(**how) if how else row.press("Enter")

        same(page, explorer)
        # A second evaluation, and a row that filters the chart and the gallery.
        page.get_by_label("Beside it").select_option("1")
        press("header")
        same(page, explorer)
        expect(chips).to_have_text(["kind: header ×"])
        headers = pl.concat(each.fields for each in results).filter(kind="header")
        wrong = headers.filter(pl.col("outcome") != "match").height
        assert page.locator(".fl-count").text_content().startswith(f"{wrong} of")
        # A filter of the gallery is one of all parts, and may join one of another column.
        page.get_by_label("Kind", exact=True).select_option("answer")
        expect(chips).to_have_text(["kind: answer ×"])
        page.get_by_label("By", exact=True).select_option("odd")
        page.get_by_label("Measure").select_option("cer")
        press("a'")
        press("no value", modifiers=["Control"])
        expect(chips).to_have_count(3)
        same(page, explorer)
        # The address brings all of it back.
        before = (chips.all_text_contents(), page.evaluate(ROWS), page.url)
        page.goto("about:blank")
        page.goto(before[2])
        assert (chips.all_text_contents(), page.evaluate(ROWS), page.url) == before
        # What no column is called is left out.
        page.goto("about:blank")
        page.goto(f"{file.as_uri()}#slice=ink:<b>x</b>&outcome=mismatch")
        expect(page.locator(".fx-note").first).to_contain_text("There is no column ink here")
        expect(chips).to_have_text(["outcome: mismatch ×"])
        # Of chosen errors no share is right: their rate is shown.
        expect(page.get_by_label("Measure")).to_have_value("errors")
        same(page, explorer)
        # A finding selects its cases in its own evaluation.
        number = next(n for n, each in enumerate(explorer.findings, 1) if each.system == "second")
        page.goto("about:blank")
        page.goto(f"{file.as_uri()}#finding={number}")
        same(page, explorer)
        cases = explorer.findings[number - 1].cases.unique()
        assert len(page.evaluate(CHOSEN)) == cases.height
        chips.click()
        page.go_back()
        expect(chips).to_have_count(1)
        for width in (1440, 768, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("typeof globalThis.pwned") == "undefined"
        assert visit.trouble == []
