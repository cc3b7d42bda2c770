"""VRDU: typed and nested entities of ad-buy and registration forms, in few-shot splits.

Layout: ``main/{dataset.jsonl or .gz,meta.json,pdfs/}`` and ``few_shot-splits/<split>.json``, at
the root or in a folder of it for each data set.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from formlab import files
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of
from formlab.benchmarks.meta import meta_of
from formlab.benchmarks.spec import part_of
from formlab.benchmarks.vrdu import dataset, few_shot
from formlab.benchmarks.vrdu.dataset import flat_path, fractions, placed, whole, words
from formlab.benchmarks.vrdu.few_shot import Split, decode
from formlab.benchmarks.vrdu.schema import REPEATED, UNREPEATED, Schema
from formlab.errors import DataMissing

__all__ = ["REPEATED", "UNREPEATED", "Schema", "Split", "decode", "flat_path"]
__all__ += ["fractions", "placed", "split_meta", "splits", "whole", "words"]


def splits(root: Path) -> dict[str, int]:
    """Each split below `root` with the count of test documents that it lists.

    ``<data set>-pdfs`` are the documents whose PDF is there; those without gold are counted too.
    `DataMissing` or `DataBroken` if there is no data set, or a split's file cannot be read.
    """
    counts = {}
    for name, (home, file) in few_shot.places(root).items():
        pdfs = sum(1 for _ in home.glob("main/pdfs/*.pdf"))
        counts[name] = pdfs if file is None else len(few_shot.documents(file))
    return counts


def reader(split: str, root: Path) -> SplitReader:
    """The test documents of one split, with a record per entity and per part of a line item.

    ``<split>-train`` and ``<split>-valid`` are its documents to learn from and to tune on.
    Entities are at ``/<name>`` (repeated ones at ``/<name>/<n>``), the parts of line items at
    ``/<line item>/<n>/<name>``, in the order of the file. A record's value is the first of its
    surface forms, `accepted` are the others. Boxes, in page fractions, and character spans are in
    `meta`; pixels are given where the OCR states the page's size. `words` reads the OCR itself.
    Without a data set the labels of DeepForm are the gold, of five entities.
    """
    home, listed = few_shot.find(split, root)
    schema, name = Schema.read(home / "main" / "meta.json")
    flaws: Counter[str] = Counter()
    file = dataset.find(home)
    if file is not None:
        by_name, twice = dataset.documents(file)
        flaws["documents given twice, the last one counts"] = twice
    else:
        file = home / dataset.LABELS
        if not files.is_file(file):
            remedy = f"{' or '.join(dataset.NAMES)}, or {dataset.LABELS} beside main/"
            raise DataMissing("no annotations", where=home / "main", remedy=remedy)
        labelled, by_name = dataset.labels(file)
        schema = schema.only(labelled)
    base, part = part_of(split, few_shot.PARTS)
    parts = decode(base)
    meta: Row = {}
    if parts:
        meta |= {"task": parts.task, "train_size": parts.train, "seed": parts.seed}
    meta |= {"part": part} if part != few_shot.PARTS[0] else {}
    meta["schema"] = schema._asdict()
    if file.name in dataset.NAMES:
        meta["ocr"] = home.relative_to(root).as_posix()
    template = parts.template if parts else None
    info = {"template": template, "domain": name, "meta": json.dumps(meta)}
    gold = {"task": "entity", "modality": "textual"}
    names, lacking = set(listed or ()), "documents of the split that have no gold"
    if listed is None:
        lacking = "PDFs without gold, left out"
        names = {path.name for path in home.glob("main/pdfs/*.pdf") if files.is_file(path)}
    flaws[lacking] = len(names - by_name.keys())

    def read(key: str, flaws: Counter[str], _: dict[str, str]) -> Iterator[Part]:
        annotated, path, size = by_name[key], None, None
        if isinstance(annotated, dataset.Annotated):
            rows = list(dataset.records(annotated, schema, flaws))
            path, size = annotated.file, next(iter(annotated.sizes), None)
        else:
            rows = annotated
            flaws["labels left blank"] += sum(row["value"] is None for row in rows)
        document = {"doc_id": key} | info | _pdf(home, root, path, key, flaws) | counts_of(rows)
        if size:
            document |= {"width": round(size[0]), "height": round(size[1])}
        yield document, [gold | {"subtype": schema.type_of(row["kind"])} | row for row in rows]

    units, sources = [key for key in by_name if key in names], {}
    sources[str(file.relative_to(root))] = files.sha256(file)
    return SplitReader("vrdu", split, root, units, read, flaws=flaws, sources=sources)


def split_meta(documents: pl.DataFrame) -> Row:
    """What documents say of their split: `task`, `train_size` and `seed`, where known.

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
