"""The plainest prediction file: JSON lines or Parquet with the columns of *records* that apply.

``{"doc_id": "1", "text": "…"}`` is the text of a whole page,
``{"doc_id": "1", "path": "/total", "value": "9.00"}`` is one value. A row that does not say its
`task` has that of the gold at its path; at a path that the gold does not have, the commonest task
of the benchmark's values, which is counted in `notes`. A value at the path of a form's field is
entered there: it needs no click.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.formats._collected import Collected, Row
from formlab.formats._spec import Format
from formlab.own.values import fields
from formlab.text import answers

JSON_LINES = (".jsonl", ".ndjson")
EXAMPLE = '{"doc_id": "1", "path": "/total", "value": "9.00"}'
# How much of a name is shown in a note; and beyond what a number counts nothing.
_NAME, _MOST = 80, 2.0**53


def is_one(path: Path) -> bool:
    """Whether the name of the file ends as one of JSON lines or Parquet does."""
    return files.is_file(path) and path.suffix.lower() in (*JSON_LINES, ".parquet")


def read(path: Path, corpus: Corpus) -> Predictions:
    """The predictions of one system from a file.

    Rows of another split, where the file says so, are left to the scoring to count; those of
    another benchmark, and columns that formlab does not know, are left out and counted in `notes`.

    Raises
    ------
    DataBroken
        At the first row without `doc_id`, with a value of a wrong type or a status that is not
        known, where two rows give the same value of the same document, and where all rows are of
        another benchmark.
    """
    collected, tasks = Collected(corpus, path.stem), _Tasks(corpus)
    notes, seen, names, others = collected.notes, {}, set(), Counter[str]()
    for origin, source in _rows(path):
        row = _row(source, origin, corpus, notes)
        if row["benchmark"] != corpus.benchmark:
            others[row["benchmark"][:_NAME]] += 1
            continue
        names.add(str(source.get("system") or path.stem))
        for each in _answered(row):
            each |= tasks.of(each, notes) if each["task"] is None else {}
            key = (each["benchmark"], each["split"], each["doc_id"], each["path"])
            if key in seen:
                what = f"doc_id {each['doc_id']!r}"
                what += f", path {each['path']!r}" if each["path"] else ""
                what = f"two predictions for {what}, the first at {seen[key]}"
                raise DataBroken(what, where=origin, remedy="keep one of them")
            seen[key] = origin
            collected.records.append(each)
    if not names:
        what = f"predictions for {', '.join(others)}, not for {corpus.benchmark}"
        raise DataBroken(what, where=path, remedy="the benchmark that was predicted")
    notes.update({f"rows for benchmark {name}, left out": n for name, n in others.items()})
    if len(names) > 1:
        listed = ", ".join(sorted(names))
        raise DataBroken(f"several systems in one file: {listed}", where=path, remedy="a file each")
    (collected.system,) = names
    for row in collected.records:
        row["system"] = collected.system
    return collected.predictions([path])


def _rows(path: Path) -> Iterator[tuple[str, Row]]:
    if path.suffix.lower() in JSON_LINES:
        for number, row in files.each_jsonl(path):
            yield f"{path}:{number}", row
        return
    frame = files.read_parquet(path)
    if not frame.height:
        raise DataBroken("the file has no rows", where=path, remedy="one row a value")
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        yield f"{path}, row {number}", row


def _row(source: Row, origin: str, corpus: Corpus, notes: Counter[str]) -> Row:
    row: Row = {
        "benchmark": corpus.benchmark, "split": corpus.split, "role": "prediction",
        "task": None, "path": None, "kind": "page" if source.get("path") is None else None,
    }  # fmt: skip
    for name, value in source.items():
        if name in tables.RECORDS:
            row[name] = row.get(name) if value is None else _typed(name, value, origin)
        elif name != "text":
            notes[f"column left out: {name[:_NAME]}"] += 1
    if row.get("doc_id") is None:
        raise DataBroken("no doc_id", where=origin, remedy=f"a line such as {EXAMPLE}")
    if "text" in source and source.get("value") is None and source["text"] is not None:
        row["value"] = _typed("value", source["text"], origin)
    if not {"value", "text", "status"} & source.keys():
        raise DataBroken("neither value nor text", where=origin, remedy=f"a line such as {EXAMPLE}")
    row["status"] = row.get("status") or ("ok" if row.get("value") is not None else "missing")
    for name, allowed in (("status", tables.STATUSES), ("task", tables.TASKS)):
        if row[name] not in (None, *allowed):
            remedy = f"one of: {', '.join(allowed)}"
            raise DataBroken(f"unknown {name} {row[name]!r}", where=origin, remedy=remedy)
    row["role"], row["origin"] = "prediction", Path(origin).name
    return row


def _answered(row: Row) -> list[Row]:
    """A row without reasoning, or one for each field where its text is an answer in JSON."""
    text, path = row.get("value"), row["path"]
    if not text or row["status"] not in tables.USABLE:
        return [row]
    parsed = answers.plain(text) if path is not None else answers.read(text)
    if parsed.status == "ok" and isinstance(parsed.value, str):
        return [row]
    row |= {"status": parsed.status if row["status"] == "ok" else row["status"]}
    if isinstance(parsed.value, str | None):
        return [row | {"value": parsed.value}]
    leaves = fields(parsed.value)
    return [row | {"path": p, "value": v, "kind": None if p else "page"} for p, v in leaves]


class _Tasks:
    """The task of a row that does not say it: that of the gold's own record at its path."""

    def __init__(self, corpus: Corpus) -> None:
        gold = corpus.records.select("doc_id", "path", "task", "kind")
        self.known = {(doc, path): (task, kind) for doc, path, task, kind in gold.iter_rows()}
        values = gold.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")["task"]
        counts = values.value_counts().sort("count", "task", descending=[True, False])
        asked = counts["task"].to_list()
        self.usual = asked[0] if asked else "text"
        # Questions are asked by number below a step of their own.
        self.items = {f"/{task}/": task for task in ("vqa", "consistency") if task in asked}

    def of(self, row: Row, notes: Counter[str]) -> Row:
        """`task`, and for what tells the structure of a form its `kind`."""
        path = row["path"]
        task, kind = self.known.get((row["doc_id"], path), (None, None))
        if task == "layout":
            return {"task": task, "kind": row["kind"] or kind}
        if row["kind"] is None and kind is not None and (path or "").startswith("/entities/"):
            notes["entities without a kind: the form's tree shows no roles"] += 1
        if task is None and path is not None:
            starts = (name for step, name in self.items.items() if path.startswith(step))
            task = next(starts, self.usual)
            notes[f"values at paths that the gold does not have, read as task {task}"] += 1
        return {"task": task or "text"}


def _typed(name: str, value: Any, origin: str) -> Any:
    """`value` as the dtype of its column; a value that is not text is kept as its JSON."""
    kind = tables.RECORDS[name]
    try:
        if kind == tables.RECORDS["value"]:
            if isinstance(value, str):
                return value
            return json.dumps(value, ensure_ascii=False, default=str)
        if kind == tables.RECORDS["accepted"]:
            if not isinstance(value, list):
                raise TypeError
            texts = [item if isinstance(item, str) else json.dumps(item) for item in value]
            return list(map(tables.storable, texts))
        if isinstance(value, bool | str):
            raise TypeError
        # What is missing in a table is not a number there.
        number = None if value != value else float(value)
        if number is None or kind == tables.RECORDS["x0"]:
            return number if number is None or math.isfinite(number) else int(number)
        if not (number.is_integer() and abs(number) < _MOST):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataBroken(f"{name} cannot be {value!r:.80}", where=origin) from error


FORMAT = Format("plain", "JSON lines or Parquet with the columns of records", is_one, read)
