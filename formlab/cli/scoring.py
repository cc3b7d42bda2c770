"""The commands that run a system and score what it answered, logs of other harnesses included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab.cli import options
from formlab.cli.options import Rows, Table, command, corpus_of, interval, option
from formlab.errors import DataBroken, FormlabError, NotAvailable
from formlab.show import plain, say

if TYPE_CHECKING:
    import polars as pl

    from formlab.folders import Corpus, Evaluation, Predictions

# How many scores follow the main one without --all, how many figures of a log, and cases with it.
MAIN, _FIGURES, _CASES = 5, 5, 10
# Rows that make a source more than answers.
_ROLES = {"gold", "figure"}


@command(
    options.GOLD,
    option("--system", "What reads the forms: ocr, rules, chat:MODEL.", required=True),
    options.BENCHMARK,
    options.OWN_GOLD,
    options.DOCUMENTS,
    options.out("Folder of the run [runs/BENCH-SPLIT-SYSTEM]."),
    options.WORKERS,
    options.NAME,
    options.MODEL,
    options.PROMPT,
)
def run(gold: str | Path, system: str, settings: dict[str, str], **how: Any) -> Rows:
    """Run a system on the forms of GOLD. Run the same command again to resume.

    GOLD is a benchmark's name, or your own gold: CSV, TSV, JSONL, Parquet, XLSX, a folder of JSON.
    """
    import polars as pl

    from formlab import systems
    from formlab.scoring import choice
    from formlab.tables import USABLE

    documents = how["documents"]
    if documents == "answered":
        raise DataBroken("--documents answered: nothing is answered yet", remedy="all, FILE or N")
    reader = systems.get(system)
    chosen = reader.settings(settings)
    corpus = corpus_of(gold, how)
    if isinstance(documents, Path):
        names = corpus.documents["doc_id"].to_list()
        listed = choice.decide(names, set(), documents, where=corpus.split).documents
        corpus = corpus.filtered(pl.col("doc_id").is_in(listed))
    name = how["name"] or reader.run_name(chosen)
    folder = f"{corpus.benchmark}-{corpus.split}-{name}".replace("/", "-")
    out = how["out"] or Path("runs", folder)
    limit = documents if isinstance(documents, int) else None
    given = {"settings": chosen, "name": name, "limit": limit, "workers": how["workers"]}
    predictions = systems.run(corpus, reader, out=out, **given)
    notes, responses = predictions.notes, predictions.responses
    failed = responses.filter(~pl.col("status").is_in(USABLE))
    say(notes)
    for doc_id, status, error in failed.select("doc_id", "status", "error").head(5).rows():
        click.echo(f"{status}: {plain(doc_id)}: {plain(error or 'no reason given')}", err=True)
    row = {"system": predictions.system, "documents": responses.height, "failed": failed.height}
    return Rows([row | {"records": predictions.records.height, "out": str(out)}])


# Of every command that scores.
SCORING = (
    options.DOCUMENTS,
    option("--mode", "How to score: official (as published) or fixed."),
    option("--reader", "How fields are read from a page's words: centre, overlap, cut."),
    options.out("Folder for the evaluation; of several, a folder each inside of it."),
    options.BY,
    options.RESAMPLES,
    options.SEED,
    options.EVERYTHING,
)
# What `formlab.evaluate` is given as it was typed, of gold of one's own `_OF_OWN` besides, and what
# is said of how scores are printed.
_PASSED, _OF_OWN = ("mode", "reader", "workers", "out", "name"), ("images", "types", "columns")
_PRINTED = ("by", "everything", "resamples", "seed")


@command(
    options.GOLDS,
    option("--predictions", "Answers, a run, or logs; see above.", options.file, multiple=True),
    options.BENCHMARK,
    options.OWN_GOLD,
    SCORING,
    options.NAME,
    option("--allow-unmatched", "Score answers of which no field is in the gold.", bool),
    options.WORKERS,
)
def score(gold: tuple[str | Path, ...], predictions: tuple[Path, ...], **how: Any) -> Rows:
    """Score --predictions against GOLD: a benchmark's name, or the path of your own gold.

    Without --predictions, GOLD is what brings its own gold: a finished run of formlab arena, or
    logs of Inspect, lmms-eval, VLMEvalKit, OmniAI, stickler, olmOCR-bench, or any table, whose own
    figures are set beside formlab's; with the name of a benchmark and logs as --predictions it is
    the benchmark's gold. On a benchmark each split that predictions are for is scored.
    """
    from formlab import readers

    first, *more = gold
    benchmark = first if isinstance(first, str) else None
    if predictions and more:
        raise click.UsageError("one GOLD with --predictions")
    if benchmark and not predictions:
        raise click.UsageError("--predictions: what is scored against the benchmark")
    if not predictions or (benchmark and all(map(_is_log, predictions))):
        reader = None if predictions or more else readers.reader_of(first)
        if reader is None or reader.both is None:
            return _logs(predictions or gold, benchmark, **how)
        return scored(*reader.both(first), **how)
    if len(predictions) > 1:
        raise click.UsageError("one --predictions, unless they are logs")
    if benchmark:
        return _summary(_by_split(benchmark, predictions[0], how), how)
    return _summary([_evaluated(first, predictions[0], how, *_OF_OWN)], how)


def scored(corpus: Corpus, predictions: Predictions, **how: Any) -> Rows:
    """The scores of what is read already, with the options `SCORING`."""
    return _summary([_evaluated(corpus, predictions, how)], how)


def _evaluated(gold: Any, answers: Any, how: Mapping[str, Any], *more: str) -> Evaluation:
    """The evaluation of answers to gold, saved where `how` has a folder for it."""
    from formlab import analysis
    from formlab.folders import Evaluation
    from formlab.readers import UNMET

    documents, out = how["documents"], how["out"]
    given = {n: how[n] for n in (*_PASSED, *more) if how.get(n) is not None}
    given |= {"limit": documents} if isinstance(documents, int) else {"documents": documents}
    before: dict[str, Any] = {}
    if out:
        given["fallback"] = out.name
        with suppress(FormlabError):
            before = Evaluation.manifest_of(out)
    evaluation = analysis.evaluate(gold, answers, **given)
    notes, old, new = evaluation.notes, before.get("sources") or {}, evaluation.sources
    if not how.get("allow_unmatched") and documents == "all" and UNMET in notes:
        found = [note for note in notes if note.startswith(("gold fields that", "answer fields"))]
        remedy = "--columns for names of columns, or --allow-unmatched if it is meant"
        raise DataBroken(": ".join([UNMET, "; ".join(found)]), remedy=remedy)
    is_other = bool(old.keys() - new.keys() and new.keys() - old.keys())
    if before and (is_other or before.get("system") != evaluation.system):
        names = (f"{before.get('system')} ({', '.join(old)})", evaluation.system)
        note = "note: in {}, the evaluation of {} was replaced by {}".format(out, *names)
        click.secho(plain(note), fg="yellow", err=True)
    return evaluation


def _by_split(name: str, answers: Path, how: Mapping[str, Any]) -> Iterator[Evaluation]:
    """The evaluation of each split of a benchmark that answers are for."""
    from formlab import benchmarks, readers

    root, split = how["root"], how["split"]
    names = [split] if split else readers.splits(answers) or [None]
    if len(names) > 1 and isinstance(how["documents"], Path):
        what = f"--documents FILE with predictions for {', '.join(names)}"
        raise DataBroken(what, remedy="--split, and a list for each")
    for split in names:
        corpora, out = benchmarks.corpora(name, root=root, split=split), how["out"]
        if len(names) > 1:
            first = next(corpora)
            corpora, out = chain([first], corpora), out and out / first.split
        yield _evaluated(corpora, answers, {**how, "out": out})


def _summary(evaluations: Iterable[Evaluation], how: Mapping[str, Any]) -> Rows:
    """The scores of evaluations, one by one: a main number of each, and few others beside it.

    Slices that were not asked for are summarised only where everything is wanted.
    """
    import polars as pl

    from formlab import analysis, benchmarks

    by, everything, resamples, seed = (how[name] for name in _PRINTED)
    summaries = []
    for evaluation in evaluations:
        _say_notes(evaluation)
        usual = benchmarks.get(evaluation.benchmark).slices if everything else ()
        drawing = {"resamples": resamples, "seed": seed}
        summaries.append(analysis.summarise(evaluation, by=by or usual, **drawing))
    table = pl.concat(summaries)
    every = _readable(table)
    if everything:
        return Rows(table, [("", every)])
    tables = [part for summary in summaries for part in _main(summary, by)]
    count = sum(len(rows) for _, rows in tables) + len(summaries)
    hint = f"{count} of {every.height:,} scores; --all prints all and slices, --json every column"
    return Rows(table, tables, hints=[hint] if count < every.height else [])


def _say_notes(evaluation: Evaluation) -> None:
    """Print what was scored and what was odd, first of all which part of the corpus it is."""
    from formlab import tables
    from formlab.scoring import choice

    if sentence := choice.part_run(evaluation):
        where = f"{evaluation.benchmark}:{evaluation.split}"
        click.secho(f"{plain(where)}: {sentence}", fg="yellow", bold=True, err=True)
    inferred = f"gold: {tables.INFERRED}: "
    types = {note: n for note, n in evaluation.notes.items() if note.startswith(inferred)}
    notes = {n: c for n, c in evaluation.notes.items() if n not in (*choice.NOTES, *types)}
    say(notes, left_out=evaluation.unreadable)
    if types:
        counts = ", ".join(f"{n} {note.removeprefix(inferred)}" for note, n in types.items())
        click.echo(plain(f"{tables.INFERRED}: {counts}; --types FILE declares them"), err=True)


def _main(summary: pl.DataFrame, by: Collection[str]) -> list[Table]:
    """The main number of a split as a title, the scores beside it, and the slices `by` columns."""
    import polars as pl

    from formlab import metrics
    from formlab.analysis import headlines
    from formlab.registry import OWN
    from formlab.tables import LADDER, readable

    pooled = summary.filter(average="pooled")
    heads = headlines(pooled).select("metric", level="score_level", place=pl.int_range(pl.len()))
    plugged = [n for n in pooled["metric"].unique() if metrics.METRICS.source(n) != OWN]
    metric, is_field = pl.col("metric"), pl.col("level") == "field"
    # First what speaks for a level, then metrics of plug-ins and of values that are right by the
    # rules of one's own forms, the ladder, what is left, and last what is undefined.
    first = metric.is_in(plugged) | metric.str.starts_with("match_")
    ladder = metric.is_in([f"{rung}_accuracy" for rung in LADDER]) & is_field
    rank = pl.when(pl.col("place").is_not_null()).then(0).when(pl.col("value").is_nan()).then(4)
    rank = rank.when(first).then(1).when(ladder).then(2).otherwise(3)
    ranked = pooled.join(heads, on=["metric", "level"], how="left", maintain_order="left")
    ranked = ranked.with_columns(rank=rank).sort("rank", "place", maintain_order=True)
    total = ranked.filter(pl.col("slice_by").is_null()).head(1 + MAIN)
    sliced = ranked.filter(pl.col("slice_by").is_in(list(by)), pl.col("rank") == 0)
    columns = ("task", "level", "metric", "value", "ci_low", "ci_high")
    counts, row = {"n": "n_cases", "missing": "n_missing"}, total.row(0, named=True)
    value = f"{row['metric']} {interval(row['value'], row['ci_low'], row['ci_high'])}"
    size = f"{row['n_cases']:,} {row['level']}s, {row['n_docs']:,} documents"
    title = f"{row['system']}, {row['benchmark']}:{row['split']}: {value} ({size})"
    tables = [(title, total[1:].select(*columns, **counts))]
    if sliced.height:
        tables.append(("", readable(sliced).select("slice", *columns, **counts)))
    return tables


def _readable(summary: pl.DataFrame) -> pl.DataFrame:
    """A row per slice and metric, the mean over documents beside the pooled value."""
    from formlab.tables import readable

    summary = readable(summary)
    key = ["split", "task", "level", "metric", "slice"]
    mean = summary.filter(average="macro").select(*key, macro="value")
    joining = {"on": key, "how": "left", "nulls_equal": True, "maintain_order": "left"}
    rows = summary.filter(average="pooled").join(mean, **joining)
    counts = {f"n_{name}": name for name in ("docs", "cases", "missing", "undefined")}
    # Named only where they tell rows apart.
    several = ["split"] if rows["split"].n_unique() > 1 else []
    if rows.select("split", "slice", "metric").is_duplicated().any():
        several += ["task", "level"]
    columns = (*several, "slice", "metric", "value", "ci_low", "ci_high", "macro", *counts)
    return rows.select(columns).rename(counts)


def _is_log(path: Path) -> bool:
    """Whether a file or folder has scores or gold of its own beside answers."""
    from formlab import readers
    from formlab.readers.logs import NAMES
    from formlab.readers.rows import Source
    from formlab.readers.samples import ODD, SCORE, names

    if (reader := readers.reader_of(path)) is None:
        known = names(path)
        return all(known & {*NAMES[name]} for name in ("gold", "value"))
    with suppress(FormlabError, *ODD):
        rows = islice(reader.read(Source(path)), 1000)
        return any(row["role"] in _ROLES or any(n.startswith(SCORE) for n in row) for row in rows)
    return False


def _logs(logs: tuple[Path, ...], benchmark: str | None, **how: Any) -> Rows:
    """An evaluation of each run in logs, with the log's own figures beside formlab's."""
    from formlab import workers as processes
    from formlab.analysis.comparability import named
    from formlab.readers.logs import open_logs

    name, out, everything, workers = (how[n] for n in ("name", "out", "everything", "workers"))
    given = {key: how[key] for key in ("columns", "types", "root", "split")}
    given["documents"] = "all" if how["documents"] == "all" else "asked"
    given |= {"name": name} | ({"out": out} if len(logs) == 1 else {})
    if isinstance(workers, int):
        workers = min(workers, len(logs))
    paths = [log.resolve() for log in logs]
    opening = partial(open_logs, benchmark=benchmark, **given)
    found = dict(processes.each(opening, paths, workers=workers))
    for path, lost in found.items():
        if isinstance(lost, processes.Lost):
            what = f"the log cannot be read: {lost.reason}"
            raise NotAvailable(what, where=path, remedy="more memory")
    # In the order in which they were named, whichever was read first.
    opened = [(log, e) for log, path in zip(logs, paths, strict=True) for e in found[path]]
    rows, tables, stems = [], [], Counter()
    for (log, _), evaluation in zip(opened, named([e for _, e in opened]), strict=True):
        folder = out
        # Of one log with one run it is saved already.
        if out and len(opened) > 1:
            stems[log.stem] += 1
            folder = out / (log.stem + (f"-{n}" if (n := stems[log.stem]) > 1 else ""))
            evaluation.save(folder)
        rows.append(_log_row(log, evaluation, folder))
        tables += _log_tables(rows[-1], everything=everything)
        say(evaluation.notes, left_out=evaluation.unreadable)
    hint = "--all prints cases that differ, --json everything"
    return Rows(rows, tables, hints=[] if everything else [hint])


def _log_row(log: Path, evaluation: Evaluation, folder: Path | None) -> dict[str, Any]:
    from formlab.readers.logs import differences, headlines, join_report, stated

    differ = differences(evaluation)
    counts = Counter(differ["why"].to_list() if differ.width and differ.height else [])
    where = f"{evaluation.benchmark}:{evaluation.split}"
    row = {"log": str(log), "format": stated(evaluation).get("format"), "system": evaluation.system}
    row |= {"benchmark": where, "join": join_report(evaluation), "notes": evaluation.notes}
    row |= {"headlines": headlines(evaluation).to_dicts(), "differences": differ.to_dicts()}
    return row | {"why": dict(counts.most_common()), "out": folder and str(folder)}


def _log_tables(row: Mapping[str, Any], *, everything: bool) -> list[Table]:
    """The main number of a log's run, figures beside it, and with `everything` why they differ."""
    title = f"{row['system']}, {row['benchmark']}, {row['log']}"
    if figures := [figure for figure in row["headlines"] if figure["by"] == "formlab"]:
        last = figures[-1]
        title += f": {last['measure']} {last['value']:.4f} ({last['n']} samples)"
    tables: list[Table] = [(title, row["headlines"] if everything else row["headlines"][:_FIGURES])]
    if row["format"]:
        counts = ", ".join(f"{count} {word}" for word, count in row["join"].items())
        tables.append((f"samples: {counts}", []))
    if cases := row["differences"]:
        tables.append((f"{len(cases)} cases that the log and formlab count differently", []))
    if cases and everything:
        tables.append(("", [{"cases": n, "why": why} for why, n in row["why"].items()]))
        tables.append((f"the first {min(_CASES, len(cases))} of them", cases[:_CASES]))
    return tables + ([(f"saved in {row['out']}", [])] if row["out"] else [])
