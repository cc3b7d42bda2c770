import json
import math

import polars as pl
import pytest

from formlab import analysis, charts, tables
from tests.charts.conftest import row

ROWS = (
    ("click_accuracy", "fields", 0.4), ("click_accuracy", "kind=string", 0.5),
    ("click_accuracy", "kind=checkbox", 0.0), ("value_found_accuracy", "fields", 0.9),
    ("value_found_accuracy", "kind=string", 0.8), ("value_placed_accuracy", "fields", 0.3),
    ("description_bleu", "kind=description", 0.7),
    ("value_found_accuracy", "kind=description", math.nan),
    ("episodic_click", "all", 0.45), ("episodic_value", "all", 0.85),
    ("form_completed", "all", 0.0),
)  # fmt: skip


@pytest.fixture
def summary():
    return tables.table("summary", [row(*values) for values in ROWS])


@pytest.fixture
def printed():
    return charts.published("formfactory_table2")


def test_own_and_published_figures_stand_in_one_table_as_shares(summary, printed):
    table = charts.table_2(summary, printed)
    own = table.filter(pl.col("origin") == "measured here")
    assert set(own.select("kind", "metric", "value").rows()) == {
        ("String", "click", 0.5), ("Check", "click", 0.0), ("String", "value", 0.8),
        ("Description", "value", 0.7), ("Episodic", "click", 0.45), ("Episodic", "value", 0.85),
    }  # fmt: skip
    theirs = table.filter(pl.col("system") == "GPT 4o")
    values = {(kind, side): v for kind, side, v in theirs.select("kind", "metric", "value").rows()}
    # The paper prints 2.2 percent, and 0.8407 of BLEU.
    assert values["String", "click"] == pytest.approx(0.022)
    assert values["Description", "value"] == 0.8407
    assert table.filter(pl.col("origin") == "published").height == printed.height
    assert table["value"].is_between(0, 1).all()


def test_table_has_a_row_a_system_and_marks_the_published_ones(summary, printed):
    shown = charts.filling_table(charts.table_2(summary, printed))
    assert shown.frame["origin"].to_list() == ["measured here", *["published"] * 6]
    assert shown.frame.columns[2:4] == ["String clk.", "String val."]
    assert shown.frame.columns[-1] == "Episodic val."
    assert shown.frame["String clk."].to_list()[:2] == pytest.approx([0.5, 0.022])
    # Nothing was measured of radio buttons here.
    assert shown.frame["Radio Button clk."][0] is None


def test_dots_are_filled_for_own_and_open_for_published_figures(summary, printed):
    chart = charts.filling_dots(charts.table_2(summary, printed)).to_dict()
    click, value = chart["hconcat"]
    fill = click["layer"][1]["encoding"]["fill"]
    assert fill["scale"]["domain"] == ["measured here", "published"]
    assert fill["scale"]["range"][1] == "transparent"
    assert fill["legend"] is not None
    assert value["layer"][1]["encoding"]["fill"]["legend"] is None
    assert chart["resolve"]["scale"]["fill"] == "independent"
    assert "String click 0.500" in chart["description"]
    assert json.dumps(chart, allow_nan=False)


def test_cards_say_what_was_clicked_found_placed_and_completed(summary):
    cards = charts.filling_cards(summary)
    assert [card.value for card in cards.cards] == [0.4, 0.9, 0.3, 0.0]
    assert cards.finding == (
        "x clicks on the right element for 40% of the fields, writes 90% of the values somewhere, "
        "types 30% into their own field and fills 0% of the forms without a fault."
    )


def test_cards_say_in_how_many_forms_the_wrong_fields_stand(summary):
    rows = [
        {"doc_id": doc, "path": f"/{n}", "task": "click", "outcome": outcome}
        for n, (doc, outcome) in enumerate([("F1", "missing"), ("F1", "mismatch"), ("F2", "match")])
    ]
    cases = tables.table("cases", rows)
    said = charts.filling_cards(summary, cases=cases).finding
    assert said.endswith("without a fault. 2 wrong fields stand in one form, F1.")
    both = cases.with_columns(outcome=pl.lit("missing"))
    assert "3 wrong fields stand in 2 forms." in charts.filling_cards(summary, cases=both).finding


def test_a_kind_is_called_better_only_by_a_finding(summary):
    said = charts.filling_cards(summary, analysis.Finding("So it is", "kinds")).finding
    assert said.endswith("without a fault. So it is.")


def test_caption_cites_the_paper_and_has_both_episodic_figures(summary, printed):
    caption = charts.filling_caption(summary, printed, say="By type.")
    assert "Click accuracy per form 0.450" in caption.text
    assert "value accuracy per form 0.850" in caption.text
    assert "2506.01520" in caption.text
    assert "b:s|value_found_accuracy" in caption.settings


def test_nothing_scored_says_so(summary, printed):
    empty = summary.clear()
    assert charts.filling_cards(empty).finding == "No field of a form was scored."
    assert charts.table_2(empty, printed).height == printed.height
    assert charts.filling_table(charts.table_2(empty, printed.clear())).label == "Note"
    assert charts.filling_dots(charts.table_2(empty, printed.clear())).label == "Note"
    assert "Nothing was scored" in charts.filling_caption(empty, printed, say="x").text
