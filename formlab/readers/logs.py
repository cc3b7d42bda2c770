"""Logs of other harnesses, and any table with a row per sample, as evaluations."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from formlab import benchmarks, files, frames, readers, tables
from formlab.addresses import local
from formlab.errors import DataBroken, DataMissing, FormlabError, UnknownName
from formlab.readers import door
from formlab.readers.beside import differences, headlines, join_report
from formlab.readers.door import as_text
from formlab.readers.join import ALL, ASKED, Run, evaluation, fitting, frame_of
from formlab.readers.rows import Row, Source
from formlab.readers.samples import ANSWER, ODD, Sample, names, number, reading, sample_rows
from formlab.readers.values import pointer
from formlab.scoring.evaluate import evaluate

if TYPE_CHECKING:
    from formlab.folders import Corpus, Evaluation

__all__ = ["called", "differences", "headlines", "join_report", "open_log", "open_logs", "read"]

# What a column of a table can be, with the names that tell it where `columns` does not.
NAMES = {
    "doc_id": ("doc_id", "id", "document", "document_id", "sample_id", "index", "file", "filename"),
    "path": ("path", "field"),
    "gold": ("gold", "target", "reference", "expected", "truth", "ground_truth"),
    "value": ("value", "prediction", "pred", "output", "response", "completion", "model_output"),
    "score": ("score", "correct", "is_correct"),
    "status": ("status",),
    "error": ("error",),
    "system": ("system", "model"),
    "epoch": ("epoch", "repeat"),
}
EPOCHS = "epochs of the log; its own figures are over all of them"
_CREDIT = {"true": 1.0, "yes": 1.0, "c": 1.0, "false": 0.0, "no": 0.0, "i": 0.0}


def read(source: Any, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """The rows of a log: what each sample asked for, what was answered, how it was scored.

    Parameters
    ----------
    source
        A path or address, or a frame or list of dicts with a row per sample.
    columns
        The source's name for `doc_id`, `path`, `gold`, `value`, `score`, `status`, `error`,
        `system` and `epoch`, for a table whose columns have other names.

    Returns
    -------
    polars.DataFrame
        A column `role`: gold, answer, call, score, document, or figure, which the log states of
        all samples; columns of *records* and *responses*, `scorer` and `score`, and the log's own.
        Rows of one `system` and `epoch` are a run.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If there is no such log or column, or it cannot be read.

    Examples
    --------
    >>> rows = read([{"id": "a", "target": "9.00", "output": "9.0"}])
    >>> rows.filter(role="answer").select("doc_id", "path", "value", "status").rows()
    [('a', '/answer', '9.0', 'ok')]
    """
    return frame_of(_opened(source, columns or {}, None)[2])


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
        What the system is called, instead of the log's name for it: the model that answered.
    run
        Of a log with several systems or epochs the one to open, as `open_logs` calls it.

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
    options: dict[str, Any] = {"root": root, "split": split, "documents": documents}
    opened = open_logs(source, benchmark, columns, types=types, run=run, **options)
    if len(opened) > 1:
        listed = ", ".join(evaluation.system for evaluation in opened)
        where = source if isinstance(source, str | Path) else None
        what = f"the log holds {len(opened)} runs: {listed}"
        raise DataBroken(what, where=where, remedy="run= with one of these names, or open_logs")
    return called(opened[0], system) if system else opened[0]


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
    splits = [split] if split else []
    if isinstance(benchmark, str) and isinstance(source, str | Path):
        splits = splits or readers.splits(local(source))
    corpora = _corpora(benchmark, root, splits)
    corpus = next(corpora, None)
    form, origin, rows = _opened(source, columns or {}, corpus)
    listed = list(rows)
    if corpus is not None and not {row["role"] for row in listed} & {"gold", "score", "figure"}:
        # Answers alone are read as for `formlab score`.
        which = "all" if documents == ALL else "answered"
        answered = [corpus, *corpora] if splits else [corpus]
        return [
            evaluate(corpus, readers.predictions(source, corpus, columns=columns), documents=which)
            for corpus in answered
        ]
    runs = runs_of(listed, origin, form)
    if not runs:
        raise DataBroken("the log has no samples", where=origin.path)
    if run is not None:
        if run not in runs:
            raise UnknownName.of("run of the log", run, list(runs))
        runs = {run: runs[run]}
    if corpus is None:
        return [evaluation(one, types=types) for one in runs.values()]
    first, *others = runs.values()
    corpus, matches = fitting(first, chain([corpus], corpora))
    opened = [evaluation(first, corpus, documents=documents, matches=matches)]
    return opened + [evaluation(one, corpus, documents=documents) for one in others]


def runs_of(rows: Iterable[Row], source: Source, form: str) -> dict[str, Run]:
    """The runs in the rows of a log, by name: one for each system and epoch.

    What is said without a system, such as figures, is said of each. `form` names the reader.
    """
    frame = frame_of(rows).with_columns(pl.col("epoch").fill_null(1))
    is_answer = pl.col("role").is_in(["answer", "call", "score"])
    keys = frame.filter(is_answer).select("system", "epoch").unique(maintain_order=True).rows()
    stem, scores = door.stem(source.path), frame.filter(role="score")
    named = {"scorer": "scorer", "metric": "kind", "value": "score", "n": "n"}
    headline = frame.filter(role="figure").select(**named).to_dicts()
    log = {"format": form, "name": frame["split"].drop_nulls().first() or stem}
    log |= {"source": [file.name for file in source.files], "headline": headline}
    log["judged"] = sorted(set(scores.filter(judged=True)["scorer"]))
    # The first is the one that the headline is of.
    scorers = [figure["scorer"] for figure in headline] + scores["scorer"].to_list()
    scorers = [name for name in dict.fromkeys(scorers) if name in set(scores["scorer"])]
    sources = {file.name: files.sha256(file) for file in source.files if file.is_file()}
    runs = {}
    for system, epoch in keys:
        name, notes = system or source.name or stem, Counter(source.notes)
        epochs = sum(other == system for other, _ in keys)
        if epochs > 1:
            name, notes[EPOCHS] = f"{name}, epoch {epoch}", epochs
        is_of = pl.col("system").eq_missing(system) & (pl.col("epoch") == epoch)
        own = frame.filter(is_of | (pl.col("system").is_null() & ~is_answer))
        runs[name] = Run(name, own, log, scorers, notes, sources)
    return runs


def called(evaluation: Evaluation, system: str) -> Evaluation:
    """The evaluation with another name of its system.

    Examples
    --------
    >>> called(open_log([{"id": "a", "target": "9", "output": "9"}]), "mine").system
    'mine'
    """
    if system == evaluation.system:
        return evaluation
    name, own = pl.lit(system).alias("system"), evaluation.predictions
    changed = {n: getattr(evaluation, n).with_columns(name) for n in ("cases", "scores")}
    if own:
        parts = {n: getattr(own, n).with_columns(name) for n in ("records", "responses")}
        changed["predictions"] = dataclasses.replace(own, system=system, **parts)
    return dataclasses.replace(evaluation, system=system, **changed)


def _corpora(
    benchmark: str | Corpus | None, root: str | Path | None, splits: list[str]
) -> Iterator[Corpus]:
    """The corpora that a log may be of, each read when it is asked for."""
    if not isinstance(benchmark, str):
        yield from [benchmark] if benchmark else []
        return
    first = benchmarks.load(benchmark, root=root, split=splits[0] if splits else None)
    yield first
    for name in splits[1:] if splits else benchmarks.get(benchmark).splits_in(first.root):
        try:
            if name != first.split:
                yield benchmarks.load(benchmark, root=root, split=name)
        except DataMissing:
            continue


def _opened(
    source: Any, columns: Mapping[str, str], corpus: Corpus | None
) -> tuple[str, Source, Iterable[Row]]:
    """The name of what reads a source, what it says of it, and its rows."""
    if not isinstance(source, str | Path):
        origin = Source(Path(door.FRAME), corpus, columns)
        return "table", origin, _table(origin, source)
    origin = Source(local(source), corpus, columns)
    path = origin.path
    if not os.path.exists(path):
        raise DataMissing("no such log", where=path, remedy="check the path")
    reader = None if columns else readers.reader_of(path, corpus)
    if reader:
        return reader.name, origin, _rows(reader, origin)
    known = names(path)
    if columns or all(known & {*NAMES[name]} for name in ("gold", "value")):
        origin.files.append(path)
        return "table", origin, _table(origin, path)
    if corpus is not None:
        return "answers", origin, ()
    if door.ending(path) in (".pkl", ".pickle"):
        remedy = "write it as JSON or a table: to open a pickle runs the code in it"
        raise DataBroken("pickles are not opened", where=path, remedy=remedy)
    titles = "; ".join(reader.title for reader in readers.READERS.values())
    remedy = f"--columns doc_id=id,gold=target,value=output, or one of: {titles}"
    raise DataBroken("no known format of logs", where=path, remedy=remedy)


def _rows(reader: readers.Reader, source: Source) -> Iterator[Row]:
    try:
        yield from reader.read(source)
    except FormlabError:
        raise
    except ODD as error:
        what = f"not laid out as {reader.title}: {type(error).__name__}: {error}"
        remedy = "a log as the harness wrote it"
        if source.corpus is None and reader.name in benchmarks.BENCHMARKS:
            what, remedy = "answers without gold", f"--benchmark {reader.name}"
        raise DataBroken(what, where=source.path, remedy=remedy) from error


def _table(source: Source, table: Any) -> Iterator[Row]:
    """The rows of a table with a row per sample."""
    rows = [(origin, row) for origin, row, _ in door.items(table, source.notes)]
    known = dict.fromkeys(name for _, row in rows for name in row)
    for column, name in source.columns.items():
        if column not in NAMES:
            raise UnknownName.of("column to name", column, NAMES)
        if name not in known:
            raise UnknownName.of("column", name, known)
    named = dict(source.columns)
    for column, usual in NAMES.items():
        free = [name for name in usual if name in known and name not in named.values()]
        if free and column not in named:
            named[column] = free[0]
    if "value" not in named:
        what = f"no column is the answer; the table has: {', '.join(known)}"
        raise DataBroken(what, where=source.path, remedy="--columns value=NAME")
    samples = _samples(source, rows, named)
    yield from sample_rows(samples, source, door.stem(source.path))


def _samples(source: Source, rows: list[tuple[str, Row]], named: Row) -> Iterator[Sample]:
    for number_, (origin, row) in enumerate(rows, start=1):
        with reading(source, origin):
            cell = {column: row.get(name) for column, name in named.items()}
            text = {column: as_text(cell.get(column)) for column in NAMES}
            status, error = text["status"], text["error"]
            if status not in tables.STATUSES:
                # Another tool's word for it is kept, as the reason.
                error = error or (status if status not in (None, "success", "completed") else None)
                status = "api_error" if error and cell["value"] is None else "ok"
            if "doc_id" in named and not text["doc_id"]:
                source.notes[f"rows without {named['doc_id']}, called by their number"] += 1
            score = _CREDIT.get(str(cell.get("score")).strip().lower(), number(cell.get("score")))
            gold, answer = cell.get("gold"), cell["value"]
            yield Sample(
                text["doc_id"] or str(number_),
                pointer(text["path"]) if "path" in named else ANSWER,
                gold=gold if isinstance(gold, dict | list) else text["gold"],
                answer=answer if isinstance(answer, dict) else text["value"],
                status=status,
                system=text["system"] or "",
                epoch=int(number(cell.get("epoch")) or 1),
                origin=origin,
                scores={} if score is None else {named["score"]: score},
                call={"error": error},
                columns={name: row[name] for name in row if name not in named.values()},
            )


frames.door(globals(), __all__)
