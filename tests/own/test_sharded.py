"""Shards of own data, opened one by one, are together what the whole is read to."""

import dataclasses
import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from PIL import Image
from polars.testing import assert_frame_equal

from formlab import tables
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.own import sharded
from formlab.readers import gold as own

# Rows of one document lie apart; "party" is a list in one document; "day" is a date but once.
GOLD = [
    {"doc_id": f"d{n}", "path": path, "value": value, "scanner": "XY"[n % 2]}
    for path, values in {
        "total": ["9.00", "7", "12", None, "5"],
        "party": ["Ada", "Bo", "Cy", "Dee, \"D\"\nQuay", "Eve"],
        "day": ["2024-05-01", "2024-05-02", "none", "", "2024-05-03"],
    }.items()
    for n, value in enumerate(values)
]  # fmt: skip
GOLD.insert(9, {"doc_id": "d3", "path": "party", "value": "Flo", "scanner": "Y"})
ANSWERS = [
    {"doc_id": name, "path": path, "value": value, "sure": "yes"}
    for name, path, value in [
        ("d4", "total", "5"), ("scans/d1.png", "total", "8"), ("d0", "party", "Ada"),
        ("d0", "total", "9"), ("other", "total", "1"), ("d4", "tax", "1"), ("d2", "total", None),
        ("d4", "party", "Eve"), ("scans/d1.png", "tax", "0"), ("other", "tax", "2"),
    ]
]  # fmt: skip


def wide(rows):
    documents = {}
    for row in rows:
        place = documents.setdefault(row["doc_id"], {"doc_id": row["doc_id"]})
        place.setdefault(row["path"], row["value"])
    return list(documents.values())


def written(rows, file):
    frame = pl.DataFrame(rows, infer_schema_length=None)
    write = {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson}
    write[file.suffix](file)
    return file


def folder(rows, path):
    path.mkdir()
    for row in wide(rows):
        fields = {name: cell for name, cell in row.items() if name != "doc_id"}
        nested = fields | {"party": [fields["party"], "Z"]} if fields.get("party") else fields
        name = row["doc_id"].replace("/", "_")
        (path / f"{name}.json").write_text(json.dumps(nested))
    (path / ".hidden.json").write_text("{}")
    return path


SOURCES = {
    "csv": lambda rows, at: written(rows, at / "x.csv"),
    "csv wide": lambda rows, at: written(wide(rows), at / "x.csv"),
    "jsonl": lambda rows, at: written(rows, at / "x.jsonl"),
    "jsonl wide": lambda rows, at: written(wide(rows), at / "x.jsonl"),
    "parquet": lambda rows, at: written(rows, at / "x.parquet"),
    "folder": lambda rows, at: folder(rows, at / "x"),
    "frame": lambda rows, at: pl.DataFrame(rows, infer_schema_length=None),
}


def in_order(frames, documents):
    """All rows, those of the gold's documents in their order and then the others."""
    place = documents.select("doc_id").with_row_index("place")
    rows = pl.concat(frames).join(place, on="doc_id", how="left", maintain_order="left")
    return rows.sort("place", maintain_order=True, nulls_last=True).drop("place")


def summed(counts):
    return dict(sum(map(Counter, counts), Counter()))


def check_equal(plan, gold, answers, **options):
    corpus, predictions = own.pair(gold, answers, **options)
    # A source is plain data.
    shards = [sharded.open(source) for source in json.loads(json.dumps(plan.sources))]
    corpora, given = zip(*shards, strict=True)
    assert_frame_equal(pl.concat(shard.documents for shard in corpora), corpus.documents)
    for ours, whole in ((corpora, corpus), (given, predictions)):
        frames = [in_order([x.records for x in side], corpus.documents) for side in (ours, [whole])]
        assert_frame_equal(*frames)
        assert {k: v for shard in ours for k, v in shard.sources.items()} == whole.sources
    assert summed(shard.flaws for shard in corpora) == corpus.flaws
    assert summed(shard.notes for shard in given) == predictions.notes
    assert {(shard.split, shard.root) for shard in corpora} == {(corpus.split, corpus.root)}
    assert {shard.system for shard in given} == {predictions.system} == {plan.system}
    assert plan.documents == corpus.documents.height
    return shards


@pytest.mark.parametrize("form", SOURCES)
@pytest.mark.parametrize("records", [1, 12, 1000])
def test_shards_together_are_the_whole(form, records, tmp_path, monkeypatch):
    # Pieces of few rows: documents go on from one to the next.
    monkeypatch.setattr("formlab.readers.sources._ROWS", 4)
    monkeypatch.setattr("formlab.own._partition._WAITING", 5)
    for side in ("gold", "answers"):
        (tmp_path / side).mkdir()
    gold = SOURCES[form](GOLD, tmp_path / "gold")
    answers = SOURCES[form](ANSWERS, tmp_path / "answers")
    plan = sharded.plan(gold, answers, folder=tmp_path / "work", records=records)
    shards = check_equal(plan, gold, answers)
    if form != "folder":
        # Each has three values and its page, "d3" a further one in long tables.
        documents = {1: [1] * 5, 12: [3, 2], 1000: [5]}[records]
        assert [corpus.documents.height for corpus, _ in shards] == [*documents, 0]
        assert plan.sources[-1]["shard"] == "strange"


def test_types_images_columns_and_texts_are_those_of_the_whole(tmp_path):
    scans = tmp_path / "scans"
    scans.mkdir()
    for name in ("d0", "d0_2", "d2"):
        Image.new("L", (9, 5)).save(scans / f"{name}.png")
    (scans / "d1.txt").write_text("Ada")
    renamed = [{"scan" if name == "doc_id" else name: cell for name, cell in row.items()}
               for row in GOLD]  # fmt: skip
    options = {
        "images": scans, "columns": {"doc_id": "scan", "gold": "value", "prediction": "value"},
        "types": {"total": {"type": "money", "required": True, "weight": 2}},
    }  # fmt: skip
    gold, answers = written(renamed, tmp_path / "g.csv"), written(ANSWERS, tmp_path / "a.csv")
    plan = sharded.plan(gold, answers, folder=tmp_path / "work", records=1, **options)
    shards = check_equal(plan, gold, answers, **options)
    assert [c.documents["image"][0] for c, _ in shards[:3]] == ["d0.png", None, "d2.png"]
    assert shards[1][0].documents["context"].to_list() == ["Ada"]


@pytest.mark.parametrize("is_saved", [False, True])
def test_answers_of_a_run_are_cut_as_well(is_saved, tmp_path):
    _, predictions = own.pair(GOLD, ANSWERS)
    response = {"benchmark": "own", "split": "frame", "doc_id": "d1", "task": "text"}
    predictions = dataclasses.replace(
        predictions, settings={"model": "m"}, notes={"odd": 2},
        responses=tables.table("responses", [response | {"system": "answers", "status": "ok"}]),
    )  # fmt: skip
    answers = predictions.save(tmp_path / "run") if is_saved else predictions
    plan = sharded.plan(GOLD, answers, folder=tmp_path / "work", records=1)
    shards = check_equal(plan, GOLD, answers)
    assert [given.responses.height for _, given in shards] == [0, 1, 0, 0, 0, 0]
    assert {given.settings["model"] for _, given in shards} == {"m"}


@pytest.mark.parametrize(
    "rows",
    [
        # Whether these are values is known by the last row alone; so is the column `scanner`.
        [{"id": n, "name": "Ada", "output": "x"} for n in "abcdef"] + [{"id": "g", "value": "1"}],
        [{"doc_id": n, "path": "t", "value": "1"} for n in "abcd"]
        + [{"doc_id": "a", "path": "u", "value": "2", "scanner": "X", "page": "3"}],
        [{"id": n, "a": "1"} for n in "abc"] + [{"id": "d", "b": {"c": ["2", "3"]}}],
    ],
)
def test_columns_of_later_rows_are_known_from_the_beginning(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("formlab.readers.sources._ROWS", 2)
    file = tmp_path / "x.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"columns": {"doc_id": "id"}} if "id" in rows[0] else {}
    plan = sharded.plan(file, file, folder=tmp_path / "work", records=1, **options)
    check_equal(plan, file, file, **options)


def test_wide_table_with_a_document_twice_is_an_error_also_far_apart(tmp_path, monkeypatch):
    monkeypatch.setattr("formlab.readers.sources._ROWS", 2)
    rows = [{"doc_id": name, "total": "1"} for name in "abcdeb"]
    file = written(rows, tmp_path / "x.jsonl")
    with pytest.raises(DataBroken) as error:
        own.read_values(file)
    with pytest.raises(DataBroken) as same:
        sharded.plan(file, file, folder=tmp_path / "work")
    assert str(same.value) == str(error.value)
    assert "x.jsonl:2" in str(error.value)


def test_what_cannot_be_cut_or_opened_is_one_clear_error(tmp_path):
    corpus = own.corpus(GOLD)
    with pytest.raises(DataBroken, match="only tables"):
        sharded.plan(corpus, ANSWERS, folder=tmp_path)
    with pytest.raises(DataMissing):
        sharded.plan(tmp_path / "no.csv", ANSWERS, folder=tmp_path)
    with pytest.raises(UnknownName, match="'ids'"):
        sharded.plan(GOLD, ANSWERS, folder=tmp_path, columns={"doc_id": "ids"})
    with pytest.raises(DataMissing):
        sharded.open({"folder": str(Path(tmp_path) / "no"), "shard": "00000", "digest": "x-00000"})
