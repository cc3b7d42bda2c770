import polars as pl
import pytest

from formlab import charts, tables
from formlab.analysis import headlines
from formlab.analysis.cross import FACTS
from formlab.charts.published import ELSEWHERE, OWN
from tests.made_slices import of

KEY = {"benchmark": "funsd", "split": "test", "system": "x"}


def own(metric, part, value, benchmark, mode="official", **more):
    counts = {"n_docs": 2, "n_cases": 4, "n_missing": 0, "n_undefined": 0}
    return {
        "benchmark": benchmark, "split": "s", "system": "x", "metric": metric, **of(part, metric),
        "value": value, "ci_low": value - 0.1, "ci_high": value + 0.1,
        "mode": mode, "settings": {},
    } | counts | more  # fmt: skip


def figures(level, *rows):
    heads = headlines(tables.table("summary", list(rows)))
    printed = charts.published_levels()
    points = charts.level_points(heads, printed)
    return charts.level_figures(points, printed, level=level)


def drawn(chart):
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def names(chart, kind=ELSEWHERE):
    return {row["name"] for row in drawn(chart) if row["kind"] == kind}


def test_published_figures_are_in_units_of_the_metric():
    printed = charts.published_levels()
    assert printed["source"].null_count() == 0
    # FORMCRAFT table 4, FinCriticalED table 4, FormFactory table 2 (72.7 %).
    values = {
        (name, metric): v for name, metric, v in printed.select("name", "metric", "value").rows()
    }
    assert values["GPT-5 on formcraft", "vqa_accuracy"] == pytest.approx(0.7913, abs=5e-5)
    assert values["DeepSeek-OCR on fincriticaled", "fact_accuracy"] == 0.7715
    assert values["Qwen-VL-Max on formfactory", "episodic_value"] == pytest.approx(0.727)


def test_published_figures_join_the_panel_of_their_own_metric_and_denominator():
    caption, chart, *rest = figures(
        "acting",
        own("episodic_value", "all", 0.5, "formfactory"),
        own("value_submitted_accuracy", "fields", 0.8, "formfactory"),
    )
    assert names(chart, OWN) == {"x on formfactory:s"}
    assert "Qwen-VL-Max on formfactory" in names(chart)
    assert len(names(chart)) == 6
    assert "Value accuracy per form, over fields of a form" in caption.text
    assert "Open markers are published figures" in caption.text
    # What was submitted is another measure than what stands anywhere: it has an axis of its own.
    caption, chart = rest
    assert not names(chart)
    assert "Value accuracy, submitted, over values submitted: x on formfactory:s 0.800" in (
        caption.text
    )
    axes = chart.to_dict()["layer"][1]["encoding"]["x"]["title"]
    assert axes == ["value accuracy, submitted", "over values submitted"]


def test_published_figures_of_another_definition_are_left_out_and_the_reader_is_told():
    _, chart, note = figures(
        "relating", own("consistency_accuracy", "all", 1.0, "formcraft", mode="fixed")
    )
    assert not names(chart)
    assert note.label == "Note"
    assert "accuracy of consistency checks of formcraft" in note.text
    assert "the paper checks every field of a relation" in note.text
    assert "accuracy of cross-reference answers of formcraft" in note.text
    assert "nothing here was scored by this metric on formcraft" in note.text
    _, chart, _ = figures("relating", own("vqa_accuracy", "all", 0.6, "formcraft", mode="fixed"))
    assert len(names(chart)) == 4


def test_own_score_of_another_mode_stands_apart_from_published_ones():
    _, chart, note = figures("locating", own("micro_f1", "all", 0.6, "vrdu", mode="fixed"))
    assert not names(chart)
    assert "they equal formlab's in mode official, which was not used here" in note.text
    _, chart, note = figures("locating", own("micro_f1", "all", 0.6, "vrdu"))
    assert len(names(chart)) == 6
    assert "micro F1" not in note.text


def test_no_chart_has_two_metrics_or_two_denominators():
    shown = figures(
        "reading",
        own("cer", "all", 0.2, "funsd"), own("wer", "all", 0.4, "funsd"),
        own("normalised_accuracy", "fields", 0.5, "funsd"),
        own("normalised_accuracy", "fields", 0.6, "formcraft"),
        own("cer", "all", 1.4, "sroie"),
    )  # fmt: skip
    charted = [one for one in shown if not hasattr(one, "label")]
    assert [len(drawn(chart)) for chart in charted] == [2, 1, 1, 1]
    # An error rate above 1 is on its axis.
    assert charted[0].to_dict()["layer"][1]["encoding"]["x"]["scale"]["domain"] == [0, 1.5]


def test_page_text_alone_has_content_and_a_level_without_a_score_is_a_note():
    caption, chart = figures("reading", own("cer", "all", 0.25, "funsd"))[:2]
    assert "Character error rate (CER), over characters of whole pages" in caption.text
    assert "x on funsd:s 0.250 (measured here)" in chart.to_dict()["description"]
    assert figures("acting", own("cer", "all", 0.25, "funsd")) == []
    heads = headlines(tables.table("summary", [own("cer", "all", 0.25, "funsd")]))
    assert charts.not_scored(charts.level_points(heads, charts.published_levels())).text == (
        "Not scored in these evaluations: locating, structuring, relating, acting; published "
        "figures for these levels are left out."
    )


def test_cards_name_values_with_their_metric_and_rank_no_level():
    rows = [own("cer", "all", 0.2, "funsd"), own("normalised_accuracy", "fields", 0.5, "funsd")]
    rows.append(own("tree_similarity", "all", 0.25, "formcraft"))
    heads = headlines(tables.table("summary", rows))
    cards = charts.level_cards(heads)
    assert [(card.label, card.value) for card in cards.cards] == [
        ("reading, character error rate (CER): x on funsd:s", 0.2),
        ("structuring, tree similarity: x on formcraft:s", 0.25),
    ]  # fmt: skip
    assert cards.finding == (
        "Scored here: reading, structuring; not scored: locating, relating, acting. "
        "Levels have metrics of their own and are not ranked."
    )
    assert charts.level_cards(heads.clear()).finding == "Nothing was scored."


def test_ladder_is_a_line_for_each_evaluation(summary_of):
    rows = summary_of(("exact_accuracy", "fields", 0.5), ("fuzzy_accuracy", "fields", 0.75))
    shown = rows.with_columns(
        rung=pl.col("metric").str.strip_suffix("_accuracy"), tasks=pl.lit("text")
    )
    chart = charts.rung_lines(shown).to_dict()
    assert "text: x on b:s exact 0.500; text: x on b:s fuzzy 0.750" in chart["description"]
    assert charts.rung_lines(shown.clear()).label == "Note"


def test_table_says_what_was_scored_and_what_was_not():
    row = KEY | {"documents": 2, "published": 50, "values": 9, "with_box": 1.0}
    facts = pl.DataFrame([{name: row.get(name) for name in FACTS}], schema=FACTS)
    heads = headlines(
        tables.table("summary", [own("tree_similarity", "all", 0.5, "funsd", split="test")])
    )
    shown = charts.can_say_table(facts, heads).frame.row(0, named=True)
    assert shown["scored here"] == "structuring"
    assert shown["not scored"] == "reading, locating, relating, acting"
    # Table 1 and this one speak of the same rows.
    assert set(charts.headline_table(heads).frame["level"]) == {"structuring"}


def test_leaderboard_has_an_axis_for_each_metric(summary_of):
    heads = headlines(summary_of(("cer", "all", 0.5), ("tree_similarity", "all", 0.25)))
    chart = charts.leaderboard(charts.level_points(heads)).to_dict()
    titles = [part["layer"][1]["encoding"]["x"]["title"] for part in chart["vconcat"]]
    assert titles == [
        ["character error rate (CER)", "over characters of whole pages"],
        ["tree similarity", "over trees"],
    ]
    assert charts.leaderboard(charts.level_points(heads.clear())).label == "Note"
