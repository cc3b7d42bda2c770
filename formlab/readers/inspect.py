"""Logs of Inspect: ``.eval``, a zip file of JSON members, or the same object in one ``.json``.

Layout of ``.eval``: ``header.json`` with what was asked and the results, ``samples/*.json`` one for
each sample and epoch, and ``_journal/start.json``, the header of a run that has not ended. Long
texts stand apart, under `attachments`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from formlab import files
from formlab.errors import DataBroken
from formlab.readers import door, samples
from formlab.readers.rows import Reader, Row, Source

UNFINISHED = "the run had not ended, so that the log states no results"
ODD = "scores that are neither a letter, a number nor yes or no"
# Values as Inspect itself turns them into numbers.
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_STOPPED = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refused"}
_REFERENCE = "attachment://"


class _Choice(msgspec.Struct):
    message: dict[str, Any] = {}
    stop_reason: str | None = None


class _Output(msgspec.Struct):
    model: str | None = None
    completion: Any = None
    choices: list[_Choice] = []
    error: str | None = None


class _Log(msgspec.Struct):
    eval: dict[str, Any]
    results: Any = None
    samples: list[Any] | None = None


class Inspected(msgspec.Struct):
    """A sample of a log, as far as it is read."""

    id: str | int
    epoch: int = 1
    target: Any = None
    output: _Output | None = None
    scores: dict[str, Any] | None = None
    # Older logs have one score without a name.
    score: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    model_usage: dict[str, dict[str, Any]] | None = None
    attachments: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    limit: dict[str, Any] | None = None
    working_time: float | None = None
    total_time: float | None = None

    @property
    def answer(self) -> str | None:
        """The text that was answered, with a long one put back."""
        output = self.output or _Output()
        content = next(iter(output.choices), _Choice()).message.get("content")
        return self.text(output.completion or content)

    def text(self, content: Any) -> str | None:
        """The text of a message or target; images are left out."""
        if isinstance(content, list):
            texts = [item.get("text") for item in content if isinstance(item, dict)]
            content = "\n".join(str(text) for text in texts if text) or None
        if isinstance(content, str) and content.startswith(_REFERENCE):
            return str((self.attachments or {}).get(content.removeprefix(_REFERENCE), content))
        return None if content is None else str(content)


def fits(path: Path) -> bool:
    """Whether `path` is a zip file named ``.eval``, or JSON that starts as a log does."""
    if not path.is_file():
        return False
    if door.ending(path) == ".eval":
        return files.read_bytes(path, 4) == b"PK\3\4"
    start = door.head(path) if door.ending(path) == ".json" else b""
    return all(name in start[:4096] for name in (b'"eval"', b'"status"', b'"version"'))


def read(source: Source) -> Iterator[Row]:
    """The rows of a log.

    A sample stands at the `doc_id` and `path` of its metadata, if it has them; else its id is the
    document's name. One that ended in an error has the status `api_error`; an answer that was cut
    off is `truncated`, a filtered one `refused`. The system is the model that answered where it is
    one, else the one that was asked.

    Raises
    ------
    DataBroken
        If the log cannot be read; a member that cannot is counted.
    """
    path, members = source.path, []
    source.files.append(path)
    if door.ending(path) == ".json":
        log = door.decoded(door.read_bytes(path), _Log, path)
        for number, sample in enumerate(log.samples or ()):
            members.append((f"#/samples/{number}", partial(msgspec.convert, sample, Inspected)))
    else:
        named = door.members(path)
        head = named.get("header.json") or named.get("_journal/start.json")
        if head is None:
            what = "a log has header.json or, of an unfinished run, _journal/start.json"
            raise DataBroken(what, where=path)
        log = door.decoded(head.read(), _Log, head.where)
        for name, member in named.items():
            if name.startswith("samples/"):
                members.append((f"#{name}", partial(_unpacked, member)))
    listed, ids, models = [], set(), set()
    for place, unpack in members:
        with samples.reading(source, origin := path.name + place):
            inspected = unpack()
            listed.append(sample_of(inspected, source, origin))
            ids.add(str(inspected.id))
            if inspected.output and listed[-1].status not in ("api_error", "missing"):
                models.add(inspected.output.model)
    asked = str(log.eval.get("model") or "unknown")
    for sample in listed:
        sample.system = next(iter(models)) or asked if len(models) == 1 else asked
    dataset = log.eval.get("dataset")
    dataset = dataset if isinstance(dataset, dict) else {}
    task = dataset.get("name") or log.eval.get("task") or "log"
    yield from samples.sample_rows(listed, source, task)
    source.notes[UNFINISHED] = log.results is None
    with samples.reading(source, path.name, samples.FIGURES):
        planned = {str(name) for name in dataset.get("sample_ids") or ()}
        source.notes[samples.MISSING] = len(planned - ids)
        yield from list(_figures(log.results or {}))


def _unpacked(member: door.Member) -> Inspected:
    return door.decoded(member.read(), Inspected, member.where)


def sample_from(logged: Mapping[str, Any], source: Source) -> samples.Sample:
    """A sample as it stands in a log; `msgspec.ValidationError` if it is none."""
    return sample_of(msgspec.convert(logged, Inspected), source)


def sample_of(inspected: Inspected, source: Source, origin: str | None = None) -> samples.Sample:
    """A sample as formlab reads it; odd scores are counted in the source's notes."""
    columns = dict(inspected.metadata or {})
    doc_id, path = columns.pop("doc_id", None), columns.pop("path", None)
    status, error = _outcome(inspected)
    scores: dict[str, float | None] = {}
    judged, compared = set(), None
    for name, score in _scores(inspected):
        scores |= _numbers(name, score.get("value"), source)
        compared = compared or inspected.text(score.get("answer"))
        if "model_graded" in name or "grading" in (score.get("metadata") or {}):
            judged.add(name)
    target = inspected.target
    is_list = isinstance(target, list)
    seconds = inspected.working_time or inspected.total_time
    return samples.Sample(
        inspected.id if doc_id is None else doc_id,
        samples.ANSWER if path is None else str(path),
        gold=[inspected.text(text) for text in target] if is_list else inspected.text(target),
        answer=inspected.answer,
        status=status,
        epoch=inspected.epoch or 1,
        request=inspected.id,
        origin=origin,
        scores=scores,
        judged=judged,
        compared=compared,
        columns=columns,
        call=samples.tokens((inspected.model_usage or {}).values())
        | {"error": error, "seconds": seconds},
    )


def _outcome(inspected: Inspected) -> tuple[str, str | None]:
    """Status and reason of a sample's answer."""
    output = inspected.output or _Output()
    if inspected.error:
        return "api_error", str(inspected.error.get("message") or "error")
    if inspected.limit:
        return "truncated", f"limit: {inspected.limit.get('type')}"
    reason = next(iter(output.choices), _Choice()).stop_reason
    if stopped := _STOPPED.get(reason or ""):
        return stopped, reason
    return "ok" if inspected.answer is not None else "missing", output.error


def _scores(inspected: Inspected) -> Iterator[tuple[str, Row]]:
    scores = inspected.scores or ({"score": inspected.score} if inspected.score else {})
    yield from ((name, score) for name, score in scores.items() if isinstance(score, dict))


def _numbers(name: str, value: Any, source: Source) -> dict[str, float | None]:
    if isinstance(value, dict):
        inner = (_numbers(f"{name}/{key}", item, source) for key, item in value.items())
        return {key: number for numbers in inner for key, number in numbers.items()}
    if isinstance(value, str) and value in _VALUES:
        return {name: _VALUES[value]}
    score = samples.number(value)
    # Without a value a sample is unscored, and that is nothing odd.
    source.notes[ODD] += score is None and value is not None and value == value
    return {name: score}


def _figures(results: Mapping[str, Any]) -> Iterator[Row]:
    for score in results.get("scores") or ():
        # Inspect averages over the samples that it could score, and leaves the others out.
        count = score.get("scored_samples") or results.get("completed_samples")
        for name, metric in (score.get("metrics") or {}).items():
            kind = name if not score.get("reducer") else f"{name}, {score['reducer']} of epochs"
            yield samples.figure(
                score.get("name") or score.get("scorer"), kind, metric.get("value"), count
            )


INSPECT = Reader("inspect", "Inspect's .eval, or .json", fits, read)
