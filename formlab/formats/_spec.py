"""What a format is: a file or folder of predictions made elsewhere, and how to read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from formlab.folders import Corpus, Predictions


@dataclass(frozen=True)
class Format:
    """One entry of the registry.

    `is_one` says whether a path has this format; `read` takes the path and the corpus
    that the predictions are for. `splits`, if not None, lists the splits that a path holds
    predictions for; `read_some`, if not None, reads only the rows for which an expression of their
    `doc_id` is true, and nothing else into memory.
    """

    name: str
    title: str
    is_one: Callable[[Path], bool]
    read: Callable[[Path, Corpus], Predictions]
    splits: Callable[[Path], list[str]] | None = None
    read_some: Callable[[Path, Corpus, pl.Expr], Predictions] | None = None
