"""The cases that a line selects, beside polars' own filters."""

import dataclasses

import polars as pl
import pytest

from formlab import analysis, selection
from formlab.errors import DataBroken, UnknownName

SHORT = pl.col("gold").str.strip_chars().str.len_chars().is_between(1, 4)


@pytest.fixture(scope="module")
def result():
    whole = analysis.open_evaluation(benchmark="funsd", system="ocr")
    # Forms of 3, 4, … fields; a share; the last form without either.
    numbers = list(range(3, 3 + whole.documents.height))
    documents = whole.documents.with_columns(
        size=pl.Series([*numbers[:-1], None]),
        share=pl.Series([n / 4 for n in numbers[:-1]] + [None]),
    )
    return dataclasses.replace(whole, documents=documents)


def of_documents(result, where):
    names = result.documents.filter(where)["doc_id"]
    return result.cases.filter(pl.col("doc_id").is_in(names.implode()))


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("", pl.lit(True)),
        ("slice=kind:answer", pl.col("kind") == "answer"),
        ("slice=kind:answer&slice=kind:header", pl.col("kind").is_in(["answer", "header"])),
        ("cause=clipped&slice=kind:answer", pl.concat_str("cause", "kind") == "clippedanswer"),
        ("slice=cause", pl.col("cause").is_null()),
        ("report.html#slice=length:1%E2%80%934&case=0123456789", SHORT),
    ],
)  # fmt: skip
def test_values_are_alternatives_and_columns_must_all_fit(result, line, where):
    chosen = analysis.select(result, line)
    assert chosen.equals(result.cases.filter(where))
    assert chosen.height


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("size:5", pl.col("size") == 5),
        ("size:under 5", pl.col("size") < 5),
        ("size:4–6", pl.col("size").is_between(4, 6)),
        ("size:7 and more", pl.col("size") >= 7),
        ("size", pl.col("size").is_null()),
        # Bands of numbers that are not whole end before the next begins.
        ("share:1–1.5", pl.col("share").is_between(1, 1.25)),
        ("share:1", pl.col("share") == 1),
        ("share:under x", pl.lit(False)),
    ],
)
def test_a_number_is_in_its_bands(result, name, where):
    chosen = analysis.select(result, f"slice={name}")
    assert chosen.equals(of_documents(result, where))


def test_rows_of_a_summary_select_as_many_cases_as_they_count(result):
    summary = analysis.summarise(result, by=["kind", "position", "certainty"], average="pooled")
    rows = summary.drop_nulls("slice_by").filter(metric="exact_accuracy")
    counts = [analysis.select(result, line).height for line in selection.of_rows(rows)]
    assert rows.height > 15
    assert counts == rows["n_cases"].to_list()


def test_what_cannot_be_selected_is_said_in_one_error(result):
    with pytest.raises(UnknownName, match="'knd'"):
        analysis.select(result, "slice=knd:answer")
    with pytest.raises(DataBroken, match="selects no cases"):
        analysis.select(result, "kind=answer")
