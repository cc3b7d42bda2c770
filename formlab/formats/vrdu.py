"""Predictions in VRDU's own format, one file a split: ``<split>-test_predictions.json``.

``{"meta": {…}, "results": {"f.pdf": [["advertiser", ["Ada Foods", [0, …], [[88, 97]]]], …]}}``
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab import files
from formlab.benchmarks.vrdu import Schema, flat_path, fractions, placed, whole
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus, Predictions
from formlab.formats._collected import Collected, Row
from formlab.formats._spec import Format
from formlab.trees import escape

SUFFIX = "-test_predictions.json"
_PARTS = {"meta", "results"}
SHAPE = '["name", ["text", [page, x0, y0, x1, y1], [[start, end]]]]'


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
    listed = [path] if path.is_file() else sorted(path.glob(f"*{SUFFIX}"))
    return [file.name.removesuffix(SUFFIX) for file in listed if file.name.endswith(SUFFIX)]


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
    content = files.read_json(file, once=True)
    results = content.get("results") if isinstance(content, dict) else None
    if not isinstance(results, dict):
        what = f"'results' is {_kind(results)}, not an object of file names"
        raise DataBroken(what, where=file, remedy='{"meta": {}, "results": {"f.pdf": []}}')
    meta = content.get("meta")
    system = meta.get("model") if isinstance(meta, dict) else None
    if not isinstance(system, str) or not system:
        system = path.resolve().name if path.is_dir() else file.name.removesuffix(SUFFIX)
    collected, schema = Collected(corpus, system), Schema.of(corpus)
    notes = collected.notes
    notes["no 'meta': the published evaluator stops at such a file"] += "meta" not in content
    notes["entries beside 'meta' and 'results', not read"] += len(content.keys() - _PARTS)
    for name, entities in results.items():
        where = f"{file.name}#/results/{name}"
        if not isinstance(entities, list):
            what = f"the entities of a document are {_kind(entities)}, not a list"
            raise DataBroken(what, where=where, remedy=f"a list of {SHAPE}")
        base = {"doc_id": name, "task": "entity", "status": "ok"}
        rows = list(_rows(entities, schema, where, notes))
        collected.records += [base | row for row in rows or [{"origin": where}]]
    return collected.predictions([file])


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null or absent"}
    return names.get(type(value), f"a {type(value).__name__}")


def _rows(entities: list[Any], schema: Schema, where: str, notes: Counter[str]) -> Iterator[Row]:
    groups = {member: group for group in schema.groups for member in schema.names(group)}
    seen: Counter[str] = Counter()
    items: Counter[str] = Counter()
    members: dict[str, set[str]] = {group: set() for group in schema.groups}
    for index, entity in enumerate(entities):
        origin = f"{where}/{index}"
        name, value, box, segments = _entity(entity, origin)
        name = whole(name, notes)
        if group := groups.get(name):
            if name in members[group]:
                members[group].clear()
                items[group] += 1
            members[group].add(name)
            path = f"/{escape(group)}/{items[group]}/{escape(name)}"
        else:
            notes["entities that meta.json does not know"] += name not in schema.matches
            path = flat_path(name, schema, seen)
        notes["boxes missing or malformed"] += fractions(box) is None
        yield {
            "path": path, "kind": name, "value": whole(value, notes), "origin": origin,
            "meta": json.dumps({"box": _plain(box), "segments": _plain(segments)}),
        } | placed(box, [])  # fmt: skip


def _entity(entity: Any, where: str) -> tuple[str, str, Any, Any]:
    if isinstance(entity, list) and len(entity) == 2 and isinstance(entity[0], str):
        name, parts = entity
        if isinstance(parts, list) and parts and isinstance(parts[0], str):
            return name, parts[0], *[*parts, None, None][1:3]
    remedy = f"{SHAPE}, with the parts of line items one after the other"
    raise DataBroken(f"not a predicted entity: {entity!r:.80}", where=where, remedy=remedy)


def _plain(value: Any) -> Any:
    """Whole numbers without a point, so that equal predictions are equal as texts too."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


FORMAT = Format("vrdu", f"<split>{SUFFIX}, or a folder of them", is_one, read, splits)
