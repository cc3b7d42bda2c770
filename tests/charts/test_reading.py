from formlab import charts, tables
from formlab.charts import Caption

KEY = {"benchmark": "b", "split": "s", "system": "x", "task": "text", "doc_id": "1"}


def test_slices_that_are_known_are_drawn_without_the_unknown(summary_of):
    rows = [("cer", "fields", 0.5), ("cer", "length=1–4", 0.25), ("cer", "length=none", 0.75)]
    said, chart = charts.slice_figure(summary_of(*rows), metric="cer", by="length", say="X.")
    assert "0.500" in said.text
    data = next(iter(chart.to_dict()["datasets"].values()))
    assert [row["label"] for row in data] == ["1–4"]


def test_without_a_known_slice_there_is_one_line(summary_of):
    summary = summary_of(("cer", "fields", 0.5), ("cer", "certainty=none", 0.5))
    parts = charts.slice_figure(summary, metric="cer", by="certainty", say="X.")
    assert [part.text for part in parts] == ["No field with a known certainty was scored."]


def test_caption_counts_what_is_shown_by_cause():
    rows = [
        KEY | {"path": f"/{i}", "outcome": "missing", "cause": "missed" if i else "digit"}
        for i in range(3)
    ]
    cases = tables.table("cases", rows)
    said = charts.worst_caption(cases, cases.head(2)).text
    assert "2 of 3 wrong fields" in said
    assert "missed 1 of 2; digit 1 of 1" in said
    stray = KEY | {"path": "/9", "outcome": "match", "cause": "wrong_order"}
    cases = tables.table("cases", [*rows, stray])
    said = charts.worst_caption(cases, cases.head(2)).text
    assert "2 of 4 fields that are wrong or out of order" in said
    assert charts.worst_caption(cases.clear(), cases.clear()) == Caption(
        "None of the fields is wrong.", label="Note"
    )
