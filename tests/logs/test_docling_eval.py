import os
import shutil
from pathlib import Path

import pytest

from formlab import logs
from formlab.errors import DataBroken, DataMissing
from formlab.logs import docling_eval

DATA = Path(__file__).parent / "data"
# docling-core wrote the documents; see `generate.py`.
FOLDER = DATA / "docling"


def test_shards_have_gold_and_prediction():
    assert docling_eval.detect(FOLDER)
    (run,) = logs.read(FOLDER)
    assert (run.system, run.name) == ("Docling", "docling")
    assert run.gold.filter(doc_id="f1").select("path", "value").rows() == [
        (None, "NAME: Ada Berg DATE: 3 May DATE: 4 May"), ("/NAME", "Ada Berg"),
        ("/DATE/0", "3 May"), ("/DATE/1", "4 May"),
    ]  # fmt: skip


def test_one_value_of_a_key_that_has_two_is_its_first():
    evaluation = logs.open_log(FOLDER)
    cases = evaluation.fields.filter(doc_id="f1").select("path", "pred", "outcome").rows()
    assert sorted(cases) == [
        ("/DATE/0", "3 May", "match"), ("/DATE/1", None, "missing"),
        ("/NAME", "Ada Borg", "mismatch"),
    ]  # fmt: skip


def test_box_from_the_bottom_left_is_turned_over():
    (run,) = logs.read(FOLDER)
    # The page is 200 high; the value of NAME stands from 180 to 190 above its bottom.
    row = run.gold.filter(doc_id="f1", path="/NAME").row(0, named=True)
    assert [row[side] for side in ("page", "x0", "y0", "x1", "y1")] == [1, 50, 10, 80, 20]
    answer = run.answers.filter(doc_id="f1", path="/NAME").row(0, named=True)
    assert [answer[side] for side in ("x0", "y0", "x1", "y1")] == [50, 10, 80, 20]


def test_failed_conversion_counts_here_and_is_in_no_mean_there():
    evaluation = logs.open_log(FOLDER)
    assert logs.join_report(evaluation)["failed"] == 1
    assert set(evaluation.fields.filter(doc_id="f2")["status"]) == {"api_error"}
    rows = logs.headlines(evaluation).select("by", "over", "value", "n").rows()
    # f1 has one of three fields right; f2 none.
    assert rows == [
        ("log, as stated", "scored", 0.5, 1), ("log", "scored", 0.5, 1), ("log", "all", 0.25, 2),
        ("formlab", "scored", pytest.approx(1 / 3), 1),
        ("formlab", "all", pytest.approx(1 / 6), 2),
    ]  # fmt: skip
    assert evaluation.notes["log: documents that docling-eval rejected: missing_prediction"] == 1


def test_several_key_value_items_are_all_read_and_counted():
    cell = {"cell_id": 0, "text": "KEY"}
    graph = {"cells": [cell, {"cell_id": 1, "text": "v"}],
             "links": [{"source_cell_id": 0, "target_cell_id": 1},
                       {"source_cell_id": 1, "target_cell_id": 0, "label": "to_key"}]}  # fmt: skip
    document = {"key_value_items": [{"graph": graph}, {"graph": graph}]}
    fields = [(field["path"], field["value"]) for field in docling_eval.fields_of(document)]
    assert fields == [("/KEY/0", "v"), ("/KEY/1", "v")]


def test_folder_of_predictions_needs_a_benchmark(tmp_path):
    folder = tmp_path / "predictions"
    shutil.copytree(FOLDER / "predictions", folder)
    (folder / "f4.json").write_text('{"schema_name": "DoclingDocument", ')
    assert docling_eval.detect(folder)
    (run,) = logs.read(folder)
    text = "NAME: Ada Borg DATE: 3 May"
    rows = {doc: (value, status) for doc, value, status in
            run.answers.select("doc_id", "value", "status").rows()}  # fmt: skip
    assert rows["f1"] == rows["f2"] == (text, "ok")
    assert rows["f3"][0].startswith(text)
    assert rows["f4"] == (None, "bad_json")
    assert run.notes[logs.UNREADABLE] == 1
    with pytest.raises(DataBroken, match="the log has no gold"):
        logs.open_log(folder)


def test_other_parquet_is_none(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1nonsense")
    assert not docling_eval.detect(tmp_path / "a.parquet")


def test_a_log_may_stand_in_a_folder_whose_name_is_a_pattern_elsewhere(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "run [3] *")
    assert docling_eval.detect(tmp_path / "run [3] *")
    assert logs.read(tmp_path / "run [3] *")[0].answers.height


def test_shards_that_are_no_files_or_no_tables_are_one_error(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "log")
    (shard,) = (tmp_path / "log").glob("*.parquet")
    other = shard.with_name("zzz.parquet")
    other.write_bytes(b"PAR1")
    with pytest.raises(DataBroken, match=r"zzz\.parquet"):
        logs.read(tmp_path / "log")
    other.unlink()
    os.mkfifo(other)
    with pytest.raises(DataMissing, match=r"not a regular file .*zzz\.parquet"):
        logs.read(tmp_path / "log")
    os.mkfifo(shard.with_name("000.parquet"))
    assert not docling_eval.detect(tmp_path / "log")
