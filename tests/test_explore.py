"""The explorer: its rates beside those of other functions, its page, and JupyterLab."""

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
LEVELS, ENDS = (0.99, 0.9), ("low", "high")
NAMES = ["value", "ci_low", "ci_high", "n_docs", "n_cases"]


def made(name, worse):
    """The sample of FUNSD, read without fault but for one kind, whose values are reversed."""
    corpus = benchmarks.load("funsd", split="test")
    gold = corpus.records.filter(pl.col("path").is_not_null(), pl.col("task") == "text")
    value = pl.when(pl.col("kind") == worse).then(pl.col("value").str.reverse())
    records = gold.with_columns(
        role=pl.lit("prediction"), system=pl.lit(name), status=pl.lit("ok"),
        value=value.otherwise("value"),
    )  # fmt: skip
    predictions = Predictions(records, tables.table("responses", []), system=name)
    result = analysis.evaluate(corpus, predictions)
    # A column of the user's own, with a value that is not known.
    own = pl.Series("odd", [*ODD, None])
    scans = own.gather(pl.int_range(result.documents.height, eager=True) % len(own))
    documents = result.documents.with_columns(scans)
    return dataclasses.replace(result, documents=documents)


@pytest.fixture(scope="module")
def results():
    return [made("first", "header"), made("second", "answer")]


@pytest.fixture(scope="module")
def folders(results, tmp_path_factory):
    home = tmp_path_factory.mktemp("evals")
    return [str(each.save(home / each.system)) for each in results]


@pytest.mark.parametrize("measure", ["cer", "exact_accuracy"])
def test_rates_are_those_of_the_summary_with_its_intervals(results, measure):
    summary = analysis.summarise(results[0], by=["kind", "length"], average="pooled")
    for by in ("kind", "length"):
        theirs = summary.filter(slice_by=by, metric=measure).filter(pl.col("n_docs") > 1)
        theirs = theirs.with_columns(n_cases=pl.col("n_cases") - pl.col("n_undefined"))
        ours = explore.rates(results[0], by=by, measure=measure).filter(pl.col("n_docs") > 1)
        both = [frame.select("slice_value", *NAMES[:3], "n_cases") for frame in (ours, theirs)]
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


# ---- in a browser ----


def numbers(page):
    """The rows shown, by evaluation and label, as numbers."""
    return page.evaluate("""() => {
      const { panel, of, counts } = window.formlabExplorer.explorers[0];
      return panel.rows.flatMap((row) => of.map((e, at) => row.own[at]
        && [counts.evaluations[e].system, row.label, row.own[at]]).filter(Boolean));
    }""")


def shown_cases(page):
    return page.evaluate("""() => { const [shown] = window.formlabExplorer.explorers;
      return shown.of.flatMap((e) => [...shown.fit.get(e)].flatMap(
        (fit, unit) => (fit === 2 ? [[e, unit]] : [])));
    }""")


def ran(code, given=None):
    shown = []
    space = {"display": lambda *parts: shown.extend(parts)} | (given or {})
    exec(compile(code, "shown", "exec"), space)
    assert any(isinstance(part, gallery.Gallery) for part in shown)
    assert any(isinstance(part, charts.Table) for part in shown)
    return space


def same(page, explorer):
    """What the page shows is what its Python makes; intervals within the error of 1,000 draws."""
    code = page.locator(".fx-python pre").text_content()
    space = ran(code)
    # The ends are those of 1,000 other draws: between the ends of 99 % and of 90 %.
    (call,) = (line[8:] for line in code.splitlines() if "explore.rates(" in line)
    made = [eval(f"{call[:-1]}, level={level})", space) for level in LEVELS]
    keys = ["system", "slice_value"]
    wide, narrow = (frame.select(*keys, "ci_low", "ci_high") for frame in made)
    both = wide.join(narrow, on=keys, nulls_equal=True, suffix="_in")
    theirs = space["table"].join(both, on=keys, nulls_equal=True, suffix="_out")
    theirs = {(row["system"], row["slice_value"]): row for row in theirs.iter_rows(named=True)}
    rows = numbers(page)
    assert {(system, label) for system, label, _ in rows} == set(theirs)
    for system, label, row in rows:
        other = theirs[system, label]
        assert (row["cases"], row["documents"]) == (other["n_cases"], other["n_docs"])
        if row["value"] is None:
            assert other["value"] != other["value"]
            continue
        assert row["value"] == pytest.approx(other["value"], abs=1e-6)
        if other["ci_low"] != other["ci_low"]:
            assert (row["low"], row["high"]) == (None, None)
            continue
        ends = [[other[f"ci_{end}_{where}"] for where in ("out", "in")] for end in ENDS]
        assert ends[0][0] - 1e-5 <= row["low"] <= ends[0][1] + 1e-5
        assert ends[1][1] - 1e-5 <= row["high"] <= ends[1][0] + 1e-5
    every = list(explorer.evaluations.values())
    chosen = [explore.cases(every[e]).row(unit) for e, unit in shown_cases(page)]
    assert chosen == [row for cases in space["cases"] for row in cases.rows()]
    return space


@pytest.fixture(scope="module")
def explorer(folders):
    made = explore.Explorer(folders)
    made.findings = analysis.findings(list(made.evaluations.values()))
    return made


@pytest.fixture(scope="module")
def file(explorer, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "explorer.html"
    file.write_text(inline.document(explorer.payload, kind="explorer"), "utf-8")
    return file


@pytest.fixture
def opened(file):
    pytest.importorskip("playwright")
    with browser.page(file) as visit:
        yield visit


def row(page, name):
    return page.locator(".fx-panel tbody button", has_text=name).first


@pytest.mark.browser
def test_chart_filters_gallery_address_and_python_agree(opened, file, explorer):
    page = opened.page
    same(page, explorer)
    # A second evaluation, and a row that filters the chart and the gallery.
    page.get_by_label("Beside it").select_option("1")
    row(page, "header").click()
    same(page, explorer)
    expect(page.locator(".fx-chip", has_text="kind: header")).to_have_count(1)
    wrong = [each.fields.filter(kind="header").filter(pl.col("outcome") != "match").height
             for each in explorer.evaluations.values()]  # fmt: skip
    assert page.locator(".fl-count").text_content().startswith(f"{sum(wrong)} of")
    # A filter of the gallery is one of all parts, and may join one of another column.
    page.get_by_label("Kind", exact=True).select_option("answer")
    expect(page.locator(".fx-chip")).to_have_text(["kind: answer ×"])
    page.get_by_label("By", exact=True).select_option("odd")
    page.get_by_label("Measure").select_option("cer")
    row(page, "a'").press("Enter")
    row(page, "no value").click(modifiers=["Control"])
    expect(page.locator(".fx-chip")).to_have_count(3)
    same(page, explorer)
    # The address brings all of it back.
    before = (page.locator(".fx-chip").all_text_contents(), numbers(page), page.url)
    page.evaluate("localStorage.clear()")
    page.goto("about:blank")
    page.goto(before[2])
    assert (page.locator(".fx-chip").all_text_contents(), numbers(page), page.url) == before
    page.go_back()
    # A finding selects its cases in its own evaluation.
    number = next(n for n, each in enumerate(explorer.findings, 1) if each.system == "second")
    page.goto("about:blank")
    page.goto(f"{file.as_uri()}#finding={number}")
    same(page, explorer)
    assert len(shown_cases(page)) == explorer.findings[number - 1].cases.unique().height
    page.evaluate("document.querySelector('.fx-chip').click()")
    page.go_back()
    expect(page.locator(".fx-chip")).to_have_count(1)
    for width in (1440, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("typeof globalThis.pwned") == "undefined"
    assert opened.trouble == []
