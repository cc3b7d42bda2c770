"""Output made for FormFactory: its own JSON, single runs and batches, and raw lines.

A model writes one line a field, ``[640,585] Ada Berg``, in pixels of the screenshot. Its output
stands in ``{form}_{kind}_{source}_{YYYYMMDD_HHMMSS}.json``, in ``batch_….json`` with a list of such
`results`, or alone in ``<doc_id>.txt``; ``submission/<form>.json`` is what a browser sent.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from formlab import files
from formlab.benchmarks.formfactory import doc_id, forms, pointer
from formlab.errors import DataBroken
from formlab.metrics.actions import parse_lines
from formlab.readers import door
from formlab.readers.door import written
from formlab.readers.rows import Reader, Row, Source
from formlab.text.answers import plain

_STAMP = re.compile(r"\d{8}_\d{6}")
_INSTANCE = re.compile(r"[A-Z]\d\d-\d+")
_KEYS = re.compile(rb'"(?:batch_info|template_used|submission_time)"\s*:')


class _Answer(msgspec.Struct):
    model_response: str | None = None
    status: str | None = "success"
    error: Any = None


class _Entry(msgspec.Struct):
    form: str | None = None
    instance: int | None = None
    template_used: str | None = None
    data_source: str | None = None
    model_response: _Answer | str | None = None


def _files(path: Path) -> tuple[list[Path], int]:
    """The files that may be outputs, and how many others there are."""
    below = [*path.glob("*"), *path.glob("submission/*")] if path.is_dir() else [path]
    # What is called as an output and is no file is to be an error, not to be passed over.
    listed = sorted(file for file in below if door.ending(file) in (".txt", ".json"))
    return listed, sum(map(files.is_file, {*below}.difference(listed)))


def _is_clear(file: Path) -> bool:
    """Whether a file, by what it holds or by its whole name, is of this format and no other."""
    if door.ending(file) == ".json":
        return bool(_KEYS.search(door.head(file)))
    is_instance = bool(_INSTANCE.fullmatch(door.stem(file)))
    return _is_named(file) and (is_instance or bool(parse_lines(written(file))))


def _is_named(file: Path) -> bool:
    """Whether a file is called as an output or a submission, whatever it holds."""
    is_form = file.stem.partition("-")[0].partition("_")[0] in forms()
    is_whole = file.stem.startswith("batch_") or file.parent.name == "submission"
    return is_form or (door.ending(file) == ".json" and is_whole)


def _read(source: Source) -> Iterator[Row]:
    """The outputs (task `click`), their lines and the submissions (task `value`) of a source."""
    listed, others = _files(source.path)
    outputs = [file for file in listed if _is_named(file) or _is_clear(file)]
    left_out = "files left out, called neither as outputs nor as submissions"
    source.notes[left_out] += len(listed) - len(outputs) + others
    source.files += outputs
    numbers, taken = Counter[tuple[str, str]](), set[tuple[str, str]]()
    for file in sorted(outputs, key=lambda file: (_STAMP.findall(file.name)[:1], file.name)):
        for where, cells, entry in _entries(file):
            kind = "submission" if "submission_time" in cells else "output"
            document = door.stem(file)
            if door.ending(file) == ".json":
                document = _document(entry, file, kind, numbers, source.notes)
            if document is None:
                continue
            if (document, kind) in taken:
                remedy = "one a folder; `instance` in each where there are several of a form"
                raise DataBroken(f"a second {kind} of {document}", where=where, remedy=remedy)
            taken.add((document, kind))
            rows = _output(entry, where, source.notes) if kind == "output" else _submission(cells)
            base = {"role": "answer", "doc_id": document, "origin": where}
            yield from (base | row for row in rows)


_REMEDY = """an output, as {"template_used": "A11", "model_response": {"model_response": ""}}, \
or a list of them"""


def _entries(file: Path) -> Iterator[tuple[str, Row, _Entry]]:
    """Where each output or submission of a file stands, its cells, and those that are known."""
    if door.ending(file) == ".txt":
        yield file.name, {}, _Entry(model_response=written(file))
        return
    content = files.parse_json(written(file), where=str(file), once=True)
    entries = content.get("results", [content]) if isinstance(content, dict) else content
    for index, cells in enumerate(entries if isinstance(entries, list) else [None]):
        where = f"{file.name}#/{index}"
        yield where, cells, files.convert(cells, _Entry, where=where, remedy=_REMEDY)


def _document(
    entry: _Entry, file: Path, kind: str, numbers: Counter[tuple[str, str]], notes: Counter[str]
) -> str | None:
    """The document of an entry: that of its instance, else the next one of its form."""
    names = map(str, (entry.template_used, entry.form, entry.data_source, file.stem))
    codes = [(name.partition("_")[0], name.partition(".")[0]) for name in names]
    found = (f for code, n in codes for f in forms().values() if code == f.code or n == f.file)
    if (form := next(found, None)) is None:
        notes["outputs of a form that is not known"] += 1
        return None
    if entry.instance is None:
        notes[f"{kind}s without an instance number, taken in order"] += 1
        numbers[form.code, kind] += 1
        return doc_id(form, numbers[form.code, kind])
    return doc_id(form, entry.instance)


def _output(entry: _Entry, where: str, notes: Counter[str]) -> Iterator[Row]:
    """What a model wrote for one instance, and the lines in it behind any reasoning."""
    answer = entry.model_response
    answer = answer if isinstance(answer, _Answer) else _Answer(answer)
    text, reason = answer.model_response, None
    if answer.status != "success" or text is None:
        reason = answer.error or ("no answer" if text is None else f"status {answer.status}")
    base = {"task": "click", "status": "api_error" if reason else "ok"}
    yield base | {"kind": "page", "value": text or ""}
    if reason:
        yield base | {"role": "call", "error": str(reason)[:2000]}
        return
    lines = parse_lines(plain(text).value or "")
    notes["outputs without a line '[x, y] value'"] += not lines
    for index, line in enumerate(lines):
        box = {"x0": line.x, "y0": line.y, "x1": line.x, "y1": line.y}
        place = {"path": f"/lines/{index}", "origin": f"{where}/lines/{index}"}
        page = None if math.isnan(line.page) else int(line.page)
        yield base | box | place | {"kind": "line", "value": line.value, "page": page}


def _submission(entry: Row) -> Iterator[Row]:
    """What a form was sent with."""
    for name, value in entry.items():
        if name not in ("submission_time", "instance", "form"):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield {"task": "value", "status": "ok", "path": pointer(name), "value": text}


FORMFACTORY = Reader(
    "formfactory",
    "FormFactory's output JSON, or lines '[x, y] value'",
    lambda path: any(_is_clear(file) for file in _files(path)[0] if files.is_file(file)),
    _read,
)
