"""What the tools of FORMCRAFT, FormFactory, VRDU and FinCriticalED write: answers alone."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from formlab import files
from formlab.benchmarks import formfactory as factory
from formlab.benchmarks.fincriticaled import decoded
from formlab.benchmarks.vrdu import Schema, flat_path, fractions, placed, whole
from formlab.errors import DataBroken, DataMissing
from formlab.readers import Reader, Row, Source, by_name
from formlab.readers.door import ending, head, stem, written
from formlab.tables import USABLE
from formlab.text.action_lines import line_rows
from formlab.text.answers import parse, plain
from formlab.text.normalise import as_text
from formlab.trees import escape

# The ending of VRDU's files.
SUFFIX = "-test_predictions.json"
# How many files of a folder are looked at to tell whether it is FORMCRAFT's.
_LOOKED_AT = 20
_KEY = re.compile(rb"""['"]?\b(?:fields|groups|vqa|consistency)['"]?\s*:""")
_FACTORY_KEYS = re.compile(rb'"(?:batch_info|template_used|model_response|submission_time)"\s*:')
_OUTPUT = 'an output, as {"template_used": "A11", "model_response": {"model_response": ""}}'
_OUTPUT += ", or a list of them"
_ENTITIES = 'a list of ["name", ["text", [page, x0, y0, x1, y1], [[start, end]]]]'
_ENTITIES += ", with the parts of line items one after the other"
# Python makes no integer of more digits than some thousand.
_PAGE = re.compile(r"pred_([0-9]{1,18})\.txt")


def formcraft(source: Source) -> Iterator[Row]:
    """Raw answers of models in FORMCRAFT's schema: a folder with one file a form.

    ``<doc_id>.json`` or ``.txt`` holds what the model wrote: a form (`fields`, `groups`) and, under
    `vqa` and `consistency`, its answers, as ``{"<id>": answer}`` or as a list of objects with `id`
    and `answer`; the `fields` of a check's answer (path: value) say what stands in the fields that
    it follows from. Answers may stand in ``<doc_id>.answers.json`` or ``.answers.txt``.
    """
    from formlab.benchmarks.formcraft.records import ITEMS, answer_rows, form_rows

    named = by_name("answers for", ((stem(file), file) for file in _form_files(source.path)))
    source.files += named.values()
    given: set[tuple[str, str | None]] = set()
    for name, file in named.items():
        doc_id = re.sub(r"\.answers$", "", name, flags=re.IGNORECASE)
        text, is_apart, rows = written(file), doc_id != name, []
        value, status, changes = (reply := parse(text)).value, reply.status, reply.changes
        found = {task: value.pop(task, None) for task in ITEMS} if value else {}
        if not is_apart:
            if value or (value is not None and not any(found.values())):
                try:
                    rows, mended = form_rows(value, source.notes)
                    changes += mended
                except ValueError as error:
                    status, changes = "bad_json", (*changes, " ".join(str(error).split())[:500])
            status = "repaired" if changes and status == "ok" else status
            rows.append({"task": "text", "path": None, "kind": "form", "status": status})
        for task, listed in found.items():
            answers = list(answer_rows(task, listed))
            source.notes["answers without an id"] += sum(row["path"] is None for row in answers)
            rows += [row for row in answers if row["path"] is not None]
        if not rows and status not in USABLE:
            asked = source.corpus.records.filter(doc_id=doc_id).select("task", "path")
            rows = [row for row in asked.to_dicts() if row["task"] in ITEMS]
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


def _form_files(path: Path) -> list[Path]:
    # What is called as an answer and is no file is to be an error, not to be passed over.
    return sorted(f for f in path.iterdir() if ending(f) in (".json", ".txt"))


def _is_formcraft(path: Path) -> bool:
    listed = _form_files(path)[:_LOOKED_AT] if path.is_dir() else []
    return any(_KEY.search(head(file)) for file in listed if files.is_file(file))


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


def formfactory(source: Source) -> Iterator[Row]:
    """Output made for FormFactory: its own JSON, single runs and batches, and raw lines.

    A line a field, ``[640,585] Ada Berg``, in pixels of the screenshot, stands in
    ``{form}_{kind}_{source}_{YYYYMMDD_HHMMSS}.json``, in the `results` of ``batch_….json`` or alone
    in ``<doc_id>.txt``, and is of task `click`; ``submission/<form>.json`` is of task `value`.
    """
    source.files += _outputs(source.path)
    numbers, taken = Counter[tuple[str, str]](), set[tuple[str, str]]()
    # By name, which ends with the time at which a file was written.
    for file in source.files:
        text, is_text = written(file), ending(file) == ".txt"
        content = {"model_response": text}
        if not is_text:
            content = files.parse_json(text, where=str(file), once=True)
        entries = content.get("results", [content]) if isinstance(content, dict) else content
        for index, cells in enumerate(entries if isinstance(entries, list) else [None]):
            where = file.name if is_text else f"{file.name}#/{index}"
            entry = files.convert(cells, _Entry, where=where, remedy=_OUTPUT)
            kind = "submission" if "submission_time" in cells else "output"
            document = stem(file)
            if not is_text and not (document := _document(entry, file, kind, numbers)):
                source.notes["outputs of a form that is not known"] += 1
                continue
            ordinal = f"{kind}s without an instance number, taken in order"
            source.notes[ordinal] += not is_text and entry.instance is None
            if (document, kind) in taken:
                remedy = "one a folder; `instance` in each where there are several of a form"
                raise DataBroken(f"a second {kind} of {document}", where=where, remedy=remedy)
            taken.add((document, kind))
            rows = _output(entry, where, source.notes) if kind == "output" else _submission(cells)
            base = {"role": "answer", "doc_id": document, "origin": where}
            yield from (base | row for row in rows)


def _outputs(path: Path) -> list[Path]:
    """What is an output or a submission by its name or by what it holds, be it a file or not."""

    def is_output(file: Path) -> bool:
        is_json, name = ending(file) == ".json", file.stem
        is_form = re.split("[-_]", name)[0] in factory.forms()
        is_named = name.startswith("batch_") or file.parent.name == "submission"
        is_json_output = is_json and (is_named or _FACTORY_KEYS.search(head(file)))
        return bool(is_json_output or (is_form and ending(file) in (".json", ".txt")))

    below = [*path.glob("*"), *path.glob("submission/*")] if path.is_dir() else [path]
    return sorted(filter(is_output, below))


def _is_formfactory(path: Path) -> bool:
    listed = filter(files.is_file, _outputs(path))
    return any(ending(file) == ".txt" or _FACTORY_KEYS.search(head(file)) for file in listed)


def _document(
    entry: _Entry, file: Path, kind: str, numbers: Counter[tuple[str, str]]
) -> str | None:
    """The document of an entry: that of its instance, else the next one of its form."""
    names = map(str, (entry.template_used, entry.form, entry.data_source, file.stem))
    codes = {part for name in names for part in (name.partition("_")[0], name.partition(".")[0])}
    found = (form for form in factory.forms().values() if {form.code, form.file} & codes)
    if (form := next(found, None)) is None:
        return None
    numbers[form.code, kind] += entry.instance is None
    return factory.doc_id(form, entry.instance or numbers[form.code, kind])


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
    rows = line_rows(plain(text).value or "")
    notes["outputs without a line '[x, y] value'"] += not rows
    yield from (base | row | {"origin": f"{where}{row['path']}"} for row in rows)


def _submission(entry: Row) -> Iterator[Row]:
    for name, value in entry.items():
        if name not in ("submission_time", "instance", "form"):
            row = {"task": "value", "path": factory.pointer(name), "value": as_text(value)}
            yield row | {"status": "ok"}


class _Value(msgspec.Struct, array_like=True):
    text: str
    box: Any = None
    segments: Any = None


class _Entity(msgspec.Struct, array_like=True):
    name: str
    value: _Value


def vrdu(source: Source) -> Iterator[Row]:
    """Predictions in VRDU's own format, one file a split: ``<split>-test_predictions.json``.

    ``{"meta": {…}, "results": {"f.pdf": [["advertiser", ["Ada", [0, …], [[88, 97]]]], …]}}``.
    Entities are at the paths of the gold. The file lists the parts of line items flat: one ends
    where a name comes again (Algorithm 1 of the paper). A document where nothing was found has a
    row without a path.
    """
    path, split = source.path, source.corpus.split
    file = path if path.is_file() else path / f"{split}{SUFFIX}"
    if split not in (known := _splits(path)) or not file.is_file():
        remedy = f"--split with one of: {', '.join(known) or 'none'}"
        raise DataMissing(f"no predictions for split {split!r}", where=path, remedy=remedy)
    content = files.read_json(file, once=True)
    results = content.get("results") if isinstance(content, dict) else None
    if not isinstance(results, dict):
        what = f"'results' is no object of file names but {type(results).__name__}"
        raise DataBroken(what, where=file, remedy='{"meta": {}, "results": {"f.pdf": []}}')
    stated = content["meta"].get("model") if isinstance(content.get("meta"), dict) else None
    name = stated if isinstance(stated, str) else None
    source.name = name or (split if path.is_file() else None)
    source.files.append(file)
    source.notes["no 'meta': the published evaluator stops at such a file"] += "meta" not in content
    schema = Schema.of(source.corpus)
    for name, entities in results.items():
        where = f"{file.name}#/results/{name}"
        base = {"role": "answer", "doc_id": name, "task": "entity", "status": "ok"}
        rows = list(_entities(entities, schema, where, source.notes))
        yield from (base | row for row in rows or [{"origin": where}])


def _splits(path: Path) -> list[str]:
    listed = [path] if path.is_file() else sorted(path.glob(f"*{SUFFIX}"))
    return [file.name.removesuffix(SUFFIX) for file in listed if file.name.endswith(SUFFIX)]


def _entities(entities: Any, schema: Schema, where: str, notes: Counter[str]) -> Iterator[Row]:
    groups = {member: group for group in schema.groups for member in schema.names(group)}
    seen, items, members = Counter[str](), Counter[str](), defaultdict[str, set[str]](set)
    listed = files.convert(entities, list[Any], where=where, remedy=_ENTITIES)
    for index, entity in enumerate(listed):
        origin = f"{where}/{index}"
        entity = files.convert(entity, _Entity, where=origin, remedy=_ENTITIES)
        name, value = whole(entity.name, notes), entity.value
        if group := groups.get(name):
            if name in members[group]:
                members[group].clear()
                items[group] += 1
            members[group].add(name)
            path = f"/{escape(group)}/{items[group]}/{escape(name)}"
        else:
            notes["entities that meta.json does not know"] += name not in schema.matches
            path = flat_path(name, schema, seen)
        notes["boxes missing or malformed"] += fractions(value.box) is None
        meta = json.dumps({"box": value.box, "segments": value.segments})
        row = {"path": path, "kind": name, "value": whole(value.text, notes), "origin": origin}
        yield row | {"meta": meta} | placed(value.box, [])


def fincriticaled(source: Source) -> Iterator[Row]:
    """Pages as FinCriticalED publishes them: a folder of ``pred_<i>.txt``, HTML or plain text.

    A page that is not UTF-8 is latin-1, as in the released code.
    """
    pages = by_name("pages of number", _pages(source.path))
    source.files += pages.values()
    for number, file in pages.items():
        text = decoded(file, source.notes)
        # A fence stays, as the released code has it; reasoning is no part of a page.
        answer = plain(text)
        has_reasoning = "reasoning left out" in answer.changes
        value, status = (answer.value, answer.status) if has_reasoning else (text, "ok")
        page = {"role": "answer", "doc_id": str(number), "task": "text", "kind": "page"}
        yield page | {"value": value, "status": status, "origin": file.name}


def _pages(path: Path) -> list[tuple[int, Path]]:
    named = ((_PAGE.fullmatch(file.name), file) for file in path.glob("pred_*.txt"))
    return sorted((int(match[1]), file) for match, file in named if match)


READERS = {
    read.__name__: Reader(read.__name__, title, fits, read, splits)
    for title, fits, read, splits in (
        ("a folder of pred_<i>.txt as in FinCriticalED", _pages, fincriticaled, None),
        ("a folder of models' answers in FORMCRAFT's schema", _is_formcraft, formcraft, None),
        ("FormFactory's JSON, or lines '[x, y] value'", _is_formfactory, formfactory, None),
        (f"<split>{SUFFIX}, or a folder of them", _splits, vrdu, _splits),
    )
}
