"""VRDU: typed and nested entities of ad-buy and registration forms, in few-shot splits.

Layout: ``main/{dataset.jsonl or .gz,meta.json,pdfs/}`` and ``few_shot-splits/<split>.json``, at
the root or in a folder of it for each data set.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files
from formlab.benchmarks._build import Part, Row, SplitReader, corpus_reader
from formlab.benchmarks._spec import part_of
from formlab.benchmarks.meta import meta_of
from formlab.benchmarks.vrdu import _dataset, _labels, _splits
from formlab.benchmarks.vrdu._dataset import flat_path, fractions, placed, whole
from formlab.benchmarks.vrdu._ocr import words
from formlab.benchmarks.vrdu._schema import REPEATED, UNREPEATED, Schema
from formlab.benchmarks.vrdu._splits import Split, decode
from formlab.errors import DataMissing

__all__ = [
    "REPEATED", "UNREPEATED", "Schema", "Split", "decode", "flat_path", "fractions", "placed",
    "read", "reader", "split_meta", "splits", "whole", "words",
]  # fmt: skip


def splits(root: Path) -> dict[str, int]:
    """Each split below `root` with the count of test documents that it lists.

    ``<data set>-pdfs`` are the documents whose PDF is there; those without gold are counted too.

    Raises
    ------
    DataMissing, DataBroken
        If there is no data set, or a split's file cannot be read.
    """
    counts = {}
    for name, (home, file) in _splits.places(root).items():
        pdfs = sum(1 for _ in home.glob("main/pdfs/*.pdf"))
        counts[name] = pdfs if file is None else len(_splits.documents(file))
    return counts


def reader(split: str, root: Path) -> SplitReader:
    """The test documents of one split, with a record per entity and per part of a line item.

    ``<split>-train`` and ``<split>-valid`` are its documents to learn from and to tune on.
    Entities are at ``/<name>`` (repeated ones at ``/<name>/<n>``), the parts of line items at
    ``/<line item>/<n>/<name>``, in the order of the file. A record's value is the first of its
    surface forms, `accepted` are the others. Boxes, in page fractions, and character spans are in
    `meta`; pixels are given where the OCR states the page's size. `words` reads the OCR itself.
    Without a data set the labels of DeepForm are the gold, of five entities.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If files are absent or unreadable, or there is no such split.
    """
    home, listed = _splits.find(split, root)
    schema, name = Schema.read(home / "main" / "meta.json")
    flaws: Counter[str] = Counter()
    file = _dataset.find(home)
    if file is not None:
        by_name, twice = _dataset.documents(file)
        flaws["documents given twice, the last one counts"] = twice
    else:
        file = home / _labels.NAME
        if not files.is_file(file):
            remedy = f"{' or '.join(_dataset.NAMES)}, or {_labels.NAME} beside main/"
            raise DataMissing("no annotations", where=home / "main", remedy=remedy)
        labelled, by_name = _labels.read(file)
        schema = schema.only(labelled)
    base, part = part_of(split, _splits.PARTS)
    parts = decode(base)
    meta: Row = {}
    if parts:
        meta |= {"task": parts.task, "train_size": parts.train, "seed": parts.seed}
    meta |= {"part": part} if part != _splits.PARTS[0] else {}
    meta["schema"] = schema._asdict()
    if file.name in _dataset.NAMES:
        meta["ocr"] = home.relative_to(root).as_posix()
    template = parts.template if parts else None
    info = {"template": template, "domain": name, "meta": json.dumps(meta)}
    gold = {"task": "entity", "modality": "textual"}

    def read(key: str, flaws: Counter[str], _: dict[str, str]) -> Iterator[Part]:
        annotated, path, size = by_name[key], None, None
        if isinstance(annotated, _dataset.Annotated):
            rows = list(_dataset.records(annotated, schema, flaws))
            path, size = annotated.file, next(iter(annotated.sizes), None)
        else:
            rows = annotated
            flaws["labels left blank"] += sum(row["value"] is None for row in rows)
        document = {"doc_id": key} | info | _pdf(home, root, path, key, flaws)
        document |= {"n_fields": len(rows), "n_kinds": len({row["kind"] for row in rows})}
        if size:
            document |= {"width": round(size[0]), "height": round(size[1])}
        yield document, [gold | {"subtype": schema.type_of(row["kind"])} | row for row in rows]

    return SplitReader(
        "vrdu", split, root, _chosen(by_name, listed, home, flaws), read, flaws=flaws,
        sources={str(file.relative_to(root)): files.sha256(file)},
    )  # fmt: skip


read = corpus_reader(reader)


def _chosen(
    golds: dict[str, Any], listed: list[str] | None, home: Path, flaws: Counter[str]
) -> list[str]:
    if listed is None:
        pdfs = {path.name for path in home.glob("main/pdfs/*.pdf") if files.is_file(path)}
        flaws["PDFs without gold, left out"] = len(pdfs - golds.keys())
        return [key for key in golds if key in pdfs]
    names = set(listed)
    flaws["documents of the split that have no gold"] = len(names - golds.keys())
    return [key for key in golds if key in names]


def split_meta(documents: pl.DataFrame) -> Row:
    """What documents say of their split: `task`, `train_size` and `seed`, where known.

    Examples
    --------
    >>> split_meta(pl.DataFrame({"meta": ['{"task": "mixed", "seed": 2}']}))["task"]
    'mixed'
    """
    return meta_of(documents["meta"].first() if documents.height else None)


def _pdf(home: Path, root: Path, stated: str | None, key: str, flaws: Counter[str]) -> Row:
    main = home / "main"
    for path in (stated, f"pdfs/{key}"):
        file = main / (path or "")
        # A path that leaves the folder is not followed.
        if files.is_file(file) and file.resolve().is_relative_to(main.resolve()):
            return {"image": file.relative_to(root).as_posix()}
    flaws["PDFs missing"] += 1
    return {}
