from formlab.charts import modality_panels, published


def test_a_panel_per_modality_with_the_metric_that_fits(summary_of):
    summary = summary_of(
        ("cer", "modality=textual", 0.3),
        ("cer", "subtype=handwritten", 0.4),
        ("exact_accuracy", "subtype=handwritten", 0.9),
        ("mark_f1", "subtype=checkbox", 0.5),
        ("mark_f1", "modality=none", 0.7),
    )
    printed = published("formcraft_table1", "formcraft_table2", "formcraft_table3")
    spec = modality_panels(summary, printed).to_dict()
    assert [panel["title"] for panel in spec["vconcat"]] == ["textual", "marking"]
    rows = [row for rows in spec["datasets"].values() for row in rows]
    own = {(r["label"], r["metric"], r["value"]) for r in rows if r["kind"] == "measured here"}
    assert own == {
        ("all textual", "cer", 0.3), ("handwritten", "cer", 0.4), ("checkbox", "mark_f1", 0.5)
    }  # fmt: skip
    # Table 1: two subtypes by CER; Table 2: two by F1; four systems each.
    assert sum(row["kind"] == "published" for row in rows) == 16


def test_without_modalities_there_is_a_note(summary_of):
    shown = modality_panels(summary_of(("cer", "modality=none", 0.3)))
    assert shown.label == "Note"
