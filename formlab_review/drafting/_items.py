"""Questions and consistency checks that a model drafts from annotated forms."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, text
from formlab.benchmarks.formcraft import RELATIONS, TASK_OF
from formlab.errors import DataBroken
from formlab.folders import Corpus
from formlab.systems.chat.ask import NUMBER, TEXT, Question, Row, closed, items_of, listed, or_null
from formlab.systems.prompts import FOLDER
from formlab_review.drafting._asking import asked, keep
from formlab_review.drafts import ROOTS, Draft
from formlab_review.faults import faults

_RELATION = {axis: {"type": "string", "enum": list(words)} for axis, words in RELATIONS.items()}
_NAMED = closed(name=TEXT, path=TEXT)
ITEMS = {
    "vqa": closed(
        question=TEXT, options=listed(TEXT), answers=listed(TEXT), fields=listed(TEXT),
        rationale=TEXT, derivation=or_null(closed(formula=TEXT, fields=listed(_NAMED))),
        **_RELATION, kind=TEXT,
    ),
    "consistency": closed(
        source=TEXT, dependent=TEXT, expected=TEXT, determined={"type": "boolean"},
        confidence=NUMBER, rationale=TEXT, **_RELATION,
    ),
}  # fmt: skip
# What is shown of a field; the questions and checks that a form has already are not.
_SHOWN = ("path", "value", "modality", "subtype", "page")
_MOST_EXAMPLES = 4


def items(
    task: str,
    corpus: Corpus,
    *,
    model: str,
    out: str | Path,
    settings: Mapping[str, Any] | None = None,
    limit: int | None = None,
    examples: list[Row] | None = None,
) -> list[Draft]:
    """Questions (`task` ``vqa``) or checks (``consistency``) that a model drafts for each form.

    Parameters
    ----------
    task, corpus
        What to draft, and forms of FORMCRAFT's: their annotated fields are shown, no image is.
    model, settings
        As of `formlab.systems.chat.ChatSystem`; answers are kept in `out` and asked for once.
    out
        A folder; its file of drafts gets these in the place of earlier ones of the same forms.
    limit
        Only the first so many forms.
    examples
        Good items of other forms, as from `examples_of`; formlab's own if left out.

    Returns
    -------
    list of Draft
        A line for each item, rejected ones with their reasons, and one for each form.

    Raises
    ------
    NotAvailable, DataBroken
        If no call can succeed, or a setting is wrong.
    """
    shown = examples or files.read_json(FOLDER / "draft_examples.json")[task]
    fields = _fields(corpus)
    chosen = corpus.documents.head(limit) if limit else corpus.documents
    schema, todo = closed(items=listed(ITEMS[task])), []
    for document in chosen.iter_rows(named=True):
        rows = fields.get(document["doc_id"], {}).values()
        listing = {
            "FIELDS": [{name: row[name] for name in _SHOWN} for row in rows],
            "EXAMPLES": shown,
        }
        lacking = "" if rows else "this form has no fields"
        options = {"lacking": lacking, "document": document}
        todo.append(Question(listing, schema, lambda value, _: items_of(value, "items"), **options))
    results = asked(
        f"draft_{task}", todo, model=model, out=out, settings=settings, split=corpus.split
    )
    made: list[Draft] = []
    for result, whole in results:
        base = dataclasses.replace(whole, task=task)
        made += [base, *_items(base, result.records, fields.get(base.doc_id, {}))]
    keep(made, out)
    return made


def examples_of(corpus: Corpus, task: str, *, most: int = _MOST_EXAMPLES) -> list[Row]:
    """The forms of `corpus` that have items of `task`, as examples for others; the first `most`."""
    fields = _fields(corpus)
    examples: list[Row] = []
    of_task = corpus.records.filter(pl.col("task") == task)
    for (doc_id,), rows in of_task.group_by("doc_id", maintain_order=True):
        values = {path: row["value"] for path, row in fields.get(str(doc_id), {}).items()}
        items = [_as_item(task, row) for row in rows.iter_rows(named=True)]
        examples.append({"fields": values, "items": items})
    if not examples:
        raise DataBroken(f"no items of {task} to take as examples", where=corpus.root)
    return examples[:most]


def _as_item(task: str, row: Row) -> Row:
    meta = files.parse_json(row["meta"] or "{}", where=row["origin"])
    item = {axis: row[axis] for axis in RELATIONS} | {"rationale": meta.get("rationale", "")}
    if task == "consistency":
        pair = {name: meta.get(name) for name in ("source", "dependent")}
        return pair | {
            "expected": row["value"], "determined": True, "confidence": row["confidence"],
        } | item  # fmt: skip
    derivation = meta.get("derivation")
    if derivation:
        names = derivation.get("fields") or {}
        named = [{"name": name, "path": path} for name, path in names.items()]
        derivation = {"formula": derivation["formula"], "fields": named}
    return {
        "question": meta.get("question"), "options": meta.get("options", []),
        "answers": [row["value"], *(row["accepted"] or [])], "fields": meta.get("fields", []),
        "derivation": derivation or None, "kind": row["kind"],
    } | item  # fmt: skip


def _fields(corpus: Corpus) -> dict[str, dict[str, Row]]:
    """The annotated fields of each form, by path."""
    fields: dict[str, dict[str, Row]] = {}
    rows = corpus.records.filter(pl.col("task").is_in([*TASK_OF.values()]))
    for row in rows.iter_rows(named=True):
        fields.setdefault(row["doc_id"], {})[row["path"]] = row
    return fields


def _items(base: Draft, answer: list[Row], fields: Mapping[str, Row]) -> list[Draft]:
    paths = {_plain(path): path for path in fields}
    made, seen = [], set()
    for number, raw in enumerate(answer, start=1):
        item = _tidied(raw, paths) | {"id": f"d{number}"}
        why = faults(base.task, item, fields)
        about = _plain(str(item.get("question") or (item.get("source"), item.get("dependent"))))
        why += ("the same as an earlier item",) if about in seen else ()
        seen.add(about)
        path = f"{ROOTS[base.task]}/d{number}"
        made.append(dataclasses.replace(base, path=path, item=item, rejected=why))
    return made


def _tidied(item: Row, paths: Mapping[str, str]) -> Row:
    """An item with its paths in the form's spelling, and its derivation as in a form's JSON."""

    def spelled(path: Any) -> Any:
        return paths.get(_plain(path), path) if isinstance(path, str) else path

    item = dict(item)
    for name in ("source", "dependent"):
        if name in item:
            item[name] = spelled(item[name])
    if isinstance(item.get("fields"), list):
        item["fields"] = [spelled(path) for path in item["fields"]]
    derivation = item.get("derivation")
    if isinstance(derivation, dict) and isinstance(derivation.get("fields"), list):
        named = [entry for entry in derivation["fields"] if isinstance(entry, dict)]
        names = {str(entry.get("name")): spelled(entry.get("path")) for entry in named}
        item["derivation"] = derivation | {"fields": names}
    # Without a schema a model may write numbers and truth values as texts.
    confidence = item.get("confidence")
    if isinstance(confidence, str) and (share := text.number(confidence)) is not None:
        item["confidence"] = float(share)
    if str(item.get("determined")).lower() == "false":
        item["determined"] = False
    return item


def _plain(path: str) -> str:
    return "/".join(" ".join(step.split()) for step in path.split("/")).casefold()
