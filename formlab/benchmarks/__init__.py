"""The benchmarks that formlab reads: one file or folder each, and one entry in a table."""

from __future__ import annotations

import dataclasses
import math
import random
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from formlab import files, resources
from formlab.errors import DataMissing, UnknownName
from formlab.registry import Registry

if TYPE_CHECKING:
    from formlab.benchmarks.corpus import Reading, SplitReader
    from formlab.folders import Corpus

# What `training` notes of documents that it leaves out.
LEAKED = "train documents that are to be read too, left out"
# How many gold records are read and scored together at most, unless one document has more.
BATCH = 100_000
SAMPLES = resources.folder("data/sample")


@dataclass(frozen=True)
class Benchmark:
    """A source of forms with gold records.

    `splits` counts the documents of each published split, and `find_splits` those of the splits in
    a folder; `tasks` are what its gold can be scored on, `modes` the ways to score it, the default
    first. `read` gives one split of a folder in the published layout, as a corpus or as a
    `SplitReader`, of which some can be read without the rest. A model is asked with `prompt`, for
    an answer of the JSON schema `schema` (or what it gives for a document's row), whose leaves
    stand at their JSON pointers in the gold; without one, for the fields of a document's gold. Of
    the `parts` of a split the first is to test on; others are read as ``<split>-<part>``.
    """

    name: str
    read: Callable[[str, Path], Corpus | SplitReader]
    title: str = ""
    licence: str = "not stated"
    citation: str = ""
    source: str = ""
    splits: dict[str, int] = field(default_factory=dict)
    tasks: tuple[str, ...] = ("text",)
    slices: tuple[str, ...] = ("kind",)
    modes: tuple[str, ...] = ("fixed",)
    find_splits: Callable[[Path], dict[str, int]] = lambda _: {}
    parts: tuple[str, ...] = ("test",)
    prompt: str = ""
    schema: dict[str, Any] | Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def schema_of(self, document: dict[str, Any]) -> dict[str, Any] | None:
        """The JSON Schema of a model's answer about a document; None if there is none."""
        return self.schema(document) if callable(self.schema) else self.schema

    def splits_in(self, root: Path) -> dict[str, int]:
        """The splits that can be asked for under `root`, and their counts of documents."""
        return self.splits | self.find_splits(root)


def part_of(name: str, parts: tuple[str, ...]) -> tuple[str, str]:
    """The split's own name, and which of its `parts` a corpus of that name has.

    >>> part_of("SD_0-train", ("test", "train")), part_of("SD_0", ("test", "train"))
    (('SD_0', 'train'), ('SD_0', 'test'))
    """
    split, _, part = name.rpartition("-")
    return (split, part) if part in parts else (name, parts[0])


def _read(key: str, value: Any) -> Any:
    """A value of `benchmarks.toml`; a function is imported when it is called."""
    if key in ("read", "find_splits", "schema"):
        return lambda *values: resolve_name(value)(*values)
    return tuple(value) if isinstance(value, list) else value


_TABLE = tomllib.loads(Path(__file__).with_name("benchmarks.toml").read_text("utf-8"))
ENTRIES = {
    name: Benchmark(name, **{key: _read(key, value) for key, value in entry.items()})
    for name, entry in _TABLE.items()
}
BENCHMARKS = Registry("benchmarks", dict.fromkeys(ENTRIES, "formlab.benchmarks:ENTRIES"))
# The registered benchmark of a name; `UnknownName` if there is none.
get = BENCHMARKS.find


def load(name: str, *, root: str | Path | None = None, split: str | None = None) -> Corpus:
    """The documents and gold records of one split of a benchmark.

    A document whose own file cannot be read is left out, counted in `flaws` of the corpus, and
    listed with the reason in `unreadable`.

    `name` is a key of `BENCHMARKS`; `root` the folder of the official files, of `own` the gold,
    which may be a file, and by default the project's own sample; `split` is by default the first,
    and with the name of a part behind it (``<split>-train``, ``<split>-valid`` of VRDU) that part.
    `UnknownName`, `DataMissing` or `DataBroken` if a name is not known, files are absent or cannot
    be read, or the gold contradicts itself.

    >>> corpus = load("funsd", split="test")
    >>> corpus.documents.height
    8
    """
    from formlab.tables import uncollected

    with uncollected():
        return next(corpora(name, root=root, split=split, records=math.inf))


def corpora(
    name: str,
    *,
    root: str | Path | None = None,
    split: str | None = None,
    records: float | None = None,
    apart: bool = False,
) -> Iterator[Corpus | Reading]:
    """The corpus that `load` gives, in corpora of documents that follow one another.

    Each has at most `records` gold records, by default `BATCH`, or the documents of one file.
    Documents are read when their corpus is asked for, except by a plug-in that reads all of them
    first; `apart`, corpora after the first may be functions that read them, in any process. The
    other parameters and errors are those of `load`.

    >>> [corpus.documents.height for corpus in corpora("funsd", split="test", records=800)]
    [3, 2, 3]
    """
    from formlab.benchmarks.corpus import SplitReader, cut

    benchmark, folder = get(name), SAMPLES / name if root is None else files.local(root)
    if not folder.exists():
        raise DataMissing(f"no files of {name}", where=folder, remedy="--root with official files")
    found = benchmark.find_splits(folder)
    known, records = benchmark.splits | found, records or BATCH
    # Where none is asked for it is the first one that is there.
    split = split or next(iter(found or known))
    if split not in known:
        base, part = part_of(split, benchmark.parts)
        if base not in known:
            raise UnknownName.of(f"split of {name}", base, known)
        split = base if part == benchmark.parts[0] else split
    read = benchmark.read(split, folder)
    is_lazy = isinstance(read, SplitReader)
    return read.corpora(records, apart=apart) if is_lazy else cut(read.check(), records)


def training(corpus: Corpus, *, limit: int | None = None, seed: int = 0) -> Corpus:
    """The documents with gold that a system may learn from before it reads `corpus`.

    They are the part ``train`` of its split, or the benchmark's split ``train``, without those that
    `corpus` has, which `flaws` counts. With `limit`, so many are drawn by `seed`; the first ones of
    a draw are the same for every limit. `DataMissing` if there are no documents to learn from.

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
    split = f"{part_of(corpus.split, benchmark.parts)[0]}-train" if is_part else "train"
    found = load(benchmark.name, root=corpus.root, split=split)
    names = sorted({*found.documents["doc_id"]} - {*corpus.documents["doc_id"]})
    flaws = {LEAKED: n} if (n := found.documents.height - len(names)) else {}
    random.Random(seed).shuffle(names)
    chosen = found.filtered(pl.col("doc_id").is_in(names[:limit]))
    return dataclasses.replace(chosen, flaws=found.flaws | flaws)
