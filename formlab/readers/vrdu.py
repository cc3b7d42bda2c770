"""Predictions in VRDU's own format, one file a split: ``<split>-test_predictions.json``.

``{"meta": {…}, "results": {"f.pdf": [["advertiser", ["Ada Foods", [0, …], [[88, 97]]]], …]}}``.
Entities are at the paths of the gold: ``/<name>``, a further one of the same name at
``/<name>/<n>``, parts of line items at ``/<line item>/<n>/<name>``. The file lists the parts flat;
a line item ends where a name comes again (Algorithm 1 of the paper).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab import files
from formlab.benchmarks.vrdu import Schema, flat_path, fractions, placed, whole
from formlab.errors import DataBroken, DataMissing
from formlab.readers.rows import Reader, Row, Source
from formlab.trees import escape

SUFFIX = "-test_predictions.json"
_REMEDY = 'a list of ["name", ["text", [page, x0, y0, x1, y1], [[start, end]]]]'
_REMEDY += ", with the parts of line items one after the other"


def _splits(path: Path) -> list[str]:
    """The splits that the file or folder has predictions for, by name."""
    listed = [path] if path.is_file() else sorted(path.glob(f"*{SUFFIX}"))
    return [file.name.removesuffix(SUFFIX) for file in listed if file.name.endswith(SUFFIX)]


def _read(source: Source) -> Iterator[Row]:
    """The predictions for the split of the corpus; one without a path where nothing was found."""
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
    others = content.keys() - {"meta", "results"}
    source.notes["entries beside 'meta' and 'results', not read"] += len(others)
    schema = Schema.of(source.corpus)
    for name, entities in results.items():
        where = f"{file.name}#/results/{name}"
        base = {"role": "answer", "doc_id": name, "task": "entity", "status": "ok"}
        rows = list(_entities(entities, schema, where, source.notes))
        yield from (base | row for row in rows or [{"origin": where}])


def _entities(entities: Any, schema: Schema, where: str, notes: Counter[str]) -> Iterator[Row]:
    groups = {member: group for group in schema.groups for member in schema.names(group)}
    seen, items, members = Counter[str](), Counter[str](), defaultdict[str, set[str]](set)
    for index, entity in enumerate(files.convert(entities, list[Any], where=where, remedy=_REMEDY)):
        at = {"where": (origin := f"{where}/{index}"), "remedy": _REMEDY}
        name, parts = files.convert(entity, tuple[str, list[Any]], **at)
        parts = files.convert([*parts, None, None][:3], tuple[str, Any, Any], **at)
        (value, box, segments), name = parts, whole(name, notes)
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
        meta = json.dumps({"box": _plain(box), "segments": _plain(segments)})
        row = {"path": path, "kind": name, "value": whole(value, notes), "origin": origin}
        yield row | {"meta": meta} | placed(box, [])


def _plain(value: Any) -> Any:
    """Whole numbers without a point, so that equal predictions are equal as texts too."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


VRDU = Reader(
    "vrdu", f"<split>{SUFFIX}, or a folder of them", lambda p: bool(_splits(p)), _read, _splits
)
