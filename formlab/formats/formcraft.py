"""Raw answers of models in FORMCRAFT's schema: a folder with one file a form.

``<doc_id>.json`` or ``<doc_id>.txt`` holds what the model wrote, as it wrote it: a form (`fields`,
`groups`) and, under `vqa` and `consistency`, its answers, as ``{"<id>": answer}`` or as a list of
objects with `id` and `answer`; the `fields` of a check's answer (path: value) say what stands in
the fields that it follows from. Answers may stand in a file of their own, ``<doc_id>.answers.json``
or ``.answers.txt``. A field may carry `page` and `box`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from formlab import files
from formlab.benchmarks.formcraft import (
    CONSISTENCY,
    VQA,
    FormCraft,
    NotAFormError,
    answer_meta,
    field_rows,
    share,
    tidied,
)
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.formats._collected import Collected, Row
from formlab.formats._spec import Format
from formlab.tables import USABLE
from formlab.text.answers import parse
from formlab.text.normalise import as_text

ENDINGS = (".json", ".txt")
ANSWERS = ".answers"
TASKS = {"vqa": VQA, "consistency": CONSISTENCY}
_LOOKED_AT, _START = 20, 65_536
_KEY = re.compile(rb"""['"]?\b(?:fields|groups|vqa|consistency)['"]?\s*:""")
_ANSWER_KEYS = ("answer", "value", "prediction", "expected")


def is_one(path: Path) -> bool:
    """Whether one of the folder's first files has a key of FORMCRAFT's schema in it."""
    if not path.is_dir():
        return False
    some = _files(path)[:_LOOKED_AT]
    return any(_KEY.search(files.read_bytes(file, _START)) for file in some if files.is_file(file))


def read(path: Path, corpus: Corpus) -> Predictions:
    """The predictions of one system; its name is the folder's.

    Every file gives one response with the raw text, its status and what was repaired; every form
    a record without a path that has the form's status. Where the answers of a form cannot be
    read, each of its questions and checks gets a record with that status.

    Raises
    ------
    DataMissing, DataBroken
        If the folder has no such file, or one cannot be read.
    """
    answers = _files(path)
    if not answers:
        raise DataBroken("no answers", where=path, remedy="one <doc_id>.json or .txt a form")
    reader = _Answers(corpus, path.name or "formcraft")
    for file in answers:
        reader.add(file)
    return reader.predictions(answers)


def _files(path: Path) -> list[Path]:
    # What is called as an answer and is no file is to be an error, not to be passed over.
    return sorted(f for f in path.iterdir() if f.suffix.lower() in ENDINGS)


class _Answers(Collected):
    def __init__(self, corpus: Corpus, system: str) -> None:
        super().__init__(corpus, system)
        self._taken: dict[str, str] = {}
        items = corpus.records.filter(pl.col("task").is_in(list(TASKS)))
        self._items: dict[str, list[Row]] = {}
        for doc_id, task, item in items.select("doc_id", "task", "path").rows():
            self._items.setdefault(doc_id, []).append({"task": task, "path": item})

    def add(self, file: Path) -> None:
        """Read one file."""
        stem = file.stem
        apart = stem.lower().endswith(ANSWERS)
        doc_id = stem[: -len(ANSWERS)] if apart else stem
        name = f"{doc_id}{ANSWERS if apart else ''}"
        if name in self._taken:
            what = f"two answers for {name!r}, the first in {self._taken[name]}"
            raise DataBroken(what, where=file, remedy="keep one of them")
        self._taken[name] = file.name
        # What a model wrote may be cut inside a character.
        text = files.read_bytes(file).decode("utf-8", "replace")
        reply = parse(text)
        value, status, changes = reply.value, reply.status, reply.changes
        answers = {key: value.pop(key, None) for key in TASKS} if value else {}
        rows: list[Row] = []
        if not apart:
            try:
                rows, mended = _form_rows(value, answers, self.notes)
                changes += mended
            except NotAFormError as error:
                status, changes = "bad_json", (*changes, str(error))
            status = "repaired" if changes and status == "ok" else status
            rows.append({"task": "text", "path": None, "kind": "form", "status": status})
        rows += self._answer_rows(doc_id, answers, apart, status)
        base = {"doc_id": doc_id, "status": status}
        self.records += [
            base | {"origin": "#".join(filter(None, (file.name, row["path"])))} | row
            for row in rows
        ]
        self.responses.append(
            base | {
                "task": "vqa" if apart else "layout", "text": text, "attempts": 1,
                "error": "; ".join(changes) or None,
            }
        )  # fmt: skip
        self.notes[f"answers {status}"] += 1

    def _answer_rows(self, doc_id: str, answers: Row, apart: bool, status: str) -> list[Row]:
        rows = [row for task in TASKS for row in _answers(task, answers.get(task), self.notes)]
        if apart and not rows and status not in USABLE:
            rows = [item | {"status": status} for item in self._items.get(doc_id, [])]
        known = {row["path"] for row in self.records if row["doc_id"] == doc_id}
        fresh: dict[str, Row] = {}
        for row in rows:
            if row["path"] not in known:
                fresh.setdefault(row["path"], row)
        self.notes["answers given twice, the first kept"] += len(rows) - len(fresh)
        return list(fresh.values())


def _form_rows(
    value: Row | None, answers: Row, notes: Counter[str]
) -> tuple[list[Row], tuple[str, ...]]:
    """Rows of the fields and groups, and what was mended to read them."""
    if value is None or (not value and any(answers.values())):
        return [], ()
    tidy, mended = tidied(value)
    try:
        form = FormCraft.model_validate(tidy)
    except ValidationError as error:
        raise NotAFormError(
            error.errors(include_url=False, include_input=False)[0]["msg"]
        ) from error
    flaws: Counter[str] = Counter()
    rows = list(field_rows(form, flaws))
    notes.update({f"predicted {what}": count for what, count in flaws.items()})
    return rows, mended


def _answers(task: str, answers: Any, notes: Counter[str]) -> Iterator[Row]:
    pairs: list[tuple[Any, Any]] = []
    if isinstance(answers, dict):
        pairs = list(answers.items())
    elif isinstance(answers, list):
        pairs = [(item.get("id"), item) for item in answers if isinstance(item, dict)]
        notes["answers without an id"] += len(answers) - len(pairs)
    for name, answer in pairs:
        if name is None:
            notes["answers without an id"] += 1
            continue
        confidence = meta = None
        if isinstance(answer, dict):
            meta = answer_meta(answer)
            confidence = share(answer.get("confidence"))
            answer = next((answer[key] for key in _ANSWER_KEYS if key in answer), None)
        value = None if answer is None else as_text(answer)
        yield {
            "task": task, "path": f"{TASKS[task]}/{as_text(name)}", "value": value,
            "confidence": confidence, "meta": meta,
        } | ({"status": "missing"} if value is None else {})  # fmt: skip


FORMAT = Format("formcraft", "a folder of models' answers in FORMCRAFT's schema", is_one, read)
