"""Logs of other harnesses, and any table with a row per sample, as evaluations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from formlab import benchmarks, metrics, readers, tables
from formlab.errors import DataBroken, DataMissing, FormlabError, UnknownName
from formlab.files import local
from formlab.readers import ODD, Row, Source, door, samples
from formlab.readers.join import FAILED, MATCHED, evaluation, fitting, runs_of
from formlab.readers.samples import NAMES
from formlab.readers.sources import FRAME, items
from formlab.scoring.causes import STAGE_OF
from formlab.tables import USABLE, WHOLE_LEVELS

if TYPE_CHECKING:
    from formlab.folders import Corpus, Evaluation

__all__ = ["differences", "headlines", "join_report", "open_log", "open_logs"]

# Two figures of a document that differ by more than rounding.
_CLOSE = 0.005
_REPORT = {"matched": MATCHED, "missing": samples.MISSING, "duplicate": samples.DUPLICATES}
_REPORT |= {"failed": FAILED, "unreadable": samples.UNREADABLE}
_FIGURES: dict[str, Any] = dict.fromkeys(("by", "measure", "over"), pl.String)
_FIGURES |= {"value": pl.Float64, "n": pl.Int64}
_COLUMNS = ("doc_id", "path", "gold", "pred", "status", "log_score", "formlab")


def open_log(
    source: Any,
    benchmark: str | Corpus | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    system: str | None = None,
    **options: Any,
) -> Evaluation:
    """An evaluation made of a log of another harness that holds one run, a system and epoch.

    The log's own scores stand in `cases` as `log_score` and `log_by_<scorer>`, those of whole
    documents in `documents` as `log_document_score` and so on: see `headlines`, `differences`.
    `notes` counts samples that were matched, missing, given twice, failed or unreadable.

    `source` is a path or address, or a frame or list of dicts with a row per sample, whose names
    for those of `NAMES` are `columns`. `benchmark` is the name of one, or a corpus, whose gold is
    used, else the log's own; of the options, `root` and `split` are as for `formlab.load`, by
    default the split that fits best; `documents` says whether what has no sample is left out
    (``asked``) or missing (``all``); `types` are as for `readers.corpus`, `out` is a folder to save
    in, and `system` takes the place of the name of the model that answered. `DataMissing`,
    `DataBroken` or `UnknownName` if something cannot be read, or the log has several runs.

    >>> rows = [{"id": "a", "target": "9.00", "output": "9.0", "score": 0},
    ...         {"id": "b", "target": "May", "output": "may", "score": 0}]
    >>> evaluation = open_log(rows)
    >>> evaluation.fields.select("doc_id", "outcome", "log_score").rows()
    [('a', 'mismatch', 0.0), ('b', 'match', 0.0)]
    """
    opened = open_logs(source, benchmark, columns, **options, name=system)
    if len(opened) > 1:
        listed = ", ".join(evaluation.system for evaluation in opened)
        where = source if isinstance(source, str | Path) else None
        what = f"the log holds {len(opened)} runs: {listed}"
        raise DataBroken(what, where=where, remedy="open_logs")
    return opened[0]


def open_logs(
    source: Any,
    benchmark: str | Corpus | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    root: str | Path | None = None,
    split: str | None = None,
    name: str | None = None,
    out: Path | None = None,
    **options: Any,
) -> list[Evaluation]:
    """An evaluation for each run in a log, as `open_log`; `name` and `out` are for one run."""
    corpora = _corpora(benchmark, root, split)
    corpus = next(corpora, None)
    origin = Source(Path(FRAME), corpus, columns or {})
    form, rows = log_rows(source, origin)
    runs = runs_of(rows, origin, form)
    if corpus is not None:
        corpus = fitting(runs[0], chain([corpus], corpora))
    options |= {"name": name, "out": out} if len(runs) == 1 else {}
    # Of a run nothing is kept but what is scored.
    return [evaluation(runs.pop(0), corpus, **options) for _ in range(len(runs))]


def _corpora(
    benchmark: str | Corpus | None, root: str | Path | None, split: str | None
) -> Iterator[Corpus]:
    """The corpora that a log may be of, each read when it is asked for."""
    if not isinstance(benchmark, str):
        yield from [benchmark] if benchmark else []
        return
    yield (first := benchmarks.load(benchmark, root=root, split=split))
    for name in benchmarks.get(benchmark).splits_in(first.root):
        if not split and name != first.split:
            with suppress(DataMissing):
                yield benchmarks.load(benchmark, root=root, split=name)


def log_rows(source: Any, origin: Source) -> tuple[str, Iterable[Row]]:
    """The name of what reads a source, and its rows."""
    if isinstance(source, str | Path):
        origin.path = source = local(source)
        if not os.path.exists(source):
            raise DataMissing("no such log", where=source, remedy="check the path")
        if not origin.columns and (reader := readers.reader_of(source, origin.corpus)):
            return reader.name, _rows(reader, origin)
        if not origin.columns and not is_table(source):
            remedy = "with --predictions FILE if this is gold; --columns doc_id=id,gold=target,"
            remedy += "value=output if it is a log; or one of: "
            remedy += "; ".join(reader.title for reader in readers.READERS.values())
            raise DataBroken("no known format of logs", where=source, remedy=remedy)
        origin.files.append(source)
    return "table", _table(origin, source)


def is_table(path: Path) -> bool:
    """Whether a file is a table with columns for both gold and answers."""
    columns = samples.names(path)
    return all(columns & {*NAMES[name]} for name in ("gold", "value"))


def _rows(reader: readers.Reader, source: Source) -> Iterator[Row]:
    try:
        yield from reader.read(source)
    except FormlabError:
        raise
    except (*ODD, OSError, pl.exceptions.PolarsError) as error:
        what = f"not laid out as {reader.title}: {type(error).__name__}: {error}"
        remedy = "a log as the harness wrote it"
        if source.corpus is None and (name := reader.name) in benchmarks.BENCHMARKS:
            what, remedy = "answers without gold", f"formlab score {name} --predictions …"
        raise DataBroken(what, where=source.path, remedy=remedy) from error


def _table(source: Source, table: Any) -> Iterator[Row]:
    rows, named = list(enumerate(items(table, source.notes), start=1)), dict(source.columns)
    known = dict.fromkeys(name for _, (_, row) in rows for name in row)
    for column, name in named.items():
        if column not in NAMES:
            raise UnknownName.of("column to name", column, NAMES)
        if name not in known:
            raise UnknownName.of("column", name, known)
    for column in NAMES.keys() - named:
        free = [name for name in NAMES[column] if name in known and name not in named.values()]
        named |= {column: free[0]} if free else {}
    if "value" not in named:
        what = f"no column is the answer; the table has: {', '.join(known)}"
        raise DataBroken(what, where=source.path, remedy="--columns value=NAME")

    entries = ((origin, (row, named, str(count))) for count, (origin, row) in rows)
    stem = door.stem(source.path)
    yield from samples.sample_rows(source, stem, entries, lambda row, _: samples.of_cells(*row))


def stated(evaluation: Evaluation) -> dict[str, Any]:
    """What an evaluation of `open_log` keeps of its log: format, name, source, headline, scorer."""
    return (evaluation.settings.get("system") or {}).get("log") or {}


def join_report(evaluation: Evaluation) -> dict[str, int]:
    """How the samples of a log were joined, from an evaluation of `open_log`: five counts.

    >>> join_report(open_log([{"id": "a", "target": "9.00", "output": "9.00"}]))
    {'matched': 1, 'missing': 0, 'duplicate': 0, 'failed': 0, 'unreadable': 0}
    """
    return {word: evaluation.notes.get(f"log: {note}", 0) for word, note in _REPORT.items()}


def headlines(evaluation: Evaluation) -> pl.DataFrame:
    """The log's own figures beside formlab's, over what the log scored and over all of it.

    A row per figure: `by` (``log, as stated``; ``log``, recomputed; ``formlab``), `measure`, `over`
    (``scored`` by the log, or ``all``, where a sample without a score earns 0), `value` in the
    measure's unit and `n` samples. formlab's measure is the metric of the log's scorer if there is
    one, else the share of fields right after normalisation.

    >>> log = open_log([{"id": "a", "target": "May", "output": "may", "score": 0}])
    >>> headlines(log).filter(over="scored").select("by", "value", "n").rows()
    [('log', 0.0, 1), ('formlab', 1.0, 1)]
    """
    log, units, rows = stated(evaluation), _units(evaluation), []
    for figure in log.get("headline", ()):
        measure = f"{figure['scorer']}: {figure['metric']}"
        rows.append(("log, as stated", measure, "scored", figure["value"], figure["n"]))
    scorer, is_whole = log.get("scorer"), "log_document_status" in evaluation.documents
    measure = f"normalised_accuracy of fields{', mean of documents' if is_whole else ''}"
    if is_whole and scorer in evaluation.scores["metric"]:
        measure = scorer
    # An error rate of what was not read is that of an empty text: 1.
    is_rate = scorer in metrics.METRICS and metrics.get(scorer).direction != "up"
    log_figures = [("log", scorer, "log_score", float(is_rate))] if scorer else []
    for by, name, column, blank in (*log_figures, ("formlab", measure, "formlab", 0.0)):
        if scorer:
            scored = units.drop_nulls("log_score")
            rows.append((by, name, "scored", scored[column].mean(), scored.height))
        if units.height:
            rows.append((by, name, "all", units[column].fill_null(blank).mean(), units.height))
    if units.is_empty() and (failed := join_report(evaluation)["failed"]):
        # Nothing was asked of them that could be scored: all that is known is that they failed.
        rows.append(("formlab", measure, "all", 0.0, failed))
    return pl.DataFrame(rows, schema=_FIGURES, orient="row", strict=False)


def differences(evaluation: Evaluation) -> pl.DataFrame:
    """The cases that the log and formlab count differently, and `why`; none without its scores.

    Columns `doc_id`, `path` (null where whole documents are scored), `gold`, `pred`, `status`, the
    log's `log_score` and `formlab` (1 if right, else 0; of a document the metric's value).
    """
    if (scorer := stated(evaluation).get("scorer")) is None:
        return pl.DataFrame(schema=dict.fromkeys((*_COLUMNS, "why"), pl.String))
    distance = (pl.col("log_score") - pl.col("formlab")).abs()
    differ = _units(evaluation).filter(pl.col("log_score").is_null() | (distance > _CLOSE))
    why = [_why(row, scorer) for row in differ.iter_rows(named=True)]
    return differ.select(*_COLUMNS, why=pl.Series(why, dtype=pl.String))


def _units(evaluation: Evaluation) -> pl.DataFrame:
    """What the log scored with formlab's verdict; without its scores all that was asked for."""
    asked, scorer = evaluation.gathered(_asked, "cases"), stated(evaluation).get("scorer")
    if scorer and "log_score" not in asked.columns:
        asked = asked.with_columns(log_score=pl.lit(None, pl.Float64))
    if "log_document_status" not in evaluation.documents:
        return asked
    whole = evaluation.documents.select("doc_id", "^log_document_(status|score)$")
    whole = whole.rename(lambda name: name.replace("log_document_score", "log_score"))
    whole = whole.rename({"log_document_status": "status"}).drop_nulls("status")
    # By the metric of the scorer's name, else by the share of right fields.
    same = (pl.col("metric") == scorer) & pl.col("path").is_null() & pl.col("slice_by").is_null()
    figures = evaluation.scan("scores").filter(same).select("doc_id", formlab="value").collect()
    figures = figures if figures.height else asked.select("doc_id", "formlab")
    figures = figures.group_by("doc_id").agg(pl.col("formlab").mean())
    whole = whole.join(figures, on="doc_id", how="left", maintain_order="left")
    others = asked.join(whole, on="doc_id", how="anti").filter(pl.col("log_score").count() > 0)
    return pl.concat([whole, others, asked.clear()], how="diagonal_relaxed")


def _asked(cases: pl.LazyFrame) -> pl.LazyFrame:
    """The fields that were asked for, 1 if right, with what the log says of them."""
    is_field = ~pl.col("level").is_in(WHOLE_LEVELS) & pl.col("gold").is_not_null()
    right = (pl.col("outcome") == "match").cast(pl.Float64)
    asked = cases.filter(is_field, pl.col("outcome") != "unscored")
    return asked.select(*_COLUMNS[:5], "cause", "^log_score$", formlab=right)


def _why(row: dict[str, Any], scorer: str) -> str:
    """Why the log and formlab differ on a case: the first reason that applies."""
    score, status, cause = row["log_score"], row["status"], row["cause"]
    is_answered, gold, pred = status in USABLE, row["gold"] or "", row["pred"] or ""
    # Equal for formlab after case and spaces, or as typed values.
    is_form = STAGE_OF.get(cause) == "form" or cause in ("space", "diacritic")
    reasons = {
        "not scored in the log": score is None and is_answered,
        f"{status}: left out of the log's mean, counted as wrong by formlab": score is None,
        f"{status}: scored in the log, nothing found for formlab": not is_answered,
        "a model judged it in the log": "model_graded" in scorer,
        "the whole document is scored by another rule": row["path"] is None,
        "partial credit in the log": score not in (0, 1),
        f"normalisation: {cause}": cause and (not score or is_form),
        "the log's own rule refuses it": not score,
        "the log takes gold that stands within a longer answer": gold.strip().lower()
        in pred.lower(),
    }
    found = (reason for reason, applies in reasons.items() if applies)
    return next(found, f"the log's own rule accepts it: {cause}")


tables.door(globals(), __all__)
