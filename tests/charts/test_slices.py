import polars as pl

from formlab.analysis.slices import SLICES
from formlab.charts import Caption
from formlab.charts.slices import slice_caption, slice_figures, slice_ranks, slice_table


def row(name, value, system="m"):
    return {
        "benchmark": "b", "split": "s", "system": system, "metric": "outcome",
        "slice_by": [name.partition("=")[0]], "slice_value": [name.partition("=")[2]],
        "value": value,
        "ci_low": value - 0.1, "ci_high": value + 0.1, "rest": 0.8, "difference": value - 0.8,
        "difference_low": -0.5, "difference_high": -0.1, "p": 0.001, "p_adjusted": 0.01,
        "excess": 12.5, "n_docs": 9, "n_cases": 40, "n_tested": 77, "settings": {},
    }  # fmt: skip


FOUND = pl.DataFrame([row("kind=a", 0.4), row("page=2", 0.5)], schema=SLICES)


def test_ranks_show_each_slice_with_interval_rest_and_n_in_order():
    spec = slice_ranks(FOUND).to_dict()
    fields = [layer["encoding"]["x"].get("field") for layer in spec["layer"]]
    assert fields == ["ci_low", "value", "rest", None]
    assert spec["layer"][1]["encoding"]["y"]["sort"] == ["kind=a", "page=2"]
    assert "kind=a 0.400 against 0.800" in spec["description"]


def test_several_systems_are_named_and_coloured():
    both = pl.DataFrame([row("kind=a", 0.4), row("kind=a", 0.5, "n")], schema=SLICES)
    spec = slice_ranks(both).to_dict()
    assert spec["layer"][1]["encoding"]["y"]["sort"] == ["m: kind=a", "n: kind=a"]
    assert spec["layer"][1]["encoding"]["color"]["scale"]["domain"] == ["m", "n"]


def test_table_never_shows_a_slice_without_its_counts_and_interval():
    shown = slice_table(FOUND)
    assert {"n_docs", "n_cases", "ci_low", "ci_high", "difference_low"} <= set(shown.frame.columns)
    assert "77 slices" in shown.note


def test_caption_speaks_of_the_heaviest():
    text = str(slice_caption(FOUND, say="So."))
    assert "kind=a of m with 0.400 against 0.800" in text
    assert "n = 40 in 9 documents" in text


def test_where_nothing_is_found_one_note_says_so():
    (note,) = slice_figures(FOUND.clear())
    assert isinstance(note, Caption)
    assert note.label == "Note"
    assert "None was found" in str(slice_caption(FOUND.clear(), say="So."))
    assert len(slice_figures(FOUND)) == 4
