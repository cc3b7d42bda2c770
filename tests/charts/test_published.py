import polars as pl
import pytest

from formlab.charts import PUBLISHED, beside, cited, published, published_levels
from formlab.charts.published import FOLDER, citation
from formlab.errors import UnknownName


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
    units = dict(table.select("metric", "unit").rows())
    values = dict(table.select("metric", "value").rows())
    # Table 4 prints 30.20, 77.69 % and 50.13 %.
    printed = {"tree_edit_distance": 30.2, "vqa_accuracy": 0.7769, "consistency_accuracy": 0.5013}
    assert {name: values[name] for name in printed} == pytest.approx(printed)
    assert [units[n] for n in printed] == ["nodes, depth-weighted", "ratio", "ratio"]


def test_a_paper_is_cited_once_with_its_tables_and_an_unknown_table_is_named():
    text = citation(published("formcraft_table1", "formcraft_table2"))
    assert text.count("FORMCRAFT") == 1
    assert text.endswith("Table 1, Table 2")
    assert citation(pl.DataFrame({"source": ["arXiv"]})) == "arXiv"
    with pytest.raises(UnknownName, match=r"formcraft_tabel1.*formcraft_table1"):
        published("formcraft_tabel1")


def test_own_rows_stand_beside_published_ones_and_say_on_which_forms(summary_of):
    printed = published("formcraft_table4").filter(metric="tree_edit_distance")
    both = beside(summary_of(("tree_edit_distance", "all", 40.0)), printed).sort("value")
    # Smaller is better: 30.20, 40, 45.15, 60.15, 76.06.
    assert both["system"].to_list() == [
        "Claude 4 Sonnet", "x on b:s", "GPT-5", "Gemini 2.5 Flash", "Qwen2.5-VL-72B",
    ]  # fmt: skip
    assert set(both.filter(kind=PUBLISHED)["system"]) == set(printed["system"])
    assert beside(summary_of(), printed).height == 4
    assert cited(printed).endswith("Table 4a.")
    assert cited(printed.clear()) == ""


def test_published_figures_are_in_units_of_the_metric():
    printed = published_levels()
    assert printed["source"].null_count() == 0
    # FORMCRAFT table 4, FinCriticalED table 4, FormFactory table 2 (72.7 %).
    values = {(s, m): v for s, m, v in printed.select("system", "metric", "value").rows()}
    assert values["GPT-5 on formcraft", "vqa_accuracy"] == pytest.approx(0.7913, abs=5e-5)
    assert values["DeepSeek-OCR on fincriticaled", "fact_accuracy"] == 0.7715
    assert values["Qwen-VL-Max on formfactory", "episodic_value"] == pytest.approx(0.727)
