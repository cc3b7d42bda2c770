"""Logs of OmniAI's benchmark tool: ``results.json``, one array for all models.

Gold and answer both stand in an entry: `trueMarkdown` and `trueJson`, `predictedMarkdown` and
`predictedJson`. `levenshteinDistance` is a similarity; durations are in milliseconds.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path

from formlab.benchmarks import omniai as benchmark
from formlab.formats import omniai as predictions
from formlab.logs._peek import first_object
from formlab.logs._samples import Row, Samples, as_object, fields, frame, number
from formlab.logs._spec import LogFormat, LogRun
from formlab.structure import checked
from formlab.tables import USABLE

FAILED = "entries with an error, which the tool's own mean leaves out"


def detect(path: Path) -> bool:
    """Whether the first entry of a list has what the model gave, or such a file is in a folder."""
    file = path / predictions.NAME if path.is_dir() else path
    return "fileUrl" in first_object(file)


def read(path: Path) -> list[LogRun]:
    """The runs in a file, one for each pair of models.

    Its gold has the shape of the benchmark `omniai`: the Markdown as a page's text, the JSON as a
    whole (task `value`) and its leaves. An entry with an error, even an empty one, is `api_error`.

    Raises
    ------
    DataBroken
        If the file is no list of entries.
    """
    file = path / predictions.NAME if path.is_dir() else path
    entries = predictions.read_entries(file)
    systems: dict[str, list[tuple[int, Row]]] = {}
    for index, entry in enumerate(entries):
        systems.setdefault(predictions.model(entry), []).append((index, entry))
    return [_run(system, numbered, file) for system, numbered in systems.items()]


def _run(system: str, entries: list[tuple[int, Row]], file: Path) -> LogRun:
    samples = Samples("omniai", file.resolve().parent.name, [file])
    gold: list[Row] = []
    documents: list[Row] = []
    claims: list[Row] = []
    flaws: Counter[str] = Counter()
    taken: set[str] = set()
    for index, entry in entries:
        url, origin = str(entry.get("fileUrl") or ""), f"{file.name}#/{index}"
        with samples.reading(origin):
            checked(entry, predictions.Entry, where=origin)
            doc_id = Path(benchmark.basename(url)).stem or f"entry {index}"
            rows, response = predictions.entry_rows(entry)
            repeated = doc_id in taken
            taken.add(doc_id)
            samples.add(
                doc_id, None, gold=entry.get("trueMarkdown"), answer=response.pop("text"),
                system=system, request=url, origin=origin, scores=_scores(entry), **response,
            )  # fmt: skip
            if repeated:
                continue
            item = {
                "trueJsonOutput": entry.get("trueJson"),
                "trueMarkdownOutput": entry.get("trueMarkdown"),
                "imageUrl": url, "jsonSchema": entry.get("jsonSchema"),
            }  # fmt: skip
            gold += [{"doc_id": doc_id} | row for row in benchmark.records_of(item, origin, flaws)]
            item["metadata"] = entry.get("metadata")
            documents.append({"doc_id": doc_id, "meta": json.dumps(item, ensure_ascii=False)})
            claims += [{"doc_id": doc_id, "origin": origin} | row for row in rows]
            claims += _leaves(entry, {"doc_id": doc_id, "origin": origin}, response["status"])
    (run,) = samples.runs(benchmark="omniai", documents=frame(documents))
    stated = [number(e.get("jsonAccuracy")) for _, e in entries]
    run.notes[FAILED] = sum(figure is None for figure in stated)
    return dataclasses.replace(run, gold=frame(gold), answers=frame(claims))


def _leaves(entry: Row, key: Row, status: str) -> list[Row]:
    """The values that a model gave, each at its path."""
    answer = as_object(entry.get("predictedJson"))
    if status not in USABLE or answer is None:
        return []
    base = key | {"task": "text", "status": status}
    return [base | {"path": path, "value": value} for path, value in fields(answer)]


def _scores(entry: Row) -> Row:
    # A document without an accuracy is in no mean of the tool's dashboard.
    return {
        "json_accuracy": entry.get("jsonAccuracy"),
        "levenshtein_similarity": entry.get("levenshteinDistance"),
    }  # fmt: skip


FORMAT = LogFormat("omniai", "OmniAI's results.json", detect, read)
