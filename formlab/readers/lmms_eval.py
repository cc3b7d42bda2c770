"""Logs of lmms-eval: ``{stamp}_samples_{task}.jsonl``, and ``{stamp}_results.json`` beside it.

The document itself is not in the log: a sample is called by its image, if no other is of that, else
by its number in the data set, `doc_id`, behind the task where a folder has several; `doc_hash`
tells whether that is still the same one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from formlab import files
from formlab.readers import door, samples
from formlab.readers.rows import Reader, Row, Source

# What a sample has beside its metrics.
_FIELD = r"(doc|target|prompt)_hash|doc(_id)?|target|arguments|(filtered_)?resps|input(_media)?"
_FIELD = re.compile(rf"{_FIELD}|token_counts|filter|metrics|reasoning_tags")
NO_RESULTS = "no results file beside the samples: the log states no figures"


def fits(path: Path) -> bool:
    """Whether a file has such samples, or a folder has such files."""
    file = min(path.glob("*_samples_*.jsonl"), default=path)
    return door.ending(file) == ".jsonl" and {"doc_id", "filtered_resps"} <= samples.names(file)


def read(source: Source) -> Iterator[Row]:
    """The rows of a file of samples, or of all such files of a folder."""
    found = sorted(source.path.glob("*_samples_*.jsonl")) or [source.path]
    lines = {file: list(samples.json_lines(source, file)) for file in found}
    images = Counter(_image(line) for file in found for _, line in lines[file])
    for file in found:
        stamp, _, task = door.stem(file).rpartition("samples_")
        alone = {image for image, count in images.items() if image and count == 1}
        sample_of = partial(_sample, alone, f"{task}/" if len(found) > 1 else "")
        beside, models = file.with_name(f"{stamp}results.json"), [file.resolve().parent.name]
        source.notes[NO_RESULTS] += not beside.is_file()
        figures = list(samples.stated(source, beside, partial(_figures, task, models)))
        yield from samples.sample_rows(source, task, lines[file], sample_of, system=models[-1])
        yield from figures


def _sample(alone: set[str], home: str, line: Row, _: str) -> samples.Sample:
    number, image = door.as_text(line.get("doc_id")), _image(line)
    return samples.Sample(
        image if image in alone else number and f"{home}{number}",
        gold=line.get("target"),
        answer=_first(line.get("filtered_resps")),
        request=line.get("doc_id"),
        scores={name: value for name, value in _numbers(line) if not _FIELD.fullmatch(name)},
        columns={"question": line.get("input"), "doc_hash": line.get("doc_hash")},
        call=samples.tokens(line.get("token_counts") or ()),
    )


def _figures(task: str, models: list[str], file: Path) -> Iterator[Row]:
    """The figures of a task in a file of results, which also names the model."""
    results = files.read_json(file)
    model = results.get("model_name") or (results.get("config") or {}).get("model")
    models += [str(model)] if model else []
    count = ((results.get("n-samples") or {}).get(task) or {}).get("effective")
    for key, value in _numbers((results.get("results") or {}).get(task) or {}):
        # Figures are called metric,filter; beside each stands its standard error.
        metric, _, rule = key.partition(",")
        if not metric.endswith("_stderr"):
            yield samples.figure(metric, f"mean, filter {rule}" if rule else "mean", value, count)


def _image(line: Row) -> str | None:
    media = _first(line.get("input_media"))
    return PurePosixPath(media).stem if isinstance(media, str) else None


def _first(answers: Any) -> Any:
    """The first of several answers: metrics of lmms-eval look at that one."""
    while isinstance(answers, list):
        answers = answers[0] if answers else None
    return answers


def _numbers(members: Row) -> Iterator[tuple[str, Any]]:
    for name, value in members.items():
        score = value.get("score") if isinstance(value, dict) else value
        if isinstance(value, int | float | dict) and samples.number(score) is not None:
            yield name, score


LMMS_EVAL = Reader("lmms_eval", "lmms-eval's *_samples_*.jsonl", fits, read)
