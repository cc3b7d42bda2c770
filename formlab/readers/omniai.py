"""OmniAI's benchmark tool: ``results.json``, one array with an entry per document and model.

The answer stands in `predictedMarkdown` and `predictedJson`, the gold, if it is there, in
`trueMarkdown` and `trueJson`, in the shape of the benchmark `omniai`: the page's text, the whole
JSON (task `value`) and its leaves. An entry with an error, even an empty one, or without either
output is `api_error`. It belongs to the document of the corpus whose image has the same address or
file name. `levenshteinDistance` is a similarity; durations are in milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from formlab.benchmarks.omniai import WHOLE, basename, image_url, records_of
from formlab.readers import door
from formlab.readers.door import as_text
from formlab.readers.rows import Reader, Row, Source
from formlab.readers.samples import Sample, as_object, fields, number, sample_rows

NAME = "results.json"
FAILED = "entries with an error, which the tool's own mean leaves out"


def fits(path: Path) -> bool:
    """Whether `path` is such a file, or a folder with one named ``results.json``."""
    file = path / NAME if path.is_dir() else path
    start = door.head(file) if door.ending(file) == ".json" else b""
    return any(name in start for name in (b'"fileUrl"', b'"predictedMarkdown"', b'"predictedJson"'))


def read(source: Source) -> Iterator[Row]:
    """The rows of a file, of any number of models; an entry that cannot be read is counted."""
    file = source.path / NAME if source.path.is_dir() else source.path
    ids, documents = _ids(source), {}

    def sample_of(entry: Row, origin: str) -> Sample:
        url, used = entry.get("fileUrl") or "", entry.get("usage") or {}
        name = basename(url)
        doc_id = ids.get(url) or ids.get(name) or PurePosixPath(name).stem or origin
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
            whole = {"task": "value", "path": WHOLE, "kind": "json", "value": as_text(answer)}
            leaves = fields(as_object(answer) or {})
            claims += [whole, *({"task": "text", "path": p, "value": leaf} for p, leaf in leaves)]
        golds = None
        if "trueJson" in entry:
            schema = {"jsonSchema": entry.get("jsonSchema")}
            gold = {f"{name}Output": entry.get(name) for name in ("trueJson", "trueMarkdown")}
            golds = list(records_of(gold | schema, origin, source.notes))
            meta = {"imageUrl": url} | schema | {"metadata": entry.get("metadata")}
            documents.setdefault(doc_id, json.dumps(meta, ensure_ascii=False))
        # The pair of models, once if they are one; reading images directly is another system.
        models = filter(None, (entry.get("ocrModel"), entry.get("extractionModel")))
        is_direct = " (image)" if entry.get("directImageExtraction") else ""
        call = {"task": "value", "error": str(error) if error else None}
        for end in ("in", "out"):
            count = number(used.get(f"{end}putTokens"))
            call[f"tokens_{end}"] = None if count is None else round(count)
        call["cost"] = number(used.get("totalCost"))
        call["seconds"] = number(used.get("duration"), 1000)
        scores = {"json_accuracy": entry.get("jsonAccuracy")}
        scores["levenshtein_similarity"] = entry.get("levenshteinDistance")
        return Sample(
            doc_id,
            None,
            golds=golds,
            claims=claims,
            answer=text,
            status=status,
            system=" + ".join(dict.fromkeys(models)) + is_direct or "omniai",
            request=url or None,
            scores=scores,
            call=call,
        )

    source.files.append(file)
    listed = enumerate(door.decoded(door.read_bytes(file), list, file))
    entries = ((f"{file.name}#/{count}", entry) for count, entry in listed)
    yield from sample_rows(source, file.resolve().parent.name, entries, sample_of)
    for doc_id, meta in documents.items():
        yield {"role": "document", "benchmark": "omniai", "doc_id": doc_id, "meta": meta}


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
