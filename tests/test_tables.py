import polars as pl
import pytest

from formlab import tables
from formlab.errors import TableBroken
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


def test_half_characters_are_kept_as_their_escapes_in_texts_and_lists():
    rows = {"doc_id": ["\ud800"], "accepted": [["a", "\udfff"]]}
    frame = tables.table("records", rows)
    assert frame.select("doc_id", "accepted").row(0) == ("\\ud800", ["a", "\\udfff"])
