"""The few-shot splits: what their names say, and where they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from formlab import files
from formlab.benchmarks.spec import part_of
from formlab.benchmarks.vrdu.schema import Schema
from formlab.errors import DataMissing

WITH_PDF = "-pdfs"
# The documents that a split's file lists; a corpus of others than the test ones says so in its
# split, as in <split>-train.
PARTS = ("test", "train", "valid")
# What must be in a split's file for each of them.
_PARTS = {part: msgspec.defstruct("_Split", [(part, list[str])]) for part in PARTS}
_PUBLISHED = "the split as it is published"
_NAME = re.compile(
    r"(?P<dataset>[a-zA-Z]+)-(?P<task>[0-9a-zA-Z_-]+)-train_(?P<train>\d+)-test_(?P<test>\d+)"
    r"-valid_(?P<valid>\d+)-SD_(?P<seed>\d+)"
)
_TASK = re.compile(
    r"(?:lv(?P<level>[123])-)?(?P<word>[a-zA-Z]+)(?:_(?P<template>.+))?", re.IGNORECASE
)
TASKS = {"1": "single", "2": "mixed", "3": "unseen"}
_WORDS = {"single": "1", "kno": "1", "mixed": "2", "unk": "3"}


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
    task = _TASK.fullmatch(match["task"]) if match else None
    if match is None or task is None:
        return None
    level = task["level"] or _WORDS.get(task["word"].lower())
    if level is None:
        return None
    template = None if task["template"] in (None, "template") else task["template"]
    counts = (int(match[key]) for key in ("train", "test", "valid", "seed"))
    return Split(name, match["dataset"], TASKS[level], *counts, template)


def find(name: str, root: Path) -> tuple[Path, list[str] | None]:
    """The data set that has the split `name` (or a part of it), and the documents listed there.

    ``<data set>-pdfs`` is every document that has gold and whose PDF is there; its list is None.
    """
    # A name is not a path: it is one of those that are there.
    split, part = part_of(name, PARTS)
    home, file = places(root)[split]
    if file is None and part != PARTS[0]:
        what, remedy = f"{split} has no {part} documents of its own", "a few-shot split"
        raise DataMissing(what, where=home, remedy=remedy)
    return home, None if file is None else documents(file, part)


def places(root: Path) -> dict[str, tuple[Path, Path | None]]:
    """The splits below `root`, each with its data set and file: the published ones come first."""
    homes = [path for path in (root, *sorted(root.glob("*/"))) if (path / "main").is_dir()]
    if not homes:
        remedy = "a folder with main/ and few_shot-splits/, as VRDU is published"
        raise DataMissing("no VRDU data set", where=root, remedy=remedy)
    files_of = [(home, f) for home in homes for f in sorted(home.glob("few_shot-splits/*.json"))]
    known: dict[str, tuple[Path, Path | None]] = {file.stem: (h, file) for h, file in files_of}
    for home in homes:
        if next(home.glob("main/pdfs/*.pdf"), None):
            known[f"{Schema.read(home / 'main' / 'meta.json')[1]}{WITH_PDF}"] = (home, None)
    return known


def documents(file: Path, part: str = PARTS[0]) -> list[str]:
    """The documents that a split's file lists, by default those to test on."""
    split = files.read_json(file, _PARTS[part], remedy=_PUBLISHED)
    return list(dict.fromkeys(getattr(split, part)))
