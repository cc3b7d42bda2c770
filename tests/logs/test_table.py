import polars as pl
import pytest

from formlab import logs
from formlab.errors import DataBroken, UnknownName
from formlab.logs import table

ROWS = [
    {"id": "007", "target": "9.00", "output": "9.00", "score": "true", "difficulty": "easy"},
    {"id": "8", "target": "May", "output": None, "score": None, "error": "time-out"},
]
NAMED = {"doc_id": "name", "gold": "wanted", "value": "got"}


def test_columns_of_the_usual_names_need_no_naming():
    (run,) = logs.read(ROWS)
    assert run.answers.select("doc_id", "value", "status").rows() == [
        ("007", "9.00", "ok"), ("8", None, "api_error"),
    ]  # fmt: skip
    assert run.responses["error"].to_list() == [None, "time-out"]
    assert run.scores["value"].to_list() == [1.0, None]
    assert run.gold["difficulty"].to_list() == ["easy", None]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_columns_of_any_names_in_any_table(tmp_path, ending):
    file = tmp_path / f"answers.{ending}"
    frame = pl.DataFrame({"name": ["007", "8"], "wanted": ["9.00", "May"], "got": ["9.00", "may"]})
    {
        "csv": frame.write_csv, "jsonl": frame.write_ndjson, "json": frame.write_json,
        "parquet": frame.write_parquet, "tsv": lambda f: frame.write_csv(f, separator="\t"),
    }[ending](file)  # fmt: skip
    evaluation = logs.open_log(file, columns=NAMED)
    assert evaluation.fields.select("doc_id", "gold", "pred", "outcome").rows() == [
        ("007", "9.00", "9.00", "match"), ("8", "May", "may", "match"),
    ]  # fmt: skip
    assert (evaluation.split, evaluation.system) == ("answers", "answers")


def test_frame_of_pandas_or_polars_is_a_log(tmp_path):
    frame = pl.DataFrame([{"name": "a", "wanted": "x", "got": "x"}])
    assert logs.open_log(frame, columns=NAMED).fields["outcome"].item() == "match"


def test_systems_and_epochs_are_runs():
    rows = [ROWS[0] | {"model": model, "epoch": n} for model in "ab" for n in (1, 2)]
    assert [run.system for run in logs.read(rows)] == [
        "a, epoch 1", "a, epoch 2", "b, epoch 1", "b, epoch 2",
    ]  # fmt: skip


def test_sample_given_again_is_counted_and_the_one_that_did_not_fail_stays():
    rows = [ROWS[1], ROWS[1] | {"output": "May", "error": None}, ROWS[1]]
    evaluation = logs.open_log(rows)
    assert evaluation.fields["pred"].to_list() == ["May"]
    assert logs.join_report(evaluation) == {
        "matched": 1, "missing": 0, "duplicate": 2, "failed": 0, "unreadable": 0,
    }  # fmt: skip


def test_fields_of_a_document_stand_at_their_paths():
    rows = [
        {"doc_id": "a", "path": "total", "gold": "9.00", "value": "9.00"},
        {"doc_id": "a", "path": "/date", "gold": "3 May", "value": "4 May"},
    ]
    evaluation = logs.open_log(rows)
    assert evaluation.documents.height == 1
    assert evaluation.fields.select("path", "outcome").rows() == [
        ("/total", "match"), ("/date", "mismatch"),
    ]  # fmt: skip


def test_what_is_no_column_is_named():
    with pytest.raises(UnknownName, match="unknown column 'wantd'.*'wanted'"):
        logs.read([{"name": "a", "wanted": "x", "got": "x"}], columns=NAMED | {"gold": "wantd"})
    with pytest.raises(UnknownName, match="unknown column to name 'golden'"):
        logs.read(ROWS, columns={"golden": "target"})
    with pytest.raises(DataBroken, match="no column is the answer; the table has: name, wanted"):
        logs.read([{"name": "a", "wanted": "x"}])


def test_table_is_detected_by_the_names_of_gold_and_answer(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id;target;output\n1;a;a\n")
    assert table.detect(file)
    file.write_text("doc_id,path,value\n1,/a,a\n")
    assert not table.detect(file)
    with pytest.raises(DataBroken, match="no known format of logs"):
        logs.read(file)


def test_row_without_a_name_among_named_ones_is_called_by_its_number_and_counted():
    evaluation = logs.open_log([*ROWS, {"target": "1", "output": "1"}])
    assert evaluation.documents["doc_id"].to_list() == ["007", "8", "3"]
    assert evaluation.notes["log: rows without id, called by their number"] == 1
