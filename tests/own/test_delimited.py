"""Delimited text is split into the rows that `csv` reads, whatever its cells hold."""

import csv
import io
import random

import pytest

from formlab import own
from formlab.errors import DataBroken
from formlab.own import _delimited

CELLS = (
    "a", "9.00", "", "é", " x ", '"q"', '"a,b"', '"a""b"', '"m\nn"', '"m\r\nn"', "\u2028", "\x0b",
    '5" pipe', '"',
)  # fmt: skip


def read(text):
    """The rows with the lines that they begin at; null if they are no table."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, line = [], 1
    try:
        for cells in reader:
            if any(cells):
                rows.append((line, cells))
            line = reader.line_num + 1
    except csv.Error:
        return None
    return rows


@pytest.mark.parametrize("block", [9, 40, 16_000_000])
def test_rows_of_any_text_are_those_of_csv(block, tmp_path, monkeypatch):
    monkeypatch.setattr(_delimited, "_BLOCK", block)
    monkeypatch.setattr(_delimited, "_ROWS", 3)
    file, draw, tables = tmp_path / "x.csv", random.Random(7), 0
    for _ in range(150):
        cells = CELLS[: draw.choice((5, 12, 14))]
        rows = [",".join(draw.choices(cells, k=draw.randint(1, 4))) for _ in range(9)]
        text = draw.choice(("\n", "\r\n", "\r")).join(["doc_id,x", *rows])
        file.write_bytes(text.encode())
        wanted = read(text)
        if wanted is None:
            with pytest.raises(DataBroken, match="not a table"):
                list(_delimited.blocks(file))
            continue
        tables += 1
        assert [row for block in _delimited.blocks(file) for row in block.iter_rows()] == wanted
    assert tables > 50


@pytest.mark.parametrize(
    ("content", "what"), [("b,\0\n", "a NUL byte"), ("b,caf\udce9\n", "not utf-8-sig text")]
)
def test_line_of_an_error_is_right_in_a_later_block(content, what, tmp_path, monkeypatch):
    monkeypatch.setattr(_delimited, "_BLOCK", 20)
    text = "doc_id,t\n" + "a,1\n" * 50 + content
    (tmp_path / "x.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataBroken, match=what) as caught:
        own.read_values(tmp_path / "x.csv")
    assert "x.csv:52" in str(caught.value)
