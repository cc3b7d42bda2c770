"""The explorer: its rates beside those of other functions, its page, and JupyterLab."""

import dataclasses

import polars as pl
import pytest
from playwright.sync_api import expect
from polars.testing import assert_frame_equal

from formlab import analysis, benchmarks, browser, charts, explore, gallery, selection, tables
from formlab.folders import Predictions
from formlab.gallery import inline
from tests.lab import allowed, jupyterlab, run_cell

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


def test_slices_by_hand_are_rows_with_the_cases_of_their_lines(results):
    slices = {"odd": selection.text({"odd": [ODD[0], None]}), "short": "slice=length:1–4"}
    rows = explore.rates(results, by=slices, line="slice=kind:header&slice=kind:question")
    assert rows["slice_value"].to_list() == [*slices, *slices]
    for row in rows.iter_rows(named=True):
        result = results[row["system"] == "second"]
        chosen = explore.cases(result, slices[row["slice_value"]])
        chosen = chosen.filter(pl.col("kind").is_in(["header", "question"]))
        assert row["n_cases"] == chosen.filter(pl.col("gold").is_not_null()).height
        assert row["value"] == pytest.approx((chosen["outcome"] == "match").mean())


# ---- in a browser ----


@pytest.mark.complete
@pytest.mark.browser
def test_choosing_in_jupyterlab_is_a_value_of_python_and_the_other_way(folders, tmp_path):
    cell = (
        "from formlab import explore\nfrom IPython.display import display\nimport ipywidgets\n"
        f"explorer = explore.Explorer({folders!r})\n"
        "told = ipywidgets.Button(description='choose')\nseen = ipywidgets.Label()\n"
        "told.on_click(lambda _: explorer.choose(line='slice=kind:answer'))\n"
        "display(told, seen, explorer)\n"
        "explorer._listener.observe(lambda _: setattr(seen, 'value', "
        "f'{explorer.line} {explorer.selected.height}'), 'state')"
    )
    with jupyterlab(tmp_path, cell) as lab, browser.page(allow=allowed(lab)) as visit:
        page = visit.page
        page.goto(f"{lab}/lab/tree/demo.ipynb?reset")
        run_cell(page)
        frame = page.frame_locator("iframe[title^=Explorer]")
        frame.locator("tbody button", has_text="header").first.click()
        page.get_by_text("slice=kind:header 43").wait_for()
        page.get_by_role("button", name="choose").click()
        frame.locator(".fx-chip", has_text="kind: answer").wait_for()
        page.get_by_text("slice=kind:answer 250").wait_for()
        assert visit.requests == []


def numbers(page):
    """The rows of each panel by evaluation and label, as numbers."""
    return page.evaluate("""() => {
      const { panels, of, counts } = window.formlabExplorer.explorers[0];
      return panels.map((panel) => panel.rows.flatMap((row) => of.map((e, at) => row.own[at]
        && [counts.evaluations[e].system, row.label, row.own[at]]).filter(Boolean)));
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
    calls = [line.strip(" ,") for line in code.splitlines() if "explore.rates(" in line]
    made = [[eval(f"{call[:-1]}, level={level})", space) for call in calls] for level in LEVELS]
    for rows, table, *around in zip(numbers(page), space["tables"], *made, strict=True):
        keys = ["system", "slice_value"]
        wide, narrow = (frame.select(*keys, "ci_low", "ci_high") for frame in around)
        both = wide.join(narrow, on=keys, nulls_equal=True, suffix="_in")
        theirs = table.join(both, on=keys, nulls_equal=True, suffix="_out")
        theirs = {(row["system"], row["slice_value"]): row for row in theirs.iter_rows(named=True)}
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


def row(page, panel, name):
    return page.locator(".fx-panel").nth(panel).locator("tbody button", has_text=name).first


@pytest.mark.browser
def test_charts_filters_gallery_slices_address_and_python_agree(opened, file, explorer):
    page = opened.page
    same(page, explorer)
    # A second evaluation, and a row that filters the other chart and the gallery.
    page.get_by_label("Beside it").select_option("1")
    row(page, 0, "header").click()
    same(page, explorer)
    expect(page.locator(".fx-chip", has_text="kind: header")).to_have_count(1)
    wrong = [each.fields.filter(kind="header").filter(pl.col("outcome") != "match").height
             for each in explorer.evaluations.values()]  # fmt: skip
    assert page.locator(".fl-count").text_content().startswith(f"{sum(wrong)} of")
    # A filter of the gallery is one of all parts, and may join one of another column.
    page.get_by_label("Kind", exact=True).select_option("answer")
    expect(page.locator(".fx-chip")).to_have_text(["kind: answer ×"])
    page.get_by_label("By", exact=True).first.select_option("odd")
    page.get_by_label("Measure").first.select_option("cer")
    row(page, 0, "a'").press("Enter")
    row(page, 0, "no value").click(modifiers=["Control"])
    expect(page.locator(".fx-chip")).to_have_count(3)
    same(page, explorer)
    # Saved by a hostile name, it is a row, and the address brings all of it back.
    page.get_by_label("Name of the slice").fill(ODD[1])
    page.get_by_role("button", name="Save as my slice").click()
    page.get_by_label("By", exact=True).first.select_option(" slices")
    page.get_by_role("button", name="Clear all").click()
    space = same(page, explorer)
    assert list(space["slices"]) == [ODD[1].strip()]
    row(page, 0, "b</b>").click()
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
