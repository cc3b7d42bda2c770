import csv
import io

from formlab.reports import csv_export


def test_no_text_of_a_model_is_a_formula_in_a_spreadsheet():
    evil = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "＝1", "=cmd|' /C calc'!A0"]
    evil += ["\u200b=1", "\ufeff=1", "\x1b-1", "\u2060+1"]
    lines = list(csv.reader(io.StringIO(csv_export.text([{"=head": text} for text in evil]))))
    assert lines[0] == ["'=head"]
    assert [row[0] for row in lines[1:]] == [f"'{text}" for text in evil]


def test_numbers_stay_numbers_and_nothing_is_an_empty_cell():
    rows = [{"a": -0.5, "b": None}, {"a": float("nan"), "b": True}, {"c": [1, "x"]}]
    assert csv_export.text(rows) == 'a,b,c\r\n-0.5,,\r\n,True,\r\n,,"[1, ""x""]"\r\n'


def test_what_csv_quotes_is_read_back():
    text = 'a,"b"\nc\u2028\ud800\0'
    (_, row) = csv.reader(io.StringIO(csv_export.text([{"x": text}]), newline=""))
    assert row == ['a,"b"\nc\u2028\\ud800␀']
