"""What people bring: gold, answers, logs and tables, each read as rows of one kind."""

import csv
import dataclasses
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken, FormlabError
from formlab.folders import Corpus, Predictions
from formlab.readers.door import NAMES
from formlab.registry import Registry

__all__ = ["READERS", "Reader", "Source", "is_run", "read_predictions", "reader_of", "splits"]

# Cells by name. `role` is gold, answer, call or figure; gold and an answer have the columns of
# records, a call those of responses, a figure `scorer`, `kind`, `score` and `n`. The scores of a
# log are `log_by_<scorer>` of answers and calls. Of several values `path` and `value` are lists.
Row = dict[str, Any]
Columns = Mapping[str, str] | None  # What a table calls the columns that formlab knows.
# What reading runs into where a file is not laid out as it should be.
ODD = (ArithmeticError, AttributeError, FormlabError, LookupError, RuntimeError, TypeError)
ODD += (ValueError, csv.Error)
UNMET = "no field of the answers is one of the gold's"
# In the order in which they are tried, after plug-ins.
_FILES = {n: f"formlab.readers.{home}:READERS" for home, of in NAMES["readers"].items() for n in of}
READERS = Registry("readers", _FILES)
# Names of modules that score, or read answers and gold, as what scores does.
HOMES = {"readers.logs": "differences headlines join_report open_log open_logs"}
HOMES |= {"readers.gold": "corpus"}


@dataclasses.dataclass
class Source:
    """What a reader reads; it counts in `notes`, lists its `files` and says the system's `name`.

    Of a run `rows` are those of each role as a frame, and `log` is what an evaluation keeps.
    """

    path: Path | None
    corpus: Corpus | None = None
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    notes: Counter[str] = dataclasses.field(default_factory=Counter)
    files: list[Path] = dataclasses.field(default_factory=list)
    name: str | None = None
    rows: dict[str, Any] = dataclasses.field(default_factory=dict)
    log: Row = dataclasses.field(default_factory=dict)

    @property
    def hashes(self) -> dict[str, str]:
        """The SHA-256 of each of its files."""
        return {file.name: files.sha256(file) for file in self.files}


class Reader(NamedTuple):
    """One kind of source: its `title` in errors, whether a path is of it, and the rows there."""

    name: str
    title: str
    fits: Callable[[Path], bool]
    read: Callable[[Source], Iterable[Row]]
    splits: Callable[[Path], list[str]] = lambda _: []  # Those that a path has answers for.
    both: Callable[[Path], tuple[Corpus, Predictions]] | None = None  # Gold and answers.

    def rows(self, source: Source) -> Iterator[Any]:
        """The rows of a source, or samples that have them; `DataBroken` if laid out otherwise."""
        try:
            yield from self.read(source)
        except FormlabError:
            raise
        except (*ODD, OSError, pl.exceptions.PolarsError) as error:
            what = f"not laid out as {self.title}: {type(error).__name__}: {error}"
            raise DataBroken(what, where=source.path, remedy="a file as it was written") from error


def counted(notes: Mapping[str, int]) -> dict[str, int]:
    """Notes in order, without those that count nothing."""
    return {note: int(count) for note, count in sorted(notes.items()) if count}


def by_name(what: str, named: Iterable[tuple[Any, Path]]) -> dict[Any, Path]:
    """Files by name; `DataBroken` if there are two of one, `what` they are."""
    found: dict[Any, Path] = {}
    for name, file in named:
        if (first := found.setdefault(name, file)) is not file:
            problem = f"two {what} {name!r}, the first in {first.name}"
            raise DataBroken(problem, where=file, remedy="keep one of them")
    return found


def reader_of(path: str | Path, corpus: Corpus | None = None) -> Reader | None:
    """The reader that fits a file or folder; None for a table and for what nobody reads."""
    # What benchmarks publish does not apply to answers for a user's own forms.
    others = NAMES["readers"]["published"] if corpus and corpus.benchmark == "own" else ()
    for name in sorted(READERS, key=READERS.builtin.__contains__) if os.path.exists(path) else ():
        with suppress(FormlabError):
            if name not in others and READERS[name].fits(Path(path)):
                return READERS[name]
    return None


def is_run(source: Any) -> bool:
    """Whether a source is the folder of a run."""
    heads = ("manifest.json", "run.json")
    return isinstance(source, Path) and any(files.is_file(source / name) for name in heads)


def splits(path: str | Path) -> list[str]:
    """The splits that a file or folder holds answers for; empty where it does not say."""
    if not is_run(path := Path(path)):
        return reader.splits(path) if (reader := reader_of(path)) else []
    head = files.read_json(path / "run.json", dict) if files.is_file(path / "run.json") else {}
    return [split] if isinstance(split := head.get("split"), str) else []


def read_predictions(
    source: Any, corpus: Corpus, *, name: str | None = None, columns: Columns = None
) -> Predictions:
    """Answers to a corpus, whether its user's own or a benchmark, in whatever they are kept.

    `source` is the folder of a run; a file or folder that one of `READERS` reads; or any table,
    JSON, folder or frame, with the table's name for each column in `columns`. `name` is what the
    system is called: by default what the source says, else the stem of the path, or ``answers``.

    Documents may be named by their files, and fields in other case or punctuation, which is noted.
    A document without a value is `missing`, a file of many that cannot be read ``bad_json``.
    `DataMissing`, `DataBroken` or `UnknownName` if something cannot be read or has several systems.

    >>> from formlab import readers
    >>> gold = readers.corpus([{"doc_id": "a", "total": "9.00"}])
    >>> answers = [{"doc_id": "a.png", "total": 9, "date": "2024-05-01"}]
    >>> read_predictions(answers, gold).records.select("doc_id", "path").rows()
    [('a', '/total'), ('a', '/date')]
    """
    from formlab.readers import answers, values

    if is_run(source := files.local(source)):
        run = answers.of_folder(source, corpus)
        return dataclasses.replace(run, system=name or run.system)
    found = Source(source if isinstance(source, Path) else None, corpus, columns or {})
    if found.path and not columns and (reader := reader_of(source, corpus)):
        return answers.of_rows(reader.rows(found), found, name)
    found.name = name
    return answers.of_values(values.pieces(source, found.columns, found.notes), found)


sys.modules[__name__].__class__ = tables.Room
