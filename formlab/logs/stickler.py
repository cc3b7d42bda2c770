"""Logs of stickler's bulk evaluator: one JSON line per document with every field compared.

A line is ``{"doc_id": …, "comparison_result": {"field_comparisons": […]}}``; what stickler states
of the run stands in the metrics file beside it. A document that raised an error has no line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken, FormlabError
from formlab.logs._peek import first_object
from formlab.logs._samples import FIGURES, MISSING, Row, Samples, fields, number
from formlab.logs._spec import LogFormat, LogRun
from formlab.trees import escape

WHOLE_ITEMS = "fields of items that stickler compared as one, below their threshold"
NO_FIELDS = "documents without compared fields: document_field_comparisons was off"
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_FIGURES = ("weighted_overall_score", "cm_f1", "cm_precision", "cm_recall", "cm_accuracy")


def detect(path: Path) -> bool:
    """Whether the first line of a file is a document that stickler compared."""
    return path.suffix == ".jsonl" and "comparison_result" in first_object(path)


def read(path: Path) -> list[LogRun]:
    """The one run in a file: a sample is a field, its answer at the place that stickler paired.

    Raises
    ------
    DataBroken
        At the first line that is no such document.
    """
    beside, metrics = _metrics(path)
    samples = Samples("stickler", path.stem, [path, *beside])
    for origin, row in samples.lines(path):
        with samples.reading(origin):
            result = row.get("comparison_result")
            if not isinstance(result, dict) or "doc_id" not in row:
                raise DataBroken("a line has doc_id and comparison_result", where=origin)
            compared = result.get("field_comparisons") or []
            samples.notes[NO_FIELDS] += not compared
            for field in compared:
                _add(samples, str(row["doc_id"]), field, origin)
    with samples.reading(beside[0].name if beside else path.name, FIGURES):
        overall = metrics.get("overall_metrics") or {}
        samples.headline += [
            {"scorer": "stickler", "metric": name, "value": number(overall[name]), "n": None}
            for name in _FIGURES
            if name in overall
        ]
        samples.notes[MISSING] = len(metrics.get("errors") or ())
    return samples.runs()


def _metrics(path: Path) -> tuple[list[Path], Row]:
    """The file of metrics beside the lines, if there is exactly one."""
    metric_files = []
    for file in sorted(path.parent.glob("*.json")):
        if b'"overall_metrics"' in files.read_bytes(file, 4096):
            metric_files.append(file)
    if len(metric_files) != 1:
        return [], {}
    try:
        return metric_files, files.read_json(metric_files[0])
    except FormlabError:
        return [], {}


def _add(samples: Samples, doc_id: str, field: Mapping[str, Any], origin: str) -> None:
    gold = dict(_leaves(field.get("expected_key"), field.get("expected_value")))
    pred = dict(_leaves(field.get("actual_key"), field.get("actual_value")))
    base, other = _pointer(field.get("expected_key")), _pointer(field.get("actual_key"))
    whole = set(gold) | set(pred) != {""}
    for tail in dict.fromkeys([*gold, *pred]):
        samples.notes[WHOLE_ITEMS] += whole
        pointer = f"{other}{tail}" if tail in pred else f"{base}{tail}"
        scores = {"match": field.get("match"), "similarity": field.get("score")}
        samples.add(
            doc_id, f"{base}{tail}" if tail in gold else pointer,
            gold=gold.get(tail), answer=pred.get(tail), answer_path=pointer, origin=origin,
            system="stickler", scores=dict.fromkeys(scores) if whole else scores,
        )  # fmt: skip


def _leaves(key: Any, value: Any) -> Iterator[tuple[str, str | None]]:
    """What stands below a key; a value that is null is no value."""
    if key is None or value is None:
        return
    yield from ((path, text) for path, text in fields(value) if text is not None)


def _pointer(key: Any) -> str:
    """The JSON Pointer of a key such as ``items[0].price``."""
    steps = _STEP.findall(str(key or ""))
    return "".join(f"/{escape(index or name)}" for index, name in steps)


FORMAT = LogFormat("stickler", "stickler's JSON lines of compared documents", detect, read)
