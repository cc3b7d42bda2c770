"""Logs of Inspect: ``.eval``, a zip file of JSON members, or the same object in one ``.json``.

Layout of ``.eval``: ``header.json`` with what was asked and the results, ``samples/*.json`` one for
each sample and epoch, and ``_journal/start.json``, the header of a run that has not ended. A sample
stands at the `doc_id` and `path` of its metadata, if it has them; else its id is the document's
name. The system is the model that answered, where it is one, else the one that was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.readers import door
from formlab.readers.rows import Reader, Row, Source, leaves
from formlab.readers.samples import ANSWER, MISSING, Sample, figure, number, sample_rows, tokens

UNFINISHED = "the run had not ended, so that the log states no results"
# Values as Inspect itself turns them into numbers.
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_STOPPED = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refused"}


def fits(path: Path) -> bool:
    """Whether `path` is a zip file named ``.eval``, or JSON that starts as a log does."""
    start, is_log = door.head(path)[:4096], (b'"eval"', b'"status"', b'"version"')
    if door.ending(path) == ".eval":
        return start[:4] == b"PK\3\4"
    return door.ending(path) == ".json" and all(name in start for name in is_log)


def read(source: Source) -> Iterator[Row]:
    """The rows of a log; a member that cannot be read is counted."""
    path, is_json = source.path, door.ending(source.path) == ".json"
    source.files.append(path)
    members = {"header.json": door.Member.of(path)} if is_json else door.members(path)
    if not (head := members.get("header.json") or members.get("_journal/start.json")):
        what = "a log has header.json or, of an unfinished run, _journal/start.json"
        raise DataBroken(what, where=path)
    log, models, ids = door.decoded(head.read(), dict[str, Any], head.where), set(), set()
    entries = [(f"{path.name}#{n}", members[n]) for n in members if n.startswith("samples/")]
    inside = enumerate(log.get("samples") or ())
    entries += [(f"{path.name}#/samples/{n}", entry) for n, entry in inside]
    asked, results = log["eval"], log.get("results")
    dataset = asked.get("dataset") if isinstance(asked.get("dataset"), dict) else {}

    def sample_in(entry: Any, _: str) -> Sample:
        if isinstance(entry, door.Member):
            entry = door.decoded(entry.read(), dict[str, Any], entry.where)
        sample = sample_of(entry)
        models.update({sample.system} - {None})
        ids.add(str(sample.request))
        sample.system = None
        return sample

    def figures() -> Iterator[Row]:
        source.notes[UNFINISHED] = results is None
        source.notes[MISSING] = len({*map(str, dataset.get("sample_ids") or ())} - ids)
        for score in (results or {}).get("scores") or ():
            # Inspect averages over the samples that it could score, and leaves the others out.
            count = score.get("scored_samples") or results.get("completed_samples")
            for name, metric in (score.get("metrics") or {}).items():
                kind = f"{name}, {score['reducer']} of epochs" if score.get("reducer") else name
                scorer = score.get("name") or score.get("scorer")
                yield figure(scorer, kind, metric.get("value"), count)

    split = dataset.get("name") or asked.get("task") or "log"
    for row in sample_rows(source, split, entries, sample_in, figures()):
        # All samples are read before the first row is given.
        system = next(iter(models)) if len(models) == 1 else asked.get("model") or "unknown"
        yield row if row["role"] == "figure" else row | {"system": str(system)}


def sample_of(entry: Row, _: str = "") -> Sample:
    """A sample, as it stands in a log, as formlab reads it."""

    def text(content: Any) -> str | None:
        """The text of a message or target, a long one put back; images are left out."""
        if isinstance(content, list):
            texts = [item.get("text") for item in content if isinstance(item, dict)]
            content = "\n".join(str(text) for text in texts if text) or None
        if isinstance(content, str) and content.startswith("attachment://"):
            put_away = entry.get("attachments") or {}
            content = put_away.get(content.removeprefix("attachment://"), content)
        return None if content is None else str(content)

    columns, output = dict(entry.get("metadata") or {}), entry.get("output") or {}
    doc_id, path = columns.pop("doc_id", None), columns.pop("path", None)
    choice = next(iter(output.get("choices") or ()), {})
    message, stopped = choice.get("message") or {}, choice.get("stop_reason")
    # A model that was told to call a tool answers with what it gives to the last.
    called = [call.get("arguments") for call in message.get("tool_calls") or ()]
    content = output.get("completion") or text(message.get("content"))
    answer = text(content or (door.as_text(called[-1]) if called else content))
    status, error = _STOPPED.get(stopped), output.get("error")
    if entry.get("error"):
        status, error = "api_error", str(entry["error"].get("message") or "error")
    elif entry.get("limit"):
        status, error = "truncated", f"limit: {entry['limit'].get('type')}"
    elif status:
        error = stopped
    scores = {}
    for name, score in (entry.get("scores") or {}).items():
        for place, value in leaves(score.get("value")):
            scores[name + place] = _VALUES.get(value, value) if isinstance(value, str) else value
    target, seconds = entry.get("target"), entry.get("working_time") or entry.get("total_time")
    return Sample(
        entry["id"] if doc_id is None else doc_id,
        ANSWER if path is None else str(path),
        gold=[*map(text, target)] if isinstance(target, list) else text(target),
        answer=answer,
        status=status,
        system=output.get("model") if answer is not None and status != "api_error" else None,
        epoch=int(entry.get("epoch") or 1),
        request=entry["id"],
        scores=scores,
        columns=columns,
        call={"error": error, "seconds": number(seconds) or None}
        | tokens((entry.get("model_usage") or {}).values()),
    )


READERS = {"inspect": Reader("inspect", "Inspect's .eval, or .json", fits, read)}
