"""OmniAI's benchmark tool: ``results.json``, one array with an entry per document and model.

The answer stands in `predictedMarkdown` and `predictedJson`, the gold, if it is there, in
`trueMarkdown` and `trueJson`. `levenshteinDistance` is a similarity; durations are in milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from formlab.benchmarks.omniai import WHOLE, basename, image_url, records_of
from formlab.folders import Corpus
from formlab.readers import door
from formlab.readers.door import as_text
from formlab.readers.rows import Reader, Row, Source
from formlab.readers.samples import Sample, as_object, fields, number, reading, sample_rows

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

    @property
    def system(self) -> str:
        """The pair of models, once if they are one; reading images directly is another system."""
        names = [name for name in (self.ocr_model, self.extraction_model) if name]
        direct = " (image)" if self.direct_image_extraction else ""
        return " + ".join(dict.fromkeys(names)) + direct or "omniai"


def fits(path: Path) -> bool:
    """Whether `path` is such a file, or a folder with one named ``results.json``."""
    file = path / NAME if path.is_dir() else path
    start = door.head(file) if door.ending(file) == ".json" else b""
    return b'"fileUrl"' in start or b'"predictedMarkdown"' in start or b'"predictedJson"' in start


def read(source: Source) -> Iterator[Row]:
    """The rows of a file.

    The gold has the shape of the benchmark `omniai`: the Markdown as a page's text, the JSON as a
    whole (task `value`) and its leaves. An entry with an error, even an empty one, or without
    either output, is `api_error`. It belongs to the document of the corpus whose image has the same
    address or file name.
    """
    file = source.path / NAME if source.path.is_dir() else source.path
    source.files.append(file)
    entries = door.decoded(door.read_bytes(file), list[dict[str, Any]], file)
    ids = _ids(source.corpus) if source.corpus else {}
    documents: dict[str, Row] = {}
    samples = []
    for index, entry in enumerate(entries):
        with reading(source, origin := f"{file.name}#/{index}"):
            one = msgspec.convert(entry, _Entry)
            name = basename(one.file_url or "")
            doc_id = ids.get(one.file_url or "") or ids.get(name) or PurePosixPath(name).stem
            samples.append(_sample(one, doc_id or f"entry {index}", origin, source))
            if one.true_json is not msgspec.UNSET:
                documents.setdefault(samples[-1].doc_id, {"meta": _meta(one)})
    yield from sample_rows(samples, source, file.resolve().parent.name)
    of_corpus = {"role": "document", "benchmark": "omniai"}
    yield from (of_corpus | {"doc_id": doc_id} | row for doc_id, row in documents.items())


def _sample(entry: _Entry, doc_id: str, origin: str, source: Source) -> Sample:
    text, answer = entry.predicted_markdown, entry.predicted_json
    # An error of JavaScript may be written as {}.
    failed = entry.error not in (None, "", False) or (text is None and answer is None)
    status = "api_error" if failed else "ok"
    source.notes[FAILED] += number(entry.json_accuracy) is None
    page = "missing" if text is None and not failed else status
    claims = [("text", None, "page", text, page)]
    if answer is not None and not failed:
        # A model that was asked for JSON may have given it as text.
        claims.append(("value", WHOLE, "json", as_text(answer), status))
        leaves = fields(as_object(answer) or {})
        claims += [("text", path, None, value, status) for path, value in leaves]
    names = ("task", "path", "kind", "value", "status")
    usage = entry.usage or {}
    seconds = number(usage.get("duration"))
    golds = None
    if entry.true_json is not msgspec.UNSET:
        item = {"trueJsonOutput": entry.true_json, "trueMarkdownOutput": entry.true_markdown}
        item["jsonSchema"] = entry.json_schema
        golds = list(records_of(item, origin, source.notes))
    return Sample(
        doc_id,
        None,
        golds=golds,
        answer=text,
        claims=[dict(zip(names, claim, strict=True)) | {"origin": origin} for claim in claims],
        status=status,
        system=entry.system,
        request=entry.file_url,
        scores={
            "json_accuracy": entry.json_accuracy,
            "levenshtein_similarity": entry.levenshtein_distance,
        },
        call={
            "task": "value",
            "error": str(entry.error) if entry.error else None,
            "tokens_in": number(usage.get("inputTokens")),
            "tokens_out": number(usage.get("outputTokens")),
            "cost": number(usage.get("totalCost")),
            "seconds": None if seconds is None else seconds / 1000,
        },
    )


def _meta(entry: _Entry) -> str:
    meta = {"imageUrl": entry.file_url, "jsonSchema": entry.json_schema, "metadata": entry.metadata}
    return json.dumps(meta, ensure_ascii=False)


def _ids(corpus: Corpus) -> dict[str, str]:
    """The documents of a corpus by the addresses and file names of their images."""
    ids: dict[str, str] = {}
    for doc_id, meta, image in corpus.documents.select("doc_id", "meta", "image").rows():
        url = image_url(meta)
        for name in filter(None, (url, basename(url), basename(image or ""))):
            ids.setdefault(name, doc_id)
    return ids


OMNIAI = Reader("omniai", "OmniAI's results.json", fits, read)
