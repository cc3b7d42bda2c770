"""Logs of VLMEvalKit: ``{model}_{dataset}.xlsx``, ``.tsv`` or ``.json``, scored or not.

A row has the columns of the data set but for its image, and `prediction`. Scored files add `hit`,
`eval_score` or the like. Figures stand beside them in ``{stem}_acc.csv`` or ``_score.csv``.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.logs._peek import DELIMITED, SHEETS, columns
from formlab.logs._samples import ANSWER, Row, Samples, number
from formlab.logs._spec import LogFormat, LogRun
from formlab.readers.door import as_text, items

# What stands in `prediction` where there was no answer.
FAILURES = ("Failed to obtain answer via API", "Failed to obtain answer")
SCORES = ("hit", "eval_match", "eval_score", "score", "match")
BLANK = "answers that are blank: a workbook loses long texts that begin with an address"
LOST = "numbers that a workbook may have changed: 9.00 is 9 there"
_NEEDED = {"index", "prediction"}
_KNOWN = {"index", "answer", "prediction", *SCORES}


def detect(path: Path) -> bool:
    """Whether a table has a column `prediction` beside `index`."""
    if path.suffix.lower() in SHEETS:
        return path.is_file() and set(_sheet_columns(path)) >= _NEEDED
    tabs = path.suffix.lower() in (*DELIMITED, ".json")
    return tabs and columns(path) >= _NEEDED and "predict" not in columns(path)


def read(path: Path) -> list[LogRun]:
    """The one run in a file; its system is what stands before the last ``_`` of its name.

    A file of that name with a further ``_<judge>`` has the scores of a judge.

    The sentence that stands for a failed call makes the sample `api_error`. A list of accepted
    answers, which is written as a Python list, is read as one.

    Raises
    ------
    DataBroken
        If the table cannot be read.
    """
    stem = path.stem.rpartition("_")[0]
    judged = bool(stem) and path.with_name(stem + path.suffix).is_file()
    model, _, dataset = (stem if judged else path.stem).rpartition("_")
    beside = [path.with_name(f"{path.stem}_{end}.csv") for end in ("acc", "score")]
    figures = [file for file in beside if file.is_file()]
    samples = Samples("vlmevalkit", dataset, [path, *figures])
    samples.judged |= {*SCORES} if judged else set()
    sheet = path.suffix.lower() in SHEETS
    for origin, row in [(o, r) for o, r, _ in items(path, samples.notes)]:
        with samples.reading(origin):
            _add(samples, row, model or "unknown", origin, sheet=sheet)
    samples.headline += [figure for file in figures for figure in _headline(file)]
    return samples.runs()


def _sheet_columns(path: Path) -> list[str]:
    try:
        rows = [(o, r) for o, r, _ in items(path, Counter())]
    except DataBroken:
        return []
    return list(rows[0][1]) if rows else []


def _add(samples: Samples, row: Row, system: str, origin: str, *, sheet: bool) -> None:
    prediction = row.get("prediction")
    answer = as_text(prediction)
    failed = answer is not None and answer.strip().rstrip(".").startswith(FAILURES)
    samples.notes[BLANK] += answer is None or not answer.strip()
    samples.notes[LOST] += (
        sheet and isinstance(prediction, int | float) and not isinstance(prediction, bool)
    )
    index = as_text(row.get("index"))
    samples.add(
        index, ANSWER, gold=_gold(row.get("answer")), answer=None if failed else answer,
        status="api_error" if failed else "ok", error=answer if failed else None,
        system=system, origin=origin,
        scores={name: row[name] for name in SCORES if number(row.get(name)) is not None},
        own={name: value for name, value in row.items() if name not in _KNOWN},
    )  # fmt: skip


def _gold(answer: Any) -> Any:
    text = as_text(answer)
    if text is None or not text.strip().startswith(("[", "{")):
        return text
    for parsed in (ast.literal_eval, json.loads):
        try:
            value = parsed(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, list | tuple):
            return [as_text(item) for item in value] or None
        return value if isinstance(value, dict) else text
    return text


def _headline(file: Path) -> Iterator[Row]:
    """The figures of a table with a column per category, in the percent that they are stated in."""
    try:
        rows = [(o, r) for o, r, _ in items(file, Counter())]
    except DataBroken:
        return
    for _, row in rows:
        split = as_text(row.get("split"))
        for name, value in row.items():
            if name != "split" and (figure := number(value)) is not None:
                label = name if split in (None, "none") else f"{name}, {split}"
                yield {"scorer": file.stem.rpartition("_")[2], "metric": label,
                       "value": figure, "n": None}  # fmt: skip


FORMAT = LogFormat("vlmevalkit", "VLMEvalKit's workbook, TSV or JSON", detect, read)
