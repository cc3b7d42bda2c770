"""Evaluations under the other reading rules, scored by workers and put down shard by shard."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from formlab import workers as run
from formlab.errors import NotAvailable
from formlab.folders import Evaluation
from formlab.scoring.tallies import BY, tallies

# A shard by the number of the evaluation and its own, and what opens it.
_Job = tuple[int, int, Any]
_Made = tuple[Evaluation, pl.DataFrame]


@contextmanager
def scored(
    evaluations: Sequence[Evaluation], by: Sequence[str], *, workers: int | str
) -> Iterator[list[Evaluation]]:
    """The evaluations with every shard made once, by workers; on disk for as long as it lasts.

    Those of shards are made anew whenever a table is asked for.
    """
    jobs = [
        (number, at, shard)
        for number, evaluation in enumerate(evaluations)
        for at, shard in enumerate(evaluation.__dict__.get("_shards", ()))
    ]
    with TemporaryDirectory(prefix="formlab-") as home:
        columns = list(dict.fromkeys((*BY, *by)))
        for job, result in run.each(partial(_made, columns), jobs, workers=workers):
            if isinstance(result, run.Lost):
                what = f"a shard cannot be scored: {result.reason}"
                raise NotAvailable(what, remedy="fewer --workers")
            shard, sums = result
            shard.check().save_shard(_folder(home, job), tallies=sums, parts=False)
        yield [_opened(each, n, home) for n, each in enumerate(evaluations)]


def in_shards(evaluation: Evaluation) -> Evaluation:
    """The evaluation as one of shards, if only of one."""
    if evaluation.__dict__.get("_shards"):
        return evaluation
    return Evaluation.of([evaluation], **{name: getattr(evaluation, name) for name in _names()})


def _made(columns: list[str], job: _Job) -> _Made:
    shard = job[2] if isinstance(job[2], Evaluation) else job[2]()
    bare = shard.changed(corpus=None, predictions=None)
    return bare, tallies(shard, columns)


def _names() -> list[str]:
    owners = (*Evaluation.TABLES, *Evaluation.PARTS)
    return [field.name for field in dataclasses.fields(Evaluation) if field.name not in owners]


def _folder(home: str, job: Sequence[Any]) -> Path:
    return Path(home, str(job[0]), str(job[1]))


def _opened(evaluation: Evaluation, number: int, home: str) -> Evaluation:
    shards = evaluation.__dict__.get("_shards", ())
    stored = [partial(Evaluation.opened, _folder(home, (number, at))) for at in range(len(shards))]
    values = {name: getattr(evaluation, name) for name in _names()}
    return Evaluation.of(stored, **values) if stored else evaluation
