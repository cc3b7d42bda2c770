import pytest

from formlab.charts import caption, scores_table


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
