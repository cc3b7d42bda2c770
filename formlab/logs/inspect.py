"""Logs of Inspect: ``.eval``, a zip file of JSON members, or the same object in one ``.json``.

Layout of ``.eval``: ``header.json`` with what was asked and the results, ``samples/*.json`` one for
each sample and epoch, and ``_journal/start.json``, the header of a run that has not ended. Long
texts stand apart, under `attachments`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken
from formlab.logs._archive import Archive
from formlab.logs._samples import ANSWER, FIGURES, MISSING, Row, Samples, as_text, number
from formlab.logs._spec import LogFormat, LogRun

UNFINISHED = "the run had not ended, so that the log states no results"
ODD = "scores that are neither a letter, a number nor yes or no"
# Values as Inspect itself turns them into numbers.
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_STOPPED = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refused"}
# What a sample that is not laid out as it should be comes to.
_REFERENCE = "attachment://"


def detect(path: Path) -> bool:
    """Whether `path` is a zip file named ``.eval``, or JSON that starts as a log does."""
    if not path.is_file():
        return False
    if path.suffix == ".eval":
        return files.read_bytes(path, 4) == b"PK\3\4"
    start = files.read_bytes(path, 4096) if path.suffix == ".json" else b""
    return b'"eval"' in start and b'"status"' in start and b'"version"' in start


def read(path: Path) -> list[LogRun]:
    """The runs in a log, one for each epoch.

    A sample stands at the `doc_id` and `path` of its metadata, if it has them; else its id is the
    document's name. One that ended in an error has the status `api_error`; an answer that was cut
    off is `truncated`, a filtered one `refused`.

    Raises
    ------
    DataBroken
        If the log, or a member of it, cannot be read.
    """
    if path.suffix == ".json":
        header = files.read_json(path)
        samples = _listed(header, path)
        return _runs(header, samples, path)
    with Archive(path) as archive:
        name = next((n for n in ("header.json", "_journal/start.json") if n in archive.names), None)
        if name is None:
            raise DataBroken(
                "a log has header.json or, of an unfinished run, _journal/start.json", where=path
            )
        header = archive.json(name)
        return _runs(header, _members(archive), path)


def _members(archive: Archive) -> Iterator[tuple[str, Any]]:
    """The samples of an archive; of one that cannot be unpacked the error."""
    for name in archive.names:
        if name.startswith("samples/") and name.endswith(".json"):
            try:
                yield f"{archive.path.name}#{name}", archive.json(name)
            except DataBroken as error:
                yield str(error.where), error


def _listed(header: Any, path: Path) -> Iterator[tuple[str, Any]]:
    samples = header.get("samples") if isinstance(header, dict) else None
    for index, sample in enumerate(samples or ()):
        yield f"{path.name}#/samples/{index}", sample


def _runs(header: Any, members: Iterator[tuple[str, Any]], path: Path) -> list[LogRun]:
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
        raise DataBroken("a log is an object with 'eval'", where=path)
    spec = header["eval"]
    dataset = spec.get("dataset")
    dataset = dataset if isinstance(dataset, dict) else {}
    samples = Samples("inspect", str(dataset.get("name") or spec.get("task") or "log"), [path])
    system = str(spec.get("model") or "unknown")
    ids: set[str] = set()
    for origin, sample in members:
        with samples.reading(origin):
            if isinstance(sample, DataBroken):
                raise sample
            add_sample(samples, sample, system, origin)
            ids.add(str(sample["id"]))
    with samples.reading(path.name, FIGURES):
        planned = {str(name) for name in dataset.get("sample_ids") or ()}
        samples.notes[MISSING] = len(planned - ids)
        samples.notes[UNFINISHED] = header.get("results") is None
        samples.headline += _headline(header.get("results") or {})
    return samples.runs()


def _headline(results: Mapping[str, Any]) -> Iterator[Row]:
    for score in results.get("scores") or ():
        # Inspect averages over the samples that it could score, and leaves the others out.
        count = score.get("scored_samples") or results.get("completed_samples")
        for name, metric in (score.get("metrics") or {}).items():
            label = name if not score.get("reducer") else f"{name}, {score['reducer']} of epochs"
            yield {
                "scorer": score.get("name") or score.get("scorer"), "metric": label,
                "value": metric.get("value"), "n": count,
            }  # fmt: skip


def add_sample(samples: Samples, sample: Row, system: str, origin: str) -> None:
    """Collect one sample of a log, a dict as Inspect writes it."""
    attached = sample.get("attachments") or {}
    metadata = sample.get("metadata") or {}
    status, error, answer = _outcome(sample, attached)
    values: dict[str, Any] = {}
    compared = None
    for name, score in _scores(sample):
        values |= _numbers(name, score.get("value"), samples)
        compared = compared or _text(score.get("answer"), attached)
        if "model_graded" in name or "grading" in (score.get("metadata") or {}):
            samples.judged.add(name)
    usage = list((sample.get("model_usage") or {}).values())
    doc_id = metadata.get("doc_id")
    samples.add(
        sample["id"] if doc_id is None else doc_id, as_text(metadata.get("path")) or ANSWER,
        gold=_gold(sample, attached), answer=answer, status=status, error=error,
        system=system, epoch=int(sample.get("epoch") or 1), request=sample["id"],
        scores=values, compared=compared, own=metadata, origin=origin,
        tokens_in=sum(use.get("input_tokens") or 0 for use in usage) if usage else None,
        tokens_out=sum(use.get("output_tokens") or 0 for use in usage) if usage else None,
        seconds=sample.get("working_time") or sample.get("total_time"),
    )  # fmt: skip


def _outcome(sample: Row, attached: Row) -> tuple[str, str | None, str | None]:
    """Status, reason and text of a sample's answer."""
    output = sample.get("output") or {}
    choice = next(iter(output.get("choices") or ()), {})
    message = choice.get("message") or {}
    answer = _text(output.get("completion") or message.get("content"), attached)
    if sample.get("error"):
        return "api_error", str(sample["error"].get("message") or "error"), answer
    if limit := sample.get("limit"):
        return "truncated", f"limit: {limit.get('type')}", answer
    if stopped := _STOPPED.get(choice.get("stop_reason")):
        return stopped, choice["stop_reason"], answer
    return "ok" if answer is not None else "missing", output.get("error"), answer


def _scores(sample: Row) -> Iterator[tuple[str, Row]]:
    # Older logs have one score without a name.
    scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
    yield from ((name, score) for name, score in scores.items() if isinstance(score, dict))


def _numbers(name: str, value: Any, samples: Samples) -> dict[str, float | None]:
    if isinstance(value, dict):
        inner = (_numbers(f"{name}/{key}", item, samples) for key, item in value.items())
        return {key: number for numbers in inner for key, number in numbers.items()}
    if isinstance(value, str) and value in _VALUES:
        return {name: _VALUES[value]}
    figure = number(value)
    # Without a value a sample is unscored, and that is nothing odd.
    samples.notes[ODD] += figure is None and value is not None and value == value
    return {name: figure}


def _gold(sample: Row, attached: Row) -> Any:
    target = sample.get("target")
    if isinstance(target, list):
        return [_text(item, attached) for item in target] or None
    return _text(target, attached)


def _text(content: Any, attached: Row) -> str | None:
    """The text of a message or target, with long texts put back; images are left out."""
    if isinstance(content, list):
        texts = [item.get("text") for item in content if isinstance(item, dict)]
        content = "\n".join(str(text) for text in texts if text) or None
    if not isinstance(content, str):
        return None if content is None else str(content)
    if content.startswith(_REFERENCE):
        return str(attached.get(content.removeprefix(_REFERENCE), content))
    return content


FORMAT = LogFormat("inspect", "Inspect's .eval, or .json", detect, read)
