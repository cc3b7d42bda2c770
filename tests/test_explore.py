import polars as pl
import pytest

from formlab import analysis, browser, charts, explore, gallery
from formlab.charts import theme
from formlab.errors import DataMissing, UnknownName
from tests.lab import allowed, jupyterlab, run_cell


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The sample of FUNSD, read without fault but for every header, which is upside down."""
    from formlab import benchmarks, tables
    from formlab.folders import Predictions

    corpus = benchmarks.load("funsd", split="test")
    gold = corpus.records.filter(pl.col("path").is_not_null(), pl.col("task") == "text")
    value = pl.when(pl.col("kind") == "header").then(pl.col("value").str.reverse())
    records = gold.with_columns(
        role=pl.lit("prediction"), system=pl.lit("m"), status=pl.lit("ok"),
        value=value.otherwise("value"),
    )  # fmt: skip
    predictions = Predictions(records, tables.table("responses", []), system="m")
    out = tmp_path_factory.mktemp("evals") / "m"
    analysis.evaluate(corpus, predictions).save(out)
    return str(out)


@pytest.fixture
def explorer(folder):
    return explore.Explorer([folder])


def test_only_metrics_of_fields_and_columns_with_slices_are_offered(explorer, folder):
    evaluation = explorer.view.evaluation
    assert "cer" in explore.metrics_of(evaluation)
    columns = explore.columns_of(evaluation)
    assert columns["kind"] == ["answer", "header", "other", "question"]
    assert all(len(values) >= 2 for values in columns.values())


def test_choosing_a_slice_changes_the_cases_and_an_unknown_one_is_refused(explorer):
    explorer.choose(metric="exact_accuracy", by="kind", value="header")
    assert set(explorer.view.cases["kind"]) == {"header"}
    explorer.choose(value="all")
    # Nothing but headers was read wrongly.
    assert set(explorer.view.cases["kind"]) == {"header"}
    explorer.choose(value="answer")
    assert explorer.view.cases.height == 0
    with pytest.raises(UnknownName, match="header"):
        explorer.choose(value="headers")
    with pytest.raises(UnknownName, match="choice"):
        explorer.choose(colour="red")


def test_column_that_changes_takes_its_values_along(explorer):
    explorer.choose(by="kind", value="header").choose(by="length")
    assert explorer.view.value == "all"
    assert "header" not in explorer._controls["value"].options


def test_copied_python_makes_the_same_tables(explorer):
    explorer.choose(metric="cer", by="kind", value="header")
    view, shown = explorer.view, []
    space = {"display": shown.append}
    exec(compile(view.code, "copied", "exec"), space)
    assert space["summary"].equals(view.summary)
    assert space["cases"].equals(view.cases)
    table = next(part for part in view.parts() if isinstance(part, charts.Table))
    assert shown[1].frame.equals(table.frame)


def test_widgets_draw_the_view_with_its_code_and_a_report_shows_its_parts(explorer, monkeypatch):
    monkeypatch.delenv(theme.REPORT_VARIABLE, raising=False)
    shown = []
    monkeypatch.setattr(explore, "display", lambda *parts: shown.extend(parts))
    explorer._ipython_display_()
    assert isinstance(shown[-1], explore.ipywidgets.VBox)
    assert any(isinstance(part, gallery.Gallery) for part in shown)
    assert explorer._code.code == explorer.view.code
    explorer._controls["value"].value = "header"
    assert "'header'" in explorer._code.code
    shown.clear()
    monkeypatch.setenv(theme.REPORT_VARIABLE, "1")
    explorer._ipython_display_()
    assert not any(isinstance(part, explore.ipywidgets.Widget) for part in shown)
    assert len(shown) == 6


@pytest.mark.browser
def test_choosing_in_jupyterlab_changes_chart_table_gallery_and_code(folder, tmp_path):
    cell = f"from formlab import explore\nexplore.Explorer([{folder!r}])"
    with jupyterlab(tmp_path, cell) as lab, browser.page(allow=allowed(lab)) as visit:
        page = visit.page
        page.set_default_timeout(40_000)
        page.goto(f"{lab}/lab/tree/demo.ipynb?reset")
        run_cell(page)
        code = page.locator("pre", has_text="charts.dots")
        code.wait_for()
        page.locator(".widget-dropdown select").nth(1).select_option("exact_accuracy")
        page.locator(".widget-dropdown select").nth(3).select_option("header")
        page.locator("pre", has_text="'header'").wait_for()
        page.get_by_text("A sample of the wrong fields of kind header").wait_for()
        assert "metric='exact_accuracy'" in code.inner_text()
        assert page.locator(".vega-embed svg, .vega-embed canvas").count() > 0
        assert page.get_by_role("cell", name="header", exact=True).count() == 1
        assert visit.requests == []


def test_hostile_slice_value_stays_a_text_of_the_code(folder):
    evaluation = analysis.open_evaluation(folder)
    evil = "'); raise SystemExit('"
    view = explore.SliceView(evaluation, "analysis.open_evaluation(x)", "cer", "kind", evil)
    assert repr(evil) in view.code
    assert view.cases.height == 0


def test_folder_without_scored_fields_says_so(folder, monkeypatch):
    monkeypatch.setattr(explore, "metrics_of", lambda _: [])
    with pytest.raises(DataMissing, match="scored fields"):
        explore.Explorer([folder])


def test_evaluation_of_page_text_alone_is_explored(tmp_path):
    from formlab import benchmarks
    from tests.made_pages import page_texts, planted

    corpus = benchmarks.load("funsd", split="test")
    texts = {doc_id: text for doc_id, (_, _, text) in planted(corpus).items()}
    out = tmp_path / "parser"
    analysis.evaluate(corpus, page_texts(corpus, texts)).save(out)
    view = explore.Explorer([str(out)]).choose(metric="cer", by="kind").view
    assert "missing" in view.cases["outcome"].to_list()
    assert len(view.parts()) == 6
