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

from formlab import files
from formlab.benchmarks import formcraft
from formlab.readers import door
from formlab.readers.door import written
from formlab.readers.rows import Reader, Row, Source, by_name
from formlab.tables import USABLE
from formlab.text.answers import parse
from formlab.text.normalise import as_text

ANSWERS = ".answers"
TASKS = {"vqa": formcraft.VQA, "consistency": formcraft.CONSISTENCY}
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
    """An answer for the form and each value, and a call with the text, of each file."""
    named = by_name("answers for", ((door.stem(file), file) for file in _files(source.path)))
    source.files += named.values()
    asked = source.corpus.records.select("doc_id", "task", "path")
    given: set[tuple[str, str | None]] = set()
    for stem, file in named.items():
        is_apart = stem.lower().endswith(ANSWERS)
        doc_id, text = stem[: -len(ANSWERS)] if is_apart else stem, written(file)
        rows, status, changes = _answered(text, source.notes, has_form=not is_apart)
        if not rows and status not in USABLE:
            questions = asked.filter(asked["task"].is_in(list(TASKS)), doc_id=doc_id)
            rows = questions.drop("doc_id").to_dicts()
        base = {"doc_id": doc_id, "status": status}
        for row in rows:
            key = doc_id, row["path"]
            origin = "#".join(filter(None, (file.name, row["path"])))
            source.notes["answers given twice, the first kept"] += key in given
            if key not in given:
                yield {"role": "answer", "origin": origin} | base | row
            given.add(key)
        call = {"role": "call", "task": "vqa" if is_apart else "layout", "attempts": 1}
        yield call | base | {"text": text, "error": "; ".join(changes) or None}
        source.notes[f"answers {status}"] += 1


def _answered(
    text: str, notes: Counter[str], *, has_form: bool
) -> tuple[list[Row], str, tuple[str, ...]]:
    """The rows of a text, its status and what was mended."""
    value, status, changes = (reply := parse(text)).value, reply.status, reply.changes
    answers = {task: value.pop(task, None) for task in TASKS} if value else {}
    rows: list[Row] = []
    if has_form:
        try:
            if value or (value is not None and not any(answers.values())):
                tidy, mended = formcraft.tidied(value)
                flaws: Counter[str] = Counter()
                form = formcraft.FormCraft.model_validate(tidy)
                rows += formcraft.field_rows(form, flaws)
                notes.update({f"predicted {flaw}": count for flaw, count in flaws.items()})
                changes += mended
        except ValueError as error:
            status, changes = "bad_json", (*changes, " ".join(str(error).split())[:500])
        status = "repaired" if changes and status == "ok" else status
        rows.append({"task": "text", "path": None, "kind": "form", "status": status})
    rows += [row for task in TASKS for row in _answers(task, answers.get(task), notes)]
    return rows, status, changes


def _answers(task: str, answers: Any, notes: Counter[str]) -> Iterator[Row]:
    pairs = list(answers.items()) if isinstance(answers, dict) else []
    if isinstance(answers, list):
        pairs = [(a.get("id") if isinstance(a, dict) else None, a) for a in answers]
    notes["answers without an id"] += sum(name is None for name, _ in pairs)
    for name, answer in ((name, answer) for name, answer in pairs if name is not None):
        row: Row = {"task": task, "path": f"{TASKS[task]}/{as_text(name)}"}
        if isinstance(answer, dict):
            row["meta"] = formcraft.answer_meta(answer)
            row["confidence"] = formcraft.share(answer.get("confidence"))
            answer = next((answer[key] for key in _ANSWER_KEYS if key in answer), None)
        missing = {"status": "missing"} if answer is None else {}
        yield row | {"value": None if answer is None else as_text(answer)} | missing


FORMCRAFT = Reader("formcraft", "a folder of models' answers in FORMCRAFT's schema", _fits, _read)
