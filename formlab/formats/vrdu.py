"""Predictions in VRDU's own format, one file a split: ``<split>-test_predictions.json``.

``{"meta": {…}, "results": {"f.pdf": [["advertiser", ["Ada Foods", [0, …], [[88, 97]]]], …]}}``
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab import files, tables
from formlab.benchmarks.vrdu import UNREPEATED, Schema, fractions, placed, whole
from formlab.errors import DataBroken, DataMissing
from formlab.formats._spec import Format
from formlab.tables import Corpus, Predictions
from formlab.trees import escape

SUFFIX = "-test_predictions.json"
SHAPE = '["name", ["text", [page, x0, y0, x1, y1], [[start, end]]]]'
Row = dict[str, Any]


def is_one(path: Path) -> bool:
    """Whether `path` is such a file, or a folder that holds one."""
    return bool(splits(path))


def splits(path: Path) -> list[str]:
    """The splits that the file or folder has predictions for, by name.

    Examples
    --------
    >>> splits(Path("nowhere"))
    []
    """
    found = [path] if path.is_file() else sorted(path.glob(f"*{SUFFIX}"))
    return [file.name.removesuffix(SUFFIX) for file in found if file.name.endswith(SUFFIX)]


def read(path: Path, corpus: Corpus) -> Predictions:
    """The predictions for the split of `corpus`.

    Entities are at the paths of the gold: ``/<name>``, a further one of the same name at
    ``/<name>/<n>``, parts of line items at ``/<line item>/<n>/<name>``. The file lists the parts
    flat; a line item ends where a name comes again (Algorithm 1 of the paper). A document with an
    empty list has a record without a path: it was read and nothing was found.

    Raises
    ------
    DataMissing, DataBroken
        If there is no file for this split, or it is of another shape; the place in it is named.
    """
    file = path if path.is_file() else path / f"{corpus.split}{SUFFIX}"
    if corpus.split not in splits(path) or not file.is_file():
        has = ", ".join(splits(path)) or "none"
        remedy = f"--split with one of: {has}"
        raise DataMissing(f"no predictions for split {corpus.split!r}", where=path, remedy=remedy)
    content = files.read_json(file)
    results = content.get("results") if isinstance(content, dict) else None
    if not isinstance(results, dict):
        what = f"'results' is {_kind(results)}, not an object of file names"
        raise DataBroken(what, where=file, remedy='{"meta": {}, "results": {"f.pdf": []}}')
    meta = content.get("meta")
    notes: Counter[str] = Counter()
    notes["no 'meta': the published evaluator stops at such a file"] += "meta" not in content
    system = meta.get("model") if isinstance(meta, dict) else None
    system = system if isinstance(system, str) and system else _system(path, file)
    schema = Schema.of(corpus)
    records: list[Row] = []
    for name, entities in results.items():
        base = {"benchmark": corpus.benchmark, "split": corpus.split, "doc_id": name}
        base |= {"role": "prediction", "system": system, "task": "entity", "status": "ok"}
        where = f"{file.name}#/results/{name}"
        if not isinstance(entities, list):
            what = f"the entities of a document are {_kind(entities)}, not a list"
            raise DataBroken(what, where=where, remedy=f"a list of {SHAPE}")
        rows = list(_rows(entities, schema, where, notes))
        records += [base | row for row in rows or [{"origin": where}]]
    return Predictions(
        records=tables.table("records", records),
        responses=tables.table("responses", []),
        system=system,
        sources={file.name: files.sha256(file)},
        notes={name: count for name, count in sorted(notes.items()) if count},
    )


def _system(path: Path, file: Path) -> str:
    return path.resolve().name if path.is_dir() else file.name.removesuffix(SUFFIX)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null or absent"}
    return names.get(type(value), f"a {type(value).__name__}")


def _rows(entities: list[Any], schema: Schema, where: str, notes: Counter[str]) -> Iterator[Row]:
    groups = {part: group for group in schema.groups for part in schema.names(group)}
    seen: Counter[str] = Counter()
    items: Counter[str] = Counter()
    held: dict[str, set[str]] = {group: set() for group in schema.groups}
    for place, given in enumerate(entities):
        origin = f"{where}/{place}"
        name, value, box, segments = _entity(given, origin)
        name = whole(name, notes)
        if group := groups.get(name):
            if name in held[group]:
                held[group].clear()
                items[group] += 1
            held[group].add(name)
            path = f"/{escape(group)}/{items[group]}/{escape(name)}"
        else:
            notes["entities that meta.json does not know"] += name not in schema.matches
            alone = schema.patterns.get(name) == UNREPEATED and not seen[name]
            path = f"/{escape(name)}" if alone else f"/{escape(name)}/{seen[name]}"
            seen[name] += 1
        notes["boxes missing or malformed"] += fractions(box) is None
        yield {
            "path": path, "kind": name, "value": whole(value, notes), "origin": origin,
            "meta": json.dumps({"box": _plain(box), "segments": _plain(segments)}),
        } | placed(box, [])  # fmt: skip


def _entity(given: Any, where: str) -> tuple[str, str, Any, Any]:
    if isinstance(given, list) and len(given) == 2 and isinstance(given[0], str):
        name, entity = given
        if isinstance(entity, list) and entity and isinstance(entity[0], str):
            return name, entity[0], *[*entity, None, None][1:3]
    remedy = f"{SHAPE}, with the parts of line items one after the other"
    raise DataBroken(f"not a predicted entity: {given!r:.80}", where=where, remedy=remedy)


def _plain(value: Any) -> Any:
    """Whole numbers without a point, so that equal predictions are equal as texts too."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


FORMAT = Format("vrdu", f"<split>{SUFFIX}, or a folder of them", is_one, read, splits)
