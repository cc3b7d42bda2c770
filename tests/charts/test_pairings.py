import polars as pl

from formlab.charts import pairing_table


def test_each_pairing_is_a_row_and_the_span_is_said_once_a_metric():
    rows = pl.DataFrame({
        "metric": ["cer", "cer"], "pairing": ["label", "oracle"], "value": [1.0, 0.25],
        "ci_low": [0.9, 0.2], "ci_high": [1.0, 0.3], "n_docs": [3, 3], "n_cases": [9, 9],
        "n_paired": [0, 7], "only_naming": [0.75, 0.0], "lowest": [0.25] * 2, "highest": [1.0] * 2,
    })  # fmt: skip
    shown = str(pairing_table(rows)).splitlines()
    assert [line.split("  ")[0] for line in shown[1:]] == ["character error rate (CER)"] * 2
    assert "0.750" in shown[1]
    note = pairing_table(rows).note
    assert note.count("between 0.250 and 1.000") == 1


def test_without_fields_nothing_is_shown():
    assert pairing_table(pl.DataFrame()) is None
