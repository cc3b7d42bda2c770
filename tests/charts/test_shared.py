"""What several notebooks show: causes, statuses, pages, weak slices, levels, findings."""

import json
import re

import polars as pl
import pytest

from formlab import analysis, benchmarks, charts, folders, tables
from formlab.analysis import Finding
from formlab.analysis.slices import SLICES
from formlab.charts import theme
from formlab.charts._shared import LINKS_VARIABLE
from formlab.scoring.causes import WHAT_TO_TRY
from tests.made_pages import page_texts, planted
from tests.made_slices import of

KEY = {"benchmark": "funsd", "split": "test", "system": "ocr"}
COUNTS = {"case": 5, "missed": 1, "lookalike": 2, "digit": 4, "wrong_field": 1}
NAN = float("nan")


def drawn(chart):
    return next(iter(chart.to_dict()["datasets"].values()))


def wrong(counts=COUNTS):
    rows = [
        {"cause": cause, "path": f"/{cause}/{n}", "level": "field", "kind": "ab"[n % 2]}
        for cause, count in counts.items()
        for n in range(count)
    ]
    # Nothing is wrong with the first; a page and a node of a tree are no fields.
    more = [{"path": "/ok", "level": "field"}, {"cause": "case", "level": "page"}]
    more.append({"cause": "missed", "path": "/group", "level": "node"})
    return tables.table("cases", [*rows, *more])


def test_causes_come_stage_by_stage_with_share_and_what_to_try():
    table = charts.cause_table(wrong()).frame
    assert table.select("stage", "cause", "cases").rows() == [
        ("find", "missed", 1), ("place", "wrong field", 1),
        ("characters", "digit", 4), ("characters", "lookalike", 2), ("form", "case", 5),
    ]  # fmt: skip
    # 5 of 13 differ in case only.
    assert table["share"][-1] == 5 / 13
    assert table["try"][0] == WHAT_TO_TRY["missed"]
    # A cause from elsewhere has no stage.
    table = charts.cause_table(wrong({"coffee_stain": 2})).frame
    assert table.select("stage", "cause", "cases").rows() == [(None, "coffee stain", 2)]
    assert [charts.cause_table(wrong({})).label, charts.cause_bars(wrong({})).label] == ["Note"] * 2


def test_bars_of_one_stage_share_its_colour_and_are_split_by_kind():
    chart = charts.cause_bars(wrong())
    (bar,) = [part for part in chart.to_dict()["layer"] if part["mark"]["type"] == "bar"]
    scale = bar["encoding"]["color"]["scale"]
    assert scale["domain"] == ["find", "place", "characters", "form"]
    assert scale["range"] == [theme.STAGE_COLOURS[stage] for stage in scale["domain"]]
    assert bar["encoding"]["y"]["sort"] == ["missed", "wrong field", "digit", "lookalike", "case"]
    assert {(r["cause"], r["kind"]): r["cases"] for r in drawn(chart)}["case", "a"] == 3
    assert "try" in {tip["field"] for tip in bar["encoding"]["tooltip"]}


def test_gallery_caption_counts_what_is_shown_by_cause():
    rows = [
        {"path": f"/{i}", "level": "field", "outcome": "missing", "cause": cause}
        for i, cause in enumerate(("digit", "missed", "missed"))
    ]
    stray = {"path": "/9", "level": "field", "outcome": "match", "cause": "wrong_order"}
    for more, size in (([], "3 wrong"), ([stray], "4 fields that are wrong or out of order")):
        cases = tables.table("cases", [*rows, *more])
        text = charts.worst_caption(cases, cases.head(2)).text
        assert f"2 of {size}" in text
        assert "missed 1 of 2; digit 1 of 1" in text
    assert charts.worst_caption(cases.clear(), cases.clear()).label == "Note"


def test_statuses_and_notes_are_counted():
    rows = [
        {"doc_id": d, "level": "field", "status": "ok", "outcome": o}
        for d, o in (("1", "match"), ("2", "match"), ("2", "missing"))
    ]
    parts = {name: tables.table(name, []) for name in ("documents", "scores")}
    parts["cases"] = tables.table("cases", rows)
    result = folders.Evaluation(**parts, **KEY, notes={"odd": 3})
    assert charts.status_table(result).frame.rows() == [
        ("field", "ok", "match", 2, 2), ("field", "ok", "missing", 1, 1),
    ]  # fmt: skip
    assert charts.notes_table(result).frame.rows() == [("odd", 3)]


def test_scores_have_their_mean_and_what_is_unsure_where_it_is(summary_of):
    summary = summary_of(
        ("cer", "all", 0.5), ("cer", "all", 0.25), ("tree_similarity", "all", 0.75),
        ("cer", "fields", 0.4), ("cer", "kind=date", 0.3),
    ).with_columns(
        n_reader=pl.lit(0), n_ambiguous=pl.Series([0, 0, 0, 3, 2]),
        average=pl.Series(["pooled", "macro", *["pooled"] * 3]),
    )  # fmt: skip
    pages = charts.scores_table(summary, level="page").frame
    assert pages.select("metric", "value", "macro").rows() == [("cer", 0.5, 0.25)]
    assert "n_ambiguous" not in pages.columns
    fields = charts.scores_table(summary.filter(level="field"), by="slice_value").frame
    assert fields.select("slice_value", "value", "n_ambiguous").rows() == [
        ("all", 0.4, 3), ("date", 0.3, 2),
    ]  # fmt: skip


def test_pages_are_drawn_by_what_became_of_their_words():
    row = {"doc_id": "1", "status": "ok", "words": 10, "wer": 0.3, "omitted": 0.2, "order": 0.1}
    row |= dict.fromkeys(("inserted", "substituted"), 0.0)
    row |= dict.fromkeys(("fields", "wrong", "missed", "out_of_order"), 0)
    page = pl.DataFrame([row])
    assert {r["error"]: r["rate"] for r in drawn(charts.page_error_bars(page))} == {
        "omitted": 0.2, "inserted": 0.0, "substituted": 0.0, "out of order": 0.1,
    }  # fmt: skip
    assert charts.page_error_bars(page.clear()).label == "Note"


def test_each_evaluation_with_page_texts_has_its_bars():
    corpus = benchmarks.load("funsd", split="test")
    texts = {doc_id: text for doc_id, (_, _, text) in planted(corpus).items()}
    result = analysis.evaluate(corpus, page_texts(corpus, texts))
    caption, chart = charts.each_page_figures([result], limit=3)
    assert "parser on funsd:test" in caption.text
    assert len(drawn(chart)) == 12
    assert [part.label for part in charts.each_page_figures([])] == ["Note"]


@pytest.fixture
def weak():
    row = KEY | {
        "metric": "outcome", "slice_by": ["kind"], "slice_value": ["date"], "value": 0.5,
        "ci_low": 0.4, "ci_high": 0.6, "rest": 0.75, "difference": -0.25, "p_adjusted": 0.01,
        "difference_low": -0.3, "difference_high": -0.2, "excess": 5.0, "n_tested": 7,
        "n_docs": 9, "n_cases": 20, "settings": {},
    }  # fmt: skip
    return pl.DataFrame([row], schema_overrides=SLICES)


def test_weak_slices_stand_beside_all_other_fields(weak):
    over, chart, _, table = charts.slice_figures(weak)
    assert "The first is kind=date of ocr, with 0.500 against 0.750 elsewhere" in over.text
    assert drawn(chart)[0]["rest"] == 0.75
    assert table.frame.select("slice", "excess").rows() == [("kind=date", 5.0)]
    assert "Out of 7 slices tested" in table.note
    assert [part.label for part in charts.slice_figures(weak.clear())] == ["Note"]


def heads_of(*rows):
    base = {"n_docs": 2, "n_cases": 4, "n_missing": 0, "n_undefined": 0, "settings": {}}
    base |= {"split": "s", "system": "x"}
    made = [
        base | of(name, metric) | {"metric": metric, "value": value, "ci_low": value - 0.1,
                                   "ci_high": value + 0.1, "benchmark": benchmark, "mode": mode}
        for metric, name, value, benchmark, mode in rows
    ]  # fmt: skip
    return analysis.headlines(tables.table("summary", made))


def panels(chart):
    """The systems of each panel."""
    spec = chart.to_dict()
    systems = []
    for part in spec["vconcat"]:
        # The data of a single panel stand beside it.
        (name,) = set(re.findall(r"'name': '(data-\w+)'", str([part, spec.get("data")])))
        systems.append([row["system"] for row in spec["datasets"][name]])
    return systems


def test_published_figures_join_the_panel_of_their_own_metric_and_mode():
    heads = heads_of(
        ("episodic_value", "all", 0.5, "formfactory", "official"),
        ("value_submitted_accuracy", "fields", 0.8, "formfactory", "official"),
    )
    printed = charts.published_levels().filter(why="")
    first, second = panels(charts.level_dots(heads, printed))
    assert "Qwen-VL-Max on formfactory" in first
    assert len(first) == 7
    # What was submitted is another measure than what stands anywhere: it has an axis of its own.
    assert second == ["x on formfactory:s"]
    other_mode = heads_of(("micro_f1", "all", 0.6, "vrdu", "fixed"))
    assert panels(charts.level_dots(other_mode, printed)) == [["x on vrdu:s"]]


def test_no_panel_has_two_metrics_or_two_denominators():
    heads = heads_of(
        ("cer", "all", 0.2, "funsd", "fixed"), ("wer", "all", 0.4, "funsd", "fixed"),
        ("normalised_accuracy", "fields", 0.5, "funsd", "fixed"),
        ("normalised_accuracy", "fields", 0.6, "formcraft", "fixed"),
        ("cer", "all", 1.4, "sroie", "fixed"),
    )  # fmt: skip
    assert [len(panel) for panel in panels(charts.level_dots(heads))] == [2, 1, 1, 1]
    assert charts.level_dots(heads.clear()).label == "Note"
    assert set(charts.headline_table(heads).frame["level"]) == {"reading"}


def test_table_of_levels_names_the_tasks_of_each_benchmark():
    rows = {row["benchmark"]: row for row in charts.levels_table().frame.to_dicts()}
    assert set(rows) == set(benchmarks.BENCHMARKS)
    names = [("vrdu", "locating"), ("formcraft", "relating"), ("formfactory", "acting")]
    assert [rows[b][level] for b, level in names] == ["entity", "vqa, consistency", "click"]


@pytest.fixture
def findings():
    numbers = {"effect": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n_cases": 4, "n_docs": 2}
    return [Finding("<b>half</b> is lost", "cause", what_to_try="look", **KEY, **numbers)]


def test_finding_links_to_the_report_beside_it_where_there_is_one(findings, monkeypatch):
    names = ["10_content_modality", "10_content_modality--ocr", "20_layout_structure"]
    built = {name: [] for name in names} | {names[1]: [":".join(KEY.values())]}
    monkeypatch.setenv(LINKS_VARIABLE, json.dumps(built))
    table = charts.findings_table(findings, {"funsd": "10_content_modality"})
    # Its own evaluation's before that of the sample.
    assert table.frame["report"].to_list() == ["10_content_modality--ocr.html"]
    columns = table._repr_mimebundle_()[theme.MIME.format("table")]["columns"]
    assert columns[-1]["link"] is True
    assert table.frame["effect"].to_list() == ["0.500 (0.400 to 0.600)"]
    # The page of a notebook that shows another sample is none of this benchmark.
    table = charts.findings_table(findings, {"funsd": "20_layout_structure--"})
    assert "report" not in table.frame.columns
    monkeypatch.delenv(LINKS_VARIABLE)
    assert "report" not in charts.findings_table(findings, {"funsd": "10"}).frame.columns
    assert charts.findings_table([], {}).label == "Note"


def test_only_a_page_beside_the_report_becomes_a_link():
    names = ["10_a.html", "javascript:alert(1)//.html", "../x.html", "<b>.html"]
    table = charts.Table(pl.DataFrame({"report": names}), links=("report",))
    page = table._repr_mimebundle_()["text/html"]
    assert page.count("<a ") == 1
    assert '<a href="10_a.html">10_a.html</a>' in page
