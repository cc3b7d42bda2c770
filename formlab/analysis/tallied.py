"""The tallies of all shards together: what each document adds to every row of a summary."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics
from formlab.analysis.intervals import exact_sums
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.tallies import COUNTS, tally_rows
from formlab.tables import FIELD_LEVELS, LEVELS, TASKS, Settings

Score = Callable[[np.ndarray], np.ndarray]
# What tells the rows of a metric apart; `task` follows from them.
SLICE = ("level", "slice_by", "slice_value")
_KEY = ("asked", *SLICE, "metric")
_SMALL = (np.uint8, np.uint16, np.uint32)


@dataclasses.dataclass
class Parts:
    """What each document adds to a score, kept small and opened a block of documents at a time.

    `table` has the shape (k, n), its columns for the documents of `number`, ascending, or for all
    `count` of them where that is null; the others add nothing.
    """

    number: np.ndarray | None
    table: np.ndarray
    count: int

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and parts of each."""
        return self.count, len(self.table)

    def opened(self, columns: slice = slice(None)) -> np.ndarray:
        """The parts of some columns of the table."""
        return self.table[:, columns].astype(float)

    def block(self, begin: int, end: int) -> np.ndarray:
        """The parts of the documents from number `begin` to `end`, shape (k, end - begin)."""
        if self.number is None:
            return self.opened(slice(begin, end))
        columns = slice(*np.searchsorted(self.number, (begin, end)))
        dense = np.zeros((self.shape[1], end - begin))
        dense[:, self.number[columns] - begin] = self.opened(columns)
        return dense

    def nothing(self) -> Parts:
        """The parts of documents that add nothing."""
        return Parts(np.empty(0, dtype=np.int64), np.empty((self.shape[1], 0)), self.count)

    @cached_property
    def peaks(self) -> np.ndarray:
        """The greatest absolute value of each part."""
        return self._measured[0]

    @cached_property
    def sums(self) -> np.ndarray:
        """The parts summed over all documents, exactly."""
        return self._measured[1]

    @cached_property
    def _measured(self) -> tuple[np.ndarray, np.ndarray]:
        opened = self.opened()
        return np.abs(opened).max(axis=1, initial=0.0), exact_sums(opened)


@dataclasses.dataclass
class Means(Parts):
    """The documents' own scores and how many there are: what a mean over documents is of.

    `own` are the scores where they do not follow from the parts.
    """

    score: Score = ratio
    own: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and two."""
        return self.count, 2

    def opened(self, columns: slice = slice(None)) -> np.ndarray:
        """Score and whether it is defined."""
        own = self.own
        values = self.score(super().opened(columns).T) if own is None else own[columns]
        defined = ~np.isnan(values)
        return np.stack([np.where(defined, values, 0.0), defined])


@dataclasses.dataclass
class Row:
    """One row of a summary to be: parts per document, and how summed parts become its value.

    `labels` are the columns known so far and `score` takes (…, k) to (…). Documents are numbered in
    the order of their `doc_id`.
    """

    labels: dict[str, Any]
    tally: Parts
    score: Score
    order: np.ndarray | None = None

    @property
    def parts(self) -> np.ndarray:
        """The parts of every document, shape (documents, k)."""
        dense = np.ascontiguousarray(self.tally.block(0, self.tally.count).T)
        return dense if self.order is None else dense[self.order]


def numbered(evaluation: Evaluation) -> pl.Series:
    """The documents of an evaluation in the order in which they are numbered."""
    ids = [shard.documents["doc_id"] for shard in evaluation.shards()]
    return pl.concat(ids).unique().sort()


def tallied(
    evaluation: Evaluation, by: Sequence[str], codes: dict[str, int] | None = None
) -> Iterator[Row]:
    """The scores of each metric and slice, summed by document.

    `parts` of a row are in the order of `codes`, the numbers of documents, where these are given.
    """
    pieces: dict[tuple, list[_Piece]] = {}
    ids = []
    for shard in evaluation.shards():
        ids.append(shard.documents["doc_id"].unique().sort())
        for row in tally_rows(shard, by):
            key, piece = _piece(row, len(ids) - 1)
            pieces.setdefault(key, []).append(piece)
    every = pl.concat(ids)
    names = every if len(ids) == 1 else every.unique().sort()
    place = pl.DataFrame({"doc_id": names}).with_row_index("number")
    number = pl.DataFrame({"doc_id": every}).join(place, on="doc_id", how="left")["number"]
    ends = np.cumsum([len(each) for each in ids])[:-1]
    numbers = np.split(number.cast(pl.Int64).to_numpy(), ends)
    order = None
    if codes is not None:
        order = np.empty(len(names), dtype=np.int64)
        order[[codes[name] for name in names]] = np.arange(len(names))
    known = {name: at for at, name in enumerate(metrics.METRICS)}

    def placed(key: tuple) -> tuple:
        asked, level, column, value, metric = key
        loose = level in FIELD_LEVELS and column is None
        at = by.index(column) if asked else -1
        first = pieces[key][0].place
        return (
            asked, loose, at, LEVELS.index(level), column or "", first or 0.0, value or "",
            known[metric],
        )  # fmt: skip

    for key in sorted(pieces, key=placed):
        for row in _rows(evaluation, key, pieces.pop(key), numbers, len(names)):
            row.order = order
            yield row


@dataclasses.dataclass
class _Piece:
    """The tallies of one scope in one shard."""

    shard: int
    labels: dict[str, Any]
    place: float | None
    documents: np.ndarray | None
    table: np.ndarray
    values: np.ndarray | None

    def first(self) -> tuple:
        """Of pieces that are scored differently, the one whose settings stand for all."""
        task = self.labels["task"]
        settings = Settings(**self.labels["settings"]).text()
        return (TASKS.index(task) if task in TASKS else -1, self.labels["mode"] or "", settings)


def _piece(row: dict[str, Any], shard: int) -> tuple[tuple, _Piece]:
    documents, parts, values, place = map(row.pop, ("documents", "parts", "values", "place"))
    table = np.ascontiguousarray(small(parts).reshape(row["n_docs"], -1).T)
    key = tuple(map(row.pop, _KEY))
    return key, _Piece(shard, row, place, documents, table, values)


def small(values: np.ndarray) -> np.ndarray:
    """Numbers in the smallest of four types that holds them all unchanged.

    Examples
    --------
    >>> small(np.array([0.0, 3.0])).dtype, small(np.array([0.5])).dtype
    (dtype('uint8'), dtype('float64'))
    """
    low, high = values.min(initial=0), values.max(initial=0)
    for kind in _SMALL if low >= 0 else ():
        if high <= np.iinfo(kind).max:
            cast = values.astype(kind)
            return cast if (cast == values).all() else values
    return values


def _rows(
    evaluation: Evaluation, key: tuple, pieces: list[_Piece], numbers: list[np.ndarray], count: int
) -> Iterator[Row]:
    metric, first = metrics.get(key[-1]), min(pieces, key=_Piece.first).labels
    score, settings = metric.score_in(first["mode"]), Settings(**first["settings"])
    totals = {name: sum(piece.labels[name] for piece in pieces) for name in COUNTS}
    if len(pieces) == 1 and pieces[0].documents is None and len(numbers) == 1:
        number, order = None, slice(None)
        table = pieces[0].table
    else:
        number = np.concatenate([
            numbers[each.shard] if each.documents is None else numbers[each.shard][each.documents]
            for each in pieces
        ])  # fmt: skip
        order = np.argsort(number, kind="stable")
        number, table = number[order], np.concatenate([p.table for p in pieces], axis=1)[:, order]
        if (new := np.append(True, np.diff(number) > 0)).sum() < len(number):
            # A document has scores of several tasks.
            table = np.add.reduceat(table.astype(float), np.flatnonzero(new), axis=1)
            number = number[new]
        number = None if len(number) == count else number
    single = totals["n_cases"] == table.shape[1]
    own = None
    if single and any(each.values is not None for each in pieces):
        own = np.concatenate([
            score(each.table.astype(float).T) if each.values is None else each.values
            for each in pieces
        ])[order]  # fmt: skip
    tasks = {piece.labels["task"] for piece in pieces}
    base = {
        "benchmark": evaluation.benchmark, "split": evaluation.split,
        "system": evaluation.system, "metric": metric.name,
        "task": first["task"] if len(tasks) == 1 else None,
        **dict(zip(SLICE, key[1:4], strict=True)), "mode": first["mode"],
        **totals, "n_docs": table.shape[1],
        "settings": dataclasses.replace(settings, average="micro"),
    }  # fmt: skip
    yield Row(base, Parts(number, table, count), score)
    mean_name = metrics.mean_of(metric.name)
    if mean_name is None:
        return
    # Of several cases a document has the score of their sum; of one, that case's own.
    means = Means(number, table, count, score, own)
    labels = {
        "metric": mean_name, "settings": dataclasses.replace(settings, average="macro"),
        "n_undefined": table.shape[1] - int(means.sums[1]),
    }  # fmt: skip
    yield Row(base | labels, means, ratio)
