import polars as pl
import pytest

from formlab import tables
from formlab.errors import DataBroken, DataMissing, TableBroken
from formlab.tables import Corpus, Predictions

BASE = {"benchmark": "b", "split": "s", "doc_id": "1"}
GOLD = BASE | {"role": "gold", "task": "text", "status": "ok"}


def corpus(**changes):
    rows = [GOLD | {"path": "/a", "value": "x"}]
    given = {
        "documents": tables.table("documents", [BASE]),
        "records": tables.table("records", rows),
        "benchmark": "b",
        "split": "s",
        "flaws": {"odd": 1},
    }
    return Corpus(**(given | changes))


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
        "column task is null in 1 rows", "column status has 1 unknown values: fine",
        "2 rows share a key", "null exactly where role is gold: 2 rows",
    ):  # fmt: skip
        assert part in message


def test_saved_folder_comes_back_with_its_manifest(tmp_path):
    saved = corpus(root=tmp_path / "files")
    loaded = Corpus.load(saved.save(tmp_path / "c"))
    assert loaded.records.equals(saved.records)
    assert loaded.flaws == {"odd": 1}
    assert loaded.root == tmp_path / "files"


def test_folder_of_another_kind_is_refused(tmp_path):
    corpus().save(tmp_path / "c")
    with pytest.raises(DataBroken, match="holds Corpus, not Predictions"):
        Predictions.load(tmp_path / "c")


def test_folder_without_manifest_is_missing_not_a_traceback(tmp_path):
    with pytest.raises(DataMissing, match="manifest"):
        Corpus.load(tmp_path)


def test_folder_with_a_table_of_another_shape_is_refused(tmp_path):
    corpus().save(tmp_path / "c")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "c" / "records.parquet")
    with pytest.raises(TableBroken, match="missing columns"):
        Corpus.load(tmp_path / "c")


def test_unknown_column_or_type_is_refused_when_a_table_is_made():
    with pytest.raises(TableBroken, match="unknown columns colour"):
        tables.table("documents", [BASE | {"colour": 1}])
    with pytest.raises(TableBroken, match="documents"):
        tables.table("documents", [BASE | {"width": "wide"}])


def test_half_a_surrogate_pair_is_kept_as_its_escape():
    frame = tables.table("records", [GOLD | {"value": "a\ud800b"}])
    assert frame["value"].item() == "a\\ud800b"
