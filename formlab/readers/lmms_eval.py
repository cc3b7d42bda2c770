"""Logs of lmms-eval: ``{stamp}_samples_{task}.jsonl``, and ``{stamp}_results.json`` beside it.

The document itself is not in the log: `doc_id` is its number in the data set and `doc_hash` tells
whether that is still the same one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from formlab import files
from formlab.readers import door, samples
from formlab.readers.rows import Reader, Row, Source

# What a sample has beside its metrics.
_FIELD = r"(doc|target|prompt)_hash|doc(_id)?|target|arguments|(filtered_)?resps|input(_media)?"
_FIELD = re.compile(rf"{_FIELD}|token_counts|filter|metrics|reasoning_tags")
_NAME = re.compile(r"(?P<stamp>.*?)_?samples_(?P<task>.+)\.jsonl$", re.IGNORECASE)
NO_RESULTS = "no results file beside the samples: the log states no figures"
CHANGED = "documents that stand under one number with two contents (doc_hash)"


def fits(path: Path) -> bool:
    """Whether a file has such samples, or a folder has such files."""
    if path.is_dir():
        return any(fits(file) for file in sorted(path.glob("*_samples_*.jsonl"))[:1])
    is_lines = door.ending(path) == ".jsonl"
    return is_lines and {"doc_id", "filtered_resps"} <= samples.names(path)


def read(source: Source) -> Iterator[Row]:
    """The rows of a file of samples, or of all such files of a folder."""
    path = source.path
    for file in sorted(path.glob("*_samples_*.jsonl")) if path.is_dir() else [path]:
        name = _NAME.fullmatch(file.name)
        task = name["task"] if name else file.stem
        beside = file.with_name(f"{name['stamp']}_results.json") if name else file
        results = files.read_json(beside) if name and beside.is_file() else {}
        source.files += [beside] if results else []
        source.notes[NO_RESULTS] += not results
        system, figures = file.resolve().parent.name, []
        with samples.reading(source, beside.name, samples.FIGURES):
            model = results.get("model_name") or (results.get("config") or {}).get("model")
            system, figures = str(model or system), list(_figures(results, task))
        yield from samples.sample_rows(_samples(source, file, system), source, task)
        yield from figures


def _samples(source: Source, file: Path, system: str) -> Iterator[samples.Sample]:
    lines = list(samples.json_lines(source, file))
    images = Counter(_image(line) for _, line in lines)
    hashes: dict[Any, Any] = {}
    for origin, line in lines:
        with samples.reading(source, origin):
            number, stated = line.get("doc_id"), line.get("doc_hash")
            source.notes[CHANGED] += hashes.setdefault(number, stated) != stated
            # An image that several questions are of is no name of any.
            image = _image(line)
            answer = _first(line.get("filtered_resps"))
            yield samples.Sample(
                image if image and images[image] == 1 else number,
                gold=line.get("target"),
                answer=answer,
                request=number,
                status="missing" if answer is None else "ok",
                system=system,
                origin=origin,
                scores=dict(_scores(line)),
                columns={"question": line.get("input"), "doc_hash": stated},
                call=samples.tokens(line.get("token_counts") or ()),
            )


def _image(line: Row) -> str | None:
    media = _first(line.get("input_media"))
    return PurePosixPath(media).stem if isinstance(media, str) else None


def _first(answers: Any) -> Any:
    """The first of several answers: metrics of lmms-eval look at that one."""
    while isinstance(answers, list):
        answers = answers[0] if answers else None
    return answers


def _scores(line: Row) -> Iterator[tuple[str, Any]]:
    for name, value in line.items():
        score = value.get("score") if isinstance(value, dict) else value
        is_number = isinstance(value, int | float | dict) and samples.number(score) is not None
        if is_number and not _FIELD.fullmatch(name):
            yield name, score


def _figures(results: Row, task: str) -> Iterator[Row]:
    counts = (results.get("n-samples") or {}).get(task) or {}
    for key, value in ((results.get("results") or {}).get(task) or {}).items():
        # Figures are called metric,filter; beside each stands its standard error.
        metric, _, rule = key.partition(",")
        is_number = isinstance(value, int | float) and samples.number(value) is not None
        if is_number and not metric.endswith("_stderr"):
            kind = f"mean, filter {rule}" if rule else "mean"
            yield samples.figure(metric, kind, value, counts.get("effective"))


LMMS_EVAL = Reader("lmms_eval", "lmms-eval's *_samples_*.jsonl", fits, read)
