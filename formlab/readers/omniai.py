"""OmniAI's benchmark tool: ``results.json``, one array with an entry per document and model.

The answer stands in `predictedMarkdown` and `predictedJson`, the gold, if it is there, in
`trueMarkdown` and `trueJson`, in the shape of the benchmark `omniai`: the page's text, the whole
JSON (task `value`) and its leaves. An entry with an error, even an empty one, or without either
output is `api_error`. It belongs to the document of the corpus whose image has the same address or
file name. `levenshteinDistance` is a similarity; durations are in milliseconds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from formlab.benchmarks.omniai import WHOLE, basename, image_url, records_of
from formlab.readers import door
from formlab.readers.rows import Reader, Row, Source
from formlab.readers.samples import Sample, as_object, fields, number, sample_rows

NAME = "results.json"
FAILED = "entries with an error, which the tool's own mean leaves out"


class _Entry(msgspec.Struct, rename="camel"):
    file_url: str | None = None
    ocr_model: str | None = None
    extraction_model: str | None = None
    direct_image_extraction: bool | None = None
    predicted_markdown: str | None = None
    predicted_json: Any = None
    true_markdown: str | None = None
    true_json: Any = msgspec.UNSET
    json_schema: Any = None
    metadata: Any = None
    json_accuracy: Any = None
    levenshtein_distance: Any = None
    error: Any = None
    usage: dict[str, Any] | None = None


def fits(path: Path) -> bool:
    """Whether `path` is such a file, or a folder with one named ``results.json``."""
    file = path / NAME if path.is_dir() else path
    start = door.head(file) if door.ending(file) == ".json" else b""
    return any(name in start for name in (b'"fileUrl"', b'"predictedMarkdown"', b'"predictedJson"'))


def read(source: Source) -> Iterator[Row]:
    """The rows of a file, of any number of models; an entry that cannot be read is counted."""
    file = source.path / NAME if source.path.is_dir() else source.path
    source.files.append(file)
    ids, documents = _ids(source), {}

    def sample_of(item: Any, origin: str) -> Sample:
        entry = msgspec.convert(item, _Entry)
        url, name = entry.file_url or "", basename(entry.file_url or "")
        doc_id = ids.get(url) or ids.get(name) or PurePosixPath(name).stem
        sample = _sample(entry, doc_id or origin, origin, source.notes)
        if sample.golds:
            meta = {"imageUrl": url, "jsonSchema": entry.json_schema, "metadata": entry.metadata}
            documents.setdefault(sample.doc_id, json.dumps(meta, ensure_ascii=False))
        return sample

    listed = enumerate(door.decoded(door.read_bytes(file), list[Any], file))
    entries = ((f"{file.name}#/{number}", item) for number, item in listed)
    yield from sample_rows(source, file.resolve().parent.name, entries, sample_of)
    for doc_id, meta in documents.items():
        yield {"role": "document", "benchmark": "omniai", "doc_id": doc_id, "meta": meta}


def _sample(entry: _Entry, doc_id: str, origin: str, notes: Counter[str]) -> Sample:
    text, answer, usage = entry.predicted_markdown, entry.predicted_json, entry.usage or {}
    # An error of JavaScript may be written as {}.
    failed = entry.error not in (None, "", False) or (text is None and answer is None)
    status = "api_error" if failed else "ok"
    notes[FAILED] += number(entry.json_accuracy) is None
    page_status = "missing" if text is None and not failed else status
    claims = [{"task": "text", "path": None, "kind": "page", "value": text, "status": page_status}]
    if answer is not None and not failed:
        # A model that was asked for JSON may have given it as text.
        claims.append(
            {"task": "value", "path": WHOLE, "kind": "json", "value": door.as_text(answer)}
        )
        leaves = fields(as_object(answer) or {})
        claims += [{"task": "text", "path": path, "value": leaf} for path, leaf in leaves]
    golds = None
    if entry.true_json is not msgspec.UNSET:
        item = {"trueJsonOutput": entry.true_json, "trueMarkdownOutput": entry.true_markdown}
        golds = list(records_of(item | {"jsonSchema": entry.json_schema}, origin, notes))
    # The pair of models, once if they are one; reading images directly is another system.
    models = dict.fromkeys(filter(None, (entry.ocr_model, entry.extraction_model)))
    is_direct = " (image)" if entry.direct_image_extraction else ""
    used = {f"tokens_{end}": number(usage.get(f"{end}putTokens")) for end in ("in", "out")}
    call = {name: None if count is None else round(count) for name, count in used.items()}
    call |= {"task": "value", "cost": number(usage.get("totalCost"))}
    call |= {"seconds": number(usage.get("duration"), 1000)}
    scores = {"json_accuracy": entry.json_accuracy}
    return Sample(
        doc_id,
        None,
        golds=golds,
        claims=claims,
        answer=text,
        status=status,
        system=" + ".join(models) + is_direct or "omniai",
        request=entry.file_url,
        scores=scores | {"levenshtein_similarity": entry.levenshtein_distance},
        call=call | {"error": str(entry.error) if entry.error else None},
    )


def _ids(source: Source) -> dict[str, str]:
    """The documents of a corpus by the addresses and file names of their images."""
    ids: dict[str, str] = {}
    documents = source.corpus.documents.select("doc_id", "meta", "image") if source.corpus else None
    for doc_id, meta, image in documents.rows() if documents is not None else ():
        url = image_url(meta)
        for name in filter(None, (url, basename(url), basename(image or ""))):
            ids.setdefault(name, doc_id)
    return ids


OMNIAI = Reader("omniai", "OmniAI's results.json", fits, read)
