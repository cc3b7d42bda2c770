"""Results of OmniAI's benchmark tool: ``results.json``, one entry per document and model."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from formlab import files, tables
from formlab.benchmarks.omniai import WHOLE, image_url
from formlab.errors import DataBroken
from formlab.formats._spec import Format
from formlab.tables import Corpus, Predictions

NAME = "results.json"
_START = 262_144
_KEY = re.compile(rb'"(?:predictedMarkdown|predictedJson)"\s*:')
_URL = re.compile(rb'"fileUrl"\s*:')
Row = dict[str, Any]


def is_one(path: Path) -> bool:
    """Whether `path` is such a file, or a folder with one named ``results.json``."""
    file = path / NAME if path.is_dir() else path
    if not file.is_file() or file.suffix != ".json":
        return False
    start = files.read_bytes_start(file, _START)
    return bool(_KEY.search(start) or _URL.search(start))


def read(path: Path, corpus: Corpus) -> Predictions:
    """The predictions of the one model in the file: page text and whole JSON per document.

    An entry belongs to the document whose image has the same address or, failing that, the same
    file name. An entry without either output, or with an error, has the status `api_error`.

    Raises
    ------
    DataBroken
        If the file is no list of entries, or holds several models or two entries of a document.
    """
    file = path / NAME if path.is_dir() else path
    entries = files.read_json(file)
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise DataBroken("OmniAI's results are a list of objects", where=file)
    models = {_model(entry) for entry in entries}
    if len(models) != 1:
        said = ", ".join(sorted(models)) or "none"
        raise DataBroken(f"one model a file is read, this holds: {said}", where=file,
                         remedy="a file with the entries of one model")  # fmt: skip
    ids, notes = _ids(corpus), Counter[str]()
    system = models.pop()
    records: list[Row] = []
    responses: list[Row] = []
    taken: set[str] = set()
    for place, entry in enumerate(entries):
        url = str(entry.get("fileUrl") or "")
        doc_id = ids.get(url) or ids.get(_basename(url)) or _basename(url) or f"entry {place}"
        if doc_id in taken:
            raise DataBroken(f"two entries for {doc_id!r}", where=f"{file}#/{place}")
        taken.add(doc_id)
        key = {"benchmark": corpus.benchmark, "split": corpus.split, "doc_id": doc_id,
               "system": system}  # fmt: skip
        rows, response = _entry(entry)
        origin = f"{file.name}#/{place}"
        records += [key | {"role": "prediction", "origin": origin} | row for row in rows]
        responses.append(key | response)
        notes[f"entries {response['status']}"] += 1
    return Predictions(
        records=tables.table("records", records),
        responses=tables.table("responses", responses),
        system=system,
        sources={file.name: files.sha256(file)},
        notes=dict(sorted(notes.items())),
    )


def _model(entry: Row) -> str:
    """The pair of models, once if they are one; reading images directly is another system."""
    names = [str(entry.get(key)) for key in ("ocrModel", "extractionModel") if entry.get(key)]
    direct = " (image)" if entry.get("directImageExtraction") else ""
    return " + ".join(dict.fromkeys(names)) + direct or "omniai"


def _ids(corpus: Corpus) -> dict[str, str]:
    found: dict[str, str] = {}
    for doc_id, meta, image in corpus.documents.select("doc_id", "meta", "image").rows():
        url = image_url(meta)
        for name in (url, _basename(url), _basename(image or "")):
            if name:
                found.setdefault(name, doc_id)
    return found


def _basename(url: str) -> str:
    try:
        return PurePosixPath(urlsplit(url).path).name
    except ValueError:
        return ""


def _entry(entry: Row) -> tuple[list[Row], Row]:
    markdown, answer = entry.get("predictedMarkdown"), entry.get("predictedJson")
    failed = bool(entry.get("error")) or (markdown is None and answer is None)
    status = "api_error" if failed else "ok"
    text = markdown if isinstance(markdown, str) else None
    rows: list[Row] = [
        {"task": "text", "path": None, "kind": "page", "value": text,
         "status": status if text is not None or failed else "missing"},
    ]  # fmt: skip
    if answer is not None and not failed:
        # A model that was asked for JSON may have given it as text.
        whole = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        rows.append(
            {"task": "value", "path": WHOLE, "kind": "json", "value": whole, "status": status}
        )
    usage = entry.get("usage") if isinstance(entry.get("usage"), dict) else {}
    duration = _number(usage.get("duration"))
    response = {
        "task": "value", "status": status, "attempts": 1, "text": text,
        "error": str(entry["error"]) if entry.get("error") else None,
        "tokens_in": _whole(usage.get("inputTokens")),
        "tokens_out": _whole(usage.get("outputTokens")),
        "cost": _number(usage.get("totalCost")),
        "seconds": None if duration is None else duration / 1000,
    }  # fmt: skip
    return rows, response


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e15 else None


def _whole(value: Any) -> int | None:
    found = _number(value)
    return None if found is None or found != found else int(found)


FORMAT = Format("omniai", "OmniAI's results.json, of one model", is_one, read)
