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

from formlab import files
from formlab.benchmarks.formfactory import doc_id, forms, pointer
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.formats._collected import Collected, Row
from formlab.formats._spec import Format
from formlab.metrics._lines import parse_lines

_STAMP = re.compile(r"\d{8}_\d{6}")
_KEYS = re.compile(rb'"(?:batch_info|template_used|submission_time)"\s*:')
_START = 65_536


def is_one(path: Path) -> bool:
    """Whether `path` is such a file, or a folder that holds one.

    Examples
    --------
    >>> is_one(Path("nowhere"))
    False
    """
    return any(_is_file(file) for file in _files(path))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    below = [*path.glob("*"), *path.glob("submission/*")]
    return sorted(file for file in below if file.is_file())


def _is_file(file: Path) -> bool:
    if file.suffix == ".txt":
        known = file.stem.partition("-")[0].partition("_")[0] in forms()
        start = files.read_bytes(file, _START).decode("utf-8", "replace")
        return known and bool(parse_lines(start))
    return file.suffix == ".json" and bool(_KEYS.search(files.read_bytes(file, _START)))


def read(path: Path, corpus: Corpus) -> Predictions:
    """The outputs, their lines and the submissions in a file or folder.

    An output is a record without a path; its lines are at ``/lines/<n>`` (task `click`), a click
    being a box of zero size; a submitted value is at the path of its field (task `value`). An
    output that does not say its instance (`instance`, from 1) is of the next one of its form, in
    the order of the time in the file names; the release does not record it.

    Raises
    ------
    DataBroken
        If a JSON file is of another shape, or an instance has two outputs.
    """
    outputs = [file for file in _files(path) if _is_file(file)]
    whole = path.resolve()
    reader = _Outputs(corpus, whole.stem if path.is_file() else whole.name)
    for file in sorted(outputs, key=lambda file: (_STAMP.findall(file.name)[:1], file.name)):
        if file.suffix == ".txt":
            reader.output(file.stem, files.read_text(file), "ok", file.name)
            continue
        for where, entry in _entries(files.read_json(file), file):
            reader.entry(entry, where, file)
    return reader.predictions(outputs)


def _entries(content: Any, file: Path) -> Iterator[tuple[str, Row]]:
    entries = content.get("results") if isinstance(content, dict) else content
    if isinstance(content, dict) and entries is None:
        entries = [content]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataBroken(
            "neither an output, a batch with a list of results, nor a list of submissions",
            where=file, remedy='{"template_used": "A11", "model_response": {"model_response": ""}}',
        )  # fmt: skip
    for index, entry in enumerate(entries):
        yield f"{file.name}#/{index}", entry


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
        answered = status == "success" and isinstance(text, str)
        text = text if isinstance(text, str) else ""
        self.output(doc, text, "ok" if answered else "api_error", where)

    def _code(self, entry: Row, file: Path) -> str | None:
        names = [entry.get("template_used"), entry.get("form"), entry.get("data_source"), file.stem]
        for name in map(str, names):
            for form in forms().values():
                if name.partition("_")[0] == form.code or name.partition(".")[0] == form.file:
                    return form.code
        return None

    def _doc(self, entry: Row, code: str, what: str) -> str:
        number = entry.get("instance")
        if not isinstance(number, int) or isinstance(number, bool):
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
