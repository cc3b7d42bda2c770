"""The formats of benchmarks and runs: a table of sources with their rows, and one of damages."""

import dataclasses
import json
import os
import shutil

import polars as pl
import pytest

from formlab import benchmarks, systems
from formlab.benchmarks import formcraft, formfactory, vrdu
from formlab.benchmarks._own import OWN
from formlab.errors import DataBroken, FormlabError
from formlab.readers import read_predictions, reader_of, splits
from formlab.systems import System

from .. import made_formfactory, made_vrdu
from ..made_vrdu import BOX, one

FORM = {
    "fields": [{"label": "Name", "modality": "Textual", "value": "Ada"}],
    "groups": [],
    "vqa": [{"id": "q1", "question": "?", "answers": ["9"]}],
    "consistency": [{"id": "c1", "source": "/Name", "dependent": "/Name", "expected": "Ada"}],
}
NAME = {"fields": [{"label": "Name", "value": 7, "page": 2, "box": [0, 1, 2, 3]}], "groups": []}
SPLIT = f"{made_vrdu.SPLIT}-test_predictions.json"


def run(text, code="A12", **more):
    answer = {"model_response": text, "status": "success"}
    return {
        "template_used": code,
        "data_source": "grant_applications",
        "model_response": answer,
    } | more


def results(entities, **more):
    return {SPLIT: {"meta": {"model": "m"}, "results": {"a.pdf": entities}} | more}


# Of each benchmark, sources: files with their content, and rows as they come out.
SOURCES = {
    "formcraft": [
        (
            {
                "a.json": NAME
                | {"vqa": {"q1": ["a", "b"]}, "consistency": [{"id": "c1", "answer": 1}]}
            },
            [
                ("/Name", "7", "ok"),
                (None, None, "ok"),
                ("/vqa/q1", '["a", "b"]', "ok"),
                ("/consistency/c1", "1", "ok"),
            ],
        ),
        (
            {
                "a.txt": '<think>{"fields": []}</think>So:\n```json\n'
                '{fields: [{label: "Name", value: "Ada"}'
            },
            [("/Name", "Ada", "repaired"), (None, None, "repaired")],
        ),
        (
            {"a.TXT": "{groups} I am sorry.", "b.json": {"fields": []}},
            [(None, None, "bad_json"), (None, None, "ok")],
        ),
        (
            {"a.json": NAME, "a.answers.json": "vqa: no idea"},
            [
                ("/vqa/q1", None, "bad_json"),
                ("/consistency/c1", None, "bad_json"),
                ("/Name", "7", "ok"),
                (None, None, "ok"),
            ],
        ),
        (
            {
                "a.json": {
                    "vqa": [
                        {"id": "q1", "answer": 1},
                        {"id": "q1", "answer": 2},
                        {"answer": 3},
                        "x",
                    ]
                }
            },
            [(None, None, "ok"), ("/vqa/q1", "1", "ok")],
        ),
    ],
    "formfactory": [
        (
            {"A12_json_grants_20260102_030405.json": run("[15,20] Ada\n[120,20] Berg")},
            [
                (None, "[15,20] Ada\n[120,20] Berg", "ok"),
                ("/lines/0", "Ada", "ok"),
                ("/lines/1", "Berg", "ok"),
            ],
        ),
        (
            {"A12-02.txt": "<think>[1,2] no</think>\n[1,2] yes"},
            [(None, "<think>[1,2] no</think>\n[1,2] yes", "ok"), ("/lines/0", "yes", "ok")],
        ),
        (
            {
                "batch_x.json": {
                    "batch_info": {},
                    "results": [run("a"), run("b", instance=2), run("c", "F12")],
                }
            },
            [(None, "a", "ok"), (None, "b", "ok"), (None, "c", "ok")],
        ),
        (
            {"A12_x.json": run("x") | {"model_response": {"status": "error", "error": "no key"}}},
            [(None, "", "api_error")],
        ),
        (
            {
                "submission/grant_applications.json": [
                    {"First Name": "Ada", "age": 4, "submission_time": "1"}
                ]
            },
            [("/First Name", "Ada", "ok"), ("/age", "4", "ok")],
        ),
    ],
    "vrdu": [
        (
            results(
                [
                    ["what", one("tea")],
                    ["who", one("Ann")],
                    ["sum", one("5")],
                    ["sum", one("6")],
                    ["what", one("jam")],
                    ["who", one("Bea")],
                    ["tag", one("x")],
                    ["odd", one("y")],
                ]
            ),
            [
                ("/line_item/0/what", "tea", "ok"),
                ("/who", "Ann", "ok"),
                ("/line_item/0/sum", "5", "ok"),
                ("/line_item/1/sum", "6", "ok"),
                ("/line_item/1/what", "jam", "ok"),
                ("/who/1", "Bea", "ok"),
                ("/tag/0", "x", "ok"),
                ("/odd/0", "y", "ok"),
            ],
        ),
        (results([]), [(None, None, "ok")]),
        (
            results([["day", ["1/1/20"]], ["tag", one("a\ud83d")]]),
            [("/day", "1/1/20", "ok"), ("/tag/0", "a\ufffd", "ok")],
        ),
    ],
    "fincriticaled": [
        (
            {"pred_2.txt": "<p>Page 27</p>", "pred_0.txt": b"caf\xe9 07", "pred_1.txt": ""},
            [(None, "café 07", "ok"), (None, "", "ok"), (None, "<p>Page 27</p>", "ok")],
        ),
        (
            {"pred_0.txt": "<think>No.</think>Page 07", "pred_1.txt": "```html\n17\n```"},
            [(None, "Page 07", "repaired"), (None, "```html\n17\n```", "ok")],
        ),
    ],
}
# Damages: files, and what is said of them.
DAMAGES = {
    "formcraft": [({"a.json": NAME, "a.txt": "{}"}, "two answers for 'a'")],
    "formfactory": [
        ({"batch_x.json": {"batch_info": {}, "results": 3}}, "neither an output"),
        (
            {"batch_x.json": {"batch_info": {}, "results": [run("a") | {"instance": "2"}]}},
            r"instance: an integer or null expected, got the text '2'.*batch_x\.json#/0",
        ),
        (
            {"batch_x.json": [run("a", instance=1), run("b", instance=1)]},
            r"second output of A12-01.*json#/1",
        ),
        ({"A12_x.json": '{"template_used": "A12", "model_resp'}, r"broken JSON.*A12_x\.json"),
    ],
    "vrdu": [
        ({SPLIT: {"results": []}}, "'results' is a list"),
        ({SPLIT: {"results": {"a.pdf": {}}}}, r"an object, not a list.*#/results/a\.pdf"),
        (results([["who", [None, BOX, []]]]), r"not a predicted entity.*#/results/a\.pdf/0"),
        ({SPLIT: '{"results": {"a.pdf": [], "a.pdf": []}}'}, "the name 'a.pdf' twice"),
        ({"other-test_predictions.json": {"results": {}}}, "--split with one of: other"),
    ],
    "fincriticaled": [
        (
            {"pred_2.txt": "a", "pred_02.txt": "b"},
            r"two pages of number 2, the first in pred_02?\.txt",
        ),
    ],
}


def put(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, str | bytes) else json.dumps(content)
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def corpus_of(name, folder):
    if name == "formfactory":
        return formfactory.read("all", made_formfactory.make(folder / "gold"))
    if name == "vrdu":
        return vrdu.read(made_vrdu.SPLIT, made_vrdu.make(folder / "gold"))
    if name == "formcraft":
        put(folder / "gold", {f"forms/{doc}.json": FORM for doc in "ab"})
        return formcraft.read("test", folder / "gold")
    put(folder, {f"gold/gold_{n}.txt": f"<p>Page <number>{n}7</number></p>" for n in range(3)})
    return OWN["fincriticaled"].load("test", folder)


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [(name, *case) for name, cases in SOURCES.items() for case in cases],
)
def test_sources_give_these_rows(name, files, expected, tmp_path):
    corpus, folder = corpus_of(name, tmp_path), put(tmp_path / "model-7", files)
    assert reader_of(folder, corpus).name == name
    found = read_predictions(folder, corpus).check()
    assert found.records.select("path", "value", "status").rows() == expected
    assert found.system == ("m" if name == "vrdu" else "model-7")
    assert len(found.sources) == len(files)


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [(name, *case) for name, cases in DAMAGES.items() for case in cases],
)
def test_damages_are_one_error_that_says_where(name, files, message, tmp_path):
    corpus, folder = corpus_of(name, tmp_path), put(tmp_path / "model-7", files)
    with pytest.raises(FormlabError, match=message):
        read_predictions(folder, corpus)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("formcraft", "a.json", "zz.json"),
        ("formfactory", "A12-02.txt", "A12_json_x.json"),
    ],
)
@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_called_as_an_answer_and_is_no_file_is_not_passed_over(
    name, first, second, kind, tmp_path
):
    corpus, folder = corpus_of(name, tmp_path), put(tmp_path / "m", {first: '{"fields": []}'})
    file = folder / second
    {"folder": file.mkdir, "pipe": lambda: os.mkfifo(file)}.get(
        kind, lambda: file.symlink_to(folder / "nothing")
    )()
    with pytest.raises(FormlabError, match=second):
        read_predictions(folder, corpus)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe{fields:\x00",
        b'{"fields": ' + b"[" * 50_000,
        b'{"fields": [{"label": "\\ud800", "value": "\\udfff"}], "vqa": {"\\ud800": "\\ud800"}}',
        b'{"groups": ' + b'[{"label": "g", "groups": ' * 90 + b"[]" + b"}]" * 90 + b"}",
        b'{"fields": [1, null, {"label": {"a": []}, "value": {"b": 1}}], "vqa": [[[]]]}',
        b'{"vqa": {"q1": {"answer": {"deep": [1]}}}, "consistency": 7, "fields": "none"}',
    ],
)
def test_hostile_forms_are_read_to_valid_tables(data, tmp_path):
    corpus = corpus_of("formcraft", tmp_path)
    found = read_predictions(put(tmp_path / "m", {"a.json": data}), corpus).check()
    assert found.responses.height == 1


@pytest.fixture
def finished(funsd_root, tmp_path):
    """A corpus and the run of a system that reads nothing."""
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    silent = System("silent", "reads nothing", lambda settings, threads: lambda document, root: [])
    systems.run(corpus, silent, out=tmp_path / "r")
    return corpus, tmp_path / "r"


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_run_is_read_finished_or_not(finished, is_finished):
    corpus, out = finished
    whole = read_predictions(out, corpus)
    if not is_finished:
        shutil.rmtree(out / "predictions")
    assert splits(out) == ["test"]
    assert read_predictions(out, corpus).records.equals(whole.records)


def test_a_run_of_another_benchmark_or_with_another_table_is_refused(finished):
    corpus, out = finished
    with pytest.raises(DataBroken, match="read funsd, not sroie"):
        read_predictions(out, dataclasses.replace(corpus, benchmark="sroie"))
    file = out / "predictions" / "records" / "00000.parquet"
    pl.read_parquet(file).head(0).write_parquet(file)
    with pytest.raises(DataBroken, match=r"changed since it was saved .*records/00000\.parquet"):
        read_predictions(out, corpus)
