"""The benchmarks that formlab reads: one file each, one registry line each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from formlab import resources
from formlab.benchmarks._own import OWN
from formlab.benchmarks._spec import Benchmark
from formlab.errors import DataMissing
from formlab.registry import Registry

if TYPE_CHECKING:
    from formlab.folders import Corpus

BENCHMARKS = Registry("benchmarks", dict.fromkeys(OWN, "formlab.benchmarks._own:OWN"))
SAMPLES = resources.folder("data/sample")


def get(name: str) -> Benchmark:
    """The registered benchmark of that name; `UnknownName` if there is none."""
    return BENCHMARKS.find(name)


def load(name: str, *, root: str | Path | None = None, split: str | None = None) -> Corpus:
    """The documents and gold records of one split of a benchmark.

    Parameters
    ----------
    name
        A key of `BENCHMARKS`.
    root
        The folder of the official files, of `own` the gold, which may be a file; without one, the
        project's own sample.
    split
        A split of the benchmark; without one, its first.

    Raises
    ------
    UnknownName, DataMissing, DataBroken
        If the name or split is not known, or files are absent or unreadable.

    Examples
    --------
    >>> corpus = load("funsd", split="test")
    >>> corpus.documents.height
    8
    """
    benchmark = get(name)
    folder = SAMPLES / name if root is None else Path(root)
    if not (folder.is_dir() or (name == "own" and folder.is_file())):
        remedy = "--root with the folder of the official files"
        raise DataMissing(f"no files of {name}", where=folder, remedy=remedy)
    return benchmark.load(split or benchmark.first_split(folder), folder)
