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
from formlab.benchmarks import part_of
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of
from formlab.benchmarks.meta import meta_of
from formlab.benchmarks.vrdu import dataset
from formlab.benchmarks.vrdu.dataset import flat_path, fractions, placed, whole, words
from formlab.benchmarks.vrdu.schema import REPEATED, UNREPEATED, Schema, Split, decode
from formlab.errors import DataMissing

__all__ = ["REPEATED", "UNREPEATED", "Schema", "Split", "decode", "flat_path"]
__all__ += ["fractions", "placed", "split_meta", "splits", "whole", "words"]
# The documents that a split's file lists; a corpus of others than the test ones says so in its
# split, as in <split>-train.
PARTS = ("test", "train", "valid")


def splits(root: Path) -> dict[str, int]:
    """Each split below `root` with the count of test documents that it lists.

    ``<data set>-pdfs`` are the documents whose PDF is there; those without gold are counted too.
    `DataMissing` or `DataBroken` if there is no data set, or a split's file cannot be read.
    """
    return {name: len(_documents(*place)) for name, place in _places(root).items()}


def reader(split: str, root: Path) -> SplitReader:
    """The test documents of one split, with a record per entity and per part of a line item.

    ``<split>-train`` and ``<split>-valid`` are its documents to learn from and to tune on.
    Entities are at ``/<name>`` (repeated ones at ``/<name>/<n>``), the parts of line items at
    ``/<line item>/<n>/<name>``, in the order of the file. A record's value is the first of its
    surface forms, `accepted` are the others. Boxes, in page fractions, and character spans are in
    `meta`; pixels are given where the OCR states the page's size. `words` reads the OCR itself.
    Without a data set the labels of DeepForm are the gold, of five entities.
    """
    base, part = part_of(split, PARTS)
    # A name is not a path: it is one of those that are there.
    home, listed = _places(root)[base]
    if listed is None and part != PARTS[0]:
        what, remedy = f"{base} has no {part} documents of its own", "a few-shot split"
        raise DataMissing(what, where=home, remedy=remedy)
    names = set(_documents(home, listed, part))
    schema, domain = Schema.read(home / "main" / "meta.json")
    flaws, said = Counter[str](), decode(base)
    meta: Row = {"task": said.task, "train_size": said.train, "seed": said.seed} if said else {}
    meta |= {"part": part} if part != PARTS[0] else {}
    by_name: dict[str, Any]
    if (file := dataset.find(home)) is not None:
        by_name, flaws["documents given twice, the last one counts"] = dataset.documents(file)
        meta |= {"schema": schema._asdict(), "ocr": home.relative_to(root).as_posix()}
    elif files.is_file(file := home / dataset.LABELS):
        labelled, by_name = dataset.labels(file)
        schema = schema.only(labelled)
        meta["schema"] = schema._asdict()
    else:
        remedy = f"{' or '.join(dataset.NAMES)}, or {dataset.LABELS} beside main/"
        raise DataMissing("no annotations", where=home / "main", remedy=remedy)
    shared = {"template": said.template if said else None, "domain": domain}
    shared |= {"meta": json.dumps(meta)}
    lacking = (
        "documents of the split that have no gold" if listed else "PDFs without gold, left out"
    )
    flaws[lacking] = len(names - by_name.keys())

    def read(key: str, flaws: Counter[str]) -> Iterator[Part]:
        annotated, path, size = by_name[key], None, None
        if isinstance(annotated, dataset.Annotated):
            rows = list(dataset.records(annotated, schema, flaws))
            path, size = annotated.file_path, next(iter(annotated.sizes), None)
        else:
            rows = annotated
            flaws["labels left blank"] += sum(row["value"] is None for row in rows)
        document = {"doc_id": key} | shared | _pdf(home, root, path, key, flaws) | counts_of(rows)
        document |= {"width": round(size[0]), "height": round(size[1])} if size else {}
        yield document, [{"subtype": schema.type_of(row["kind"])} | row for row in rows]

    units = [key for key in by_name if key in names]
    sources = {str(file.relative_to(root)): files.sha256(file)}
    same = {"task": "entity", "modality": "textual"}
    return SplitReader("vrdu", split, root, units, read, same, flaws, sources)


def split_meta(documents: pl.DataFrame) -> Row:
    """What documents say of their split: `task`, `train_size` and `seed`, where known.

    >>> split_meta(pl.DataFrame({"meta": ['{"task": "mixed", "seed": 2}']}))["task"]
    'mixed'
    """
    return meta_of(documents["meta"].first() if documents.height else None)


def _places(root: Path) -> dict[str, tuple[Path, Path | None]]:
    """The splits below `root`, each with its data set and file: the published ones come first.

    ``<data set>-pdfs`` is every document that has gold and whose PDF is there; it has no file.
    """
    homes = [path for path in (root, *sorted(root.glob("*/"))) if (path / "main").is_dir()]
    if not homes:
        remedy = "a folder with main/ and few_shot-splits/, as VRDU is published"
        raise DataMissing("no VRDU data set", where=root, remedy=remedy)
    known: dict[str, tuple[Path, Path | None]] = {}
    for home in homes:
        known |= {file.stem: (home, file) for file in sorted(home.glob("few_shot-splits/*.json"))}
    for home in homes:
        if next(home.glob("main/pdfs/*.pdf"), None):
            known[f"{Schema.read(home / 'main' / 'meta.json')[1]}-pdfs"] = (home, None)
    return known


def _documents(home: Path, file: Path | None, part: str = PARTS[0]) -> list[str]:
    """The documents of a part that a split's file lists, or without one those with a PDF."""
    if file is None:
        return [path.name for path in home.glob("main/pdfs/*.pdf") if files.is_file(path)]
    listed = files.read_json(file, dict[str, Any], remedy="the split as it is published")
    names = files.convert(listed.get(part), list[str], where=f"{file}#/{part}")
    return list(dict.fromkeys(names))


def _pdf(home: Path, root: Path, stated: str | None, key: str, flaws: Counter[str]) -> Row:
    main = home / "main"
    for path in (stated, f"pdfs/{key}"):
        file = main / (path or "")
        # A path that leaves the folder is not followed.
        if files.is_file(file) and file.resolve().is_relative_to(main.resolve()):
            return {"image": file.relative_to(root).as_posix()}
    flaws["PDFs missing"] += 1
    return {}
