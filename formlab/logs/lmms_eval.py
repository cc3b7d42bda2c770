"""Logs of lmms-eval: ``{stamp}_samples_{task}.jsonl``, and ``{stamp}_results.json`` beside it.

The document itself is not in the log: `doc_id` is its number in the data set and `doc_hash` tells
whether that is still the same one. `resps` is left out where it is the same as `filtered_resps`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from formlab import files
from formlab.logs._peek import first_object
from formlab.logs._samples import ANSWER, FIGURES, Row, Samples, number
from formlab.logs._spec import LogFormat, LogRun

# What a sample has beside its metrics.
_FIELDS = frozenset((
    "doc", "doc_id", "target", "arguments", "resps", "filtered_resps", "doc_hash", "prompt_hash",
    "target_hash", "input", "input_media", "token_counts", "filter", "metrics", "reasoning_tags",
))  # fmt: skip
_NAME = re.compile(r"(?P<stamp>.*?)_?samples_(?P<task>.+)\.jsonl$")
NO_RESULTS = "no results file beside the samples: the log states no figures"
CHANGED = "documents that stand under one number with two contents (doc_hash)"


def detect(path: Path) -> bool:
    """Whether the first line of a file is such a sample, or a folder has such files."""
    if path.is_dir():
        return any(detect(file) for file in sorted(path.glob("*_samples_*.jsonl"))[:1])
    return path.suffix == ".jsonl" and {"doc_id", "filtered_resps"} <= first_object(path).keys()


def read(path: Path) -> list[LogRun]:
    """The runs in a file of samples, or in all such files of a folder, one for each task.

    A document is called as its first image, if that is its own, else by its number.

    Raises
    ------
    DataBroken
        At the first line that is not a sample.
    """
    paths = sorted(path.glob("*_samples_*.jsonl")) if path.is_dir() else [path]
    return [run for file in paths for run in _read(file)]


def _read(file: Path) -> list[LogRun]:
    name = _NAME.fullmatch(file.name)
    task = name["task"] if name else file.stem
    beside = file.with_name(f"{name['stamp']}_results.json") if name else file
    results = files.read_json(beside) if name and beside.is_file() else {}
    samples = Samples("lmms_eval", task, [file, beside] if results else [file])
    system = file.resolve().parent.name
    with samples.reading(beside.name, FIGURES):
        system = _system(results) or system
        samples.headline += _headline(results, task)
    samples.notes[NO_RESULTS] = not results
    lines = list(samples.lines(file))
    images = Counter(_image(sample) for _, sample in lines)
    hashes: dict[Any, Any] = {}
    for origin, sample in lines:
        with samples.reading(origin):
            first = hashes.setdefault(sample.get("doc_id"), sample.get("doc_hash"))
            samples.notes[CHANGED] += first != sample.get("doc_hash")
            # An image that several questions are of is no name of any.
            image = _image(sample)
            name_ = image if image and images[image] == 1 else sample.get("doc_id")
            _add(samples, sample, name_, system, origin)
    return samples.runs()


def _image(sample: Row) -> str | None:
    media = sample.get("input_media")
    first = media[0] if isinstance(media, list) and media else None
    return PurePosixPath(first).stem if isinstance(first, str) else None


def _system(results: Row) -> str:
    """The model, as the results say; empty if they do not."""
    return str(results.get("model_name") or (results.get("config") or {}).get("model") or "")


def _headline(results: Row, task: str) -> Iterator[Row]:
    stated = (results.get("results") or {}).get(task) or {}
    counts = (results.get("n-samples") or {}).get(task) or {}
    for key, value in stated.items():
        # Figures are called metric,filter; beside each stands its standard error.
        metric, _, rule = key.partition(",")
        if number(value) is None or isinstance(value, str) or metric.endswith("_stderr"):
            continue
        yield {
            "scorer": metric, "metric": f"mean, filter {rule}" if rule else "mean",
            "value": float(value), "n": counts.get("effective"),
        }  # fmt: skip


def _add(samples: Samples, sample: Row, name: Any, system: str, origin: str) -> None:
    answer = _first(sample.get("filtered_resps"))
    used = [use for use in sample.get("token_counts") or () if isinstance(use, dict)]
    samples.add(
        name, ANSWER,
        gold=sample.get("target"), answer=answer, request=sample.get("doc_id"), origin=origin,
        status="missing" if answer is None else "ok", system=system,
        scores={
            name: value.get("score") if isinstance(value, dict) else value
            for name, value in sample.items()
            if name not in _FIELDS and _is_score(value)
        },
        own={"question": sample.get("input"), "doc_hash": sample.get("doc_hash")},
        tokens_in=sum(use.get("input_tokens") or 0 for use in used) if used else None,
        tokens_out=sum(use.get("output_tokens") or 0 for use in used) if used else None,
    )  # fmt: skip


def _first(answers: Any) -> Any:
    """The first of several answers: metrics of lmms-eval look at that one."""
    while isinstance(answers, list):
        answers = answers[0] if answers else None
    return answers


def _is_score(value: Any) -> bool:
    if isinstance(value, dict):
        return number(value.get("score")) is not None
    return isinstance(value, int | float) and number(value) is not None


FORMAT = LogFormat("lmms_eval", "lmms-eval's *_samples_*.jsonl", detect, read)
