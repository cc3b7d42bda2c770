"""One content has the same values in every form; damaged ones are one error with file and line."""

import csv
import datetime
import io
import json
import zipfile
from collections import Counter
from pathlib import Path

import openpyxl
import pandas as pd
import polars as pl
import pytest

from formlab import benchmarks, readers
from formlab.errors import DataBroken, DataMissing, UnknownName
from tests.contract.doors import json_folder
from tests.readers.reading import read_values

FORMS = {
    "a": {"name": 'Li, "Jo"\nQuay', "code": "007", "items": [{"n": "Tea"}, {"n": "Cake"}]},
    "ä 2": {"name": "Ada", "code": "9.50", "items": [{"n": "Pie"}]},
}
VALUES = [
    (doc_id, path, value)
    for doc_id, form in FORMS.items()
    for path, value in [
        ("/name", form["name"]),
        ("/code", form["code"]),
        *((f"/items/{n}/n", item["n"]) for n, item in enumerate(form["items"])),
    ]
]
LONG = [dict(zip(("doc_id", "path", "value"), row, strict=True)) for row in VALUES]
WIDE = [{"doc_id": d} | {p.strip("/"): v for n, p, v in VALUES if n == d} for d in FORMS]
NESTED = [{"doc_id": doc_id} | form for doc_id, form in FORMS.items()]


def table(rows, mark=","):
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, rows[-1] | rows[0], delimiter=mark)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def book(rows, change=lambda sheet: None):
    sheets, stream = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        sheets.active.append(row)
    change(sheets.active)
    sheets.save(stream)
    return stream.getvalue()


def beside(sheet, rows):
    other = sheet.parent.create_sheet()
    for row in rows:
        other.append(row)
    return other


def parquet(rows):
    pl.DataFrame(rows).write_parquet(stream := io.BytesIO())
    return stream.getvalue()


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


HEADED = [["doc_id", "path", "value"], *map(list, VALUES)]
SOURCES = {
    "long.csv": table(LONG), "wide.csv": table(WIDE), "semicolons.csv": table(LONG, ";"),
    "utf16.csv": table(LONG, "\t").encode("utf-16"), "x.tsv": table(LONG, "\t"),
    "unmarked.csv": table(LONG).encode("utf-16-le"), "text.xls": table(LONG, ";"),
    "long.jsonl": lines(LONG), "nested.jsonl": lines(NESTED), "documents.json": json.dumps(FORMS),
    "long.parquet": parquet(LONG), "nested.parquet": parquet(NESTED), "x.xlsx": book(HEADED),
    "polars": pl.DataFrame(LONG), "lazy": pl.LazyFrame(LONG), "pandas": pd.DataFrame(LONG),
    "indexed": pd.DataFrame(WIDE).set_index("doc_id"), "dicts": WIDE, "dict": FORMS,
    "paths": [row | {"doc_id": Path(row["doc_id"])} for row in LONG],
}  # fmt: skip


def put(file, content):
    """A file with that content; what is no text or bytes is a source by itself."""
    if not isinstance(content, str | bytes):
        return content
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


@pytest.mark.parametrize("name", SOURCES)
def test_one_content_has_the_same_values_in_every_form(name, tmp_path):
    found = read_values(put(tmp_path / name, SOURCES[name]))
    assert found.select("doc_id", "path", "value").rows() == VALUES


def test_a_folder_and_an_archive_have_a_document_each_file(tmp_path):
    json_folder(tmp_path / "x/deep", FORMS)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name, form in FORMS.items():
            archive.writestr(f"deep/{name}.json", json.dumps(form))
    for source in (tmp_path / "x", tmp_path / "x.zip"):
        found = read_values(source)
        assert found.select("doc_id", "path", "value").rows() == VALUES
        assert found["origin"][0] == "deep/a.json#/name"
    for name, form in FORMS.items():
        (tmp_path / "md").mkdir(exist_ok=True)
        (tmp_path / f"md/{name}.md").write_text(f"```json\n{json.dumps(form)}\n```")
    assert read_values(tmp_path / "md")["value"].to_list() == found["value"].to_list()
    json_folder(tmp_path / "x/other", FORMS)
    both = {f"{folder}/{name}" for folder in ("deep", "other") for name in FORMS}
    assert {*read_values(tmp_path / "x")["doc_id"]} == both
    one = put(tmp_path / "one.json", '{"items": [{"name": "Tea", "value": "3"}]}')
    assert {*read_values(one)["doc_id"]} == {"one"}


def test_a_document_nested_too_deep_has_no_answer_and_the_others_are_read(tmp_path):
    (tmp_path / "a.txt").write_text('{"x": ' * 70 + "1" + "}" * 70)
    (tmp_path / "b.txt").write_text('{"x": 1}')
    found = read_values(tmp_path)
    assert found.select("path", "status").rows() == [(None, "bad_json"), ("/x", None)]


# Rows of one document, and the columns of its values that differ from what is usual.
READ = {
    "as written": ('{"doc_id": 7, "t": 9.00, "n": 1e3, "p": true, "x": null, "k": "007"}',
                   [("/t", "9.00"), ("/n", "1e3"), ("/p", "true"), ("/x", None), ("/k", "007")]),
    "surrogates": ('{"doc_id": "a", "n": ' + "9" * 5000 + ', "s": "\\ud800"}',
                   [("/n", "9" * 5000), ("/s", "\\ud800")]),
    "dates": (pd.DataFrame({"doc_id": [1], "n": [7.0], "d": [pd.Timestamp("2024-05-01")],
                            "none": [float("nan")], "ok": pd.array([True], dtype="boolean")}),
              [("/n", "7"), ("/d", "2024-05-01"), ("/none", None), ("/ok", "true")]),
    "no value": ({"a": {"items": []}}, [(None, None)]),
    "a page": ([{"doc_id": "a", "text": "Ada"}], [(None, "Ada")]),
    "a list": ([{"doc_id": "a", "key": "p", "value": v} for v in "XY"],
               [("/p/0", "X"), ("/p/1", "Y")]),
    "usual names": ([{"filename": "a", "field": n, "answer": "1"} for n in "tu"],
                    [("/t", "1"), ("/u", "1")]),
    "beside": ([{"doc_id": "a", "t": "1", "t_confidence": ".5"}], [("/t", "1")], "confidence", .5),
    "an object": ([{"doc_id": "a", "t": {"value": 1, "score": 1, "bbox": [1, 2, 3, 4]}}],
                  [("/t", "1")], "y1", 4.0),
    "a number": ([{"doc_id": "a", "path": "t", "value": "1", "page": "2"}], [("/t", "1")],
                 "page", 2),
    "accepted": ([{"doc_id": "a", "path": "t", "value": "1", "accepted": "2|3"}], [("/t", "1")],
                 "accepted", ["2", "3"]),
    "a list in JSON": ([{"doc_id": "a", "path": "t", "value": "1", "accepted": '["2", "3|4"]'}],
                       [("/t", "1")], "accepted", ["2", "3|4"]),
    "an own column": ([{"doc_id": "a", "path": "t", "value": "1", "scanner": 8}], [("/t", "1")],
                      "scanner", "8"),
    "quoted brackets": ([{"doc_id": "a", "$['i/j'][0][\"n\"]": "1"}], [("/i~1j/0/n", "1")]),
    "brackets": ([{"docId": "a", "i[0][n]": "1", "w[g]": "2"}], [("/i/0/n", "1"), ("/w[g]", "2")]),
    "under a name": ({"forms": [{"doc_id": "a", "t": "1"}]}, [("/t", "1")]),
    "over several lines": ('{\n"doc_id": "a",\n"t": "1"\n}', [("/t", "1")]),
    "reasoning": ([{"doc_id": "a", "path": "t", "value": "<think>x</think>1"}], [("/t", "1")],
                  "status", "repaired"),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_values_are_read_as_they_are_written(name, tmp_path):
    content, expected, *column = READ[name]
    found = read_values(put(tmp_path / "x.jsonl", content))
    assert found.select("path", "value").rows() == expected
    assert not column or found[column[0]].to_list()[0] == column[1]


def test_rows_of_several_lines_and_short_ones_stand_among_plain_ones(tmp_path, monkeypatch):
    monkeypatch.setattr("formlab.readers.sources.ROWS", 2)
    text = 'doc_id,path,value\na,t,1\na,u,"1,5"\nb,t,"two\nlines"\n\nb,u,"a ""b"""\nc,t\n'
    found = read_values(put(tmp_path / "x.csv", text), flaws=(flaws := Counter()))
    cells = [("1", 2), ("1,5", 3), ("two\nlines", 4), ('a "b"', 7), (None, 8)]
    assert found.select("value", "origin").rows() == [(v, f"x.csv:{n}") for v, n in cells]
    assert +flaws == {"rows shorter than their header": 1}


def test_a_workbook_has_dates_and_merged_cells(tmp_path):
    day = datetime.datetime(2024, 5, 1)
    rows = [["doc_id", "path", "value"], ["a", "date", day], [None, "total", 9], ["b", "n", 0.5]]
    cover = [["Truth, version 2"], ["Author", "Ann"]]
    put(tmp_path / "x.xlsx", book(cover, lambda sheet: beside(sheet, rows).merge_cells("A2:A3")))
    found = read_values(tmp_path / "x.xlsx", flaws=(flaws := Counter()))
    cells = [("a", "2024-05-01", "x.xlsx, row 2"), ("a", "9", "x.xlsx, row 3")]
    cells += [("b", "0.5", "x.xlsx, row 4")]
    assert found.select("doc_id", "value", "origin").rows() == cells
    assert flaws["sheets left out: only one is read"] == 1


FAR = book([["doc_id", "t"], ["a", "9"]], lambda sheet: sheet.cell(1_048_576, 16_384, "z"))
DAMAGES = {
    "latin.csv": (b"doc_id,t\na,caf\xe9\n", r"not UTF-8: byte 0xe9 .*:2"),
    "ragged.csv": ("doc_id,t\na,1\nb,1,2\n", "3 cells, and 2 in the header .*:3"),
    "twice.csv": ("doc_id,t,t\na,1,2\n", "two columns are called 't' .*:1.*Applicant/Name"),
    "empty.csv": ("", "no rows .*empty.csv"),
    "header.csv": ("doc_id,t\n", "no rows .*header.csv"),
    "quote.csv": ('doc_id,t\na,1\nb,"2\n', "not a table.*:3"),
    "strange.csv": ("x,t\na,1\n", "no column names .* among x, t .*:1.*a row of .*doc_id=…$"),
    "blank.csv": ("doc_id,t\na,1\n,2\n", "no doc_id .*:3"),
    "again.csv": ("doc_id,t\na,1\na,2\n", "'a' is given twice, first at .*:2 .*:3.*/name$"),
    "ids.csv": ("file,id,t\na,1,2\n", "several columns may name the document, among id, file"),
    "page.csv": ("doc_id,path,value,page\na,t,1,two\n", "page cannot be 'two' .*:2"),
    "half.csv": ("doc_id,path,value,page\na,t,1,1.5\n", "page cannot be '1.5' .*:2"),
    "box.csv": ("doc_id,path,value,x0\na,t,1,inf\n", "x0 cannot be 'inf' .*:2"),
    "status.csv": ("doc_id,path,value,status\na,t,1,done\n", "status cannot be 'done' .*:2"),
    "open.jsonl": ('{"doc_id": "a', "starting at column 12 .*open.jsonl:1"),
    "list.jsonl": ('{"doc_id": "a"}\n[1]\n', "cannot be read from list .*:2"),
    "deep.jsonl": ('{"doc_id": "a", "t": ' + "[" * 99 + "]" * 99 + "}", "nested deeper than 60"),
    "numbers.json": ("[1, 2]", "numbers.json"),
    "names.json": ('{"a": {"t": 1, "t": 2}}', "has the name 't' twice"),
    "names.jsonl": ('{"doc_id": "a", "t": "1", "t": "2"}\n', "has the name 't' twice .*:1"),
    "no.xlsx": (b"PK\x03\x04 no workbook", "no.xlsx"),
    "far.xlsx": (FAR, "cells in 1048576 rows and 16384 columns"),
    "no.parquet": (b"PAR1", "no.parquet"),
    "no.doc": ("", "values cannot be read from .doc"),
    "no.csv.gz": (b"\x1f\x8b\x08\x00", "cannot be unpacked.*no.csv.gz"),
    "an integer": (3, "cannot be read from int"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_damaged_is_one_error_with_file_and_line(name, tmp_path):
    content, message = DAMAGES[name]
    with pytest.raises(DataBroken, match=message):
        read_values(put(tmp_path / name, content))


def test_absent_files_empty_folders_and_unknown_columns_are_errors(tmp_path):
    with pytest.raises(DataMissing):
        read_values(tmp_path / "no.csv")
    put(json_folder(tmp_path / "x", {}) / "a.PDF", "%PDF")
    with pytest.raises(DataBroken, match=r"no JSON files in this folder, but \.pdf .*--images"):
        read_values(tmp_path / "x")
    with pytest.raises(UnknownName, match="'ids'"):
        read_values(WIDE, columns={"doc_id": "ids"})
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", " " * 60_000_000)
    with pytest.raises(DataBroken, match="a member that unpacks from"):
        read_values(tmp_path / "a.xlsx")


ANSWER = {"doc_id": "a", "path": "/entities/1", "value": "Ada", "kind": "answer"}
# Answers to a benchmark, the documents and tasks that are read, and what is noted or wrong.
ANSWERS = {
    "a value": ([ANSWER], [("a", "text")], ""),
    "a new path": ([ANSWER | {"path": "/x"}], [("a", "text")], "answer fields that no gold has"),
    "its own task": ([ANSWER | {"task": "value"}], [("a", "value")], ""),
    "twice": ([ANSWER, ANSWER], None, r"two predictions for .*:2\)"),
    "two systems": ([ANSWER | {"system": n, "path": n} for n in "xy"], None, "several systems"),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_to_a_benchmark(name, tmp_path):
    box = {"box": [1, 1, 9, 9], "label": "answer", "linking": [], "words": []}
    form = {"form": [box | {"id": 1, "text": "Ada"}]}
    json_folder(tmp_path / "testing_data/annotations", {"a": form, "b": form})
    corpus = benchmarks.load("funsd", root=tmp_path)
    rows, found, message = ANSWERS[name]
    file = put(tmp_path / "p.jsonl", lines(rows))
    if found is None:
        with pytest.raises(DataBroken, match=message):
            readers.read_predictions(file, corpus)
        return
    predictions = readers.read_predictions(file, corpus)
    assert predictions.records.select("doc_id", "task").rows() == found
    assert message in " ".join(predictions.notes)
