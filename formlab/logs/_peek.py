"""What a file starts with: enough to tell formats apart, without reading all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files

# One entry may hold a page's text, or an image as base64.
_START = 4_000_000
_LISTS = (".json", ".jsonl", ".ndjson")
DELIMITED = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
SHEETS = (".xlsx", ".xlsm")


def first_object(path: Path) -> dict[str, Any]:
    """The first object of a JSON list or of JSON lines; empty if there is none."""
    if not path.is_file() or path.suffix.lower() not in _LISTS:
        return {}
    text = files.read_bytes(path, _START).decode("utf-8-sig", "replace").lstrip()
    try:
        value, _ = json.JSONDecoder(parse_int=str).raw_decode(text.removeprefix("[").lstrip())
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def columns(path: Path) -> set[str]:
    """The names of a table's columns, or of the members of its first row; empty if it is none."""
    ending = path.suffix.lower()
    if not path.is_file():
        return set()
    if ending in _LISTS:
        return set(first_object(path))
    if ending in DELIMITED:
        start = files.read_bytes(path, 65_536).decode("utf-8-sig", "replace")
        first = start.lstrip().partition("\n")[0].strip()
        mark = DELIMITED[ending] if ending != ".csv" or ";" not in first else ";"
        return {name.strip().strip('"') for name in first.split(mark)}
    if ending == ".parquet":
        try:
            return set(files.parquet_columns(path))
        except (pl.exceptions.PolarsError, OSError):
            return set()
    return set()
