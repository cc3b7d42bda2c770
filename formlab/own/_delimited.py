"""Delimited text in blocks: lines split by polars, those with quotation marks read by `csv`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import polars as pl

from formlab import files
from formlab.errors import DataBroken

# How many characters are read at once, for the header fewer; and rows where `csv` reads them.
_FIRST, _BLOCK = 1_000_000, 8_000_000
_ROWS = 100_000
# How many lines a quoted cell may go on beyond a block.
_FURTHER = 100_000


def blocks(path: Path) -> Iterator[pl.DataFrame]:
    """The rows that are not blank, some at a time: the `line` of each and its `cells`."""
    wide = files.read_bytes(path, 2) in (b"\xff\xfe", b"\xfe\xff")
    encoding = "utf-16" if wide else "utf-8-sig"
    try:
        with path.open(encoding=encoding, newline="") as stream:
            yield from _blocks(stream, path)
    except UnicodeDecodeError:
        files.read_text(path, encodings=(encoding,))  # Its error names the line.
        raise


def _blocks(stream: TextIO, path: Path) -> Iterator[pl.DataFrame]:
    line, delimiter = 1, ""
    while text := stream.read(_BLOCK if delimiter else min(_FIRST, _BLOCK)):
        text += stream.readline()
        is_open = text.count('"') % 2
        if is_open:
            # The last row goes on, if quotation marks are what they seem.
            pieces = [text]
            for further in islice(stream, _FURTHER):
                pieces.append(further)
                if further.count('"') % 2:
                    is_open = False
                    break
            text = "".join(pieces)
        _check(text, path, line)
        # Spreadsheets of many countries write semicolons.
        if not delimiter and (first := text.lstrip().partition("\n")[0]):
            tabs = path.suffix.lower() in (".tsv", ".tab")
            delimiter = "\t" if tabs else max(",;\t", key=first.count)
        block = None if is_open else _split(text, line, delimiter or ",", path)
        if block is None:
            lines = chain(io.StringIO(text, newline=""), stream)
            yield from _by_csv(lines, line, delimiter or ",", path)
            return
        yield block
        line += text.count("\n")


def _check(text: str, path: Path, line: int) -> None:
    if "\0" in text:
        line += text.count("\n", 0, text.index("\0"))
        raise DataBroken("a NUL byte: this is no text", where=f"{path}:{line}")


def _split(text: str, line: int, delimiter: str, path: Path) -> pl.DataFrame | None:
    """The rows of a block that ends with a row; null where only `csv` can tell where rows end."""
    if text.count("\r") != text.count("\r\n"):
        return None
    lines = pl.DataFrame({"text": text.split("\n")}).with_row_index("line", line)
    lines = lines.cast({"line": pl.Int64})
    quoted = None
    if '"' in text:
        quotes = pl.col("text").str.count_matches('"', literal=True).cum_sum()
        lines = lines.with_columns(quotes=quotes)
        before = pl.col("quotes").shift(1, fill_value=0)
        plain = (pl.col("quotes") % 2 == 0) & (pl.col("quotes") == before)
        quoted = _quoted(lines.filter(~plain), delimiter, path)
        if quoted is None:
            return None
        lines = lines.filter(plain)
    full = lines.filter(pl.col("text").str.strip_chars(f"{delimiter}\r") != "")
    cells = pl.col("text").str.strip_suffix("\r").str.split(delimiter)
    block = full.select("line", cells=cells)
    return block if quoted is None else pl.concat([block, quoted]).sort("line")


def _quoted(lines: pl.DataFrame, delimiter: str, path: Path) -> pl.DataFrame | None:
    """The rows of lines with quotation marks; null if these are not what they seem."""
    numbers, rows = lines["line"].to_list(), []
    texts = (f"{text}\n" for text in lines["text"].to_list())
    reader, start = csv.reader(texts, delimiter=delimiter, strict=True), 0
    try:
        with files.csv_cells(path.stat().st_size):
            for cells in reader:
                # A row is of lines that follow one another.
                end = reader.line_num - 1
                if numbers[end] - numbers[start] != end - start:
                    return None
                if any(cells):
                    rows.append((numbers[start], cells))
                start = end + 1
    except csv.Error:
        return None
    return _frame(rows)


def _by_csv(lines: Iterable[str], line: int, delimiter: str, path: Path) -> Iterator[pl.DataFrame]:
    """The rows of the rest of a file, from `line` on."""
    rows, before = [], line - 1

    def checked() -> Iterator[str]:
        for number, text in enumerate(lines, start=before + 1):
            _check(text, path, number)
            yield text

    reader = csv.reader(checked(), delimiter=delimiter, strict=True)
    try:
        with files.csv_cells(path.stat().st_size):
            for cells in reader:
                if any(cells):
                    rows.append((line, cells))
                line = before + reader.line_num + 1
                if len(rows) == _ROWS:
                    yield _frame(rows)
                    rows = []
    except csv.Error as error:
        remedy = "quote what holds a quotation mark or the delimiter"
        raise DataBroken(f"not a table: {error}", where=f"{path}:{line}", remedy=remedy) from error
    yield _frame(rows)


def _frame(rows: list[tuple[int, list[str]]]) -> pl.DataFrame:
    columns = {"line": [line for line, _ in rows], "cells": [cells for _, cells in rows]}
    return pl.DataFrame(columns, schema={"line": pl.Int64, "cells": pl.List(pl.String)})
