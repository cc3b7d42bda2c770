"""Every form of a user's table is read to the same values, and hostile ones to one clear error."""

import csv
import datetime
import json
import zipfile
from collections import Counter

import pandas as pd
import polars as pl
import pytest

import formlab
from formlab import own
from formlab.errors import DataBroken, DataMissing, UnknownName

GOLD = {
    "a": {
        "name": "Ada Berg", "total": "9.50", "code": "007", "date": "2024-05-01",
        "items": [{"name": "Tea", "price": "3"}, {"name": "Cake", "price": "6.50"}],
    },
    "ä 2": {
        "name": 'Li, "Jo"\nQuay', "total": "12", "code": "010", "date": "2 May 2024",
        "items": [{"name": "Pie", "price": "12"}],
    },
}  # fmt: skip
ANSWERS = {
    "a": GOLD["a"] | {"total": "9.5", "items": [{"name": "Tea", "price": "4"}]},
    "ä 2": {"name": "Li", "code": "010", "note": "paid"},
}


def flat(documents):
    """Rows of document, path and value, as they are counted by hand here."""
    for doc_id, fields in documents.items():
        for name, value in fields.items():
            if isinstance(value, str):
                yield {"doc_id": doc_id, "path": f"/{name}", "value": value}
            else:
                for place, item in enumerate(value):
                    for part, inner in item.items():
                        path = f"/items/{place}/{part}"
                        yield {"doc_id": doc_id, "path": path, "value": inner}


def wide(documents):
    for doc_id in documents:
        values = {
            r["path"].lstrip("/"): r["value"] for r in flat(documents) if r["doc_id"] == doc_id
        }
        yield {"doc_id": doc_id} | values


def delimited(file, rows, delimiter=",", encoding="utf-8-sig"):
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    with file.open("w", newline="", encoding=encoding) as stream:
        writer = csv.DictWriter(stream, names, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return file


def lines(file, rows):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def sheet(file, rows):
    import openpyxl

    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    book = openpyxl.Workbook()
    for row in (names, *([row.get(name) for name in names] for row in rows)):
        book.active.append(row)
    book.save(file)
    return file


def folder(path, documents, *, nested):
    for doc_id, fields in documents.items():
        if not nested:
            fields = {r["path"]: r["value"] for r in flat({doc_id: fields})}
        # In any depth.
        (path / f"batch {len(fields)}").mkdir(parents=True, exist_ok=True)
        (path / f"batch {len(fields)}" / f"{doc_id}.json").write_text(json.dumps(fields))
    return path


def saved(frame, file):
    frame.write_parquet(file)
    return file


FORMS = {
    "csv long": lambda d, at: delimited(at / "x.csv", flat(d)),
    "csv wide": lambda d, at: delimited(at / "x.csv", wide(d)),
    "csv semicolons": lambda d, at: delimited(at / "x.csv", flat(d), ";"),
    "csv utf-16": lambda d, at: delimited(at / "x.csv", flat(d), "\t", "utf-16"),
    "tsv": lambda d, at: delimited(at / "x.tsv", flat(d), "\t"),
    "jsonl long": lambda d, at: lines(at / "x.jsonl", flat(d)),
    "jsonl nested": lambda d, at: lines(
        at / "x.jsonl", ({"doc_id": doc_id} | fields for doc_id, fields in d.items())
    ),
    "json of documents": lambda d, at: lines(at / "x.json", [d]),
    "parquet": lambda d, at: saved(pl.DataFrame(list(flat(d))), at / "x.parquet"),
    "parquet nested": lambda d, at: saved(
        pl.DataFrame([{"doc_id": k} | v for k, v in d.items()]), at / "x.parquet"
    ),
    "xlsx": lambda d, at: sheet(at / "x.xlsx", flat(d)),
    "xlsx wide": lambda d, at: sheet(at / "x.xlsx", wide(d)),
    "folder flat": lambda d, at: folder(at / "x", d, nested=False),
    "folder nested": lambda d, at: folder(at / "x", d, nested=True),
    "polars": lambda d, at: pl.DataFrame(list(flat(d))),
    "polars lazy": lambda d, at: pl.LazyFrame(list(flat(d))),
    "pandas": lambda d, at: pd.DataFrame(list(flat(d))),
    "pandas wide": lambda d, at: pd.DataFrame(list(wide(d))).set_index("doc_id"),
    "dicts": lambda d, at: list(wide(d)),
    "dict": lambda d, at: d,
}


def evaluated(gold, answers):
    corpus = own.corpus(gold, name="made")
    result = formlab.evaluate(corpus, own.predictions(answers, corpus, name="m"))
    frames = result.cases.drop("gold_origin", "pred_origin"), result.scores.drop("settings")
    return [frame.sort(pl.exclude(pl.List(pl.String), pl.List(pl.Float64))) for frame in frames]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_loads_to_the_same_evaluation(form, tmp_path):
    (tmp_path / "gold").mkdir()
    (tmp_path / "answers").mkdir()
    write = FORMS[form]
    cases, scores = evaluated(write(GOLD, tmp_path / "gold"), write(ANSWERS, tmp_path / "answers"))
    same_cases, same_scores = evaluated(list(flat(GOLD)), list(flat(ANSWERS)))
    # 14 gold values, 8 of "a" and 6 of the other; one spurious; two pages without a text.
    assert cases.height == 14 + 1 + 2
    assert cases.equals(same_cases)
    assert scores.equals(same_scores)


def test_values_are_text_as_the_source_writes_them(tmp_path):
    file = lines(tmp_path / "x.jsonl", [])
    file.write_text(
        '{"doc_id": 7, "total": 9.00, "n": 1e3, "paid": true, "none": null, "k": "007"}'
    )
    values = dict(own.read_values(file).select("path", "value").rows())
    assert values == {
        "/total": "9.00", "/n": "1e3", "/paid": "true", "/none": None, "/k": "007",
    }  # fmt: skip


def test_cells_of_a_workbook_are_dates_and_numbers_without_a_point_and_merged_ones_are_filled(
    tmp_path,
):
    import openpyxl

    book = openpyxl.Workbook()
    rows = [
        ("doc_id", "path", "value"), ("a", "date", datetime.date(2024, 5, 1)), (None, "total", 9),
        (None, "rate", 0.5), ("b", "at", datetime.datetime(2024, 5, 1, 9, 30)), ("b", "ok", True),
    ]  # fmt: skip
    for row in rows:
        book.active.append(row)
    book.active.merge_cells("A2:A4")
    book.create_sheet("more").append(["left out"])
    book.save(tmp_path / "x.xlsx")
    flaws = Counter()
    values = own.read_values(tmp_path / "x.xlsx", flaws=flaws)
    assert values.select("doc_id", "path", "value").rows() == [
        ("a", "/date", "2024-05-01"), ("a", "/total", "9"), ("a", "/rate", "0.5"),
        ("b", "/at", "2024-05-01T09:30:00"), ("b", "/ok", "true"),
    ]  # fmt: skip
    assert values["origin"][0] == "x.xlsx, row 2"
    assert flaws["merged cells, each read as its range's value"] == 1
    assert flaws["sheets left out: only the first is read"] == 1


def test_missing_values_of_pandas_are_null_and_its_numbers_have_no_point():
    frame = pd.DataFrame({
        "doc_id": [1, 2], "n": [7.0, float("nan")], "day": [pd.Timestamp("2024-05-01"), pd.NaT],
        "flag": pd.array([True, pd.NA], dtype="boolean"),
    })  # fmt: skip
    values = own.read_values(frame)
    assert values.select("doc_id", "path", "value").rows() == [
        ("1", "/n", "7"), ("1", "/day", "2024-05-01"), ("1", "/flag", "true"),
        ("2", "/n", None), ("2", "/day", None), ("2", "/flag", None),
    ]  # fmt: skip


def test_columns_beyond_the_values_are_kept_as_what_they_are():
    rows = [
        {"doc_id": "a", "path": "t", "value": "1", "page": "2", "x0": 1, "accepted": '["2", "3"]'},
        {"doc_id": "a", "path": "u", "value": "1", "accepted": "4|5", "scanner": 8},
    ]
    values = own.read_values(rows)
    assert values["page"].to_list() == [2, None]
    assert values["x0"].to_list() == [1.0, None]
    assert values["accepted"].to_list() == [["2", "3"], ["4", "5"]]
    assert values["scanner"].to_list() == [None, "8"]


def test_usual_names_of_columns_are_known_and_others_can_be_said():
    rows = [{"filename": "a", "field": "t", "answer": "1"}, {"filename": "a", "field": "u"}]
    assert own.read_values(rows)["path"].to_list() == ["/t", "/u"]
    named = own.read_values(
        [{"id": "a", "image": "a.png", "k": "t", "v": "1"}],
        columns={"doc_id": "id", "path": "k", "value": "v"},
    )
    assert named.select("doc_id", "path", "value", "image").rows() == [("a", "/t", "1", "a.png")]
    # One row a document: `name` and `text` are fields, and the template is said to be none.
    forms = [{"id": n, "name": f"Ada {n}", "text": "x", "type": "W-2"} for n in "ab"]
    values = own.read_values(forms, columns={"template": "type"})
    assert values.select("path", "template").rows() == 2 * [("/name", "W-2"), ("/text", "W-2")]


def test_text_of_a_page_stands_at_no_path():
    rows = [{"doc_id": "a", "text": "Ada"}, {"doc_id": "b", "path": "/t", "value": "1"}]
    assert own.read_values(rows).select("path", "value").rows() == [(None, "Ada"), ("/t", "1")]


def test_several_values_of_a_key_are_a_list_in_every_document():
    rows = [("a", "party", "X"), ("a", "party", "Y"), ("b", "party", "Z"), ("b", "term", None)]
    values = own.read_values([dict(zip(("doc_id", "key", "value"), r, strict=True)) for r in rows])
    assert values["path"].to_list() == ["/party/0", "/party/1", "/party/0", "/term"]


def test_file_names_that_occur_twice_are_told_apart_by_their_folders(tmp_path):
    for name in ("x/1.json", "y/1.json", "y/2.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"t": 1, "none": {}}')
    assert own.read_values(tmp_path)["doc_id"].to_list() == ["x/1", "y/1", "y/2"]


def test_document_without_values_stays(tmp_path):
    values = own.read_values({"a": {"items": []}, "b": {"t": "1"}})
    assert values.select("doc_id", "path").rows() == [("a", None), ("b", "/t")]


BROKEN = {
    "latin-1": (b"doc_id,t\na,caf\xe9\n", "not utf-8-sig text: byte 0xe9", ":2"),
    "ragged": (b"doc_id,t\na,1\nb,1,2\n", "3 cells, and 2 in the header", ":3"),
    "duplicate header": (b"doc_id,t,t\na,1,2\n", "two columns are called 't'", ":1"),
    "empty": (b"", "the file is empty", "x.csv"),
    "header alone": (b"doc_id,t\n", "the file has no rows", "x.csv"),
    "NUL": (b"doc_id,t\na,\0\n", "a NUL byte", ":2"),
    "open quote": (b'doc_id,t\na,1\nb,"2\n', "not a table", ":3"),
    "no document": (b"x,t\na,1\n", "no column for the document among x, t", ""),
    "blank document": (b"doc_id,t\na,1\n,2\n", "no doc_id", ":3"),
    "two documents": (b"doc_id,t\na,1\na,2\n", "two rows for document 'a'", ":3"),
    "two ids": (b"file,id,t\na,1,2\n", "may be any of id, file", ""),
    "page": (b"doc_id,path,value,page\na,t,1,two\n", "page cannot be 'two'", ":2"),
    "infinite": (b"doc_id,path,value,x0\na,t,1,inf\n", "x0 cannot be 'inf'", ":2"),
    "status": (b"doc_id,path,value,status\na,t,1,done\n", "unknown status 'done'", ":2"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_table_is_one_error_with_file_and_line(name, tmp_path):
    content, what, where = BROKEN[name]
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(DataBroken) as caught:
        own.read_values(tmp_path / "x.csv")
    assert what in str(caught.value)
    assert where in str(caught.value)


def test_name_of_a_document_that_is_a_list_is_one_error_with_its_file(tmp_path):
    (tmp_path / "a.json").write_text('{"total": "1"}')
    (tmp_path / "b.json").write_text('{"total": "1", "doc_id": [{}]}')
    with pytest.raises(DataBroken, match=r"doc_id is no text but a list .*b\.json"):
        own.read_values(tmp_path)


def test_short_rows_unnamed_columns_and_huge_cells_are_read(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text(f",doc_id,t,u\r\n0,a,{'x' * 300_000}\r\n1,b,1,2\r\n", newline="")
    flaws = Counter()
    values = own.read_values(file, flaws=flaws)
    assert values["value"].str.len_chars().to_list() == [300_000, None, 1, 1]
    assert values["origin"].to_list() == ["x.csv:2", "x.csv:2", "x.csv:3", "x.csv:3"]
    assert flaws["rows shorter than their header"] == flaws["columns without a name, left out"] == 1
    assert csv.field_size_limit() == 131_072


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("x.jsonl", b'{"doc_id": "a"\n', DataBroken),
        ("x.jsonl", b'{"doc_id": "a", "t": ' + b"[" * 99 + b"]" * 99 + b"}", DataBroken),
        ("x.json", b"[1, 2]", DataBroken),
        ("x.xlsx", b"PK\x03\x04 no workbook", DataBroken),
        ("x.parquet", b"PAR1", DataBroken),
        ("x.doc", b"", DataBroken),
    ],
)
def test_other_broken_files_are_one_error(name, content, error, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=r"x\."):
        own.read_values(tmp_path / name)


def test_absent_file_empty_folder_unknown_column_and_odd_source_are_errors(tmp_path):
    with pytest.raises(DataMissing):
        own.read_values(tmp_path / "no.csv")
    with pytest.raises(DataBroken, match="no JSON files"):
        own.read_values(tmp_path)
    with pytest.raises(UnknownName, match="'ids'"):
        own.read_values([{"id": "a", "t": "1"}], columns={"doc_id": "ids"})
    with pytest.raises(DataBroken, match="cannot be read from int"):
        own.read_values(3)


def test_huge_number_and_lone_surrogate_are_text(tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_text('{"doc_id": "a", "n": ' + "9" * 5000 + ', "s": "\\ud800"}')
    values = dict(own.read_values(file).select("path", "value").rows())
    assert len(values["/n"]) == 5000
    assert values["/s"] == "\\ud800"


def test_workbook_with_a_cell_far_from_the_others_is_an_error(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["doc_id", "total"])
    book.active.append(["a", "9.00"])
    book.save(tmp_path / "near.xlsx")
    assert own.read_values(tmp_path / "near.xlsx")["value"].to_list() == ["9.00"]
    book.active.cell(1_048_576, 16_384, "z")
    book.save(tmp_path / "far.xlsx")
    with pytest.raises(DataBroken, match="cells in 1048576 rows and 16384 columns"):
        own.read_values(tmp_path / "far.xlsx")


def test_workbook_that_unpacks_to_a_multiple_is_an_error(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", " " * 60_000_000)
    with pytest.raises(DataBroken, match="a member that unpacks from"):
        own.read_values(tmp_path / "a.xlsx")
