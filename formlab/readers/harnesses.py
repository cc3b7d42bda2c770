"""Logs of Inspect, lmms-eval, VLMEvalKit, stickler and OmniAI's benchmark tool."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from formlab.benchmarks.omniai import WHOLE, basename, image_url, records_of
from formlab.errors import DataBroken
from formlab.readers import Reader, Row, Source, door, leaves, samples
from formlab.readers.door import as_text, number
from formlab.readers.samples import ANSWER, MISSING, Sample, figure, has, names, sample_rows, tokens
from formlab.readers.sources import items
from formlab.readers.values import pointer

# Values as Inspect itself turns them into numbers.
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_STOPPED = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refused"}
_LMMS_FILES = "*_samples_*.jsonl"
# What a sample of lmms-eval has beside its metrics.
_FIELD = r"(doc|target|prompt)_hash|doc(_id)?|target|arguments|(filtered_)?resps|input(_media)?"
_FIELD = re.compile(rf"{_FIELD}|token_counts|filter|metrics|reasoning_tags")
_VLM_COLUMNS = {"doc_id": "index", "gold": "answer", "value": "prediction"}
_VLM_SCORES = ("hit", "eval_match", "eval_score", "score", "match")
_STICKLER_FIGURES = ("weighted_overall_score", "cm_f1", "cm_precision", "cm_recall", "cm_accuracy")
_OMNIAI = {"fileUrl", "predictedMarkdown", "predictedJson"}
FAILED = "entries with an error, which the tool's own mean leaves out"


def inspect(source: Source) -> Iterator[Row]:
    """Logs of Inspect: ``.eval``, a zip file of JSON members, or the same object in one ``.json``.

    ``.eval`` has ``header.json`` with what was asked and the results, or ``_journal/start.json`` of
    a run that has not ended, and ``samples/*.json``, one for each sample and epoch. A sample stands
    at the `doc_id` and `path` of its metadata; else its id is the document's name. The system is
    the model that answered, where it is one, else the one that was asked.
    """
    path, is_json = source.path, door.ending(source.path) == ".json"
    source.files.append(path)
    members = {"header.json": door.Member.of(path)} if is_json else door.members(path)
    if not (head := members.get("header.json") or members.get("_journal/start.json")):
        what = "a log has header.json or, of an unfinished run, _journal/start.json"
        raise DataBroken(what, where=path)
    log = door.decoded(head.read(), dict[str, Any], head.where)
    asked, results = log["eval"], log.get("results")
    source.notes["the run had not ended, so that the log states no results"] = results is None
    listed = [n for n in members if n.startswith("samples/") and n.endswith(".json")]
    entries = [(f"{path.name}#{n}", members[n]) for n in listed]
    inside = enumerate(log.get("samples") or ())
    entries += [(f"{path.name}#/samples/{n}", entry) for n, entry in inside]

    def figures() -> Iterator[Row]:
        for score in (results or {}).get("scores") or ():
            # Inspect averages over the samples that it could score, and leaves the others out.
            count = score.get("scored_samples") or results.get("completed_samples")
            for name, metric in (score.get("metrics") or {}).items():
                kind = f"{name}, {score['reducer']} of epochs" if score.get("reducer") else name
                scorer = score.get("name") or score.get("scorer")
                yield figure(scorer, kind, metric.get("value"), count)

    dataset = asked.get("dataset") if isinstance(asked.get("dataset"), dict) else {}
    split, model = dataset.get("name") or asked.get("task") or "log", asked.get("model")
    given = {"planned": dataset.get("sample_ids") or (), "system": str(model or "unknown")}
    yield from sample_rows(source, split, entries, inspect_sample, figures(), **given)


def inspect_sample(entry: Row | door.Member, _: str = "") -> Sample:
    """A sample, as it stands in a log or in a member of one, as formlab reads it."""
    if isinstance(entry, door.Member):
        entry = door.decoded(entry.read(), dict[str, Any], entry.where)

    def text(content: Any) -> str | None:
        """The text of a content, which may be a list of parts or put away under `attachments`."""
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
    answer = text(content or (as_text(called[-1]) if called else content))
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
    used = tokens((entry.get("model_usage") or {}).values())
    return Sample(
        entry["id"] if doc_id is None else doc_id,
        ANSWER if path is None else pointer(str(path)),
        gold=[*map(text, target)] if isinstance(target, list) else text(target),
        answer=answer,
        status=status,
        model=output.get("model") if answer is not None and status != "api_error" else None,
        epoch=int(entry.get("epoch") or 1),
        request=entry["id"],
        scores=scores,
        columns=columns,
        call={"error": error, "seconds": number(seconds) or None} | used,
    )


def lmms_eval(source: Source) -> Iterator[Row]:
    """``{stamp}_samples_{task}.jsonl`` with ``{stamp}_results.json`` beside it, or their folder.

    The document itself is not in the log: a sample is called by its image, if no other is of that,
    else by its number in the data set, `doc_id`, behind the task where a folder has several.
    """
    found = sorted(source.path.glob(_LMMS_FILES)) or [source.path]
    lines = {file: list(samples.json_lines(source, file)) for file in found}

    def first(values: Any) -> Any:
        """The first of several: metrics of lmms-eval look at that one."""
        while isinstance(values, list):
            values = values[0] if values else None
        return values

    def numbers(members: Row) -> Iterator[tuple[str, Any]]:
        for name, value in members.items():
            score = value.get("score") if isinstance(value, dict) else value
            if isinstance(value, int | float | dict) and number(score) is not None:
                yield name, score

    def image_of(line: Row) -> str | None:
        media = first(line.get("input_media"))
        return PurePosixPath(media).stem if isinstance(media, str) else None

    images = Counter(image_of(line) for entries in lines.values() for _, line in entries)

    def sample_of(line: Row, origin: str) -> Sample:
        place, image = as_text(line.get("doc_id")), image_of(line)
        task = origin.partition("samples_")[2].partition(".")[0]
        place = f"{task}/{place}" if place and len(found) > 1 else place
        return Sample(
            image if image and images[image] == 1 else place,
            gold=_accepted(line.get("target")),
            answer=first(line.get("filtered_resps")),
            request=line.get("doc_id"),
            scores={n: v for n, v in numbers(line) if not _FIELD.fullmatch(n)},
            columns={"question": line.get("input"), "doc_hash": line.get("doc_hash")},
            call=tokens(line.get("token_counts") or ()),
        )

    def figures(results: Row, task: str) -> Iterator[Row]:
        count = door.at(results, "n-samples", task, "effective")
        for key, value in numbers(door.at(results, "results", task) or {}):
            # Figures are called metric,filter; beside each stands its standard error.
            metric, _, rule = key.partition(",")
            if not metric.endswith("_stderr"):
                yield figure(metric, f"mean, filter {rule}" if rule else "mean", value, count)

    for file, entries in lines.items():
        stamp, _, task = door.stem(file).rpartition("samples_")
        results = samples.beside(source, file.with_name(f"{stamp}results.json"))
        system = str(results.get("model_name") or file.resolve().parent.name)
        stated = figures(results, task)
        yield from sample_rows(source, task, entries, sample_of, stated, system=system)


def _accepted(gold: Any) -> Any:
    """A gold that is text, or what it writes as a Python list of accepted answers or an object."""
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        if isinstance(gold, str) and gold.lstrip()[:1] in ("[", "{"):
            written = ast.literal_eval(gold.strip())
            return written if isinstance(written, dict | list) else gold
    return gold


def vlmevalkit(source: Source) -> Iterator[Row]:
    """``{model}_{dataset}.xlsx``, ``.tsv`` or ``.json``, scored or not.

    A row has the columns of the data set but for its image, and `prediction`; scored files add
    `hit` or the like. Figures stand beside them in ``{stem}_acc.csv`` or ``_score.csv``.
    """
    path, stem = source.path, door.stem(source.path)
    model, _, dataset = stem.rpartition("_")
    source.files.append(path)

    def sample_of(row: Row, _: str) -> Sample:
        sample = samples.of_cells(row, _VLM_COLUMNS)
        sample.gold, sample.answer = _accepted(sample.gold), sample.answer or None
        sample.scores = {n: sample.columns.pop(n) for n in _VLM_SCORES if n in row}
        return sample

    def figures() -> Iterator[Row]:
        for file in (path.with_name(f"{stem}_{end}.csv") for end in ("acc", "score")):
            if file.is_file():
                source.files.append(file)
                # A column per category, in per cent as they are stated.
                for _, row in items(file):
                    suffix = "" if row.get("split") in (None, "none") else f", {row['split']}"
                    cells = ((n, cell) for n, cell in row.items() if number(cell) is not None)
                    scorer = file.stem.rpartition("_")[2]
                    yield from (figure(scorer, f"{name}{suffix}", cell) for name, cell in cells)

    rows = items(path, source.notes)
    return sample_rows(source, dataset, rows, sample_of, figures(), system=model or "unknown")


def stickler(source: Source) -> Iterator[Row]:
    """The JSON lines of stickler's bulk evaluator, one per document with every field compared.

    A line is ``{"doc_id": …, "comparison_result": {"field_comparisons": […]}}``; the metrics file
    beside it states figures. A sample is a field, its answer at the place that stickler paired.
    """

    def values(field: Row, side: str) -> tuple[str | None, dict[str, str]]:
        """The pointer of a key such as ``items[0].price``, and the values that stand below it."""
        key, value = field.get(f"{side}_key"), field.get(f"{side}_value")
        leaves = samples.fields(value) if key is not None else ()
        return pointer(key), {path: text for path, text in leaves if text is not None}

    def samples_of(line: Row, _: str) -> Iterator[Sample]:
        compared = line["comparison_result"].get("field_comparisons") or []
        source.notes["documents without compared fields"] += not compared
        for field in compared:
            (base, gold), (other, answer) = values(field, "expected"), values(field, "actual")
            scores = {"match": field.get("match"), "similarity": field.get("score")}
            # An item that was compared as a whole has several values.
            scores = scores if {*gold, *answer} == {""} else {}
            for end in dict.fromkeys([*gold, *answer]):
                place = f"{other if end in answer else base}{end}"
                golds = [{"path": f"{base}{end}", "value": gold[end]}] if end in gold else []
                status = "ok" if end in answer else "missing"
                claims = [{"path": place, "value": answer.get(end), "status": status}]
                yield Sample(line["doc_id"], place, golds=golds, claims=claims, scores=scores)

    def figures() -> Iterator[Row]:
        found = source.path.parent.glob("*.json")
        found = [file for file in found if b'"overall_metrics"' in door.head(file)]
        # Of several nobody knows which is of this run.
        metrics = samples.beside(source, found[0]) if len(found) == 1 else {}
        source.notes[MISSING] += len(metrics.get("errors") or ())
        stated = metrics.get("overall_metrics") or {}
        yield from (figure("stickler", n, stated[n]) for n in _STICKLER_FIGURES if n in stated)

    lines, name = samples.json_lines(source, source.path), door.stem(source.path)
    return sample_rows(source, name, lines, samples_of, figures(), system="stickler")


def omniai(source: Source) -> Iterator[Row]:
    """``results.json``, one array with an entry per document and model, or a folder with one.

    Answers are `predictedMarkdown` and `predictedJson`, gold, if any, `trueMarkdown` and `trueJson`
    in the shape of the benchmark `omniai`. An entry with an error, even an empty one, or without
    either output is `api_error`. It belongs to the document whose image has its address or name.
    """
    file, ids = _results(source.path), dict[str, str]()
    known = source.corpus.documents.select("doc_id", "meta", "image") if source.corpus else None
    for doc_id, meta, image in () if known is None else known.rows():
        url = image_url(meta)
        for name in filter(None, (url, basename(url), basename(image or ""))):
            ids.setdefault(name, doc_id)

    def sample_of(entry: Row, origin: str) -> Sample:
        url, used = entry.get("fileUrl") or "", entry.get("usage") or {}
        name = basename(url)
        text, answer = as_text(entry.get("predictedMarkdown")), entry.get("predictedJson")
        # An error of JavaScript may be written as {}.
        error = entry.get("error")
        failed = error not in (None, "", False) or (text is None and answer is None)
        status = "api_error" if failed else "ok"
        source.notes[FAILED] += number(entry.get("jsonAccuracy")) is None
        page = {"task": "text", "path": None, "kind": "page", "value": text}
        claims = [page | {"status": "missing" if text is None and not failed else status}]
        if answer is not None and not failed:
            # A model that was asked for JSON may have given it as text.
            value = {"task": "value", "path": WHOLE, "kind": "json", "value": as_text(answer)}
            leaves = samples.fields(samples.as_object(answer) or {})
            claims += [value, *({"task": "text", "path": p, "value": leaf} for p, leaf in leaves)]
        # The pair of models, once if they are one; reading images directly is another system.
        models = filter(None, (entry.get("ocrModel"), entry.get("extractionModel")))
        is_direct = " (image)" if entry.get("directImageExtraction") else ""
        sample = Sample(
            ids.get(url) or ids.get(name) or PurePosixPath(name).stem or origin,
            None,
            answer=text,
            claims=claims,
            status=status,
            system=" + ".join(dict.fromkeys(models)) + is_direct or "omniai",
            request=url or None,
            scores={
                "json_accuracy": entry.get("jsonAccuracy"),
                "levenshtein_similarity": entry.get("levenshteinDistance"),
            },
            call={
                "task": "value",
                "error": str(error) if error else None,
                "cost": number(used.get("totalCost")),
                "seconds": number(used.get("duration"), 1000),
            },
        )
        if "trueJson" in entry:
            item = {f"{name}Output": entry.get(name) for name in ("trueJson", "trueMarkdown")}
            meta = {"jsonSchema": entry.get("jsonSchema"), "metadata": entry.get("metadata")}
            sample.golds = list(records_of(item | meta, origin, source.notes))
            meta = json.dumps({"imageUrl": url} | meta, ensure_ascii=False)
            sample.document = {"benchmark": "omniai", "meta": meta}
        return sample

    source.files.append(file)
    listed = enumerate(door.decoded(door.read_bytes(file), list, file))
    entries = ((f"{file.name}#/{count}", entry) for count, entry in listed)
    return sample_rows(source, file.resolve().parent.name, entries, sample_of)


def _results(path: Path) -> Path:
    return path / "results.json" if path.is_dir() else path


_FITS = {
    inspect: lambda p: door.ending(p) == ".eval" or has(p, ".json", "eval", "status", "version"),
    lmms_eval: lambda p: has(min(p.glob(_LMMS_FILES), default=p), ".jsonl", "filtered_resps"),
    omniai: lambda p: has(_results(p), ".json") and not _OMNIAI.isdisjoint(names(_results(p))),
    vlmevalkit: lambda p: {"index", "prediction"} <= names(p) and "predict" not in names(p),
    stickler: lambda p: has(p, ".jsonl", "comparison_result"),
}
_TITLES = {
    "inspect": "Inspect's .eval, or .json",
    "lmms_eval": "lmms-eval's *_samples_*.jsonl",
    "omniai": "OmniAI's results.json",
    "vlmevalkit": "VLMEvalKit's workbook, TSV or JSON",
    "stickler": "stickler's JSON lines of compared documents",
}
_NAMED = {read.__name__: read for read in _FITS}
READERS = {n: Reader(n, _TITLES[n], _FITS[read], read) for n, read in _NAMED.items()}
