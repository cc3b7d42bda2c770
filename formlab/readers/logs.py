"""Logs of other harnesses, and any table with a row per sample, as evaluations."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from formlab import benchmarks, files, metrics, readers, tables
from formlab.benchmarks.corpus import made
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.readers import Columns, Row, Source, answers, samples, sources
from formlab.readers.gold import corpora
from formlab.scoring.causes import STAGE_OF
from formlab.scoring.evaluate import evaluate, is_large, results
from formlab.workers import each, processes

__all__ = ["differences", "headlines", "join_report", "open_log", "open_logs"]

_CLOSE = 0.005  # Two figures of a document that differ by more than rounding.
_KEY = ["doc_id", "path"]
_CASE = ("doc_id", "path", "gold", "pred", "status", "log_score", "formlab")


def open_log(
    source: Any, benchmark: str | Corpus | None = None, columns: Columns = None, **options: Any
) -> Evaluation:
    """An evaluation made of a log of another harness that holds one run, a system and epoch.

    `source` is a path or address, or a frame or list of dicts with a row per sample, whose names
    for those of `samples.NAMES` are `columns`. The gold of `benchmark`, a name or a corpus, takes
    the place of the log's own: `root` and `split` are as for `formlab.load`, by default the split
    that fits best; with `documents` ``all``, not ``asked``, what has no sample is missing. `types`
    are as for `readers.corpus`, `out` and `workers` as for `evaluate`, `system` renames the model.

    The log's scores are `log_score` and `log_by_<scorer>` of `cases`, `log_document_score` of
    `documents`; see `headlines`, `differences`. `DataMissing`, `DataBroken` or `UnknownName` if
    something cannot be read, or the log has several runs.

    >>> rows = [{"id": "a", "target": "9.00", "output": "9.0", "score": 0},
    ...         {"id": "b", "target": "May", "output": "may", "score": 0}]
    >>> open_log(rows).fields.select("doc_id", "outcome", "log_score").rows()
    [('a', 'mismatch', 0.0), ('b', 'match', 0.0)]
    """
    runs = open_logs(source, benchmark, columns, name=options.pop("system", None), **options)
    if len(runs) > 1:
        what = f"the log holds {len(runs)} runs: {', '.join(run.system for run in runs)}"
        where = source if isinstance(source, str | Path) else None
        raise DataBroken(what, where=where, remedy="open_logs")
    return runs[0]


def open_logs(
    source: Any, benchmark: str | Corpus | None = None, columns: Columns = None, **options: Any
) -> list[Evaluation]:
    """An evaluation for each run in a log, as `open_log`; `name` and `out` are for one run."""
    root, split, name = (options.pop(option, None) for option in ("root", "split", "name"))
    is_name = isinstance(benchmark, str)
    corpus = benchmarks.load(benchmark, root=root, split=split) if is_name else benchmark
    origin, workers = Source(Path(sources.FRAME), corpus, columns or {}), options.get("workers", 1)
    with processes(workers, evaluate) if is_large(source, workers) else nullcontext() as pool:
        framed = partial(results, pool and partial(each, workers=workers, pool=pool), "samples")
        runs = [*samples.runs_of(log_rows(source, origin), origin, framed)]
        if is_name and not split:
            # The split that the first run fits best: the usual one, if all of the run is of it.
            least, usual = _matched(runs[0], corpus)["at"].null_count(), corpus
            for split in benchmarks.get(benchmark).splits_in(usual.root):
                if least and split != usual.split:
                    with suppress(DataMissing):
                        other = benchmarks.load(benchmark, root=root, split=split)
                        if (strange := _matched(runs[0], other)["at"].null_count()) < least:
                            corpus, least = other, strange
        runs[0].name = name if name and len(runs) == 1 else runs[0].name
        options |= {"out": None} if len(runs) > 1 else {}
        return [evaluation(runs.pop(0), corpus, pool=pool, **options) for _ in range(len(runs))]


def log_rows(source: Any, origin: Source) -> Iterator[Row]:
    """The rows of a log or of a table with a row per sample; `origin` says what was read."""
    title, known = "a table with a row per sample", None
    if isinstance(source, str | Path):
        origin.path = files.local(source)
        known = None if origin.columns else readers.reader_of(origin.path, origin.corpus)
        origin.files += [] if known else [origin.path]
    table = readers.Reader("table", title, is_table, partial(samples.of_table, source))
    yield from (known or table).rows(origin)


def is_table(path: Path) -> bool:
    """Whether a file is a table with columns for both gold and answers."""
    return all(samples.names(path) & {*samples.NAMES[name]} for name in ("gold", "value"))


def evaluation(
    run: Source, corpus: Corpus | None, documents: str = "asked", types: Any = None, **saving: Any
) -> Evaluation:
    """The evaluation of a run by its own gold or a benchmark's: once, as its rows are let go."""
    named = {f"{samples.SCORE}{run.log['scorer']}": "log_score"}
    run.rows = {role: rows.rename(named, strict=False) for role, rows in run.rows.items()}
    gold = [] if corpus is None else [_joined(run, corpus, is_all=documents == "all")]
    calls, given = run.rows["call"], run.rows["answer"]
    # A sample that asks for an object has several answers, and is counted once.
    run.notes[samples.JOINED["matched"]] = calls.height or given.height
    failed = calls.filter(~pl.col("status").is_in([*tables.USABLE, "missing"]))
    run.notes[samples.JOINED["failed"]] = failed.height
    reasons = failed["error"].drop_nulls().value_counts(sort=True).head(5)
    run.notes.update({f"failed with {error[:120]}": count for error, count in reasons.rows()})
    with TemporaryDirectory(prefix="formlab-") as folder:
        if not gold:
            values, place = run.rows.pop("gold"), Path(folder, "gold")
            if values.is_empty():
                remedy = "--predictions FILE if it is gold, else score BENCHMARK --predictions LOG"
                raise DataBroken("values without gold beside them", where=run.path, remedy=remedy)
            moved = answers.moves(given["path"], values["path"], run.notes)
            run.rows["answer"] = answers.with_paths(given, moved)
            # Named, so that no column of the log's own is taken for another.
            named = {name: name for name in (*_KEY, "value")}
            gold = corpora(values, place, types=types, columns=named, name=run.log["name"])
        # Single fields of another document may be scored beside whole documents.
        scores = calls.drop_nulls("log_status").select("doc_id", "^log_.*$")
        if run.log["scorer"] and scores.height:
            scores = scores.unique("doc_id", keep="last")
            scores = scores.rename(lambda name: name.replace("log_", "log_document_", 1))
            on = {"on": "doc_id", "how": "left", "maintain_order": "left"}
            gold = (replace(c, documents=c.documents.join(scores, **on)) for c in map(made, gold))
        return evaluate(iter(gold), partial(_predictions, run), **saving)


def _matched(run: Source, corpus: Corpus) -> pl.DataFrame:
    """Each document and path of a run, and where it is in the corpus: `at` and `at_path`."""
    asked = pl.concat([run.rows[role].select(_KEY) for role in ("gold", "answer")]).unique()
    renamed = answers.renames(asked["doc_id"].unique(), corpus.documents["doc_id"], {})
    # A name may have the field behind the document, such as `0000971160/entities/11`.
    name, field = (pl.col("doc_id").str.extract(part) for part in ("^([^/]*)", "^[^/]*(/.*)"))
    named = asked.with_columns(at=pl.col("doc_id").replace(renamed), at_path="path")
    behind = asked.with_columns(at=name, at_path=field).drop_nulls("at_path")
    known = [corpus.records.select(_KEY), corpus.documents.select("doc_id")]
    known = pl.concat(known, how="diagonal").select(at="doc_id", at_path="path")
    places = {"on": ["at", "at_path"], "nulls_equal": True, "maintain_order": "left"}
    found = pl.concat([named, behind]).join(known, how="semi", **places)
    found = found.unique(_KEY, keep="first", maintain_order=True)
    return asked.join(found, on=_KEY, how="left", nulls_equal=True)


def _joined(run: Source, corpus: Corpus, *, is_all: bool) -> Corpus:
    """The part of a corpus that a run is of, or all, whose keys its rows get."""
    places = _matched(run, corpus)
    known = places.drop_nulls("at")
    if known.is_empty():
        return corpus  # Scoring says that nothing meets.
    # A whole document goes with its fields.
    found = pl.concat([known, known[["doc_id", "at"]]], how="diagonal").unique(_KEY, keep="first")
    for role, rows in run.rows.items():
        rows = rows.join(found, on=_KEY, nulls_equal=True, maintain_order="left")
        run.rows[role] = rows.with_columns(doc_id="at", path="at_path").drop("at", "at_path")
    run.notes[samples.OTHERS["strange"]] = places["at"].null_count()
    both = corpus.records.join(run.rows["gold"], on=_KEY, nulls_equal=True)
    both = both.select(pl.col("value", "value_right").str.strip_chars().fill_null(""))
    run.notes[samples.OTHERS["gold"]] = both.filter(pl.col("value") != pl.col("value_right")).height
    if is_all:
        return corpus
    asked = known.select(doc_id="at", path="at_path").unique()
    part = corpus.filtered(pl.col("doc_id").is_in(asked["doc_id"].implode()))
    # Who was asked for whole pages was asked for all that stands on them; evidence stays.
    pages = asked.filter(pl.col("path").is_null())
    others = part.records.filter(pl.col("task") != "layout").drop_nulls("path").select(_KEY)
    others = others.join(pages, on="doc_id", how="anti").join(asked, on=_KEY, how="anti")
    run.notes[samples.OTHERS["unasked"]] = others.height
    records = part.records.join(others, on=_KEY, how="anti", maintain_order="left")
    return replace(part, records=records)


def _predictions(run: Source, corpus: Corpus, of_corpus: pl.Expr) -> Callable[[], Predictions]:
    """What makes the answers for a part of the gold, with the log's scores as columns."""
    given, calls = (run.rows[role].filter(of_corpus) for role in ("answer", "call"))
    run.rows |= {role: run.rows[role].filter(~of_corpus) for role in ("answer", "call")}
    part = replace(run, rows={}, notes=run.notes.copy())
    run.notes.clear()  # They are of all of the log.
    return partial(answers.of_run, part, corpus, given, calls, usual="text")


def join_report(evaluation: Evaluation) -> dict[str, int]:
    """How the samples of a log were joined, from an evaluation of `open_log`: five counts.

    >>> join_report(open_log([{"id": "a", "target": "9.00", "output": "9.00"}]))
    {'matched': 1, 'missing': 0, 'duplicate': 0, 'failed': 0, 'unreadable': 0}
    """
    return {word: evaluation.notes.get(f"log: {note}", 0) for word, note in samples.JOINED.items()}


def headlines(evaluation: Evaluation) -> pl.DataFrame:
    """The log's own figures beside formlab's, over what the log scored and over all of it.

    A row per figure: `by` (``log, as stated``; ``log``, recomputed; ``formlab``), `measure` (of
    formlab the scorer's metric, else the share of right fields), `over` (``scored`` by the log, or
    ``all``, where a sample without a score earns 0), `value` in its unit, and `n` samples.

    >>> log = open_log([{"id": "a", "target": "May", "output": "may", "score": 0}])
    >>> headlines(log).filter(over="scored").select("by", "value", "n").rows()
    [('log', 0.0, 1), ('formlab', 1.0, 1)]
    """
    units, log = _units(evaluation)
    units = units.select("log_score", "formlab").collect()
    scorer, is_whole = log.get("scorer"), "log_document_status" in evaluation.documents
    rows = [
        ("log, as stated", f"{of['scorer']}: {of['metric']}", "scored", of["value"], of["n"])
        for of in log.get("headline", ())
    ]
    measure = f"normalised_accuracy of fields{', mean of documents' if is_whole else ''}"
    measure = scorer if is_whole and scorer in evaluation.scores["metric"] else measure
    # An error rate of what was not read is that of an empty text: 1.
    is_rate = scorer in metrics.METRICS and metrics.get(scorer).direction != "up"
    # Of samples that all failed nothing was asked for that could be scored.
    count, scored = units.height or join_report(evaluation)["failed"], units.drop_nulls("log_score")
    log_figures = [("log", scorer, "log_score", float(is_rate))] if scorer else []
    for by, name, column, blank in (*log_figures, ("formlab", measure, "formlab", 0.0)):
        rows += [(by, name, "scored", scored[column].mean(), scored.height)] if scorer else []
        value = units[column].fill_null(blank).mean() if units.height else blank
        rows += [(by, name, "all", value, count)] if count else []
    schema = ["by", "measure", "over", ("value", pl.Float64), ("n", pl.Int64)]
    return pl.DataFrame(rows, schema, orient="row", strict=False)


def differences(evaluation: Evaluation) -> pl.DataFrame:
    """The cases that the log and formlab count differently, and `why`; none without its scores.

    Columns `doc_id`, `path` (null where whole documents are scored), `gold`, `pred`, `status`, the
    log's `log_score` and `formlab` (1 if right, else 0; of a document the metric's value).
    """
    (units, log), distance = _units(evaluation), pl.col("log_score") - pl.col("formlab")
    differ = units.filter(pl.col("log_score").is_null() | (distance.abs() > _CLOSE))
    differ, why = differ.slice(0, None if (scorer := log.get("scorer")) else 0).collect(), []
    for row in differ.iter_rows(named=True):
        score, status, cause = row["log_score"], row["status"], row["cause"]
        # Equal for formlab after case and spaces, or as typed values.
        is_form = STAGE_OF.get(cause) == "form" or cause in ("space", "diacritic")
        is_within = (row["gold"] or "").strip().lower() in (row["pred"] or "").lower()
        reasons = {
            "not scored in the log": score is None and status in tables.USABLE,
            f"{status}: left out of the log's mean, counted as wrong by formlab": score is None,
            f"{status}: scored in the log, nothing found for formlab": status not in tables.USABLE,
            "a model judged it in the log": "model_graded" in scorer,
            "the whole document is scored by another rule": row["path"] is None,
            "partial credit in the log": score not in (0, 1),
            f"normalisation: {cause}": cause and (not score or is_form),
            "the log's own rule refuses it": not score,
            "the log takes gold that stands within a longer answer": is_within,
            f"the log's own rule accepts it: {cause}": True,
        }
        why.append(next(reason for reason, applies in reasons.items() if applies))
    return differ.select(*_CASE, why=pl.Series(why, dtype=pl.String))


def _units(evaluation: Evaluation) -> tuple[pl.LazyFrame, Row]:
    """What the log scored with formlab's verdict, else all that was asked for; what it states."""
    log = (evaluation.settings.get("system") or {}).get("log") or {}
    scorer, right = log.get("scorer"), pl.col("outcome") == "match"
    is_field = pl.col("gold").is_not_null() & ~pl.col("level").is_in(tables.WHOLE_LEVELS)
    none = pl.LazyFrame(schema={"log_score": pl.Float64})
    cases = pl.concat([evaluation.scan("cases"), none], how="diagonal")
    asked = cases.filter(is_field, pl.col("outcome") != "unscored")
    asked = asked.select(*_CASE[:6], "cause", formlab=right.cast(pl.Float64))
    if "log_document_status" not in evaluation.documents:
        return asked, log
    named = {"log_document_status": "status", "log_document_score": "log_score"}
    whole = evaluation.documents.select("doc_id", "^log_document_(status|score)$")
    whole = whole.rename(named, strict=False).drop_nulls("status").lazy()
    # By the metric of the scorer's name, else by the share of right fields.
    same = tables.only(evaluation.scan("scores"), metric=scorer, path=None, slice_by=None)
    figures = same.select("doc_id", formlab="value").collect()
    of = (figures.lazy() if figures.height else asked).group_by("doc_id").agg(pl.mean("formlab"))
    whole = whole.join(of, on="doc_id", how="left", maintain_order="left")
    others = asked.join(whole, on="doc_id", how="anti").filter(pl.col("log_score").count() > 0)
    return pl.concat([whole, others, asked.clear()], how="diagonal_relaxed"), log
