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
from formlab.folders import Corpus, Predictions
from formlab.formats._collected import Collected, Row
from formlab.formats._spec import Format
from formlab.metrics._lines import parse_lines
from formlab.structure import Whole, checked

_STAMP = re.compile(r"\d{8}_\d{6}")
_INSTANCE = re.compile(r"[A-Z]\d\d-\d+")
_KEYS = re.compile(rb'"(?:batch_info|template_used|submission_time)"\s*:')
_START = 65_536


class _Answer(msgspec.Struct):
    model_response: str | None = None
    status: str | None = "success"
    error: Any = None


class _Output(msgspec.Struct):
    """A result of a run, as far as it is read."""

    template_used: str | None = None
    form: str | None = None
    data_source: str | None = None
    instance: Whole | None = None
    model_response: _Answer | str | None = None


class _Submission(msgspec.Struct):
    form: str | None = None
    instance: Whole | None = None


def is_one(path: Path) -> bool:
    """Whether `path` is such a file, or a folder that holds one.

    Examples
    --------
    >>> is_one(Path("nowhere"))
    False
    """
    return any(_is_clear(file) for file in _files(path) if files.is_file(file))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path] if files.is_file(path) else []
    # What is called as an output and is no file is to be an error, not to be passed over.
    return sorted(file for file in _below(path) if file.suffix in (".txt", ".json"))


def _below(folder: Path) -> list[Path]:
    return [*folder.glob("*"), *folder.glob("submission/*")]


def _is_clear(file: Path) -> bool:
    """Whether a file, by what it holds or by its whole name, is of this format and no other."""
    if file.suffix == ".txt" and _is_named(file):
        start = files.read_bytes(file, _START).decode("utf-8", "replace")
        return bool(_INSTANCE.fullmatch(file.stem) or parse_lines(start))
    return file.suffix == ".json" and bool(_KEYS.search(files.read_bytes(file, _START)))


def _is_named(file: Path) -> bool:
    """Whether a file is called as an output or a submission, whatever it holds."""
    is_form = file.stem.partition("-")[0].partition("_")[0] in forms()
    is_whole = file.stem.startswith("batch_") or file.parent.name == "submission"
    return is_form or (file.suffix == ".json" and is_whole)


def read(path: Path, corpus: Corpus) -> Predictions:
    """The outputs, their lines and the submissions in a file or folder.

    An output is a record without a path; its lines are at ``/lines/<n>`` (task `click`), a click
    being a box of zero size; a submitted value is at the path of its field (task `value`). An
    output that does not say its instance (`instance`, from 1) is of the next one of its form, in
    the order of the time in the file names; the release does not record it. A refusal, and a text
    without a word, are outputs too. Files that are not called as outputs are counted.

    Raises
    ------
    DataMissing, DataBroken
        If a file cannot be read or is of another shape, or an instance has two outputs.
    """
    listed = _files(path)
    outputs = [file for file in listed if _is_named(file) or _is_clear(file)]
    whole = path.resolve()
    reader = _Outputs(corpus, whole.stem if path.is_file() else whole.name)
    others = [file for file in _below(path) if files.is_file(file) and file not in listed]
    left = len(listed) - len(outputs) + len(others)
    reader.notes["files left out, called neither as outputs nor as submissions"] += left
    for file in sorted(outputs, key=lambda file: (_STAMP.findall(file.name)[:1], file.name)):
        if file.suffix == ".txt":
            # What a model wrote may be cut inside a character.
            text = files.read_bytes(file).decode("utf-8", "replace")
            reader.output(file.stem, text, "ok", file.name)
            continue
        for place, entry in _entries(files.read_json(file, once=True), file):
            reader.entry(entry, f"{file.name}#/{place}", file)
    return reader.predictions(outputs)


def _entries(content: Any, file: Path) -> Iterator[tuple[int, Row]]:
    entries = content.get("results") if isinstance(content, dict) else content
    if isinstance(content, dict) and entries is None:
        entries = [content]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataBroken(
            "neither an output, a batch with a list of results, nor a list of submissions",
            where=file, remedy='{"template_used": "A11", "model_response": {"model_response": ""}}',
        )  # fmt: skip
    for index, entry in enumerate(entries):
        kind = _Submission if "submission_time" in entry else _Output
        checked(entry, kind, where=f"{file}#/{index}")
        yield index, entry


class _Outputs(Collected):
    def __init__(self, corpus: Corpus, system: str) -> None:
        super().__init__(corpus, system)
        self._next: Counter[tuple[str, str]] = Counter()
        self._taken: set[tuple[str, str]] = set()

    def entry(self, entry: Row, where: str, file: Path) -> None:
        """One result of a run, or one submission."""
        sent = "submission_time" in entry
        code = self._code(entry, file)
        if code is None:
            self.notes["outputs of a form that is not known"] += 1
            return
        doc = self._doc(entry, code, "submission" if sent else "output")
        if sent:
            self._claim(doc, "submission", where)
            self.submission(doc, entry, where)
            return
        answer = entry.get("model_response")
        inner = answer if isinstance(answer, dict) else {"model_response": answer}
        text, status = inner.get("model_response"), inner.get("status", "success")
        if status == "success" and text is not None:
            self.output(doc, text, "ok", where)
            return
        self.output(doc, text or "", "api_error", where)
        reason = inner.get("error") or ("no answer" if text is None else f"status {status}")
        self.responses.append({
            "doc_id": doc, "task": "click", "status": "api_error", "error": str(reason)[:2000],
        })  # fmt: skip

    def _code(self, entry: Row, file: Path) -> str | None:
        names = [entry.get("template_used"), entry.get("form"), entry.get("data_source"), file.stem]
        for name in map(str, names):
            for form in forms().values():
                if name.partition("_")[0] == form.code or name.partition(".")[0] == form.file:
                    return form.code
        return None

    def _doc(self, entry: Row, code: str, what: str) -> str:
        number = entry.get("instance")
        if number is None:
            self.notes[f"{what}s without an instance number, taken in order"] += 1
            self._next[code, what] += 1
            number = self._next[code, what]
        return doc_id(forms()[code], number)

    def _claim(self, doc: str, what: str, where: str) -> None:
        if (doc, what) in self._taken:
            remedy = "one a folder; `instance` in each where there are several of a form"
            raise DataBroken(f"a second {what} of {doc}", where=where, remedy=remedy)
        self._taken.add((doc, what))

    def output(self, doc: str, text: str, status: str, where: str) -> None:
        """What a model wrote for one instance."""
        self._claim(doc, "output", where)
        base = {"doc_id": doc, "task": "click", "status": status, "origin": where}
        self.records.append(base | {"kind": "page", "value": text})
        lines = parse_lines(text) if status == "ok" else []
        self.notes["outputs without a line '[x, y] value'"] += status == "ok" and not lines
        for index, line in enumerate(lines):
            self.records.append(base | {
                "path": f"/lines/{index}", "kind": "line", "value": line.value,
                "page": None if math.isnan(line.page) else int(line.page),
                "x0": line.x, "x1": line.x, "y0": line.y, "y1": line.y,
                "origin": f"{where}/lines/{index}",
            })  # fmt: skip

    def submission(self, doc: str, entry: Row, where: str) -> None:
        """What a form was sent with."""
        base = {"doc_id": doc, "task": "value", "status": "ok", "origin": where}
        for name, value in entry.items():
            if name not in ("submission_time", "instance", "form"):
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                self.records.append(base | {"path": pointer(name), "value": text})


FORMAT = Format("formfactory", "FormFactory's output JSON, or lines '[x, y] value'", is_one, read)
