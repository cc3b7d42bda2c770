"""What a format of logs is, and what is read from a log: the runs in it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from formlab import frames

_S, _F, _B = pl.String, pl.Float64, pl.Boolean
SCORES: dict[str, Any] = {
    "doc_id": _S, "path": _S, "scorer": _S, "value": _F, "correct": _B, "compared": _S,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class LogRun:
    """One run of one system, as the log of another harness has it.

    Attributes
    ----------
    format
        The name of the format that the log is in.
    name, system
        What was asked (a task or data set) and who answered.
    gold
        A row per value that was asked for: `doc_id`, `path` (null for the text of a whole page),
        `value`, and further columns of *records* or of the log's own. Empty if the log has none.
    answers
        A row per answer: `doc_id`, `path`, `value`, `status`, and further columns of *records*.
        A sample that failed has its row, without a value.
    responses
        Columns of *responses*: `doc_id`, `request` (the log's own id of the sample), `status`,
        `text`, `error`, tokens, cost, seconds.
    scores
        The log's own scores, a row per sample and scorer: `doc_id`, `path` (null where a whole
        document was scored), `scorer`, `value` (null where the log has none), `correct` (null
        where credit is partial) and `compared`, the text that the scorer took from the answer.
    headline
        What the log states of the whole run: dicts of `scorer`, `metric`, `value` and `n`, the
        count of samples that it is over, or None.
    judged
        The scorers that asked a model.
    notes
        What was met while reading, with counts.
    source
        The files that were read.
    benchmark
        The benchmark whose gold the log's own gold is shaped as; `own` is a user's own forms.
    documents
        Columns of *documents*, a row per document, where the log says more than its name.
    """

    format: str
    name: str
    system: str
    gold: pl.DataFrame
    answers: pl.DataFrame
    responses: pl.DataFrame
    scores: pl.DataFrame
    headline: tuple[dict[str, Any], ...] = ()
    judged: frozenset[str] = frozenset()
    notes: Counter[str] = dataclasses.field(default_factory=Counter)
    source: tuple[Path, ...] = ()
    benchmark: str = "own"
    documents: pl.DataFrame = dataclasses.field(default_factory=pl.DataFrame)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, frames.to_polars(getattr(self, field.name)))


@dataclasses.dataclass(frozen=True)
class LogFormat:
    """One entry of the registry `logs`.

    `detect` tells from a path, quickly, whether it holds this format; `read` gives the runs in
    it, one for each system and epoch, and raises `DataBroken` with file and line.
    """

    name: str
    title: str
    detect: Callable[[Path], bool]
    read: Callable[[Path], list[LogRun]]
