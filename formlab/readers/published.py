"""What the tools of FORMCRAFT, FormFactory, VRDU and FinCriticalED write: answers alone."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

from formlab import files
from formlab.benchmarks import formfactory as factory
from formlab.benchmarks.fincriticaled import decoded
from formlab.benchmarks.formcraft.forms import ITEMS, answer_rows, form_rows
from formlab.benchmarks.vrdu import Schema
from formlab.benchmarks.vrdu.dataset import Entity, placed
from formlab.errors import DataBroken, DataMissing
from formlab.readers import Reader, Row, Source, by_name
from formlab.readers.door import at, ending, head, marked, stem, written
from formlab.text.answers import parse, plain
from formlab.text.markup import line_rows
from formlab.text.normalise import as_text
from formlab.trees import escape

SUFFIX = "-test_predictions.json"  # The ending of VRDU's files.
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_KEY, _OUTPUTS, _PAGE = _TABLE["marks"].values()
_FORM, _NO_FIELDS = (names.split() for names in _TABLE["names"].values())
_OUTPUT, _RESULTS = _TABLE["remedies"].values()
_ENTRY = {"instance": int | None, "model_response": Row | str | None}
_Entry = TypedDict("_Entry", dict.fromkeys(_FORM, str | None) | _ENTRY, total=False)


def formcraft(source: Source) -> Iterator[Row]:
    """What models wrote in FORMCRAFT's schema, a form a file with the answers to its items."""
    named = by_name("answers for", ((stem(file), file) for file in _form_files(source.path)))
    source.files += named.values()
    for doc_id, file in named.items():
        text, rows, given = written(file), [], dict[str | None, Row]()
        value, status, changes = (reply := parse(text)).value, reply.status, reply.changes
        found = {task: value.pop(task, None) for task in ITEMS} if value else {}
        if value or (value is not None and not any(found.values())):
            try:
                rows, mended = form_rows(value, source.notes)
                changes += mended
            except ValueError as error:
                status, changes = "bad_json", (*changes, " ".join(str(error).split())[:500])
        status = "repaired" if changes and status == "ok" else status
        rows.append({"task": "text", "path": None, "kind": "form"})
        items = [row for task, listed in found.items() for row in answer_rows(task, listed)]
        rows += (with_id := [row for row in items if row["path"] is not None])
        source.notes["answers without an id"] += len(items) - len(with_id)
        base = {"doc_id": doc_id, "status": status}
        for row in rows:
            given.setdefault(row["path"], row)
        source.notes["answers given twice, the first kept"] += len(rows) - len(given)
        for path, row in given.items():
            origin = f"{file.name}#{path}" if path else file.name
            yield {"role": "answer", "origin": origin} | base | row
        call = {"role": "call", "task": "layout", "attempts": 1, "text": text}
        yield call | base | {"error": "; ".join(changes) or None}


def _form_files(path: Path) -> list[Path]:
    # What is called as an answer and is no file is to be an error, not to be passed over.
    return marked(path, (".json", ".txt"), _KEY, "*") if path.is_dir() else []


def formfactory(source: Source) -> Iterator[Row]:
    """Lines ``[640,585] Ada Berg`` that models wrote for forms, in JSON or alone; submissions."""
    numbers, taken = Counter[tuple[str, str]](), set[tuple[str, str]]()
    # By name, which ends with the time at which a file was written.
    source.files += _outputs(source.path)
    for file in source.files:
        text, is_text = written(file), ending(file) == ".txt"
        content: Any = {"model_response": text}
        content = content if is_text else files.parse_json(text, where=str(file), once=True)
        entries = content.get("results", [content]) if isinstance(content, dict) else content
        entries = files.convert(entries, list[Row], where=file.name, remedy=_OUTPUT)
        for index, cells in enumerate(entries):
            where = file.name if is_text else f"{file.name}#/{index}"
            instance = files.convert(cells, _Entry, where=where, remedy=_OUTPUT).get("instance")
            kind = "output" if cells.get("submission_time") is None else "submission"
            stated = [*map(str, map(cells.get, _FORM)), file.stem]
            codes = {name.split(mark)[0] for name in stated for mark in "_."}
            forms = (f for f in factory.forms().values() if {f.code, f.file} & codes)
            if is_text:
                document = stem(file)
            elif form := next(forms, None):
                numbers[form.code, kind] += (is_next := instance is None)
                document = factory.doc_id(form, instance or numbers[form.code, kind])
                source.notes[f"{kind}s without an instance number, taken in order"] += is_next
            else:
                source.notes["outputs of a form that is not known"] += 1
                continue
            if (document, kind) in taken:
                remedy = "one a folder; `instance` in each where there are several of a form"
                raise DataBroken(f"a second {kind} of {document}", where=where, remedy=remedy)
            taken.add((document, kind))
            fields = ((factory.pointer(n), cells[n]) for n in cells if n not in _NO_FIELDS)
            filled = ({"task": "value", "path": path, "value": as_text(v)} for path, v in fields)
            rows = filled if kind == "submission" else _output(cells.get("model_response"), where)
            base = {"role": "answer", "doc_id": document, "origin": where, "status": "ok"}
            yield from (base | row for row in rows)


def _outputs(path: Path) -> list[Path]:
    """JSON with an output or a submission, and texts that are called like a form."""
    below = [*path.glob("*"), *path.glob("submission/*")] if path.is_dir() else [path]
    named = [file for file in below if re.split("[-_]", file.stem)[0] in factory.forms()]
    listed = [file for file in below if ending(file) == ".json"]
    found = {file for file in listed if re.search(_OUTPUTS.encode(), head(file))}
    # What is called like an output beside others, and is no file, is an error.
    found |= {*named}.intersection(listed if found else ())
    return sorted(found | {file for file in named if ending(file) == ".txt"})


def _output(answer: Any, where: str) -> Iterator[Row]:
    """What a model wrote for one instance, and the lines in it behind any reasoning."""
    answer = answer if isinstance(answer, dict) else {"model_response": answer}
    said, status = answer.get("model_response"), answer.get("status", "success")
    page = {"task": "click", "kind": "page", "value": as_text(said)}
    if status == "success" and said is not None:
        yield page
        for row in line_rows(plain(page["value"]).value or ""):
            yield {"origin": f"{where}{row['path']}"} | row
    else:
        reason = answer.get("error") or ("no answer" if said is None else f"status {status}")
        yield page | {"status": "api_error"}
        yield {"role": "call", "task": "click", "status": "api_error", "error": str(reason)[:2000]}


def vrdu(source: Source) -> Iterator[Row]:
    """Predictions in VRDU's own format, one file a split; documents may have no entities."""
    path, split = source.path, source.corpus.split
    file = path if path.is_file() else path / f"{split}{SUFFIX}"
    if split not in (known := _splits(path)) or not file.is_file():
        remedy = f"--split with one of: {', '.join(known) or 'none'}"
        raise DataMissing(f"no predictions for split {split!r}", where=path, remedy=remedy)
    content = files.convert(files.read_json(file, once=True), Row, where=file, remedy=_RESULTS)
    results = files.convert(content.get("results"), Row, where=f"{file}#/results", remedy=_RESULTS)
    source.name = as_text(at(content, "meta", "model")) or (split if path.is_file() else None)
    source.files.append(file)
    notes, groups = source.notes, (schema := Schema.of(source.corpus)).groups
    for document, listed in results.items():
        where = f"{file.name}#/results/{document}"
        entities = files.convert(listed, list[tuple[str, Entity]], where=where, remedy=_RESULTS)
        base = {"role": "answer", "doc_id": document, "task": "entity", "status": "ok"}
        if not entities:
            yield base | {"origin": where}
        seen, items, taken = Counter[str](), Counter[str](), set()
        for index, (name, value) in enumerate(entities):
            if (group := schema.patterns.get(name)) in groups:
                # A line item ends where a name comes again (Algorithm 1 of the paper).
                items[group] += (items[group], name) in taken
                taken.add((items[group], name))
                path = f"/{escape(group)}/{items[group]}/{escape(name)}"
            else:
                notes["entities that meta.json does not know"] += name not in schema.matches
                path = schema.path(name, seen)
            meta = json.dumps({"box": value.box, "segments": value.segments})
            row = {"path": path, "kind": name, "value": value.text, "meta": meta}
            yield base | row | {"origin": f"{where}/{index}"} | placed(value.box, [])


def _splits(path: Path) -> list[str]:
    listed = [path] if path.is_file() else sorted(path.glob(f"*{SUFFIX}"))
    return [file.name.removesuffix(SUFFIX) for file in listed if file.name.endswith(SUFFIX)]


def fincriticaled(source: Source) -> Iterator[Row]:
    """Pages as FinCriticalED publishes them: HTML or text, latin-1 if not UTF-8, as in its code."""
    pages = by_name("pages of number", _pages(source.path))
    source.files += pages.values()
    for number, file in pages.items():
        page = {"doc_id": str(number), "value": decoded(file, source.notes), "status": "ok"}
        # A fence stays, as the released code has it; reasoning is no part of a page.
        if "reasoning left out" in (answer := plain(page["value"])).changes:
            page |= {"value": answer.value, "status": answer.status}
        yield page | {"role": "answer", "task": "text", "kind": "page", "origin": file.name}


def _pages(path: Path) -> list[tuple[int, Path]]:
    named = ((re.fullmatch(_PAGE, file.name), file) for file in path.glob("pred_*.txt"))
    return sorted((int(of[1]), file) for of, file in named if of)


_FORMATS = {
    "fincriticaled": ("a folder of pred_<i>.txt as in FinCriticalED", _pages, fincriticaled),
    "formcraft": ("a folder of models' answers in FORMCRAFT's schema", _form_files, formcraft),
    "formfactory": ("FormFactory's JSON, or lines '[x, y] value'", _outputs, formfactory),
    "vrdu": (f"<split>{SUFFIX}, or a folder of them", _splits, vrdu, _splits),
}
READERS = {name: Reader(name, *rest) for name, rest in _FORMATS.items()}
