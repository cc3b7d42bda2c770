import dataclasses
import json

import polars as pl
import pytest

from formlab import charts, tables
from formlab.analysis import Finding
from formlab.analysis.overview import RUNS
from formlab.charts import theme
from formlab.charts.overview import LINKS_VARIABLE

KEY = {"benchmark": "funsd", "split": "test", "system": "ocr"}
REPORTS = {"funsd": "10_content_modality"}


@pytest.fixture
def runs():
    row = KEY | {"mode": "fixed", "documents": 4, "answered": 3, "values": 8, "right": 6}
    return pl.DataFrame([{name: row.get(name) for name in RUNS}], schema=RUNS)


@pytest.fixture
def findings():
    numbers = {"effect": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n_cases": 4, "n_docs": 2}
    return [Finding("<b>half</b> is lost", "cause", what_to_try="look", **KEY, **numbers)]


def test_cards_count_each_run_alone_and_say_the_first_finding(runs, findings):
    cards = charts.overview_cards(runs, findings)
    assert [card.value for card in cards.cards] == [1, 0.75]
    assert cards.cards[1].label == "values right: ocr on funsd:test"
    assert cards.cards[1].note == "6 of 8 values; 3 of 4 documents have a usable answer"
    assert cards.finding == "ocr on funsd:test: <b>half</b> is lost."


def test_nothing_is_summed_over_evaluations(runs):
    other = runs.with_columns(benchmark=pl.lit("vrdu"), right=pl.lit(0, pl.Int64))
    cards = charts.overview_cards(pl.concat([runs, other]), []).cards
    assert [card.value for card in cards] == [2, 0.75, 0.0]


def test_nothing_was_lost_is_said_only_where_nothing_was(runs):
    assert charts.overview_cards(runs, []).finding.startswith("2 values are not right")
    right = runs.with_columns(right=pl.lit(8, pl.Int64))
    assert charts.overview_cards(right, []).finding == "No value was lost."
    # A parser's pages alone: no value is asked for, and its pages are wrong.
    pages = runs.with_columns(
        pl.lit(0, pl.Int64).alias("values"), pl.lit(0, pl.Int64).alias("right"), page_cer=0.4
    )
    said = charts.overview_cards(pages, [])
    assert said.finding == "No value was lost, and every page has a CER below 0.5."
    assert said.cards[1].label == "CER of pages: ocr on funsd:test"
    assert charts.overview_cards(runs.clear(), []).finding == "Nothing was scored."


def test_finding_links_to_the_report_beside_it(findings, monkeypatch):
    names = ["10_content_modality", "10_content_modality--ocr", "20_layout_structure"]
    monkeypatch.setenv(LINKS_VARIABLE, json.dumps(dict.fromkeys(names, "")))
    table = charts.findings_table(findings, REPORTS)
    # Its own evaluation's before that of the sample.
    assert table.frame["report"].to_list() == ["10_content_modality--ocr.html"]
    bundle = table._repr_mimebundle_()
    assert [c["link"] for c in bundle[theme.MIME.format("table")]["columns"]][-1] is True


def test_finding_without_a_report_beside_it_links_to_nothing(findings, monkeypatch):
    monkeypatch.delenv(LINKS_VARIABLE, raising=False)
    assert "report" not in charts.findings_table(findings, REPORTS).frame.columns
    assert charts.findings_table([], REPORTS).label == "Note"


def test_only_a_page_beside_the_report_becomes_a_link():
    names = ["10_a.html", "javascript:alert(1)//.html", "../x.html", "<b>.html"]
    table = charts.Table(pl.DataFrame({"report": names}), links=("report",))
    page = table._repr_mimebundle_()["text/html"]
    assert page.count("<a ") == 1
    assert '<a href="10_a.html">10_a.html</a>' in page


def test_bars_are_shares_of_each_evaluation_in_the_order_of_statuses():
    rows = [KEY | {"status": s, "cases": n, "documents": 1} for s, n in (("refused", 1), ("ok", 3))]
    chart = charts.status_bars(pl.DataFrame(rows)).to_dict()
    shares = {row["status"]: row["share"] for row in next(iter(chart["datasets"].values()))}
    assert shares == {"refused": 0.25, "ok": 0.75}
    assert chart["encoding"]["color"]["sort"] == ["ok", "refused"]
    assert charts.status_bars(pl.DataFrame(rows).clear()).label == "Note"


def test_runs_are_shown_with_dashes_for_what_is_not_told(runs):
    assert "–" in str(charts.runs_table(runs))


def test_wrong_values_are_counted_by_cause_and_by_kind():
    first = {"task": "text", "doc_id": "1", "gold": "x", "outcome": "mismatch"} | KEY
    rows = [
        first | {"path": f"/{n}", "kind": kind, "cause": cause}
        for n, (kind, cause) in enumerate((
            ("date", "wrong_row"), ("date", "digit"), ("name", "digit"), ("name", "lookalike"),
        ))
    ]  # fmt: skip
    rows += [first | {"path": f"/{n}", "kind": "name", "outcome": "match"} for n in (8, 9)]
    empty = {name: tables.table(name, []) for name in ("documents", "scores")}
    one = tables.Evaluation(cases=tables.table("cases", rows), **empty, **KEY)
    by_cause = charts.wrong_table([one], by="cause", limit=2).frame
    assert by_cause.select("cause", "wrong", "share").rows() == [
        ("digit", 2, 0.5), ("lookalike", 1, 0.25),
    ]  # fmt: skip
    by_kind = charts.wrong_table([one], by="kind").frame
    assert by_kind.drop("where").rows() == [("date", 2, 2, 0.5), ("name", 4, 2, 0.5)]
    right = dataclasses.replace(one, cases=one.cases.filter(outcome="match"))
    assert charts.wrong_table([right], by="kind").text == "No value is wrong."
