"""Logs made to break a reader: one clear error, or samples that are counted as unreadable."""

import json
import random
import time

import polars as pl
import pytest
from backports.zstd import zipfile

from formlab import logs
from formlab.errors import DataBroken, FormlabError
from tests.logs.test_open import DATA

# A JSON text of a number that Python does not read, and one that nests deeper than it does.
LONG, DEEP = "9" * 1_000_000, "[" * 100_000 + "]" * 100_000
HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "dataset": {}}}
SAMPLE = {"id": "a", "epoch": 1, "target": "x", "output": {"completion": "x"}}
# Of each format a sample that is read, as a text in which VALUE stands for a part of it.
FORMATS = {
    "log.json": '{"version": 2, "status": "success", "eval": {"model": "m"}, "samples":'
    ' [{"id": "a", "target": "x", "output": {"completion": "x"}, "metadata": {"n": VALUE}}]}',
    "a_samples_t.jsonl": '{"doc_id": 1, "target": "x", "filtered_resps": ["x"], "m": VALUE}',
    "results.json": '[{"fileUrl": "a.png", "trueJson": {"n": 1}, "predictedJson": {"n": VALUE}}]',
    "ocr.json": '[{"id": 1, "answers": ["x"], "predict": "x", "score": VALUE}]',
    "lines.jsonl": '{"doc_id": "a", "comparison_result": {"field_comparisons": [{"expected_key":'
    ' "k", "expected_value": "x", "actual_key": "k", "actual_value": VALUE, "match": true}]}}',
}  # fmt: skip


def archive(folder, members, **options):
    file = folder / "log.eval"
    with zipfile.ZipFile(file, "w", **options) as opened:
        for name, text in members.items():
            opened.writestr(name, text if isinstance(text, str | bytes) else json.dumps(text))
    return file


def unreadable(run):
    return run.notes[logs.UNREADABLE]


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("value", [LONG, DEEP], ids=["digits", "depth"])
def test_number_without_end_and_nesting_without_end_are_counted_or_one_error(tmp_path, name, value):
    good = FORMATS[name].replace("VALUE", "1")
    file = tmp_path / name
    file.write_text(FORMATS[name].replace("VALUE", value))
    with pytest.raises(FormlabError) as error:
        logs.open_logs(file)
    assert len(str(error.value)) < 900
    if name.endswith(".jsonl"):
        # Of a file of lines the others are read.
        file.write_text(good + "\n" + file.read_text())
        (run,) = logs.read(file)
        assert (run.responses.height, unreadable(run)) == (1, 1)


@pytest.mark.parametrize(
    ("name", "row"),
    [("table.jsonl", '{"id": "a", "target": "x", "output": "x", "score": VALUE}'),
     ("m_D.json", '[{"index": "a", "answer": "x", "prediction": "x", "hit": VALUE}]')],
)  # fmt: skip
def test_table_keeps_a_number_without_end_and_refuses_nesting_without_end(tmp_path, name, row):
    file = tmp_path / name
    file.write_text(row.replace("VALUE", LONG))
    assert logs.open_log(file).fields["outcome"].to_list() == ["match"]
    file.write_text(row.replace("VALUE", DEEP))
    with pytest.raises(DataBroken, match=rf"nested more than .*{name}"):
        logs.read(file, columns={"value": "prediction" if name == "m_D.json" else "output"})


def test_member_that_unpacks_to_a_thousand_times_its_size_is_not_unpacked(tmp_path):
    zeros = "0" * 60_000_000
    members = {"header.json": HEADER, "samples/a.json": SAMPLE, "samples/b.json": zeros}
    file = archive(tmp_path, members, compression=zipfile.ZIP_DEFLATED)
    assert file.stat().st_size < 1_000_000
    begun = time.process_time()
    (run,) = logs.read(file)
    assert time.process_time() - begun < 1
    assert (run.responses.height, unreadable(run)) == (1, 1)
    assert any("a member that unpacks from" in note for note in run.notes)
    header = archive(tmp_path, {"header.json": zeros}, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(DataBroken, match="a member that unpacks from"):
        logs.read(header)


def test_member_whose_bytes_are_not_its_own_is_counted(tmp_path):
    file = archive(tmp_path, {"header.json": HEADER, "samples/a.json": SAMPLE,
                              "samples/b.json": SAMPLE | {"id": "b"}})  # fmt: skip
    data = file.read_bytes()
    file.write_bytes(data.replace(b'"id": "b"', b'"id": "c"', 1))
    (run,) = logs.read(file)
    assert (run.responses["doc_id"].to_list(), unreadable(run)) == (["a"], 1)


@pytest.mark.parametrize("cut", [10, 200, -30])
def test_archive_that_was_cut_is_one_error(tmp_path, cut):
    file = archive(tmp_path, {"header.json": HEADER, "samples/a.json": SAMPLE})
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(DataBroken, match=r"no zip file.*log\.eval"):
        logs.read(file)


def test_members_that_are_missing_or_of_another_kind_are_one_error(tmp_path):
    for members, words in (
        ({"samples/a.json": SAMPLE}, r"has header\.json or"),
        ({"header.json": "5"}, "a log is an object with 'eval'"),
        ({"header.json": HEADER}, "no samples"),
        ({"header.json": HEADER, "samples/a.json": "[1]"}, "no sample can be read; the first: "),
        ({"header.json": HEADER, "samples/a.json": b"\xff\xfe"}, "broken JSON"),
    ):
        with pytest.raises(DataBroken, match=words):
            logs.read(archive(tmp_path, members))


def test_figures_that_cannot_be_read_are_counted_and_the_samples_are_read(tmp_path):
    file = archive(tmp_path, {"header.json": HEADER | {"results": {"scores": 5}},
                              "samples/a.json": SAMPLE})  # fmt: skip
    (run,) = logs.read(file)
    assert run.responses.height == 1
    assert run.notes["figures stated in the log that cannot be read"] == 1


def test_python_literal_of_many_digits_is_counted(tmp_path):
    rows = [{"index": n, "answer": "x", "prediction": "x"} for n in range(2)]
    rows[1]["answer"] = f"[0x{'f' * 100_000}]"
    file = tmp_path / "m_D.json"
    file.write_text(json.dumps(rows))
    (run,) = logs.read(file)
    assert (run.responses.height, unreadable(run)) == (1, 1)


def docling(document):
    return {"schema_name": "DoclingDocument"} | document


def test_document_whose_parts_lead_back_to_it_ends(tmp_path):
    turned = {"children": [{"$ref": "#/groups/0"}] * 2, "text": "once"}
    (tmp_path / "a.json").write_text(json.dumps(docling({"groups": [turned], "body": turned})))
    laughs = ["a0: &a0 {text: x, children: []}"]
    laughs += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    (tmp_path / "b.yaml").write_text("\n".join(["schema_name: DoclingDocument", *laughs]))
    begun = time.process_time()
    (run,) = logs.read(tmp_path)
    assert time.process_time() - begun < 2
    assert run.responses.sort("doc_id")["text"].to_list() == ["once once", ""]


def test_document_of_a_shard_that_is_broken_is_counted(tmp_path):
    text = json.dumps(docling({"texts": [{"text": "Ada"}], "body": {"children": [
        {"$ref": "#/texts/0"}]}}))  # fmt: skip
    rows = [
        {"document_id": name, "GroundTruthDocument": gold, "PredictedDocument": text,
         "status": "success"}
        for name, gold in (("a", text), ("b", "{"), ("c", '{"key_value_items": 5}'), ("", text))
    ]  # fmt: skip
    pl.DataFrame(rows).write_parquet(tmp_path / "shard.parquet")
    evaluation = logs.open_log(tmp_path)
    assert evaluation.documents["doc_id"].to_list() == ["a"]
    assert logs.join_report(evaluation)["unreadable"] == 3


def test_parquet_with_changed_bytes_is_read_or_one_error(tmp_path):
    data = next((DATA / "docling").rglob("*.parquet")).read_bytes()
    draw = random.Random(1)
    file = tmp_path / "shard.parquet"
    for _ in range(25):
        changed = bytearray(data[: draw.choice([len(data), draw.randrange(len(data))])])
        for _ in range(draw.randrange(1, 9)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        file.write_bytes(bytes(changed))
        try:
            logs.open_logs(file)
        except FormlabError:
            continue


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD, zipfile.ZIP_LZMA])
def test_archive_with_changed_bytes_is_read_or_one_error(tmp_path, packing):
    members = {"header.json": HEADER, "samples/a.json": SAMPLE | {"text": "abc" * 300}}
    file = archive(tmp_path, members, compression=packing)
    data, draw = file.read_bytes(), random.Random(2)
    for _ in range(60):
        changed = bytearray(data)
        changed[draw.randrange(len(changed))] = draw.randrange(256)
        file.write_bytes(bytes(changed))
        try:
            logs.read(file)
        except FormlabError:
            continue
