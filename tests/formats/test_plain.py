import json

import polars as pl
import pytest

from formlab import benchmarks
from formlab.errors import DataBroken, DataMissing
from formlab.formats import read_predictions


@pytest.fixture
def corpus(funsd_root):
    return benchmarks.load("funsd", root=funsd_root, split="test")


def read(corpus, tmp_path, *rows):
    file = tmp_path / "p.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_predictions(file, corpus)


def test_page_text_and_single_values_are_read(corpus, tmp_path):
    found = read(
        corpus, tmp_path,
        {"doc_id": "a", "text": "Name: Ada"},
        {"doc_id": "a", "path": "/entities/1", "value": "Ada", "x0": 1, "confidence": 0.5},
    )  # fmt: skip
    assert found.system == "p"
    columns = ("doc_id", "path", "kind", "value", "x0", "status", "origin")
    assert found.records.select(columns).rows() == [
        ("a", None, "page", "Name: Ada", None, "ok", "p.jsonl:1"),
        ("a", "/entities/1", None, "Ada", 1.0, "ok", "p.jsonl:2"),
    ]


def test_values_of_other_types_are_kept_as_their_json(corpus, tmp_path):
    rows = [
        {"doc_id": "a", "path": f"/{n}", "value": v} for n, v in enumerate([3, True, ["é"], None])
    ]
    found = read(corpus, tmp_path, *rows).records
    assert found["value"].to_list() == ["3", "true", '["é"]', None]
    assert found["status"].to_list() == ["ok", "ok", "ok", "missing"]


def test_number_as_doc_id_is_read_as_its_digits(corpus, tmp_path):
    assert (
        read(corpus, tmp_path, {"doc_id": 82092117, "text": ""}).records["doc_id"].item()
        == "82092117"
    )


def test_unknown_columns_are_left_out_and_counted(corpus, tmp_path):
    found = read(corpus, tmp_path, {"doc_id": "a", "text": "x", "mood": 1})
    assert found.notes == {"column left out: mood": 1}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"text": "x"}], r"no doc_id \(.*p\.jsonl:1\)"),
        ([{"doc_id": "a"}], "neither value nor text"),
        (
            [{"doc_id": "a", "text": "x"}, {"doc_id": "a", "text": "y"}],
            r"two predictions .*:1 .*:2\)",
        ),
        ([{"doc_id": "a", "text": "x", "status": "fine"}], "unknown status 'fine'"),
        ([{"doc_id": "a", "text": "x", "x0": "left"}], "x0 cannot be 'left'"),
        (
            [
                {"doc_id": "a", "text": "x", "system": "m"},
                {"doc_id": "b", "text": "x", "system": "n"},
            ],
            "several systems in one file: m, n",
        ),
    ],
)
def test_wrong_row_is_one_clear_error(corpus, tmp_path, rows, message):
    with pytest.raises(DataBroken, match=message):
        read(corpus, tmp_path, *rows)


def test_parquet_is_read_like_json_lines(corpus, tmp_path):
    file = tmp_path / "p.parquet"
    pl.DataFrame({"doc_id": ["a"], "text": ["x"]}).write_parquet(file)
    assert read_predictions(file, corpus).records["value"].to_list() == ["x"]
    pl.DataFrame({"doc_id": [], "text": []}).write_parquet(file)
    with pytest.raises(DataBroken, match="no rows"):
        read_predictions(file, corpus)


def test_what_is_not_there_or_not_known_is_one_clear_error(corpus, tmp_path):
    with pytest.raises(DataMissing, match="--predictions"):
        read_predictions(tmp_path / "absent", corpus)
    with pytest.raises(DataBroken, match="no known format"):
        read_predictions(tmp_path, corpus)
