"""What VRDU's own files and names say: the entities of a data set, and its few-shot splits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from formlab import files
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataBroken
from formlab.folders import Corpus, Evaluation

UNREPEATED, REPEATED = "unrepeated", "repeated"
# The data type behind each match function, as the strictness ladder names types; others are texts.
TYPES = {"DateMatch": "date", "PriceMatch": "money", "AddressMatch": "address"}
_NAME = re.compile(
    r"(?P<dataset>[a-z]+)-(?:lv(?P<level>[123])-)?(?P<word>[a-z]+)(?:_(?P<template>[\w-]+))?"
    r"-train_(?P<train>\d+)-test_(?P<test>\d+)-valid_(?P<valid>\d+)-SD_(?P<seed>\d+)",
    re.IGNORECASE,
)
_TASKS = {"1": "single", "2": "mixed", "3": "unseen"}
_TASKS |= {"single": "single", "kno": "single", "mixed": "mixed", "unk": "unseen"}


class Split(NamedTuple):
    """What the name of a split says.

    `task` is ``single``, ``mixed`` or ``unseen`` (tasks 1 to 3 of the paper: documents of one
    known template, of the same templates as in training, of a template not seen in training);
    `template` is the one that task 1 is about, or that task 3 keeps for testing.
    """

    name: str
    dataset: str
    task: str
    train: int
    test: int
    valid: int
    seed: int
    template: str | None


def decode(name: str) -> Split | None:
    """What the name of a split says, or None if it is not built as the published ones.

    >>> split = decode("FARA-lv3-unk_Short-Form-train_50-test_300-valid_100-SD_2")
    >>> split.task, split.template, split.train, split.seed
    ('unseen', 'Short-Form', 50, 2)
    >>> decode("DeepForm-kno_template-train_10-test_5-valid_100-SD_2").task
    'single'
    """
    match = _NAME.fullmatch(name)
    task = _TASKS.get(match["level"] or match["word"].lower()) if match else None
    if match is None or task is None:
        return None
    template = None if match["template"] == "template" else match["template"]
    counts = (int(match[key]) for key in ("train", "test", "valid", "seed"))
    return Split(name, match["dataset"], task, *counts, template)


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
    def read(cls, path: Path) -> tuple[Schema, str]:
        """Schema and name of the data set from a `meta.json`."""
        meta = files.read_json(path, _Meta, remedy="main/meta.json as it is published")
        matches, patterns = meta.entity_name_to_match_func, meta.entity_appearance_pattern
        if patterns is None:
            patterns = dict.fromkeys(matches, UNREPEATED)
        return cls(matches, patterns), meta.dataset_name or path.parent.parent.name

    @classmethod
    def of_document(cls, document: Any) -> Schema | None:
        """The schema that a document's `meta` carries; None if it carries none."""
        parts = meta_of(document).get("schema")
        return cls(**parts | {"unlabelled": tuple(parts["unlabelled"])}) if parts else None

    @classmethod
    def of(cls, source: Corpus | Evaluation) -> Schema:
        """The schema that the documents of a corpus or an evaluation carry."""
        schemas: list[Schema | None] = []
        for meta in source.documents["meta"].drop_nulls().unique():
            if (schema := cls.of_document(meta)) not in schemas:
                schemas.append(schema)
        if len(schemas) != 1 or schemas[0] is None:
            what = f"the documents carry {len(schemas)} schemas of entities, one is needed"
            remedy = "load it anew"
            raise DataBroken(what, where=f"{source.benchmark}:{source.split}", remedy=remedy)
        return schemas[0]

    def only(self, names: tuple[str, ...]) -> Schema:
        """The schema of a gold that labels `names` alone, as entities that are not repeated."""
        matches = {name: self.matches.get(name, "GeneralStringMatch") for name in names}
        others = tuple(name for name in self.matches if name not in names)
        return Schema(matches, dict.fromkeys(names, UNREPEATED), others)

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

    def group_of(self, components: tuple[str, ...]) -> str | None:
        """The line item that knows all of `components`; else the one that knows most of them."""
        known = {group: len(set(components) & set(self.names(group))) for group in self.groups}
        return max(known, key=known.__getitem__) if any(known.values()) else None

    def type_of(self, name: str) -> str:
        """The data type of an entity or component: date, money, address or string."""
        return TYPES.get(self.matches.get(name, ""), "string")
