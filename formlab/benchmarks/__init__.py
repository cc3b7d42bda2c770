"""The benchmarks that formlab reads: one file or folder each, and one entry in a table."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from formlab import files, resources
from formlab.benchmarks.spec import Benchmark, builtin, part_of
from formlab.errors import DataMissing
from formlab.registry import Registry

if TYPE_CHECKING:
    from formlab.folders import Corpus

ENTRIES = builtin()
BENCHMARKS = Registry("benchmarks", dict.fromkeys(ENTRIES, "formlab.benchmarks:ENTRIES"))
# What `training` notes of documents that it leaves out.
LEAKED = "train documents that are to be read too, left out"
# How many gold records are read and scored together at most, unless one document has more.
BATCH = 50_000
SAMPLES = resources.folder("data/sample")


def get(name: str) -> Benchmark:
    """The registered benchmark of that name; `UnknownName` if there is none."""
    return BENCHMARKS.find(name)


def load(
    name: str,
    *,
    root: str | Path | None = None,
    split: str | None = None,
    part: str | None = None,
) -> Corpus:
    """The documents and gold records of one split of a benchmark.

    A document whose own file cannot be read is left out, counted in `flaws` of the corpus, and
    listed with the reason in `unreadable`.

    `name` is a key of `BENCHMARKS`; `root` the folder of the official files, of `own` the gold,
    which may be a file, and by default the project's own sample; `split` one of the benchmark's, by
    default its first; `part` which documents of a split that has several parts (``train``,
    ``valid`` and ``test`` of VRDU), by default those to test on.
    `UnknownName`, `DataMissing` or `DataBroken` if the name, split or part is not known, files are
    absent, what all documents need or none of the documents can be read, or the gold contradicts
    itself.

    >>> corpus = load("funsd", split="test")
    >>> corpus.documents.height
    8
    """
    from formlab.tables import uncollected

    with uncollected():
        return next(corpora(name, root=root, split=split, part=part, records=math.inf))


def corpora(
    name: str,
    *,
    root: str | Path | None = None,
    split: str | None = None,
    part: str | None = None,
    records: float | None = None,
) -> Iterator[Corpus]:
    """The corpus that `load` gives, in corpora of documents that follow one another.

    Each has at most `records` gold records, by default `BATCH`, or one document. Documents are read
    when their corpus is asked for, except by a plug-in that reads all of them first. The other
    parameters and errors are those of `load`.

    >>> [corpus.documents.height for corpus in corpora("funsd", split="test", records=800)]
    [3, 2, 3]
    """
    benchmark, folder = get(name), SAMPLES / name if root is None else files.local(root)
    if not folder.exists():
        remedy = "--root with the folder of the official files"
        raise DataMissing(f"no files of {name}", where=folder, remedy=remedy)
    split = split or benchmark.first_split(folder)
    return benchmark.corpora(split, folder, part, records=records or BATCH)


def training(corpus: Corpus, *, limit: int | None = None, seed: int = 0) -> Corpus:
    """The documents with gold that a system may learn from before it reads `corpus`.

    They are those of the part ``train`` of its split, or of the benchmark's split ``train``, and
    never one that `corpus` has: such documents are left out and counted in `flaws`. With `limit`,
    so many are drawn by `seed`; the first ones of a draw are the same for every limit.
    `DataMissing` if its split has no documents to learn from, or its files are no longer there.

    >>> corpus = load("vrdu")
    >>> few = training(corpus, limit=1, seed=7)
    >>> few.split.removeprefix(corpus.split), few.documents.height
    ('-train', 1)
    """
    import polars as pl

    benchmark = get(corpus.benchmark)
    is_part = "train" in benchmark.parts
    if corpus.root is None or not (is_part or "train" in benchmark.splits):
        remedy = "a split with documents to learn from, such as the few-shot splits of vrdu"
        where = f"{corpus.benchmark}:{corpus.split}"
        raise DataMissing("no documents to learn from", where=where, remedy=remedy)
    split = part_of(corpus.split, benchmark.parts)[0] if is_part else "train"
    part = "train" if is_part else None
    found = load(benchmark.name, root=corpus.root, split=split, part=part)
    own = set(corpus.documents["doc_id"])
    names = [doc for doc in found.documents["doc_id"] if doc not in own]
    flaws = {LEAKED: n} if (n := found.documents.height - len(names)) else {}
    if limit is not None:
        names = sorted(names)
        random.Random(seed).shuffle(names)
        names = names[:limit]
    chosen = found.filtered(pl.col("doc_id").is_in(names))
    return dataclasses.replace(chosen, flaws=found.flaws | flaws)
