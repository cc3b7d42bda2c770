"""Logs of other harnesses: one file for each format, one registry line each."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formlab import frames
from formlab.errors import DataBroken, DataMissing, FormlabError
from formlab.logs._beside import differences, headlines, join_report, stated
from formlab.logs._join import ALL, ASKED, best_split, evaluation
from formlab.logs._samples import DUPLICATES, MISSING, ODD, UNREADABLE, Samples
from formlab.logs._spec import LogFormat, LogRun
from formlab.registry import Registry

if TYPE_CHECKING:
    from formlab.folders import Corpus, Evaluation

__all__ = [
    "ALL", "ASKED", "DUPLICATES", "LOGS", "MISSING", "UNREADABLE", "LogFormat", "LogRun",
    "Samples", "called", "differences", "evaluation", "headlines", "join_report", "open_log",
    "open_logs", "read", "stated",
]  # fmt: skip

# In the order in which they are tried; a plug-in goes before, a table of any columns is last.
_OWN = (
    "inspect", "lmms_eval", "omniai", "ocrbench", "vlmevalkit", "stickler", "funsd_bench", "olmocr",
    "docling_eval", "table",
)  # fmt: skip
LOGS = Registry("logs", {name: f"formlab.logs.{name}:FORMAT" for name in _OWN})


def read(source: Any, *, columns: Mapping[str, str] | None = None) -> list[LogRun]:
    """The runs in a log of another harness, one for each system and epoch in it.

    Parameters
    ----------
    source
        A path, or a frame or list of dicts with a row per sample.
    columns
        The source's name for `doc_id`, `path`, `gold`, `value` and so on, for a table whose
        columns have other names; see `table.NAMES`.

    Raises
    ------
    DataMissing, DataBroken
        If there is nothing at the path, no format fits, or the one that fits cannot be read.

    Examples
    --------
    >>> rows = [{"id": "a", "target": "9.00", "output": "9.0"}]
    >>> read(rows)[0].answers.select("doc_id", "path", "value", "status").rows()
    [('a', '/answer', '9.0', 'ok')]
    """
    from formlab.logs import table

    if not isinstance(source, str | Path):
        return table.read(source, columns)
    path = Path(source)
    if not os.path.exists(path):
        raise DataMissing("no such log", where=path, remedy="check the path")
    if columns:
        return table.read(path, columns)
    if form := _format(path):
        try:
            runs = form.read(path)
        except FormlabError:
            raise
        except ODD as error:
            what = f"not laid out as {form.title}: {type(error).__name__}: {error}"
            raise DataBroken(what, where=path, remedy="a log as the harness wrote it") from error
        if not runs:
            raise DataBroken("the log has no samples", where=path, remedy="a run that has some")
        return runs
    if path.suffix.lower() in (".pkl", ".pickle"):
        remedy = "write it as JSON or a table: to open a pickle runs the code in it"
        raise DataBroken("pickles are not opened", where=path, remedy=remedy)
    known = "; ".join(form.title for form in LOGS.values())
    raise DataBroken("no known format of logs", where=path, remedy=f"--columns, or one of: {known}")


def open_log(
    source: Any,
    benchmark: str | Corpus | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    root: str | Path | None = None,
    split: str | None = None,
    documents: str = ASKED,
    types: Any = None,
    system: str | None = None,
    run: str | None = None,
) -> Evaluation:
    """An evaluation made of a log of another harness.

    The log's own scores stand in `cases` as `log_score`, `log_correct` and, of further scorers,
    `log_by_<scorer>`; where whole documents were scored, in `documents`, as `log_document_score`
    and so on. `headlines` and `differences` compare them with formlab's. `notes` counts samples
    that were matched, missing, given twice, failed or unreadable.

    Parameters
    ----------
    source, columns
        As for `read`.
    benchmark
        The name of a benchmark, or a corpus, whose gold is used; without one, the log's own.
    root, split
        Of the benchmark, as for `formlab.load`; without a split, the one that the log fits best.
    documents
        With a benchmark: `asked` scores what the log has samples of, `all` counts the rest of the
        benchmark as missing.
    types
        Of the log's own gold: as for `own.corpus`.
    system
        What the system is called, instead of the log's name for it.
    run
        Of a log with several systems or epochs the one to open, as `read` calls it.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If the log or the benchmark cannot be read, they do not belong together, or the log has
        several runs and none is named.

    Examples
    --------
    >>> rows = [{"id": "a", "target": "9.00", "output": "9.0", "score": 0},
    ...         {"id": "b", "target": "May", "output": "may", "score": 0}]
    >>> evaluation = open_log(rows)
    >>> evaluation.fields.select("doc_id", "outcome", "log_score").rows()
    [('a', 'mismatch', 0.0), ('b', 'match', 0.0)]
    >>> differences(evaluation).select("doc_id", "why").rows()
    [('b', 'normalisation: case')]
    """
    options = {"root": root, "split": split, "documents": documents, "types": types}
    opened = open_logs(source, benchmark, columns, run=run, **options)
    if len(opened) > 1:
        names = ", ".join(evaluation.system for evaluation in opened)
        where = source if isinstance(source, str | Path) else None
        what = f"the log holds {len(opened)} runs: {names}"
        raise DataBroken(what, where=where, remedy="run= with one of these names, or open_logs")
    (evaluation,) = opened
    return called(evaluation, system) if system else evaluation


def open_logs(
    source: Any,
    benchmark: str | Corpus | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    root: str | Path | None = None,
    split: str | None = None,
    documents: str = ASKED,
    types: Any = None,
    run: str | None = None,
) -> list[Evaluation]:
    """An evaluation for each run in a log; parameters and errors as of `open_log`."""
    from formlab import readers as formats
    from formlab.benchmarks import load
    from formlab.errors import UnknownName
    from formlab.scoring.evaluate import evaluate

    path = Path(source) if isinstance(source, str | Path) else None
    if path and os.path.exists(path) and benchmark and not columns and not _format(path):
        # What the benchmark's own tools write has a reader among the formats of predictions.
        corpora = [benchmark]
        if isinstance(benchmark, str):
            names = [split] if split else formats.splits(path) or [None]
            corpora = [load(benchmark, root=root, split=name) for name in names]
        which = "all" if documents == ALL else "answered"
        answered = [(corpus, formats.read_predictions(path, corpus)) for corpus in corpora]
        return [evaluate(corpus, answers, documents=which) for corpus, answers in answered]
    runs = read(source, columns=columns)
    if run is not None:
        if run not in {log_run.system for log_run in runs}:
            raise UnknownName.of("run of the log", run, [log_run.system for log_run in runs])
        runs = [log_run for log_run in runs if log_run.system == run]
    if not isinstance(benchmark, str):
        return [
            evaluation(log_run, benchmark, documents=documents, types=types) for log_run in runs
        ]
    corpus = best_split(runs[0], benchmark, root=root, split=split)
    return [evaluation(log_run, corpus, documents=documents) for log_run in runs]


def _format(path: Path) -> LogFormat | None:
    """The format that a path is in; what cannot be read as one is not in it."""
    for name in sorted(LOGS, key=lambda name: (name in LOGS.builtin, name == "table")):
        try:
            if LOGS[name].detect(path):
                return LOGS[name]
        except FormlabError:
            continue
    return None


def called(one: Evaluation, system: str) -> Evaluation:
    """The evaluation with another name of its system.

    Examples
    --------
    >>> called(open_log([{"id": "a", "target": "9", "output": "9"}]), "mine").system
    'mine'
    """
    import polars as pl

    if system == one.system:
        return one
    name = pl.lit(system).alias("system")
    predictions = one.predictions and dataclasses.replace(
        one.predictions, system=system, records=one.predictions.records.with_columns(name),
        responses=one.predictions.responses.with_columns(name),
    )  # fmt: skip
    return dataclasses.replace(
        one, system=system, cases=one.cases.with_columns(name),
        scores=one.scores.with_columns(name), predictions=predictions,
    )  # fmt: skip


frames.door(globals(), __all__)
