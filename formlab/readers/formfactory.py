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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from formlab import files
from formlab.benchmarks.formfactory import doc_id, forms, pointer
from formlab.errors import DataBroken
from formlab.files import Whole, convert
from formlab.metrics._lines import parse_lines
from formlab.readers import door
from formlab.readers.rows import Reader, Row, Source
from formlab.text.answers import plain

_STAMP = re.compile(r"\d{8}_\d{6}")
_INSTANCE = re.compile(r"[A-Z]\d\d-\d+")
_KEYS = re.compile(rb'"(?:batch_info|template_used|submission_time)"\s*:')


class _Answer(msgspec.Struct):
    model_response: str | None = None
    status: str | None = "success"
    error: Any = None


class _Submission(msgspec.Struct):
    form: str | None = None
    instance: Whole | None = None


class _Output(_Submission):
    template_used: str | None = None
    data_source: str | None = None
    model_response: _Answer | str | None = None


def _files(path: Path) -> tuple[list[Path], int]:
    """The files that may be outputs, and how many others there are."""
    if not path.is_dir():
        return ([path] if files.is_file(path) else []), 0
    below = [*path.glob("*"), *path.glob("submission/*")]
    # What is called as an output and is no file is to be an error, not to be passed over.
    listed = sorted(file for file in below if door.ending(file) in (".txt", ".json"))
    return listed, len([file for file in below if files.is_file(file) and file not in listed])


def _is_clear(file: Path) -> bool:
    """Whether a file, by what it holds or by its whole name, is of this format and no other."""
    if door.ending(file) == ".txt" and _is_named(file):
        is_instance = _INSTANCE.fullmatch(door.stem(file))
        return bool(is_instance or parse_lines(door.head(file).decode("utf-8", "replace")))
    return door.ending(file) == ".json" and bool(_KEYS.search(door.head(file)))


def _is_named(file: Path) -> bool:
    """Whether a file is called as an output or a submission, whatever it holds."""
    is_form = file.stem.partition("-")[0].partition("_")[0] in forms()
    is_whole = file.stem.startswith("batch_") or file.parent.name == "submission"
    return is_form or (door.ending(file) == ".json" and is_whole)


def _read(source: Source) -> Iterator[Row]:
    """The outputs, their lines and the submissions in a file or folder.

    An output is a record without a path; its lines are at ``/lines/<n>`` (task `click`), a click
    being a box of zero size; a submitted value is at the path of its field (task `value`). An
    output that does not say its instance (`instance`, from 1) is of the next one of its form, in
    the order of the time in the file names; the release does not record it. A refusal, and a text
    without a word, are outputs too.
    """
    listed, others = _files(source.path)
    outputs = [file for file in listed if _is_named(file) or _is_clear(file)]
    left_out = "files left out, called neither as outputs nor as submissions"
    source.notes[left_out] += len(listed) - len(outputs) + others
    source.files += outputs
    documents = _Documents(source.notes)
    for file in sorted(outputs, key=lambda file: (_STAMP.findall(file.name)[:1], file.name)):
        if door.ending(file) == ".txt":
            # What a model wrote may be cut inside a character.
            text = door.read_bytes(file).decode("utf-8", "replace")
            document = documents.claimed(door.stem(file), "output", file.name)
            yield from _output(document, text, file.name, source.notes)
            continue
        for place, entry in _entries(file):
            where = f"{file.name}#/{place}"
            kind = "submission" if "submission_time" in entry else "output"
            document = documents.of(entry, file, kind, where)
            if document is not None and kind == "submission":
                yield from _submission(document, entry, where)
            elif document is not None:
                yield from _result(document, entry, where, source.notes)


def _entries(file: Path) -> Iterator[tuple[int, Row]]:
    with door.open_text(file) as stream:
        content = files.parse_json(stream.read(), where=str(file), once=True)
    entries = content.get("results") if isinstance(content, dict) else content
    entries = [content] if isinstance(content, dict) and entries is None else entries
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        what = "neither an output, a batch with a list of results, nor a list of submissions"
        remedy = '{"template_used": "A11", "model_response": {"model_response": ""}}'
        raise DataBroken(what, where=file, remedy=remedy)
    for index, entry in enumerate(entries):
        kind = _Submission if "submission_time" in entry else _Output
        convert(entry, kind, where=f"{file}#/{index}")
        yield index, entry


@dataclass
class _Documents:
    """The documents that have an output or a submission, each one."""

    notes: Counter[str]
    numbers: Counter[tuple[str, str]] = field(default_factory=Counter)
    taken: set[tuple[str, str]] = field(default_factory=set)

    def of(self, entry: Row, file: Path, kind: str, where: str) -> str | None:
        """The document of an entry: that of its instance, else the next one of its form."""
        names = [entry.get(name) for name in ("template_used", "form", "data_source")]
        names = [str(name) for name in (*names, file.stem)]
        codes = [(name.partition("_")[0], name.partition(".")[0]) for name in names]
        found = (f for c, n in codes for f in forms().values() if c == f.code or n == f.file)
        if (form := next(found, None)) is None:
            self.notes["outputs of a form that is not known"] += 1
            return None
        number = entry.get("instance")
        if number is None:
            self.notes[f"{kind}s without an instance number, taken in order"] += 1
            self.numbers[form.code, kind] += 1
            number = self.numbers[form.code, kind]
        return self.claimed(doc_id(form, number), kind, where)

    def claimed(self, document: str, kind: str, where: str) -> str:
        """A document, which has no other entry of this kind."""
        if (document, kind) in self.taken:
            remedy = "one a folder; `instance` in each where there are several of a form"
            raise DataBroken(f"a second {kind} of {document}", where=where, remedy=remedy)
        self.taken.add((document, kind))
        return document


def _result(document: str, entry: Row, where: str, notes: Counter[str]) -> Iterator[Row]:
    answer = entry.get("model_response")
    inner = answer if isinstance(answer, dict) else {"model_response": answer}
    text, status = inner.get("model_response"), inner.get("status", "success")
    if status == "success" and text is not None:
        yield from _output(document, text, where, notes)
        return
    failed = {"doc_id": document, "task": "click", "status": "api_error"}
    yield failed | {"role": "answer", "kind": "page", "value": text or "", "origin": where}
    reason = inner.get("error") or ("no answer" if text is None else f"status {status}")
    yield failed | {"role": "call", "error": str(reason)[:2000]}


def _output(document: str, text: str, where: str, notes: Counter[str]) -> Iterator[Row]:
    """What a model wrote for one instance, and the lines in it behind any reasoning."""
    base = {"role": "answer", "doc_id": document, "task": "click", "status": "ok"}
    yield base | {"kind": "page", "value": text, "origin": where}
    lines = parse_lines(plain(text).value or "")
    notes["outputs without a line '[x, y] value'"] += not lines
    for index, line in enumerate(lines):
        yield base | {
            "path": f"/lines/{index}",
            "kind": "line",
            "value": line.value,
            "page": None if math.isnan(line.page) else int(line.page),
            "x0": line.x,
            "y0": line.y,
            "x1": line.x,
            "y1": line.y,
            "origin": f"{where}/lines/{index}",
        }


def _submission(document: str, entry: Row, where: str) -> Iterator[Row]:
    """What a form was sent with."""
    base = {"role": "answer", "doc_id": document, "task": "value", "status": "ok"}
    for name, value in entry.items():
        if name not in ("submission_time", "instance", "form"):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield base | {"path": pointer(name), "value": text, "origin": where}


FORMFACTORY = Reader(
    "formfactory",
    "FormFactory's output JSON, or lines '[x, y] value'",
    lambda path: any(_is_clear(file) for file in _files(path)[0] if files.is_file(file)),
    _read,
)
