"""A finished run of the arena among the sources that `formlab score` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from formlab.errors import DataBroken
from formlab.readers import Reader, Row, Source

if TYPE_CHECKING:
    from formlab.folders import Corpus, Predictions


def _fits(path: Path) -> bool:
    return (path / "run.json").is_file() and (path / "episodes.jsonl").is_file()


def _read(source: Source) -> list[Row]:
    raise DataBroken("a run of the arena", where=source.path, remedy="formlab score RUN")


def _both(path: Path) -> tuple[Corpus, Predictions]:
    from formlab_arena.evaluation import read_run

    return read_run(path)


READER = Reader("arena_run", "a run of formlab arena", _fits, _read, both=_both)
