import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import formlab
from formlab import analysis, charts, selection, tables
from formlab.errors import DataBroken, TableBroken, UnknownName
from formlab.folders import Evaluation

BASE = {"benchmark": "b", "split": "s", "doc_id": "1"}
GOLD = BASE | {"role": "gold", "task": "text", "status": "ok"}


def test_every_schema_makes_an_empty_table_that_passes_its_check():
    for name in tables.SCHEMAS:
        tables.check(name, tables.table(name, []))


def test_one_error_lists_every_mismatch():
    frame = pl.DataFrame(
        [
            GOLD | {"system": "m", "status": "fine", "path": "/a"},
            GOLD | {"system": "m", "task": None, "path": "/a"},
        ]
    ).with_columns(pl.lit(1).alias("value"), pl.lit(1).alias("outcome"))
    with pytest.raises(TableBroken) as caught:
        tables.check("records", frame)
    message = str(caught.value)
    for part in (
        "missing columns", "other tables' columns: outcome",
        "column value is Int32, should be String",
        "column task is null in 1 rows", "column status has unknown values: fine",
        "2 rows share a key", "null exactly where role is gold: 2 rows",
    ):  # fmt: skip
        assert part in message


def test_unknown_column_or_type_is_refused_when_a_table_is_made():
    for column, says in (
        ({"colour": 1}, "unknown columns colour"),
        ({"width": "wide"}, "documents"),
    ):
        with pytest.raises(TableBroken, match=says):
            tables.table("documents", [BASE | column])


def evaluation(**changes):
    case = BASE | {"system": "m", "task": "text", "path": "/a", "outcome": "match"}
    given = {
        "documents": tables.table("documents", [BASE]), "cases": tables.table("cases", [case]),
        "scores": tables.table("scores", []), "benchmark": "b", "split": "s", "system": "m",
    }  # fmt: skip
    return Evaluation(**(given | changes))


def test_own_columns_are_saved_and_those_with_taken_names_are_refused(tmp_path):
    own = evaluation()
    own = evaluation(
        documents=own.documents.with_columns(scanner=pl.lit("A")),
        cases=own.cases.with_columns(effort=pl.lit(2)),
    )
    loaded = Evaluation.load(own.save(tmp_path / "e"))
    assert (loaded.own, loaded.cases["effort"].item()) == (["scanner", "effort"], 2)
    taken = own.documents.with_columns(outcome=pl.lit("match"))
    with pytest.raises(TableBroken, match="names of other tables' columns: outcome"):
        evaluation(documents=taken).check()
    both = own.documents.with_columns(effort=pl.lit(1))
    with pytest.raises(TableBroken, match="of documents and of cases: effort"):
        evaluation(documents=both, cases=own.cases).check()


def test_a_case_is_known_by_document_task_level_and_paths():
    one = evaluation().cases
    for change in ({"task": "entity"}, {"level": "node"}, {"pred_path": "/b"}):
        other = one.with_columns(pl.lit(v).alias(k) for k, v in change.items())
        tables.check("cases", pl.concat([one, other]))
    with pytest.raises(TableBroken, match="2 rows share a key"):
        tables.check("cases", pl.concat([one, one]))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("page", 2**70), ("page", "x"), ("page", 1.5), ("x0", 10**400), ("value", 10**400),
        ("value", True), ("value", {"a": 1}), ("accepted", [[10**400]]),
    ],
)  # fmt: skip
def test_what_a_table_cannot_hold_names_its_column(column, value):
    rows = {"doc_id": ["a", "b"], column: [None, value]}
    by_row = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    for given in (rows, by_row):
        with pytest.raises(TableBroken, match=f"records: column {column} is ") as caught:
            tables.table("records", given)
        assert len(str(caught.value)) < 300


def test_rows_of_nothing_are_rows_and_what_is_left_out_is_null_or_what_all_have():
    assert tables.table("records", [{}, {}], doc_id="a")["doc_id"].to_list() == ["a", "a"]
    frame = tables.table("documents", [{"doc_id": "a"}, {"doc_id": "b", "split": "t"}], split="s")
    assert frame.select("doc_id", "split", "meta").rows() == [("a", "s", None), ("b", "t", None)]
    given = [{"path": "/a"}, {"path": "/a", "task": "layout"}, {}, {"level": "document"}]
    levels = tables.table("cases", given)["level"].to_list()
    assert levels == ["field", "node", "page", "document"]
    # Half characters are kept as their escapes in texts and lists.
    frame = tables.table("records", {"doc_id": ["\ud800"], "accepted": [["a", "\udfff"]]})
    assert frame.select("doc_id", "accepted").row(0) == ("\\ud800", ["a", "\\udfff"])


ODD = ["a:b", "a&b=c", "50 %", "#", "ü–½", "", "null", " ", "slice", "\u2028", "a/b"]


@pytest.mark.parametrize("name", [*filter(None, ODD), *selection.NAMED])
def test_what_is_written_is_read_again(name):
    chosen = {name: [*ODD, None], "kind": ["answer"]}
    assert selection.read(selection.text(chosen)) == chosen


def test_rows_of_several_columns_select_what_fits_them_all():
    row = {"slice_by": [["kind", "length"]], "slice_value": [["answer", "1–4"]]}
    assert selection.of_rows(pl.DataFrame(row)) == ["slice=kind:answer&slice=length:1%E2%80%934"]


@pytest.mark.parametrize("line", ["kind", "colour=red", "slice=", "=x"])
def test_what_selects_nothing_is_told_apart(line):
    with pytest.raises(DataBroken, match="selects no cases"):
        selection.read(line)


@pytest.fixture(scope="module")
def small():
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


def test_tables_come_back_from_pandas_as_they_were(small):
    summary = formlab.summarise(small, by=["kind", "scanner"], resamples=5)
    assert summary["ci_low"].is_nan().any()
    parts = small, small.corpus, small.predictions
    every = [getattr(part, name) for part in parts for name in part.TABLES]
    for table in (*every, summary):
        assert_frame_equal(tables.to_polars(table.to_pandas()), table)


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
def test_unknown_column_is_an_error_with_the_nearest_name(small, library):
    cases, summary = small.cases, formlab.summarise(small, resamples=0)
    if library == "pandas":
        cases, summary = cases.to_pandas(), summary.to_pandas()
    for call in (
        lambda: formlab.summarise(small, by="kin"),
        lambda: formlab.compare([small, small], by="kin"),
        lambda: analysis.find_slices(small, columns="kin"),
        lambda: analysis.cause_counts(cases, by="kin"),
        lambda: tables.only(cases, kin="answer"),
        lambda: charts.bars(cases, "kin", "similarity"),
        lambda: charts.dots(summary, "slice_valu", metric="exact_accuracy"),
    ):
        with pytest.raises(
            UnknownName, match=r"'kin'. Try: 'kind' |'slice_valu'. Try: 'slice_value'"
        ):
            call()
