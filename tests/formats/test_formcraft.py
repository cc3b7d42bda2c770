import json
import os

import polars as pl
import pytest

from formlab.benchmarks import formcraft as benchmark
from formlab.errors import DataBroken, DataMissing
from formlab.formats import formcraft

FORM = {
    "fields": [{"label": "Name", "modality": "Textual", "modality_subtype": "Handwritten",
                "value": "Ada"}],
    "groups": [],
    "vqa": [{"id": "q1", "question": "?", "answers": ["9"]}],
    "consistency": [{"id": "c1", "source": "/Name", "dependent": "/Name", "expected": "Ada"}],
}  # fmt: skip


@pytest.fixture
def corpus(tmp_path):
    forms = tmp_path / "gold" / "forms"
    forms.mkdir(parents=True)
    for name in "abc":
        (forms / f"{name}.json").write_text(json.dumps(FORM))
    return benchmark.read("test", tmp_path / "gold")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "model-7"
    made.mkdir()
    return made


def rows(predictions, *columns, doc="a"):
    return predictions.records.filter(pl.col("doc_id") == doc).select(*columns).rows()


def test_a_form_with_answers_becomes_records(folder, corpus):
    answer = {
        "fields": [{"label": "Name", "modality": "Textual", "modality_subtype": "Mixed",
                    "value": 7, "page": 2, "box": [0, 1, 2, 3]}],
        "groups": [], "vqa": {"q1": ["a", "b"]}, "consistency": [{"id": "c1", "answer": "Ada"}],
    }  # fmt: skip
    (folder / "a.json").write_text(json.dumps(answer))
    predictions = formcraft.read(folder, corpus).check()
    assert predictions.system == "model-7"
    assert rows(predictions, "path", "task", "value", "status", "page", "x1") == [
        ("/Name", "text", "7", "ok", 2, 2.0),
        (None, "text", None, "ok", None, None),
        ("/vqa/q1", "vqa", '["a", "b"]', "ok", None, None),
        ("/consistency/c1", "consistency", "Ada", "ok", None, None),
    ]


def test_raw_model_output_is_read_leniently_and_the_repair_is_shown(folder, corpus):
    (folder / "a.txt").write_text('Sure:\n```json\n{fields: [{label: "Name", value: "Ada"}\n```')
    predictions = formcraft.read(folder, corpus)
    assert rows(predictions, "path", "value", "status")[0] == ("/Name", "Ada", "repaired")
    (response,) = predictions.responses.rows(named=True)
    assert response["status"] == "repaired"
    assert "text around the JSON left out" in response["error"]
    assert response["text"].startswith("Sure:")


def test_output_without_json_leaves_a_row_that_says_so(folder, corpus):
    (folder / "a.txt").write_text("I am sorry.")
    (folder / "b.json").write_text('{"total": 9}')
    predictions = formcraft.read(folder, corpus)
    for doc in "ab":
        assert rows(predictions, "path", "value", "status", doc=doc) == [(None, None, "bad_json")]
    assert predictions.notes["answers bad_json"] == 2
    assert predictions.responses["error"].to_list() == [
        "no JSON object",
        "neither fields nor groups",
    ]


def test_answers_in_their_own_file_have_their_own_status(folder, corpus):
    (folder / "a.json").write_text('{"fields": [{"label": "Name", "value": "Ada"}], "groups": []}')
    (folder / "a.answers.json").write_text("no idea")
    (folder / "b.answers.json").write_text('{"vqa": {"q1": 9}}')
    predictions = formcraft.read(folder, corpus)
    # Sorted by name: the file of answers comes first.
    assert rows(predictions, "path", "status") == [
        ("/vqa/q1", "bad_json"),
        ("/consistency/c1", "bad_json"),
        ("/Name", "ok"),
        (None, "ok"),
    ]
    assert rows(predictions, "path", "value", doc="b") == [("/vqa/q1", "9")]


def test_only_answers_without_a_form_are_enough(folder, corpus):
    (folder / "a.json").write_text('{"vqa": {"q1": "9"}}')
    found = rows(formcraft.read(folder, corpus), "path", "value", "status")
    assert found == [(None, None, "ok"), ("/vqa/q1", "9", "ok")]


def test_an_answer_given_twice_is_counted_and_the_first_stands(folder, corpus):
    answers = [{"id": "q1", "answer": 1}, {"id": "q1", "answer": 2}, {"answer": 3}, "x"]
    (folder / "a.json").write_text(json.dumps({"vqa": answers}))
    predictions = formcraft.read(folder, corpus)
    assert rows(predictions, "path", "value") == [(None, None), ("/vqa/q1", "1")]
    assert predictions.notes["answers given twice, the first kept"] == 1
    assert predictions.notes["answers without an id"] == 2


def test_two_files_for_one_form_are_an_error(folder, corpus):
    for ending in ("json", "txt"):
        (folder / f"a.{ending}").write_text('{"fields": []}')
    with pytest.raises(DataBroken, match="two answers for 'a'"):
        formcraft.read(folder, corpus)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe{\x00",
        b'{"fields": [{"label": "' + b"x" * 3_000_000 + b'", "value": "\x00\x1b[31m"}]}',
        b'{"fields": [{"label": "\\ud800", "value": "\\udfff"}], "vqa": {"\\ud800": "\\ud800"}}',
        b'{"fields": ' + b"[" * 50_000,
        b'{"groups": ' + b'[{"label": "g", "groups": ' * 90 + b"[]" + b"}]" * 90 + b"}",
        b'{"fields": [1, null, {"label": {"a": []}, "value": {"b": 1}}], "vqa": [[[]]]}',
        b'{"vqa": {"q1": {"answer": {"deep": [1]}}}, "consistency": 7, "fields": "none"}',
    ],
    ids=["not UTF-8", "3 MB label", "lone surrogates", "deep", "ninety groups", "odd types",
         "odd answers"],
)  # fmt: skip
def test_hostile_output_is_read_to_valid_tables(folder, corpus, data):
    (folder / "a.json").write_bytes(data)
    predictions = formcraft.read(folder, corpus).check()
    assert predictions.responses.height == 1
    assert predictions.records.height >= 1


def test_the_detector_knows_its_folders(folder, tmp_path):
    assert not formcraft.is_one(folder)
    (folder / "a.txt").write_text("plain text of a page: fields of grass")
    assert not formcraft.is_one(folder)
    (folder / "b.txt").write_text("```json\n{groups: []")
    assert formcraft.is_one(folder)
    assert not formcraft.is_one(folder / "b.txt")
    assert not formcraft.is_one(tmp_path / "nowhere")


def test_an_empty_folder_is_an_error(folder, corpus):
    with pytest.raises(DataBroken, match="no answers"):
        formcraft.read(folder, corpus)


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_answer_that_is_no_file_is_an_error_and_not_passed_over(corpus, folder, kind):
    (folder / "a.json").write_text('{"fields": []}')
    file = folder / "zz.json"
    if kind == "folder":
        file.mkdir()
    elif kind == "link":
        file.symlink_to(folder / "nothing")
    else:
        os.mkfifo(file)
    assert formcraft.is_one(folder)
    with pytest.raises(DataMissing, match=r"zz\.json"):
        formcraft.read(folder, corpus)
