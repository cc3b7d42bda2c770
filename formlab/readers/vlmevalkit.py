"""Logs of VLMEvalKit: ``{model}_{dataset}.xlsx``, ``.tsv`` or ``.json``, scored or not.

A row has the columns of the data set but for its image, and `prediction`; scored files add `hit` or
the like. Figures stand beside them in ``{stem}_acc.csv`` or ``_score.csv``. A file of that name
with a further ``_<judge>`` has the scores of a judge.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from formlab.readers import door, samples
from formlab.readers.door import as_text
from formlab.readers.rows import Reader, Row, Source
from formlab.readers.sources import items

# What stands in `prediction` where there was no answer.
FAILURES = ("Failed to obtain answer via API", "Failed to obtain answer")
SCORES = ("hit", "eval_match", "eval_score", "score", "match")
BLANK = "answers that are blank: a workbook loses long texts that begin with an address"
LOST = "numbers that a workbook may have changed: 9.00 is 9 there"


def fits(path: Path) -> bool:
    """Whether a table has a column `prediction` beside `index`."""
    columns = samples.names(path)
    return {"index", "prediction"} <= columns and "predict" not in columns


def read(source: Source) -> Iterator[Row]:
    """The rows of a file; the system is what stands before the last ``_`` of its name."""
    path, stem = source.path, door.stem(source.path)
    base = stem.rpartition("_")[0]
    is_judged = bool(base) and path.with_name(base + path.suffix).is_file()
    model, _, dataset = (base if is_judged else stem).rpartition("_")
    is_workbook = door.kind(path) == "workbook"

    def sample_of(row: Row, _: str) -> samples.Sample:
        prediction, answer = row.get("prediction"), as_text(row.get("prediction")) or ""
        is_failure = answer.strip().rstrip(".").startswith(FAILURES)
        source.notes[BLANK] += not answer.strip()
        source.notes[LOST] += is_workbook and type(prediction) in (int, float)
        known = {"index", "answer", "prediction", *SCORES}
        return samples.Sample(
            row["index"],
            gold=_gold(as_text(row.get("answer"))),
            answer=None if is_failure else answer or None,
            status="api_error" if is_failure else "ok",
            scores={name: row[name] for name in SCORES if name in row},
            judged=SCORES if is_judged else (),
            columns={name: cell for name, cell in row.items() if name not in known},
            call={"error": answer if is_failure else None},
        )

    source.files.append(path)
    entries = items(path, source.notes)
    yield from samples.sample_rows(source, dataset, entries, sample_of, system=model or "unknown")
    for end in ("acc", "score"):
        yield from samples.stated(source, path.with_name(f"{stem}_{end}.csv"), _figures)


def _gold(text: str | None) -> Any:
    """The accepted answers that a Python list is, or the object; else the text."""
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        return ast.literal_eval(text.strip()) if text and text.lstrip()[:1] in "[{" else text
    return text


def _figures(file: Path) -> Iterator[Row]:
    """The figures of a table with a column per category, in the percent that they are stated in."""
    for _, row in items(file):
        split = as_text(row.pop("split", None))
        for name, value in row.items():
            if samples.number(value) is not None:
                kind = name if split in (None, "none") else f"{name}, {split}"
                yield samples.figure(file.stem.rpartition("_")[2], kind, value)


VLMEVALKIT = Reader("vlmevalkit", "VLMEvalKit's workbook, TSV or JSON", fits, read)
