"""Logs of other harnesses and benchmarks, each as the rows of its samples."""

import ast
import re
import tomllib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
from rapidfuzz import fuzz

from formlab import files, tables
from formlab.benchmarks.corpus import number
from formlab.errors import DataBroken
from formlab.readers import Reader, Row, Source, door, samples, sources
from formlab.readers.door import as_text, at, decoded
from formlab.readers.samples import ANSWER, OTHERS, Sample, figure, names, sample_rows
from formlab.text import answers
from formlab.trees import escape, leaves, pointer, unescape

# What they call things, by reader.
_NAMES = tomllib.loads(Path(__file__).with_name("harnesses.toml").read_text("utf-8"))
_DOCLING, _OLMOCR, _BESIDE = _NAMES["docling_eval"], _NAMES["olmocr"], _NAMES["lmms_eval"]["beside"]
_LOG, _SHARD, _TEST = ({*of} for of in _NAMES["begins"].values())
_TESTS, _PAGES = "*.jsonl", "*/**/*.md"
_RESULTS = partial(door.marked, endings=[".json"], mark=r'"fileUrl"\s*:', pattern="results.json")
_SHARDS = partial(door.marked, endings=[".parquet"], mark=r"\APAR1")


def inspect(source: Source) -> Iterator[Row]:
    """Inspect's .eval, or .json"""
    path, is_json = source.path, door.ending(source.path) == ".json"
    source.files.append(path)
    # The archive of a run that goes on has no header yet.
    members = {"header.json": door.Member.of(path)} if is_json else door.members(path)
    if not (head := members.get("header.json") or members.get("_journal/start.json")):
        raise DataBroken("a log has header.json or _journal/start.json", where=path)
    log = decoded(head.read(), dict[str, Any], head.where)
    asked, results = log["eval"], log.get("results")
    source.notes[OTHERS["ended"]] += results is None
    named = {n: member for n, member in members.items() if re.fullmatch(r"samples/.*\.json", n)}
    named |= {f"/samples/{n}": entry for n, entry in enumerate(log.get("samples") or ())}
    entries = ((f"{path.name}#{name}", entry) for name, entry in named.items())
    # Inspect averages over the samples that it could score, and leaves the others out.
    figures = (
        figure(score.get("name"), name, metric.get("value"), score.get("scored_samples"))
        for score in at(results, "scores") or ()
        for name, metric in (score.get("metrics") or {}).items()
    )
    split = at(asked, "dataset", "name") or asked.get("task") or "log"
    source.name, planned = asked.get("model"), at(asked, "dataset", "sample_ids") or ()
    yield from sample_rows(source, split, entries, inspect_sample, figures, planned)


def inspect_sample(entry: Row | door.Member, _: str = "") -> Sample:
    """A sample, as it stands in a log or in a member of one, as formlab reads it."""
    if isinstance(entry, door.Member):
        entry = decoded(entry.read(), dict[str, Any], entry.where)
    put_away = entry.get("attachments") or {}

    def text(content: Any) -> str | None:
        if isinstance(content, list):
            content = answers.text_of({"role": "assistant", "content": content})
        content = as_text(content)
        return put_away.get((content or "").removeprefix("attachment://"), content)

    columns, output = dict(entry.get("metadata") or {}), entry.get("output") or {}
    doc_id, path = columns.pop("doc_id", None), columns.pop("path", None)
    choice = next(iter(output.get("choices") or ()), {})
    message, stopped = choice.get("message") or {}, choice.get("stop_reason")
    answer = output.get("completion") or text(message.get("content"))
    if not answer and (calls := message.get("tool_calls")):
        # A model that was told to call a tool answers with what it gives to the last.
        answer = as_text(calls[-1].get("arguments"))
    status = _NAMES["inspect"]["status"].get(stopped)
    error = stopped if status else output.get("error")
    if entry.get("error"):
        status, error = "api_error", str(entry["error"].get("message") or "error")
    elif entry.get("limit"):
        status, error = "truncated", f"limit: {entry['limit'].get('type')}"
    target, seconds = entry.get("target"), entry.get("working_time") or entry.get("total_time")
    scores = {name: score.get("value") for name, score in (entry.get("scores") or {}).items()}
    scores = {unescape(place[1:]): value for place, value in leaves(scores)}
    model = output.get("model") if answer is not None and status != "api_error" else None
    given = {"model": model, "epoch": int(entry.get("epoch") or 1), "request": entry["id"]}
    given |= {"call": {"error": error, "seconds": number(seconds) or None}, "columns": columns}
    doc_id, path = entry["id"] if doc_id is None else doc_id, ANSWER if path is None else path
    gold = [*map(text, target)] if isinstance(target, list) else text(target)
    return Sample(doc_id, pointer(str(path)), gold, text(answer), status, scores=scores, **given)


def lmms_eval(source: Source) -> Iterator[Row]:
    """lmms-eval's *_samples_*.jsonl"""
    lines = [*samples.json_lines(source, source.path)]
    # A sample is called by its image, if no other is of that, else by its number in the data set.
    media = {origin: _first(line.get("input_media")) for origin, line in lines}
    images = {of: PurePosixPath(file).stem for of, file in media.items() if isinstance(file, str)}
    counts = Counter(images.values())
    stamp, _, task = door.stem(source.path).rpartition("samples_")
    # The figures of metric,filter, each with its standard error.
    results = samples.beside(source, source.path.with_name(f"{stamp}results.json"))
    count = at(results, "n-samples", task, "effective")

    def sample_of(line: Row, origin: str) -> Sample:
        said = ((n, v.get("score") if isinstance(v, dict) else v) for n, v in line.items())
        scores = {n: v for n, v in said if n not in _BESIDE and isinstance(v, int | float)}
        columns = {"question": line.get("input"), "doc_hash": line.get("doc_hash")}
        # Metrics of lmms-eval look at the first of several answers.
        gold, answer = _accepted(line.get("target")), _first(line.get("filtered_resps"))
        name = image if counts[image := images.get(origin)] == 1 and image else line["doc_id"]
        return Sample(name, gold=gold, answer=answer, scores=scores, columns=columns)

    figures = (
        figure(name.split(",")[0], f"mean, filter {name.partition(',')[2]}", value, count)
        for name, value in (at(results, "results", task) or {}).items()
        if isinstance(value, int | float) and not name.partition(",")[0].endswith("_stderr")
    )
    source.name = str(results.get("model_name") or source.path.resolve().parent.name)
    return sample_rows(source, task, lines, sample_of, figures)


def _first(value: Any) -> Any:
    return _first(value[0] if value else None) if isinstance(value, list) else value


def _accepted(gold: Any) -> Any:
    """A gold that is text, or what it writes as a Python list of accepted answers or an object."""
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        if isinstance(gold, str) and gold.lstrip()[:1] in ("[", "{"):
            return ast.literal_eval(gold.strip())
    return gold


def vlmevalkit(source: Source) -> Iterator[Row]:
    """VLMEvalKit's workbook, TSV or JSON"""
    path, stem, named = source.path, door.stem(source.path), _NAMES["vlmevalkit"]
    source.name, _, dataset = stem.rpartition("_")
    beside = (path.with_name(f"{stem}_{end}.csv") for end in ("acc", "score"))
    source.files += [path, *(found := [file for file in beside if file.is_file()])]

    def sample_of(row: Row, _: str) -> Sample:
        sample = samples.of_cells(row, named["columns"])
        sample.gold, sample.answer = _accepted(sample.gold), sample.answer or None
        sample.scores = {n: sample.columns.pop(n) for n in named["scores"] if n in row}
        return sample

    # A column per category, in per cent as they are stated.
    cells = ((f, *cell) for f in found for _, row in sources.items(f) for cell in row.items())
    stated = ((file.stem.rpartition("_")[2], n, v) for file, n, v in cells if number(v) is not None)
    rows, figures = sources.items(path, source.notes), (figure(*of) for of in stated)
    return sample_rows(source, dataset, rows, sample_of, figures)


def stickler(source: Source) -> Iterator[Row]:
    """stickler's JSON lines of compared documents"""

    def values(field: Row, side: str) -> dict[str, tuple[str, str]]:
        """The values below a key such as ``items[0].price``, by their places there."""
        key, value = pointer(field.get(f"{side}_key")), field.get(f"{side}_value")
        leaves = samples.fields(value) if key else ()
        return {end: (key + end, text) for end, text in leaves if text is not None}

    def samples_of(line: Row, _: str) -> Iterator[Sample]:
        for field in line["comparison_result"].get("field_comparisons") or ():
            gold, answer = values(field, "expected"), values(field, "actual")
            scores = {"match": field.get("match"), "similarity": field.get("score")}
            # An item that was compared as a whole has several values.
            scores = scores if {*gold, *answer} == {""} else {}
            for end in dict.fromkeys([*gold, *answer]):
                pairs = ((side[end],) if end in side else () for side in (gold, answer))
                path, _ = answer.get(end) or gold[end]
                yield Sample(line["doc_id"], path, *pairs, scores=scores)

    found = [f for f in source.path.parent.glob("*.json") if b'"overall_metrics"' in door.head(f)]
    # Of several nobody knows which is of this run.
    metrics = samples.beside(source, found[0]) if len(found) == 1 else {}
    stated, known = metrics.get("overall_metrics") or {}, _NAMES["stickler"]["figures"]
    figures = (figure("stickler", n, stated[n]) for n in known if n in stated)
    lines, source.name = samples.json_lines(source, source.path), "stickler"
    return sample_rows(source, None, lines, samples_of, figures)


def omniai(source: Source) -> Iterator[Row]:
    """OmniAI's results.json"""
    (file,) = _RESULTS(source.path)

    def values(text: Any, form: Any) -> tuple[Any, ...]:
        form = answers.stated(form) if isinstance(form, str) else form
        return (None, as_text(text)), *(samples.fields(form) if isinstance(form, dict) else ())

    def sample_of(entry: Row, origin: str) -> Sample:
        url, error = entry.get("fileUrl") or "", entry.get("error")
        text, form = as_text(entry.get("predictedMarkdown")), entry.get("predictedJson")
        # An error of JavaScript may be written as {}.
        failed = error not in (None, "", False) or (text is None and form is None)
        # The pair of models, once if they are one; reading images directly is another system.
        models = dict.fromkeys(filter(None, map(entry.get, ("ocrModel", "extractionModel"))))
        is_direct = " (image)" if entry.get("directImageExtraction") else ""
        # The document has the name of its image, at whatever address.
        name = PurePosixPath(re.split("[?#]", url)[0]).stem or origin
        system, rate = " + ".join(models) + is_direct or "omniai", entry.get("levenshteinDistance")
        scores = {"json_accuracy": entry.get("jsonAccuracy"), "levenshtein_similarity": rate}
        call = {"error": str(error) if error else None}
        given = {"request": url or None, "scores": scores, "call": call}
        gold = values(entry.get("trueMarkdown"), entry["trueJson"]) if "trueJson" in entry else ()
        status, answer = "api_error" if failed else "ok", values(text, form)
        return Sample(name, None, gold, answer, status, system, **given)

    source.files.append(file)
    listed = enumerate(decoded(door.Member.of(file).read(), list, file))
    entries = ((f"{file.name}#/{count}", entry) for count, entry in listed)
    return sample_rows(source, file.resolve().parent.name, entries, sample_of)


def docling_eval(source: Source) -> Iterator[Row]:
    """docling-eval's Parquet"""
    path, scores, figures = source.path.resolve(), defaultdict[str, Row](dict), []
    for file in sorted((path if path.is_dir() else path.parent).glob("evaluation_*.json")):
        modality, content = file.stem.rpartition("_")[2], samples.beside(source, file)
        with samples.reading(source, file.name, OTHERS["figures"]):
            for row in content.get("evaluations") or ():
                shares = (cell for cell in row.items() if cell[0].endswith(("f1", "_bbox")))
                scores[str(row.get("doc_id"))] |= {f"{modality}/{n}": share for n, share in shares}
            for name, value in content.items():
                scorer, stats, _ = f"{modality}/{name}".partition("_stats")
                if stats and "mean" in value:
                    figures.append(figure(scorer, "mean", value["mean"], value.get("total")))

    def sample_of(row: Row, origin: str) -> Sample:
        cells = (row.get(name) or {} for name in _DOCLING["columns"][:3])
        gold, answer, info = (c if type(c) is dict else decoded(c, dict, origin) for c in cells)
        outcome = str(row.get("status") or "success").lower().rpartition(".")[2]
        status = _DOCLING["status"].get(outcome, "api_error") if answer else "api_error"
        call = {"error": None if status in tables.USABLE else f"conversion: {outcome}"}
        system, name = str(info.get("asset") or info.get("name") or "docling"), row["document_id"]
        gold, answer = _docling_values(gold), _docling_values(answer) if answer else None
        return Sample(name, None, gold, answer, status, system, scores=scores[str(name)], call=call)

    source.files += (shards := _SHARDS(source.path))
    # Not the images, which are most of a shard.
    columns = pl.col(f"^({'|'.join(_DOCLING['columns'])})$")
    read = ((s.name, sources.items(pl.scan_parquet(s, glob=False).select(columns))) for s in shards)
    rows = ((o.replace(sources.FRAME, name, 1), row) for name, part in read for o, row in part)
    return sample_rows(source, door.stem(path), rows, sample_of, figures)


def _docling_values(document: Row) -> tuple[Any, ...]:
    """The text of a Docling document in the order of its body, and each value at its key."""
    texts, nodes = [], [document.get("body") or {}]
    while nodes:
        cells = at(node := nodes.pop(), "data", "table_cells") or ()
        # Of children that lead back to what they are children of there would be no end.
        texts += [str(text) for part in (node, *cells) if (text := part.pop("text", None))]
        # References such as `#/texts/3`.
        places = (str(child.get("$ref")).split("/") for child in node.pop("children", None) or ())
        nodes += [document[kind][int(place)] for _, kind, place in places][::-1]
    pairs, counts = [(None, " ".join(texts))], Counter[str]()
    for item in document.get("key_value_items") or ():
        cells = {cell.get("cell_id"): cell for cell in at(item, "graph", "cells") or ()}
        for link in at(item, "graph", "links") or ():
            key, value = (cells.get(link.get(f"{end}_cell_id")) for end in ("source", "target"))
            # A link may be there a second time, as seen from its value.
            if key and value and link.get("label") != "to_key":
                path = f"/{escape(str(key.get('text') or ''))}"
                place = f"{path}/{counts[path]}" if counts[path] else path
                pairs.append((place, as_text(value.get("text"))))
                counts[path] += 1
    return tuple(pairs)


def olmocr(source: Source) -> Iterator[Row]:
    """olmOCR-bench's folder of tests and pages"""
    # Each test is a field, judged as by olmocr/bench/tests.py of allenai/olmocr.
    home, page = source.path, re.compile(_OLMOCR["page"])
    named = ((page.fullmatch(f.relative_to(home).as_posix()), f) for f in home.glob(_PAGES))
    pages = {of.groups(): file for of, file in named if of and files.is_file(file)}
    found = (file for file in sorted(home.glob(_TESTS)) if names(file) >= _TEST)
    tests = [test for file in found for test in samples.json_lines(source, file)]
    runs = sorted({(candidate, repeat) for candidate, _, _, repeat in pages})
    entries = ((origin, (line, *run)) for run in runs for origin, line in tests)

    def sample_of(entry: tuple[Row, str, str], _: str) -> Sample:
        line, candidate, repeat = entry
        test = _OLMOCR["test"] | {name: cell for name, cell in line.items() if cell is not None}
        said = {"present": test["text"], "order": "{before} … {after}".format(**test), "absent": ""}
        pdf, gold = test["pdf"].removesuffix(".pdf"), said.get(test["type"])
        file = pages.get((candidate, pdf, str(test["page"]), repeat))
        source.notes[samples.JOINED["missing"]] += file is None
        source.notes[OTHERS["unjudged"]] += gold is None
        answer = _answer_to(test, gold, door.written(file)) if file and gold is not None else None
        status = "unscored" if gold is None else "ok"
        columns = {"test": test["type"], "page": test["page"], "status": status}
        given = {"system": candidate, "epoch": int(repeat), "columns": columns}
        return Sample(pdf, f"/{escape(test['id'])}", gold or "", answer, **given)

    return sample_rows(source, home.resolve().name, entries, sample_of)


def _answer_to(test: Row, gold: str, markdown: str) -> str | None:
    """What is asked for, if a page passes a test; else the text that should be absent, or null."""
    most, texts = test["max_diffs"], [markdown, *map(test.get, ("text", "before", "after"))]
    for mark, plain in _OLMOCR["marks"].items():
        texts = [re.sub(mark, plain, unicodedata.normalize("NFC", text)) for text in texts]
    page, text, before, after = texts
    if test["type"] == "order":
        # Seen from the end, the last place of the second text is its first.
        first, last = _place(before, page, most), _place(after[::-1], page[::-1], most)
        return gold if None not in (first, last) and first + last + len(after) < len(page) else None
    if test["first_n"] or test["last_n"]:
        page = page[: test["first_n"]] + page[-test["last_n"] if test["last_n"] else len(page) :]
    read, asked = (page, text) if test["case_sensitive"] else (page.lower(), text.lower())
    is_found = _place(asked, read, most) is not None
    return test["text"] if is_found else {"absent": ""}.get(test["type"])


def _place(phrase: str, text: str, allowed: int) -> int | None:
    """Where a phrase first begins in a text, with at most `allowed` characters changed."""
    if phrase in text or not allowed or len(text) < len(phrase) - allowed:
        return text.index(phrase) if phrase in text else None
    best = fuzz.partial_ratio_alignment(phrase, text)
    return best.dest_start if best.score / 100 >= 1 - allowed / len(phrase) else None


_FITS = {
    inspect: lambda p: door.ending(p) == ".eval" or names(p, ".json") >= _LOG,
    lmms_eval: lambda p: "filtered_resps" in names(p, ".jsonl"),
    omniai: _RESULTS,
    vlmevalkit: lambda p: {"index", "prediction"} <= names(p) and "predict" not in names(p),
    stickler: lambda p: "comparison_result" in names(p, ".jsonl"),
    docling_eval: lambda p: any(names(f) >= _SHARD for f in _SHARDS(p)[:1]),
    olmocr: lambda p: any(names(f) >= _TEST for f in p.glob(_TESTS)) and any(p.glob(_PAGES)),
}
READERS = {r.__name__: Reader(r.__name__, str(r.__doc__), fits, r) for r, fits in _FITS.items()}
