"""Results of OmniAI's benchmark tool: ``results.json``, one entry per document and model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from formlab import files
from formlab.benchmarks.omniai import WHOLE, basename, image_url
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.formats._collected import Collected, Row
from formlab.formats._spec import Format
from formlab.structure import checked
from formlab.text.normalise import as_text

NAME = "results.json"
_START = 262_144
_KEY = re.compile(rb'"(?:predictedMarkdown|predictedJson)"\s*:')
_URL = re.compile(rb'"fileUrl"\s*:')
_REMEDY = "results.json as OmniAI's tool wrote it"


class Entry(msgspec.Struct):
    """What an entry is known by, and the page's text; all else may have any form."""

    fileUrl: str | None = None  # noqa: N815
    ocrModel: str | None = None  # noqa: N815
    extractionModel: str | None = None  # noqa: N815
    directImageExtraction: bool | None = None  # noqa: N815
    predictedMarkdown: str | None = None  # noqa: N815
    usage: dict[str, Any] | None = None


def is_one(path: Path) -> bool:
    """Whether `path` is such a file, or a folder with one named ``results.json``."""
    file = path / NAME if path.is_dir() else path
    if not file.is_file() or file.suffix != ".json":
        return False
    start = files.read_bytes(file, _START)
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
    entries = read_entries(file)
    checked(entries, list[Entry], where=file, remedy=_REMEDY)
    models = sorted({model(entry) for entry in entries})
    if len(models) != 1:
        raise DataBroken(
            f"one model a file is read, this holds: {', '.join(models) or 'none'}", where=file,
            remedy="a file with the entries of one model",
        )  # fmt: skip
    ids, collected = _ids(corpus), Collected(corpus, models[0])
    taken: set[str] = set()
    for index, entry in enumerate(entries):
        url = str(entry.get("fileUrl") or "")
        doc_id = ids.get(url) or ids.get(basename(url)) or basename(url) or f"entry {index}"
        if doc_id in taken:
            raise DataBroken(f"two entries for {doc_id!r}", where=f"{file}#/{index}")
        taken.add(doc_id)
        rows, response = entry_rows(entry)
        base = {"doc_id": doc_id, "origin": f"{file.name}#/{index}"}
        collected.records += [base | row for row in rows]
        collected.responses.append({"doc_id": doc_id} | response)
        collected.notes[f"entries {response['status']}"] += 1
    return collected.predictions([file])


def read_entries(file: Path) -> list[Row]:
    """The entries in a file, of any form; `DataMissing` or `DataBroken` if it is no list of any."""
    entries = files.read_json(file, once=True)
    return checked(entries, list[dict[str, Any]], where=file, remedy=_REMEDY)


def model(entry: Row) -> str:
    """The pair of models, once if they are one; reading images directly is another system."""
    names = [str(entry.get(key)) for key in ("ocrModel", "extractionModel") if entry.get(key)]
    direct = " (image)" if entry.get("directImageExtraction") else ""
    return " + ".join(dict.fromkeys(names)) + direct or "omniai"


def _ids(corpus: Corpus) -> dict[str, str]:
    ids: dict[str, str] = {}
    for doc_id, meta, image in corpus.documents.select("doc_id", "meta", "image").rows():
        url = image_url(meta)
        for name in (url, basename(url), basename(image or "")):
            if name:
                ids.setdefault(name, doc_id)
    return ids


def entry_rows(entry: Row) -> tuple[list[Row], Row]:
    """The records of one entry, page text and whole JSON, and its response."""
    markdown, answer = entry.get("predictedMarkdown"), entry.get("predictedJson")
    # An error of JavaScript may be written as {}.
    failed = entry.get("error") not in (None, "", False) or (markdown is None and answer is None)
    status = "api_error" if failed else "ok"
    rows: list[Row] = [
        {"task": "text", "path": None, "kind": "page", "value": markdown,
         "status": status if markdown is not None or failed else "missing"},
    ]  # fmt: skip
    if answer is not None and not failed:
        # A model that was asked for JSON may have given it as text.
        rows.append({
            "task": "value", "path": WHOLE, "kind": "json", "value": as_text(answer),
            "status": status,
        })  # fmt: skip
    usage = entry.get("usage") or {}
    duration = _number(usage.get("duration"))
    response = {
        "task": "value", "status": status, "attempts": 1, "text": markdown,
        "error": str(entry["error"]) if entry.get("error") else None,
        "tokens_in": _whole(usage.get("inputTokens")),
        "tokens_out": _whole(usage.get("outputTokens")),
        "cost": _number(usage.get("totalCost")),
        "seconds": None if duration is None else duration / 1000,
    }  # fmt: skip
    return rows, response


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e15 else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None or number != number else int(number)


FORMAT = Format("omniai", "OmniAI's results.json, of one model", is_one, read)
