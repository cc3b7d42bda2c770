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
from formlab.folders import Corpus
from formlab.readers import door
from formlab.readers.rows import Reader, Row, Source
from formlab.tables import USABLE
from formlab.text.answers import parse
from formlab.text.normalise import as_text

ANSWERS = ".answers"
TASKS = {"vqa": VQA, "consistency": CONSISTENCY}
_LOOKED_AT = 20
_KEY = re.compile(rb"""['"]?\b(?:fields|groups|vqa|consistency)['"]?\s*:""")
_ANSWER_KEYS = ("answer", "value", "prediction", "expected")


def _files(path: Path) -> list[Path]:
    # What is called as an answer and is no file is to be an error, not to be passed over.
    return sorted(f for f in path.iterdir() if door.ending(f) in (".json", ".txt"))


def _fits(path: Path) -> bool:
    """Whether one of the folder's first files has a key of FORMCRAFT's schema in it."""
    listed = _files(path)[:_LOOKED_AT] if path.is_dir() else []
    return any(_KEY.search(door.head(file)) for file in listed if files.is_file(file))


def _read(source: Source) -> Iterator[Row]:
    """An answer for the form and each value, and a call with the text, of each file.

    A form's record without a path has its status. Where the answers of a form cannot be read, each
    of its questions and checks gets a record with that status.
    """
    questions = _questions(source.corpus)
    known: dict[str, Path] = {}
    given: dict[str, set[str | None]] = {}
    for file in _files(source.path):
        stem = door.stem(file)
        if stem in known:
            what = f"two answers for {stem!r}, the first in {known[stem].name}"
            raise DataBroken(what, where=file, remedy="keep one of them")
        known[stem] = file
        is_apart = stem.lower().endswith(ANSWERS)
        doc_id = stem[: -len(ANSWERS)] if is_apart else stem
        # What a model wrote may be cut inside a character.
        text = door.read_bytes(file).decode("utf-8", "replace")
        asked = questions.get(doc_id, []) if is_apart else None
        rows, status, changes = _answered(text, asked, source.notes)
        paths = given.setdefault(doc_id, set())
        for row in rows:
            if row["path"] in paths:
                source.notes["answers given twice, the first kept"] += 1
                continue
            paths.add(row["path"])
            origin = "#".join(filter(None, (file.name, row["path"])))
            base = {"role": "answer", "doc_id": doc_id, "status": status, "origin": origin}
            yield base | row
        call = {"role": "call", "doc_id": doc_id, "status": status, "text": text, "attempts": 1}
        task = "vqa" if is_apart else "layout"
        yield call | {"task": task, "error": "; ".join(changes) or None}
        source.notes[f"answers {status}"] += 1
    source.files += known.values()


def _questions(corpus: Corpus | None) -> dict[str, list[Row]]:
    """The questions and checks of each document, as rows without an answer."""
    found: dict[str, list[Row]] = {}
    for doc_id, task, path in corpus.records.select("doc_id", "task", "path").rows():
        if task in TASKS:
            found.setdefault(doc_id, []).append({"task": task, "path": path})
    return found


def _answered(
    text: str, asked: list[Row] | None, notes: Counter[str]
) -> tuple[list[Row], str, tuple[str, ...]]:
    """The rows of a text, its status and what was mended; `asked` where it has no form."""
    value, status, changes = (reply := parse(text)).value, reply.status, reply.changes
    answers = {task: value.pop(task, None) for task in TASKS} if value else {}
    rows: list[Row] = []
    if asked is None:
        try:
            if value or (value is not None and not any(answers.values())):
                rows, mended = _form_rows(value, notes)
                changes += mended
        except NotAFormError as error:
            status, changes = "bad_json", (*changes, str(error))
        status = "repaired" if changes and status == "ok" else status
        rows.append({"task": "text", "path": None, "kind": "form", "status": status})
    rows += [row for task in TASKS for row in _answers(task, answers.get(task), notes)]
    return rows or (asked or [] if status not in USABLE else []), status, changes


def _form_rows(value: Row, notes: Counter[str]) -> tuple[list[Row], tuple[str, ...]]:
    """Rows of the fields and groups, and what was mended to read them."""
    tidy, mended = tidied(value)
    try:
        form = FormCraft.model_validate(tidy)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise NotAFormError(first["msg"]) from error
    flaws: Counter[str] = Counter()
    rows = list(field_rows(form, flaws))
    notes.update({f"predicted {flaw}": count for flaw, count in flaws.items()})
    return rows, mended


def _answers(task: str, answers: Any, notes: Counter[str]) -> Iterator[Row]:
    pairs = list(answers.items()) if isinstance(answers, dict) else []
    if isinstance(answers, list):
        pairs = [(a.get("id") if isinstance(a, dict) else None, a) for a in answers]
    for name, answer in pairs:
        if name is None:
            notes["answers without an id"] += 1
            continue
        row: Row = {"task": task, "path": f"{TASKS[task]}/{as_text(name)}"}
        if isinstance(answer, dict):
            row |= {"meta": answer_meta(answer), "confidence": share(answer.get("confidence"))}
            answer = next((answer[key] for key in _ANSWER_KEYS if key in answer), None)
        missing = {"status": "missing"} if answer is None else {}
        yield row | {"value": None if answer is None else as_text(answer)} | missing


FORMCRAFT = Reader("formcraft", "a folder of models' answers in FORMCRAFT's schema", _fits, _read)
