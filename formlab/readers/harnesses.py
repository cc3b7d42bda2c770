"""Logs of Inspect, lmms-eval, VLMEvalKit, stickler and OmniAI's benchmark tool."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from formlab.benchmarks.omniai import WHOLE, basename, image_url
from formlab.errors import DataBroken
from formlab.readers import Reader, Row, Source, door, leaves, samples
from formlab.readers.door import as_text, at, number
from formlab.readers.samples import ANSWER, Sample, figure, has, names, sample_rows
from formlab.readers.sources import items
from formlab.readers.values import pointer

_STOPPED = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refused"}
_LMMS_FILES = "*_samples_*.jsonl"
# What a sample of lmms-eval has beside its metrics.
_LMMS = r"(doc|target|prompt)_hash|doc(_id)?|target|arguments|(filtered_)?resps|input(_media)?"
_LMMS = re.compile(rf"{_LMMS}|token_counts|filter|metrics|reasoning_tags")
_VLM_COLUMNS = {"doc_id": "index", "gold": "answer", "value": "prediction"}
_VLM_SCORES = ("hit", "eval_match", "eval_score", "score", "match")
_STICKLER_FIGURES = ("weighted_overall_score", "cm_f1", "cm_precision", "cm_recall", "cm_accuracy")
_OMNIAI = {"fileUrl", "predictedMarkdown", "predictedJson"}
FAILED = "entries with an error, which the tool's own mean leaves out"


def inspect(source: Source) -> Iterator[Row]:
    """Inspect's .eval, or .json"""
    path, is_json = source.path, door.ending(source.path) == ".json"
    source.files.append(path)
    members = {"header.json": door.Member.of(path)} if is_json else door.members(path)
    if not (head := members.get("header.json") or members.get("_journal/start.json")):
        what = "a log has header.json or, of an unfinished run, _journal/start.json"
        raise DataBroken(what, where=path)
    log = door.decoded(head.read(), dict[str, Any], head.where)
    asked, results = log["eval"], log.get("results")
    source.notes["the run had not ended, so that the log states no results"] = results is None
    named = {n: member for n, member in members.items() if re.fullmatch(r"samples/.*\.json", n)}
    named |= {f"/samples/{n}": entry for n, entry in enumerate(log.get("samples") or ())}
    entries = ((f"{path.name}#{name}", entry) for name, entry in named.items())
    # Inspect averages over the samples that it could score, and leaves the others out.
    figures = (
        figure(
            score.get("name") or score.get("scorer"),
            f"{name}, {score['reducer']} of epochs" if score.get("reducer") else name,
            metric.get("value"),
            score.get("scored_samples") or results.get("completed_samples"),
        )
        for score in at(results, "scores") or ()
        for name, metric in (score.get("metrics") or {}).items()
    )
    split = at(asked, "dataset", "name") or asked.get("task") or "log"
    planned, model = at(asked, "dataset", "sample_ids") or (), str(asked.get("model") or "unknown")
    same = {"planned": planned, "system": model}
    yield from sample_rows(source, split, entries, inspect_sample, figures, **same)


def inspect_sample(entry: Row | door.Member, _: str = "") -> Sample:
    """A sample, as it stands in a log or in a member of one, as formlab reads it."""
    if isinstance(entry, door.Member):
        entry = door.decoded(entry.read(), dict[str, Any], entry.where)
    put_away = entry.get("attachments") or {}

    def text(content: Any) -> str | None:
        """The text of a content, which may be a list of parts or put away."""
        if isinstance(content, list):
            texts = [part.get("text") for part in content if isinstance(part, dict)]
            content = "\n".join(str(text) for text in texts if text) or None
        if isinstance(content, str) and content.startswith("attachment://"):
            content = put_away.get(content.removeprefix("attachment://"), content)
        return None if content is None else str(content)

    columns, output = dict(entry.get("metadata") or {}), entry.get("output") or {}
    doc_id, path = columns.pop("doc_id", None), columns.pop("path", None)
    choice = next(iter(output.get("choices") or ()), {})
    message, stopped = choice.get("message") or {}, choice.get("stop_reason")
    answer = output.get("completion") or text(message.get("content"))
    if not answer and (calls := message.get("tool_calls")):
        # A model that was told to call a tool answers with what it gives to the last.
        answer = as_text(calls[-1].get("arguments"))
    status = _STOPPED.get(stopped)
    error = stopped if status else output.get("error")
    if entry.get("error"):
        status, error = "api_error", str(entry["error"].get("message") or "error")
    elif entry.get("limit"):
        status, error = "truncated", f"limit: {entry['limit'].get('type')}"
    target, seconds = entry.get("target"), entry.get("working_time") or entry.get("total_time")
    scores = {
        name + place: value
        for name, score in (entry.get("scores") or {}).items()
        for place, value in leaves(score.get("value"))
    }
    return Sample(
        entry["id"] if doc_id is None else doc_id,
        ANSWER if path is None else pointer(str(path)),
        [*map(text, target)] if isinstance(target, list) else text(target),
        text(answer),
        status,
        model=output.get("model") if answer is not None and status != "api_error" else None,
        epoch=int(entry.get("epoch") or 1),
        request=entry["id"],
        scores=scores,
        columns=columns,
        call={"error": error, "seconds": number(seconds) or None},
    )


def lmms_eval(source: Source) -> Iterator[Row]:
    """lmms-eval's *_samples_*.jsonl"""
    found = sorted(source.path.glob(_LMMS_FILES)) or [source.path]

    def numbers(members: Row) -> Iterator[tuple[str, Any]]:
        for name, value in members.items():
            score = value.get("score") if isinstance(value, dict) else value
            if isinstance(value, int | float | dict) and number(score) is not None:
                yield name, score

    def sample_of(line: Row, origin: str) -> Sample:
        answer, name = line.get("filtered_resps"), as_text(line["doc_id"])
        while isinstance(answer, list):
            # Metrics of lmms-eval look at the first of several.
            answer = answer[0] if answer else None
        # Tasks number their questions alike.
        task = origin.partition("samples_")[2].partition(".")[0]
        scores = {n: v for n, v in numbers(line) if not _LMMS.fullmatch(n)}
        columns = {"question": line.get("input"), "doc_hash": line.get("doc_hash")}
        name, gold = f"{task}/{name}" if len(found) > 1 else name, _accepted(line.get("target"))
        return Sample(name, gold=gold, answer=answer, scores=scores, columns=columns)

    for file in found:
        stamp, _, task = door.stem(file).rpartition("samples_")
        # The figures stand beside the samples, each called metric,filter, with standard errors.
        results = samples.beside(source, file.with_name(f"{stamp}results.json"))
        count = at(results, "n-samples", task, "effective")
        figures = []
        for name, value in numbers(at(results, "results", task) or {}):
            metric, _, rule = name.partition(",")
            if not metric.endswith("_stderr"):
                kind = f"mean, filter {rule}" if rule else "mean"
                figures.append(figure(metric, kind, value, count))
        system = str(results.get("model_name") or file.resolve().parent.name)
        lines = samples.json_lines(source, file)
        yield from sample_rows(source, task, lines, sample_of, figures, system=system)


def _accepted(gold: Any) -> Any:
    """A gold that is text, or what it writes as a Python list of accepted answers or an object."""
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        if isinstance(gold, str) and gold.lstrip()[:1] in ("[", "{"):
            return ast.literal_eval(gold.strip())
    return gold


def vlmevalkit(source: Source) -> Iterator[Row]:
    """VLMEvalKit's workbook, TSV or JSON"""
    path, stem = source.path, door.stem(source.path)
    model, _, dataset = stem.rpartition("_")
    source.files.append(path)

    def sample_of(row: Row, _: str) -> Sample:
        sample = samples.of_cells(row, _VLM_COLUMNS)
        sample.gold, sample.answer = _accepted(sample.gold), sample.answer or None
        sample.scores = {n: sample.columns.pop(n) for n in _VLM_SCORES if n in row}
        return sample

    def figures() -> Iterator[Row]:
        for end in ("acc", "score"):
            file = path.with_name(f"{stem}_{end}.csv")
            source.files += [file] if file.is_file() else []
            # A column per category, in per cent as they are stated.
            for _, row in items(file) if file.is_file() else ():
                suffix = "" if row.get("split") in (None, "none") else f", {row['split']}"
                cells = [(n, cell) for n, cell in row.items() if number(cell) is not None]
                yield from (figure(end, f"{name}{suffix}", cell) for name, cell in cells)

    rows = items(path, source.notes)
    return sample_rows(source, dataset, rows, sample_of, figures(), system=model or "unknown")


def stickler(source: Source) -> Iterator[Row]:
    """stickler's JSON lines of compared documents"""

    def values(field: Row, side: str) -> dict[str, Row]:
        """The values below a key such as ``items[0].price``, by their places there."""
        key, value = pointer(field.get(f"{side}_key")), field.get(f"{side}_value")
        leaves = samples.fields(value) if key else ()
        return {end: {"path": key + end, "value": text} for end, text in leaves if text is not None}

    def samples_of(line: Row, _: str) -> Iterator[Sample]:
        for field in line["comparison_result"].get("field_comparisons") or ():
            gold, answer = values(field, "expected"), values(field, "actual")
            scores = {"match": field.get("match"), "similarity": field.get("score")}
            # An item that was compared as a whole has several values.
            scores = scores if {*gold, *answer} == {""} else {}
            for end in dict.fromkeys([*gold, *answer]):
                # An answer stands at the place that stickler paired.
                claim = answer.get(end) or {"path": gold[end]["path"], "status": "missing"}
                golds = [gold[end]] if end in gold else []
                given = {"golds": golds, "claims": [{"status": "ok"} | claim], "scores": scores}
                yield Sample(line["doc_id"], claim["path"], **given)

    found = [f for f in source.path.parent.glob("*.json") if b'"overall_metrics"' in door.head(f)]
    # Of several nobody knows which is of this run.
    metrics = samples.beside(source, found[0]) if len(found) == 1 else {}
    stated = metrics.get("overall_metrics") or {}
    figures = (figure("stickler", n, stated[n]) for n in _STICKLER_FIGURES if n in stated)
    lines, name = samples.json_lines(source, source.path), door.stem(source.path)
    return sample_rows(source, name, lines, samples_of, figures, system="stickler")


def omniai(source: Source) -> Iterator[Row]:
    """OmniAI's results.json"""
    file, ids = _results(source.path), dict[str, str]()
    known = source.corpus.documents.select("doc_id", "meta", "image") if source.corpus else None
    for doc_id, meta, image in () if known is None else known.rows():
        url = image_url(meta)
        for name in filter(None, (url, basename(url), basename(image or ""))):
            ids.setdefault(name, doc_id)

    def values(text: str | None, form: Any) -> list[Row]:
        found = samples.fields(samples.as_object(form) or {})
        return [{"path": None, "kind": "page", "value": text}] + [
            {"path": path, "value": value} for path, value in found
        ]

    def sample_of(entry: Row, origin: str) -> Sample:
        url, used = entry.get("fileUrl") or "", entry.get("usage") or {}
        text, form = as_text(entry.get("predictedMarkdown")), entry.get("predictedJson")
        # An error of JavaScript may be written as {}.
        error = entry.get("error")
        failed = error not in (None, "", False) or (text is None and form is None)
        source.notes[FAILED] += number(entry.get("jsonAccuracy")) is None
        page, *fields = [{"task": "text"} | row for row in values(text, None if failed else form)]
        page["status"] = "api_error" if failed else "missing" if text is None else "ok"
        if source.corpus and form is not None and not failed:
            fields += [{"task": "value", "path": WHOLE, "kind": "json", "value": as_text(form)}]
        # The pair of models, once if they are one; reading images directly is another system.
        models = dict.fromkeys(filter(None, map(entry.get, ("ocrModel", "extractionModel"))))
        is_direct = " (image)" if entry.get("directImageExtraction") else ""
        # It is of the document whose image has its address or name.
        name = ids.get(url) or ids.get(basename(url)) or PurePosixPath(basename(url)).stem or origin
        system, scores = (
            " + ".join(models) + is_direct,
            {"json_accuracy": entry.get("jsonAccuracy")},
        )
        scores["levenshtein_similarity"] = entry.get("levenshteinDistance")
        seconds, error = number(used.get("duration"), 1000), str(error) if error else None
        call = {"error": error, "cost": number(used.get("totalCost")), "seconds": seconds}
        golds = values(as_text(entry.get("trueMarkdown")), entry.get("trueJson"))
        given = {"golds": golds if "trueJson" in entry else None, "claims": [page, *fields]}
        given |= {"system": system or "omniai", "request": url or None, "scores": scores}
        return Sample(name, None, None, text, "api_error" if failed else "ok", call=call, **given)

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
# What each reads is its title.
READERS = {r.__name__: Reader(r.__name__, r.__doc__, fits, r) for r, fits in _FITS.items()}
