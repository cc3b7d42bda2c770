"""Public functions take frames of polars and of pandas, and return what the user chooses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import formlab
from formlab import analysis, charts, gallery, tables
from formlab.errors import TableBroken, UnknownName


@pytest.fixture(scope="module")
def evaluation():
    gold = [
        {"doc_id": name, "value": value, "path": path, "kind": kind, "scanner": "A", "page": page}
        for name in "abc"
        for path, value, kind, page in (
            ("/name", f"Ada {name}", "answer", 1), ("/total", "9.00", "number", None),
        )
    ]  # fmt: skip
    answers = [row | {"value": row["value"].replace("Ada a", "Ado a")} for row in gold[:5]]
    for row in answers:
        del row["scanner"], row["kind"]
    return formlab.evaluate(gold, answers)


def test_tables_come_back_from_pandas_as_they_were(evaluation):
    summary = formlab.summarise(evaluation, by=["kind", "scanner"], resamples=5)
    assert summary["ci_low"].is_nan().any()
    parts = evaluation, evaluation.corpus, evaluation.predictions
    every = [getattr(part, name) for part in parts for name in part.TABLES]
    for table in (*every, summary):
        assert_frame_equal(tables.to_polars(table.to_pandas()), table)


def test_functions_give_the_same_for_frames_of_both_libraries(evaluation):
    cases, summary = evaluation.cases, formlab.summarise(evaluation, resamples=0)
    pages, one = evaluation.documents, {"slice_by": "kind", "metric": "exact_accuracy"}
    functions = (
        lambda cases, *_: analysis.cause_counts(cases, "kind"),
        lambda cases, *_: gallery.errors(cases, of=evaluation).cases,
        lambda *frames: tables.only(frames[-1], **one),
        lambda *frames: charts.dots(frames[-1], "slice_value", metric="cer").to_dict(),
    )
    libraries = [cases, pages, summary], [table.to_pandas() for table in (cases, pages, summary)]
    for function in functions:
        first, second = (function(*frames) for frames in libraries)
        assert first.equals(second) if isinstance(first, pl.DataFrame) else first == second


def test_missing_values_of_any_kind_are_null_and_a_named_index_is_a_column():
    frame = pd.DataFrame(
        {
            "page": [1.0, np.nan], "kind": [None, "answer"], "exact": [True, None],
            "accepted": [["a", "b"], None], "when": [pd.Timestamp("2026-01-02"), pd.NaT],
            "score": pd.array([1, None], dtype="Int64"), 7: [1, 2],
        },
        index=pd.Index(["a", "b"], name="doc_id"),
    )  # fmt: skip
    table = tables.to_polars(frame)
    assert table.columns[0] == "doc_id"
    assert table.columns[-1] == "7"
    assert table.row(1)[1:7] == (None, "answer", None, None, None, None)
    assert table.schema["page"] == pl.Int64
    assert table["accepted"][0].to_list() == ["a", "b"]
    assert tables.to_polars(pd.Series([1, 2])).to_list() == [1, 2]
    assert tables.to_polars({"n": (pd.Series([1]), 3)})["n"][0].to_list() == [1]


def test_frame_that_is_no_table_is_one_error():
    for frame in (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({"a": [1, "x", {}]}),
        pd.DataFrame({"page": ["first"]}),
    ):
        with pytest.raises(TableBroken, match="this frame cannot be read"):
            analysis.cause_counts(frame)


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_unknown_column_is_an_error_with_the_nearest_name(evaluation, library):
    cases, summary = evaluation.cases, formlab.summarise(evaluation, resamples=0)
    if library == "pandas":
        cases, summary = cases.to_pandas(), summary.to_pandas()
    for call in (
        lambda: formlab.summarise(evaluation, by="kin"),
        lambda: formlab.compare([evaluation, evaluation], by="kin"),
        lambda: analysis.find_slices(evaluation, columns="kin"),
        lambda: analysis.cause_counts(cases, by="kin"),
        lambda: tables.only(cases, kin="answer"),
        lambda: charts.bars(cases, "kin", "similarity"),
        lambda: charts.dots(summary, "slice_valu", metric="exact_accuracy"),
    ):
        with pytest.raises(
            UnknownName, match=r"'kin'. Try: 'kind' |'slice_valu'. Try: 'slice_value'"
        ):
            call()
