import polars as pl
import pytest

from formlab.charts import caption, scores_by, scores_table


@pytest.mark.parametrize(
    ("metric", "part", "over"),
    [
        ("cer", "all", "Over whole pages: "),
        ("tree_similarity", "all", "Over all forms: "),
        ("macro_vqa_accuracy", "all", "Over all items: "),
        ("cer", "fields", "Over all fields: "),
        ("cer", "kind=date", "Over kind=date: "),
    ],
)
def test_caption_says_what_its_number_is_taken_over(summary_of, metric, part, over):
    assert over in caption(summary_of((metric, part, 0.5)), metric=metric, part=part, say="X.").text


def test_table_of_pages_leaves_out_metrics_of_other_units(summary_of):
    summary = summary_of(
        ("cer", "all", 0.5), ("macro_cer", "all", 0.25), ("tree_similarity", "all", 0.75)
    )
    rows = scores_table(summary, unit="page").frame
    assert rows.select("metric", "value", "macro").rows() == [("cer", 0.5, 0.25)]
    assert scores_table(summary).frame.height == 2


def test_n_beside_a_ratio_is_of_the_fields_it_is_taken_over(summary_of):
    # Of four fields one is to be left alone: three clicks are asked for. A mean over documents
    # leaves out documents, and its fields are all there.
    summary = summary_of(("click_accuracy", "fields", 0.5), ("macro_click_accuracy", "fields", 0.5))
    summary = summary.with_columns(n_undefined=pl.lit(1, pl.Int64))
    said = {name: caption(summary, metric=name, say="X.").text for name in summary["metric"]}
    assert "n = 3 in 2 documents" in said["click_accuracy"]
    assert "n = 4 in 2 documents" in said["macro_click_accuracy"]


def test_unsure_values_have_a_column_where_there_are_any(summary_of):
    summary = summary_of(("cer", "fields", 0.5), ("cer", "kind=date", 0.25))
    plain = summary.with_columns(n_reader=pl.lit(0, pl.Int64), n_ambiguous=pl.lit(0, pl.Int64))
    assert not {"n_reader", "n_ambiguous"} & set(
        scores_by(plain, by="kind", metric="cer").frame.columns
    )
    dates = plain.with_columns(n_ambiguous=pl.Series([3, 2]))
    shown = scores_by(dates, by="kind", metric="cer")
    assert shown.frame["n_ambiguous"].to_list() == [3, 2]
    assert "ambiguous dates" in str(shown)
    assert "n_reader" not in shown.frame.columns
    assert scores_table(dates, part="fields").frame["n_ambiguous"].to_list() == [3]
