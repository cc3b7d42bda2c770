import polars as pl
import pytest

from formlab.charts import published, published_caption, published_dots
from formlab.charts.published import ELSEWHERE, FOLDER, citation
from formlab.errors import UnknownName


def datasets(chart):
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.csv")), ids=lambda file: file.stem)
def test_every_published_table_is_read_with_its_source(file):
    table = published(file.stem)
    assert table.height
    assert table["source"].null_count() == 0
    if "value" in table.columns:
        assert table["value"].dtype == pl.Float64
        assert table["value"].is_finite().all()


def test_percent_becomes_a_ratio_and_other_units_stay():
    table = published("formcraft_table4").filter(system="Claude 4 Sonnet")
    values = {row["metric"]: (row["value"], row["unit"]) for row in table.to_dicts()}
    # Table 4 prints 30.20, 77.69 % and 50.13 %.
    assert values["tree_edit_distance"] == (30.20, "nodes, depth-weighted")
    assert values["vqa_accuracy"] == (pytest.approx(0.7769), "ratio")
    assert values["consistency_accuracy"] == (pytest.approx(0.5013), "ratio")


def test_unknown_table_is_named():
    with pytest.raises(UnknownName, match=r"formcraft_tabel1.*formcraft_table1"):
        published("formcraft_tabel1")


def test_a_paper_is_cited_once_with_its_tables():
    said = citation(published("formcraft_table1", "formcraft_table2"))
    assert said.count("FORMCRAFT") == 1
    assert said.endswith("Table 1, Table 2")
    assert citation(pl.DataFrame({"source": ["arXiv"]})) == "arXiv"


def test_own_dot_stands_among_published_ones_best_on_top(summary_of):
    printed = published("formcraft_table4")
    summary = summary_of(("tree_edit_distance", "all", 40.0))
    chart = published_dots(summary, printed, metric="tree_edit_distance")
    kinds = {row["system"]: row["kind"] for row in datasets(chart)}
    assert kinds.pop("x on b:s") == "measured here"
    assert set(kinds.values()) == {ELSEWHERE}
    order = chart.to_dict()["layer"][1]["encoding"]["y"]["sort"]
    # Smaller is better: 30.20, 40, 45.15, 60.15, 76.06.
    assert order == ["Claude 4 Sonnet", "x on b:s", "GPT-5", "Gemini 2.5 Flash", "Qwen2.5-VL-72B"]


def test_published_figures_stand_alone_where_nothing_was_measured(summary_of):
    printed = published("formcraft_table4")
    rows = datasets(published_dots(summary_of(), printed, metric="tree_edit_distance"))
    assert {row["kind"] for row in rows} == {ELSEWHERE}
    said = published_caption(summary_of(), printed, metric="tree_edit_distance", say="Trees.")
    assert said.text.startswith("Trees. No tree edit distance was scored. Open markers are")


def test_caption_has_own_numbers_settings_and_citation(summary_of):
    said = published_caption(
        summary_of(("vqa_accuracy", "all", 0.5)),
        published("formcraft_table4"),
        metric="vqa_accuracy",
        say="Questions.",
    )
    assert "Over all items: accuracy of cross-reference answers 0.500 (95 %" in said.text
    assert "Table 4a, Table 4b" in said.text
    assert said.settings == "b:s|vqa_accuracy|level=question"
