"""The door: the same content has the same rows, and what does not meet is said."""

import gzip
import io
import json
import re
from pathlib import Path

import openpyxl
import polars as pl
import pytest
import yaml

import formlab
from tests.contract.doors import GOLD, SCORE, cli, json_folder, rows, value

RIGHT = {name: fields | {"total": f"{fields['total']}0"} for name, fields in GOLD.items()}
LONG = [(name, key, text) for name, form in RIGHT.items() for key, text in form.items()]
TABLE = "".join(f"{','.join(row)}\n" for row in [("doc_id", "path", "value"), *LONG])
LINES = "".join(json.dumps({"doc_id": name} | form) + "\n" for name, form in RIGHT.items())
F1, ONE = ("--resamples", 0), {"form-1": RIGHT["form-1"]}


def book(rows_of_sheet):
    sheets, stream = openpyxl.Workbook(), io.BytesIO()
    for row in rows_of_sheet:
        sheets.active.append(row)
    sheets.save(stream)
    return stream.getvalue()


def named(rename):
    return {name: {rename(key): text for key, text in form.items()} for name, form in RIGHT.items()}


def sure(text):
    return {"value": text, "confidence": 0.9, "page": 1}


SURE = {n: {key: sure(text) for key, text in form.items()} for n, form in RIGHT.items()}
BESIDE = {n: form | {f"{key}_confidence": 0.5 for key in form} for n, form in RIGHT.items()}
# The same answers by name of their file: all are right.
FILES = {
    "a.csv": TABLE, "a.CSV": TABLE, "a.txt": TABLE, "a.csv.gz": gzip.compress(TABLE.encode()),
    "a.Tsv": TABLE.replace(",", "\t"), "utf16.csv": TABLE.encode("utf-16"),
    "a.JSONL": LINES, "b.json": LINES,
    "a.json": json.dumps(RIGHT), "c.JSON": json.dumps({"predictions": list(map(json.loads,
    LINES.splitlines()))}), "keys.json": json.dumps(named(str.upper)),
    "spaced.json": json.dumps(named("{} ".format)), "sure.json": json.dumps(SURE),
    "beside.json": json.dumps(BESIDE), "in.json": json.dumps({"data": RIGHT}),
    "mixed.json": json.dumps(named(str.upper) | ONE),
    "titled.xlsx": book([["Invoices"], [], ["doc_id", "path", "value"], *map(list, LONG)]),
} | yaml.safe_load((Path(__file__).parent / "data/doors.yml").read_text("utf-8"))  # fmt: skip


def test_d01_one_content_has_one_score_whatever_its_file(work):
    for name, content in FILES.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        assert value(rows(*SCORE, name, *F1), "match_f1") == 1, name
    json_folder(work / "folder", RIGHT)
    for file in sorted((work / "folder").iterdir()):
        file.rename(file.with_suffix(".JSON"))
    assert value(rows(*SCORE, "folder", *F1), "match_f1") == 1
    frames = [pl.DataFrame(LONG, ["doc_id", "path", "value"], orient="row"), RIGHT]
    for frame in (*frames, frames[0].to_pandas()):
        assert formlab.evaluate("truth.csv", frame).fields["outcome"].to_list() == ["match"] * 6


def test_d02_answers_to_a_benchmark_are_one_whatever_their_ending(work):
    box = {"id": 1, "text": "9", "box": [1, 1, 9, 9], "label": "answer", "linking": [], "words": []}
    json_folder(work / "funsd/testing_data/annotations", {"1": {"form": [box]}})
    answer = {"doc_id": "1.png", "path": "entities/1", "value": "9"}
    for name, content in {"a.jsonl": answer, "a.json": [answer]}.items():
        Path(name).write_text(json.dumps(content))
        asked = ("score", "funsd", "--root", "funsd", "--predictions", name, *F1)
        assert value(rows(*asked), "exact_accuracy") == 1, name


# What is wrong with answers, and what is said; the exit code is 2, or 0 where all else is scored.
SAID = {
    "doc_id,path,val\nform-1,name,A\nform-1,date,B\n": (2, "--columns value=val"),
    "doc_id,feild,value\nform-1,name,A\nform-1,date,B\n": (2, "--columns path=feild"),
    '{"doc_id": "form-1", "total": 1, "total": 2}\n': (2, r"name 'total' twice \(.*p\.jsonl:1\)"),
    '{"doc_id": "form-1", "sum": 1, "day": 2}\n': (2, r"gold has: /day.*, /sum.*no answer has"),
    '{"doc_id": "form-1", "totl": 1, "date": "x"}\n': (0, r"no gold has: /totl \(nearest: /total"),
    '{"doc_id": "Form1", "TOTAL": 1, "date": "x"}\n': (0, "Form1 for form-1.*alike but for case"),
}


@pytest.mark.parametrize("content", SAID)
def test_d03_what_does_not_meet_is_said(content, work):
    code, message = SAID[content]
    Path(file := "p.csv" if content.startswith("doc") else "p.jsonl").write_text(content)
    assert re.search(message, cli(*SCORE, file, code=code)[1].replace("\n", " "))
    assert "no answer" not in message or cli(*SCORE, file, "--allow-unmatched")[0]


def test_d04_one_broken_file_of_many_is_a_document_that_failed(work):
    json_folder(work / "many", GOLD)
    for broken in (b"I cannot read this form {", b'{"name": "Ada", "name": "Bo"}', b"\xff\xfe\0"):
        (work / "many/form-2.json").write_bytes(broken)
        out, err = cli(*SCORE, "many", "--json")
        assert value(json.loads(out), "match_accuracy") == 0.5
        assert "status bad_json: 1" in err
        cli("score", "many", "--predictions", "first.jsonl", code=2)


def test_d05_errors_and_formulas_of_a_workbook_are_counted(work):
    cells = [["doc_id", "name", "total"], ["form-1", "Ada Berg", "=1+1"], ["form-2", "#N/A", 5]]
    Path("gold.xlsx").write_bytes(book(cells))
    _, err = cli("score", "gold.xlsx", "--predictions", "first.jsonl")
    assert all(words in err for words in ("error cells", "formulas without a saved value"))


def test_d06_a_name_a_folder_and_what_replaces_another_are_said(work):
    Path("answers.jsonl").write_text(LINES)
    for options, name in (((), "run1"), (("--name", "mine"), "mine")):
        _, err = cli(*SCORE, "answers.jsonl", "--out", "evals/run1", *options)
        assert formlab.open_evaluation("evals/run1").system == name
        assert ("was replaced by mine (" in err) == bool(options)
    assert "replaced" in cli(*SCORE, "first.jsonl", "--out", "evals/second")[1]


def test_d07_an_old_evaluation_says_the_command_that_makes_it_anew(work, tmp_path):
    manifest = work / "evals/second/manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 1}))
    _, err = cli("compare", "evals/first", "evals/second", code=2)
    command = re.search(r"formlab (score /.* /.*--out) FOLDER", err.replace("\n", " "))[1].split()
    assert value(rows(*command, tmp_path / "new", *F1), "match_accuracy") == 1
