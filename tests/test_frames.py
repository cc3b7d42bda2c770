"""Public functions take frames of polars and of pandas, and return what the user chooses."""

import importlib
import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import formlab
from formlab import analysis, charts, decisions, frames, gallery, tables
from formlab.errors import TableBroken, UnknownName
from formlab.folders import Evaluation

ROOMS = (
    "formlab", "formlab.analysis", "formlab.charts", "formlab.decisions", "formlab.gallery",
    "formlab.readers.gold", "formlab.readers", "formlab.readers.logs", "formlab.trees",
    "formlab_review",
)  # fmt: skip


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


def public():
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in getattr(module, "__all__", None) or vars(module):
            function = getattr(module, name)
            if inspect.isfunction(function) and not name.startswith("_"):
                yield room, name, function


@pytest.mark.parametrize(
    "function", [pytest.param(f, id=f"{room}.{name}") for room, name, f in public()]
)
def test_every_public_function_of_frames_takes_both_libraries(function):
    signature = inspect.signature(inspect.unwrap(function))
    annotations = [str(p.annotation) for p in signature.parameters.values()]
    if any("pl.DataFrame" in text for text in (*annotations, str(signature.return_annotation))):
        assert hasattr(function, "__wrapped__"), function


def test_tables_come_back_from_pandas_as_they_were(evaluation):
    summary = formlab.summarise(evaluation, by=["kind", "scanner"], resamples=5)
    assert summary["ci_low"].is_nan().any()
    parts = evaluation, evaluation.corpus, evaluation.predictions
    tables = [getattr(part, name) for part in parts for name in part.TABLES]
    for table in (*tables, summary):
        assert_frame_equal(frames.to_polars(table.to_pandas()), table)


def test_evaluation_is_the_same_with_tables_of_pandas(evaluation, tmp_path):
    same = {name: getattr(evaluation, name).to_pandas() for name in Evaluation.TABLES}
    again = Evaluation(**same, benchmark="own", split="frame", system="answers").check()
    for name in Evaluation.TABLES:
        assert_frame_equal(getattr(again, name), getattr(evaluation, name))
    again.save(tmp_path)


def test_functions_give_the_same_for_frames_of_both_libraries(evaluation, tmp_path):
    cases, documents = evaluation.cases, evaluation.documents
    theirs = cases.to_pandas()
    assert_frame_equal(analysis.top_errors(theirs), analysis.top_errors(cases))
    assert_frame_equal(analysis.cause_counts(theirs, "kind"), analysis.cause_counts(cases, "kind"))
    shown = [
        gallery.errors(table, root=None, documents=pages, beside=[table]).cases
        for table, pages in ((theirs, documents.to_pandas()), (cases, documents))
    ]
    assert shown[0] == shown[1]
    summary = formlab.summarise(evaluation, average="pooled", resamples=0)
    rows = summary.to_pandas().query("slice_by == 'kind' and metric == 'exact_accuracy'")
    one = {"slice_by": "kind", "metric": "exact_accuracy"}
    wide = summary.filter(**one)
    assert_frame_equal(
        tables.only(summary.to_pandas(), slice_by="kind", metric="exact_accuracy"), wide
    )
    drawn = [charts.dots(frame, "slice_value", metric="exact_accuracy") for frame in (rows, wide)]
    assert drawn[0].to_dict() == drawn[1].to_dict()
    assert str(charts.Table(rows[["metric", "value"]])) == str(
        charts.Table(wide["metric", "value"])
    )
    decided = tables.table("decisions", [])
    assert decisions.version(decided.to_pandas()) == decisions.version(decided)


def test_missing_values_of_any_kind_are_null_and_a_named_index_is_a_column():
    frame = pd.DataFrame(
        {
            "page": [1.0, np.nan], "kind": [None, "answer"], "exact": [True, None],
            "accepted": [["a", "b"], None], "when": [pd.Timestamp("2026-01-02"), pd.NaT],
            "score": pd.array([1, None], dtype="Int64"), 7: [1, 2],
        },
        index=pd.Index(["a", "b"], name="doc_id"),
    )  # fmt: skip
    table = frames.to_polars(frame)
    assert table.columns[0] == "doc_id"
    assert table.columns[-1] == "7"
    assert table.row(1)[1:7] == (None, "answer", None, None, None, None)
    assert table.schema["page"] == pl.Int64
    assert table["accepted"][0].to_list() == ["a", "b"]
    assert frames.to_polars(pd.Series([1, 2])).to_list() == [1, 2]
    assert frames.to_polars({"n": (pd.Series([1]), 3)})["n"][0].to_list() == [1]


def test_frame_that_is_no_table_is_one_error():
    for frame in (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({"a": [1, "x", {}]}),
        pd.DataFrame({"page": ["first"]}),
    ):
        with pytest.raises(TableBroken, match="this frame cannot be read"):
            analysis.top_errors(frame)


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_unknown_column_is_an_error_with_the_nearest_name(evaluation, library):
    cases = evaluation.cases if library == "polars" else evaluation.cases.to_pandas()
    summary = formlab.summarise(evaluation, resamples=0)
    summary = summary if library == "polars" else summary.to_pandas()
    for call in (
        lambda: formlab.summarise(evaluation, by="kin"),
        lambda: formlab.summarise(evaluation, by=["kin"]),
        lambda: formlab.compare([evaluation, evaluation], by="kin"),
        lambda: analysis.compare([evaluation, evaluation], by="kin"),
        lambda: analysis.find_slices(evaluation, columns="kin"),
        lambda: analysis.surface(evaluation, "exact_accuracy", "kin", "page"),
        lambda: analysis.cause_counts(cases, by="kin"),
        lambda: charts.cause_bars(cases, by="kin"),
        lambda: tables.only(cases, kin="answer"),
        lambda: charts.table(cases, "kin"),
        lambda: charts.bars(cases, "kin", "similarity"),
    ):
        with pytest.raises(UnknownName, match=r"'kin'. Try: 'kind' \(known: "):
            call()
    with pytest.raises(UnknownName, match=r"'slice_valu'. Try: 'slice_value'"):
        charts.dots(summary, "slice_valu", metric="exact_accuracy")


def test_one_column_needs_no_list(evaluation):
    both = [formlab.summarise(evaluation, by=by, resamples=0) for by in ("kind", ["kind"])]
    assert_frame_equal(*both)


def test_what_stands_behind_is_no_list():
    def function(frame, *names: "str", by: "Sequence[str]" = ()):  # noqa: F821
        return names, by

    assert frames.either(function)(1, "a", "b", by="c") == (("a", "b"), ("c",))
