import polars as pl
import pytest

from formlab.charts import published, published_levels
from formlab.charts.published import FOLDER


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


def test_published_figures_are_in_units_of_the_metric():
    printed = published_levels()
    assert printed["source"].null_count() == 0
    # FORMCRAFT table 4, FinCriticalED table 4, FormFactory table 2 (72.7 %).
    values = {(s, m): v for s, m, v in printed.select("system", "metric", "value").rows()}
    assert values["GPT-5 on formcraft", "vqa_accuracy"] == pytest.approx(0.7913, abs=5e-5)
    assert values["DeepSeek-OCR on fincriticaled", "fact_accuracy"] == 0.7715
    assert values["Qwen-VL-Max on formfactory", "episodic_value"] == pytest.approx(0.727)
