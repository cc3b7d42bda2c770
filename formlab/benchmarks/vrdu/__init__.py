"""VRDU: typed and nested entities of ad-buy and registration forms, in few-shot splits.

Layout: ``main/{dataset.jsonl or .gz,meta.json,pdfs/}`` and ``few_shot-splits/<split>.json``, at
the root or in a folder of it for each data set.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from formlab import files
from formlab.benchmarks import part_of
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of, meta_of
from formlab.benchmarks.vrdu import dataset
from formlab.benchmarks.vrdu.dataset import fractions, placed, words
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus, Evaluation
from formlab.trees import escape

__all__ = ["REPEATED", "UNREPEATED", "Schema", "decode", "fractions", "placed", "splits", "words"]
UNREPEATED, REPEATED = "unrepeated", "repeated"
# The documents that a split's file lists; a corpus of others than the test ones says so in its
# split, as in <split>-train.
PARTS = ("test", "train", "valid")
# The data type behind each match function, as the strictness ladder names types; others are texts.
TYPES = {"DateMatch": "date", "PriceMatch": "money", "AddressMatch": "address"}
_NAME = re.compile(
    r"(?i)[a-z]+-(?:lv[123]-)?(?P<word>single|kno|mixed|unk)(?:_(?P<template>[\w-]+))?"
    r"-train_(?P<train>\d+)-test_\d+-valid_\d+-SD_(?P<seed>\d+)"
)
_TASKS = {"single": "single", "kno": "single", "mixed": "mixed", "unk": "unseen"}


def decode(name: str) -> Row:
    """What the name of a split says; empty if it is not built as the published ones.

    `task` is ``single``, ``mixed`` or ``unseen`` (tasks 1 to 3 of the paper: documents of one
    known template, of the same templates as in training, of a template not seen in training);
    `template` is the one that task 1 is about, or that task 3 keeps for testing.

    >>> decode("FARA-lv3-unk_Short-Form-train_50-test_300-valid_100-SD_2")
    {'template': 'Short-Form', 'task': 'unseen', 'train_size': 50, 'seed': 2}
    >>> decode("DeepForm-kno_template-train_10-test_5-valid_100-SD_2")["task"]
    'single'
    """
    if (match := _NAME.fullmatch(name)) is None:
        return {}
    template = None if match["template"] == "template" else match["template"]
    sizes = {"train_size": int(match["train"]), "seed": int(match["seed"])}
    return {"template": template, "task": _TASKS[match["word"].lower()]} | sizes


class _Meta(msgspec.Struct):
    entity_name_to_match_func: dict[str, str]
    entity_appearance_pattern: dict[str, str] | None = None
    dataset_name: str | None = None


class Schema(NamedTuple):
    """The entities of one data set.

    `matches` maps an entity (or a component of a line item) to the name of its match function;
    `patterns` maps it to ``unrepeated``, ``repeated`` or the name of the line item it belongs
    to; `unlabelled` are entities that the gold at hand says nothing about.
    """

    matches: dict[str, str]
    patterns: dict[str, str]
    unlabelled: tuple[str, ...] = ()

    @classmethod
    def read(cls, home: Path) -> tuple[Schema, str]:
        """Schema and name of the data set in a folder, by its `meta.json`."""
        file = home / "main" / "meta.json"
        meta = files.read_json(file, _Meta, remedy="main/meta.json as it is published")
        matches, patterns = meta.entity_name_to_match_func, meta.entity_appearance_pattern
        patterns = dict.fromkeys(matches, UNREPEATED) if patterns is None else patterns
        return cls(matches, patterns), meta.dataset_name or home.name

    @classmethod
    def of_document(cls, document: Any) -> Schema | None:
        """The schema that a document's `meta` carries; None if it carries none."""
        parts = meta_of(document).get("schema")
        return cls(**parts | {"unlabelled": tuple(parts["unlabelled"])}) if parts else None

    @classmethod
    def of(cls, source: Corpus | Evaluation) -> Schema:
        """The schema that the documents of a corpus or an evaluation carry."""
        metas = source.documents["meta"].drop_nulls().unique()
        schemas = {json.dumps(meta_of(meta).get("schema")): meta for meta in metas}
        schema = cls.of_document(schemas.popitem()[1]) if len(schemas) == 1 else None
        if schema is None:
            what = "the documents do not carry one schema of entities"
            where = f"{source.benchmark}:{source.split}"
            raise DataBroken(what, where=where, remedy="load it anew")
        return schema

    def names(self, pattern: str) -> list[str]:
        """The entities (or components) of one pattern."""
        return [name for name, its in self.patterns.items() if its == pattern]

    @property
    def groups(self) -> list[str]:
        """The names of the line items."""
        return [p for p in dict.fromkeys(self.patterns.values()) if p not in (UNREPEATED, REPEATED)]

    @property
    def entities(self) -> list[str]:
        """What is scored on its own: unrepeated and repeated entities, then line items.

        >>> Schema({}, {"sum": "item", "date": "unrepeated", "day": "item"}).entities
        ['date', 'item']
        """
        return [*self.names(UNREPEATED), *self.names(REPEATED), *self.groups]

    def path(self, name: str, seen: Counter[str]) -> str:
        """The path of the next entity of a name, which `seen` then counts."""
        number = seen[name]
        seen[name] += 1
        is_first = self.patterns.get(name) == UNREPEATED and number == 0
        return f"/{escape(name)}" if is_first else f"/{escape(name)}/{number}"

    def type_of(self, name: str) -> str:
        """The data type of an entity or component: date, money, address or string."""
        return TYPES.get(self.matches.get(name, ""), "string")


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
    ``/<line item>/<n>/<name>``. A record's value is the first of its surface forms, `accepted` are
    the others. Boxes, in page fractions, and character spans are in `meta`; pixels are given where
    the OCR states the page's size. Without a data set the labels of DeepForm are the gold.
    """
    base, part = part_of(split, PARTS)
    # A name is not a path: it is one of those that are there.
    home, listed = _places(root)[base]
    if listed is None and part != PARTS[0]:
        what, remedy = f"{base} has no {part} documents of its own", "a few-shot split"
        raise DataMissing(what, where=home, remedy=remedy)
    names = set(_documents(home, listed, part))
    (schema, domain), pdfs = Schema.read(home), home / "main" / "pdfs"
    flaws, meta = Counter[str](), decode(base)
    shared = {"template": meta.pop("template", None), "domain": domain}
    meta |= {"part": part} if part != PARTS[0] else {}
    by_name: dict[str, Any]
    if (file := dataset.find(home)) is not None:
        by_name, twice = dataset.documents(file, files.sha256(file))
        flaws["documents given twice, the last one counts"] = twice
        meta |= {"schema": schema._asdict(), "ocr": home.relative_to(root).as_posix()}
    elif files.is_file(file := home / dataset.LABELS):
        labelled, by_name = dataset.labels(file)
        matches = {name: schema.matches.get(name, "GeneralStringMatch") for name in labelled}
        others = tuple(name for name in schema.matches if name not in labelled)
        # These labels are of entities that are not repeated, and say nothing of the others.
        schema = Schema(matches, dict.fromkeys(labelled, UNREPEATED), others)
        meta["schema"] = schema._asdict()
    else:
        remedy = f"{' or '.join(dataset.NAMES)}, or {dataset.LABELS} beside main/"
        raise DataMissing("no annotations", where=home / "main", remedy=remedy)
    shared["meta"] = json.dumps(meta)
    lacking = "documents of the split that have no gold"
    flaws[lacking if listed else "PDFs without gold, left out"] = len(names - by_name.keys())

    def read(key: str, flaws: Counter[str]) -> Iterator[Part]:
        annotated, size = by_name[key], None
        if isinstance(annotated, dataset.Document):
            rows = list(dataset.records(annotated, schema, flaws))
            size = next(iter(annotated.sizes), None)
        else:
            rows = annotated
            flaws["labels left blank"] += sum(row["value"] is None for row in rows)
        document = {"doc_id": key} | shared | counts_of(rows)
        # A name that leaves the folder is not followed.
        is_there = files.is_file(pdf := pdfs / key) and pdf.resolve().is_relative_to(pdfs.resolve())
        flaws["PDFs missing"] += not is_there
        document |= {"image": pdf.relative_to(root).as_posix()} if is_there else {}
        document |= {"width": round(size[0]), "height": round(size[1])} if size else {}
        yield document, [{"subtype": schema.type_of(row["kind"])} | row for row in rows]

    units = [key for key in by_name if key in names]
    sources = {str(file.relative_to(root)): files.sha256(file)}
    same = {"task": "entity", "modality": "textual"}
    return SplitReader("vrdu", split, root, units, read, same, flaws, sources)


def _places(root: Path) -> dict[str, tuple[Path, Path | None]]:
    """The splits below `root`, each with its data set and file: the published ones come first.

    ``<data set>-pdfs`` is every document that has gold and whose PDF is there; it has no file.
    """
    homes = [path for path in (root, *sorted(root.glob("*/"))) if (path / "main").is_dir()]
    if not homes:
        remedy = "a folder with main/ and few_shot-splits/, as VRDU is published"
        raise DataMissing("no VRDU data set", where=root, remedy=remedy)
    published = [(h, file) for h in homes for file in sorted(h.glob("few_shot-splits/*.json"))]
    listed: dict[str, tuple[Path, Path | None]] = {f.stem: (home, f) for home, f in published}
    filled = [home for home in homes if any(home.glob("main/pdfs/*.pdf"))]
    return listed | {f"{Schema.read(home)[1]}-pdfs": (home, None) for home in filled}


def _documents(home: Path, file: Path | None, part: str = PARTS[0]) -> list[str]:
    """The documents of a part that a split's file lists, or without one those with a PDF."""
    if file is None:
        return [path.name for path in home.glob("main/pdfs/*.pdf") if files.is_file(path)]
    listed = files.read_json(file, dict[str, Any], remedy="the split as it is published")
    names = files.convert(listed.get(part), list[str], where=f"{file}#/{part}")
    return list(dict.fromkeys(names))
