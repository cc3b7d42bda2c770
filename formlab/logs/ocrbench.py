"""Logs of OCRBench v2: one JSON array of samples with `predict`, and `score` once it is scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from formlab import files
from formlab.benchmarks.ocrbench_v2 import accepted
from formlab.errors import DataBroken
from formlab.logs._peek import first_object
from formlab.logs._samples import ANSWER, Samples, number
from formlab.logs._spec import LogFormat, LogRun

UNSCORED = "samples without a score: the file was not scored, or only in part"
_KNOWN = {"id", "answers", "predict", "score"}


def detect(path: Path) -> bool:
    """Whether the first entry of a JSON list has `answers` and what the model did `predict`."""
    return path.suffix == ".json" and {"answers", "predict"} <= first_object(path).keys()


def read(path: Path) -> list[LogRun]:
    """The one run in a file. Every one of `answers` is accepted; an object is read by its fields.

    Raises
    ------
    DataBroken
        If the file is no list of samples.
    """
    entries = files.read_json(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataBroken("OCRBench's results are a list of objects", where=path)
    samples = Samples("ocrbench", "ocrbench", [path])
    scored: dict[str, list[float]] = {}
    for index, entry in enumerate(entries):
        with samples.reading(f"{path.name}#/{index}"):
            score = number(entry.get("score"))
            samples.notes[UNSCORED] += score is None
            if score is not None:
                scored.setdefault(str(entry.get("type")), []).append(score)
            answer = entry.get("predict")
            samples.add(
                entry.get("id", index), ANSWER, gold=_gold(entry.get("answers")),
                answer=answer if isinstance(answer, str | dict) else _text(answer),
                status="missing" if answer is None else "ok", system=path.stem,
                origin=f"{path.name}#/{index}", scores={"score": score},
                own={name: value for name, value in entry.items() if name not in _KNOWN},
            )  # fmt: skip
    samples.headline += [
        {"scorer": "score", "metric": f"mean of {kind}", "value": sum(values) / len(values),
         "n": len(values)}
        for kind, values in sorted(scored.items())
    ]  # fmt: skip
    return samples.runs()


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _gold(answers: Any) -> Any:
    """The accepted texts, or the object that is asked for."""
    answers = accepted(answers)
    if isinstance(answers, dict):
        # A field's accepted values are a list; most have one.
        return {key: _only(value) for key, value in answers.items()}
    return answers


def _only(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


FORMAT = LogFormat("ocrbench", "OCRBench v2's JSON with predict", detect, read)
