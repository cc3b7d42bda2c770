"""Logs of stickler's bulk evaluator: one JSON line per document with every field compared.

A line is ``{"doc_id": …, "comparison_result": {"field_comparisons": […]}}``; what stickler states
of the run stands in the metrics file beside it. A document that raised an error has no line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from formlab import files
from formlab.errors import DataBroken
from formlab.readers import door, samples
from formlab.readers.rows import Reader, Row, Source
from formlab.readers.values import pointer

WHOLE_ITEMS = "fields of items that stickler compared as one, below their threshold"
NO_FIELDS = "documents without compared fields: document_field_comparisons was off"
_FIGURES = ("weighted_overall_score", "cm_f1", "cm_precision", "cm_recall", "cm_accuracy")


def read(source: Source) -> Iterator[Row]:
    """The rows of a file: a sample is a field, its answer at the place that stickler paired."""

    def samples_of(line: Row, origin: str) -> Iterator[samples.Sample]:
        result = line.get("comparison_result")
        if not isinstance(result, dict) or "doc_id" not in line:
            raise DataBroken("a line has doc_id and comparison_result", where=origin)
        compared = result.get("field_comparisons") or []
        source.notes[NO_FIELDS] += not compared
        for field in compared:
            (base, gold), (other, answer) = _side(field, "expected"), _side(field, "actual")
            scores = {"match": field.get("match"), "similarity": field.get("score")}
            # An item that was compared as a whole has several values.
            scores = scores if {*gold, *answer} == {""} else {}
            for end in dict.fromkeys([*gold, *answer]):
                place = f"{other if end in answer else base}{end}"
                path = f"{base}{end}" if end in gold else place
                source.notes[WHOLE_ITEMS] += not scores
                values = {"gold": gold.get(end), "answer": answer.get(end), "status": "ok"}
                values |= {"answer_path": place, "scores": scores}
                yield samples.Sample(line["doc_id"], path, **values)

    def figures(file: Path) -> Iterator[Row]:
        metrics = files.read_json(file)
        source.notes[samples.MISSING] += len(metrics.get("errors") or ())
        overall = metrics.get("overall_metrics") or {}
        yield from (samples.figure("stickler", n, overall[n]) for n in _FIGURES if n in overall)

    lines = samples.json_lines(source, source.path)
    name = door.stem(source.path)
    yield from samples.sample_rows(source, name, lines, samples_of, system="stickler")
    beside = source.path.parent.glob("*.json")
    beside = [file for file in beside if b'"overall_metrics"' in door.head(file)]
    # Of several nobody knows which is of this run.
    for file in beside if len(beside) == 1 else ():
        yield from samples.stated(source, file, figures)


def _side(field: Row, side: str) -> tuple[str | None, dict[str, str]]:
    """The JSON Pointer of a key such as ``items[0].price``, and the values that stand below it."""
    key, value = field.get(f"{side}_key"), field.get(f"{side}_value")
    leaves = samples.fields(value) if key is not None else ()
    return pointer(key), {path: text for path, text in leaves if text is not None}


STICKLER = Reader(
    "stickler",
    "stickler's JSON lines of compared documents",
    lambda path: door.ending(path) == ".jsonl" and "comparison_result" in samples.names(path),
    read,
)
