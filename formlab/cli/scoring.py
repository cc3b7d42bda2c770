"""The commands that run a system and score what it answered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab.cli import options
from formlab.cli.options import Rows, Table, command, corpus_of, interval, option
from formlab.errors import DataBroken, FormlabError
from formlab.show import plain, say

if TYPE_CHECKING:
    import polars as pl

    from formlab.folders import Corpus, Evaluation, Predictions

# How many scores follow the main one without --all.
MAIN = 5


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
def run(
    gold: str | Path, system: str, documents: str | int | Path, settings: dict[str, str],
    out: Path | None, workers: int | str, name: str | None, **options: Any,
) -> Rows:  # fmt: skip
    """Run a system on the forms of GOLD. Run the same command again to resume.

    GOLD is a benchmark's name, or your own gold: CSV, TSV, JSONL, Parquet, XLSX, a folder of JSON.
    """
    import polars as pl

    from formlab import systems
    from formlab.scoring import choice
    from formlab.tables import USABLE

    if documents == "answered":
        raise DataBroken("--documents answered: nothing is answered yet", remedy="all, FILE or N")
    reader = systems.get(system)
    chosen = reader.settings(settings)
    corpus = corpus_of(gold, options)
    if isinstance(documents, Path):
        corpus = choice.only(corpus, documents)
    name = name or reader.run_name(chosen)
    folder = f"{corpus.benchmark}-{corpus.split}-{name}".replace("/", "-")
    out = out or Path("runs", folder)
    predictions = systems.run(
        corpus,
        reader,
        out=out,
        settings=chosen,
        name=name,
        limit=documents if isinstance(documents, int) else None,
        workers=workers,
    )
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
def score(
    gold: tuple[str | Path, ...], predictions: tuple[Path, ...], by: tuple[str, ...],
    everything: bool, resamples: int, seed: int, **how: Any,
) -> Rows:  # fmt: skip
    """Score --predictions against GOLD: a benchmark's name, or the path of your own gold.

    Without --predictions, GOLD is what brings its own gold: a finished run of formlab arena, or
    logs of Inspect, lmms-eval, VLMEvalKit, OmniAI, stickler, olmOCR-bench, or any table, whose own
    figures are set beside formlab's; with the name of a benchmark and logs as --predictions it is
    the benchmark's gold. On a benchmark each split that predictions are for is scored.
    """
    from formlab import readers
    from formlab.cli import logs

    first, *more = gold
    benchmark = first if isinstance(first, str) else None
    if predictions and more:
        raise click.UsageError("one GOLD with --predictions")
    if benchmark and not predictions:
        raise click.UsageError("--predictions: what is scored against the benchmark")
    if not predictions or (benchmark and all(map(logs.is_log, predictions))):
        reader = None if predictions or more else readers.reader_of(first)
        if reader is None or reader.both is None:
            return logs.evaluated(predictions or gold, benchmark, everything=everything, **how)
    elif len(predictions) > 1:
        raise click.UsageError("one --predictions, unless they are logs")
    shown = {"by": by, "everything": everything, "resamples": resamples, "seed": seed}
    if not predictions:
        return scored(*reader.both(first), **how, **shown)
    if benchmark:
        return _summary(_by_split(benchmark, predictions[0], how), **shown)
    return _summary([_evaluated(first, predictions[0], how, _OF_OWN)], **shown)


def scored(corpus: Corpus, predictions: Predictions, **how: Any) -> Rows:
    """The scores of what is read already, with the options `SCORING`."""
    shown = {name: how.pop(name) for name in ("by", "everything", "resamples", "seed")}
    return _summary([_evaluated(corpus, predictions, how)], **shown)


# What `formlab.evaluate` is given as it was typed, and of gold of one's own besides.
_PASSED, _OF_OWN = ("mode", "reader", "workers", "out", "name"), ("images", "types", "columns")


def _evaluated(
    gold: Any, answers: Any, how: Mapping[str, Any], more: Sequence[str] = ()
) -> Evaluation:
    """The evaluation of answers to gold, saved where `how` has a folder for it."""
    from formlab import analysis
    from formlab.folders import Evaluation

    documents, out = how["documents"], how["out"]
    given = {n: how[n] for n in (*_PASSED, *more) if how.get(n) is not None}
    given |= {"limit": documents} if isinstance(documents, int) else {"documents": documents}
    before: dict[str, Any] = {}
    if out:
        given["fallback"] = out.name
        with suppress(FormlabError):
            before = Evaluation.manifest_of(out)
    evaluation = analysis.evaluate(gold, answers, **given)
    _check_met(evaluation, how)
    old, new = before.get("sources") or {}, evaluation.sources
    is_other = bool(old.keys() - new.keys() and new.keys() - old.keys())
    if before and (is_other or before.get("system") != evaluation.system):
        names = (f"{before.get('system')} ({', '.join(old)})", evaluation.system)
        note = "note: in {}, the evaluation of {} was replaced by {}".format(out, *names)
        click.secho(plain(note), fg="yellow", err=True)
    return evaluation


def _by_split(name: str, answers: Path, how: Mapping[str, Any]) -> Iterator[Evaluation]:
    """The evaluation of each split of a benchmark that answers are for."""
    from formlab import benchmarks, readers
    from formlab.scoring import choice

    root, file = how["root"], how["documents"]
    names = [how["split"]] if how["split"] else readers.splits(answers) or [None]
    several, known = len(names) > 1, {}
    if several and isinstance(file, Path):
        # A list for several splits is of all of them together.
        loaded = (benchmarks.load(name, root=root, split=split) for split in names)
        known = {corpus.split: corpus.documents["doc_id"].to_list() for corpus in loaded}
        listed = choice.listed(file)
        choice.check_listed(listed, [*chain.from_iterable(known.values())], file=file)
    for split in names:
        corpora, own = benchmarks.corpora(name, root=root, split=split), dict(how)
        if several:
            first = next(corpora)
            corpora = chain([first], corpora)
            own["out"] = how["out"] and how["out"] / first.split
            if known:
                own["documents"] = [each for each in known[first.split] if each in listed]
        if own["documents"] == []:
            note = f"note: none of the documents listed is in {plain(first.split)}"
            click.echo(note, err=True)
        else:
            yield _evaluated(corpora, answers, own)


def _check_met(evaluation: Evaluation, how: Mapping[str, Any]) -> None:
    """`DataBroken` if every score is 0 because answers are called otherwise than the gold."""
    from formlab.readers import UNMET

    notes = evaluation.notes
    if how.get("allow_unmatched") or how["documents"] != "all" or UNMET not in notes:
        return
    found = [note for note in notes if note.startswith(("gold fields that", "answer fields that"))]
    remedy = "--columns for names of columns, or --allow-unmatched if it is meant"
    raise DataBroken(": ".join([UNMET, "; ".join(found)]), remedy=remedy)


def _summary(
    evaluations: Iterable[Evaluation],
    *,
    by: Collection[str],
    everything: bool,
    resamples: int,
    seed: int,
) -> Rows:
    """The scores of evaluations, one by one: a main number of each, and few others beside it.

    Slices that were not asked for are summarised only where everything is wanted.
    """
    import polars as pl

    from formlab import analysis, benchmarks
    from formlab.show import working

    summaries = []
    for evaluation in evaluations:
        _say_notes(evaluation)
        usual = benchmarks.get(evaluation.benchmark).slices if everything else ()
        where = f"{evaluation.benchmark}:{evaluation.split}"
        with working(f"drawing {resamples:,} resamples of {where} for intervals"):
            drawing = {"resamples": resamples, "seed": seed}
            summaries.append(analysis.summarise(evaluation, by=by or usual, **drawing))
    table = pl.concat(summaries)
    every = _readable(table)
    if everything:
        return Rows(table, [("", every)])
    tables = [shown for split in summaries for shown in _main(split, by)]
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
    # First what speaks for a level, then metrics of plug-ins and of values that are right by the
    # rules of one's own forms, the ladder, and what is left.
    places = pl.int_range(pl.len())
    heads = headlines(pooled).select("metric", level="score_level", place=places)
    plugged = [n for n in pooled["metric"].unique() if metrics.METRICS.source(n) != OWN]
    ladder = [f"{rung}_accuracy" for rung in LADDER]
    metric, level = pl.col("metric"), pl.col("level")
    rank = (
        pl.when(pl.col("place").is_not_null())
        .then(0)
        .when(pl.col("value").is_nan())
        .then(4)
        .when(metric.is_in(plugged) | metric.str.starts_with("match_"))
        .then(1)
        .when(metric.is_in(ladder), level == "field")
        .then(2)
        .otherwise(3)
    )
    ranked = pooled.join(heads, on=["metric", "level"], how="left", maintain_order="left")
    ranked = ranked.with_columns(rank=rank).sort("rank", "place", maintain_order=True)
    whole = ranked.filter(pl.col("slice_by").is_null()).head(1 + MAIN)
    sliced = ranked.filter(pl.col("slice_by").is_in(list(by)), pl.col("rank") == 0)
    columns = ("task", "level", "metric", "value", "ci_low", "ci_high")
    counts = {"n": "n_cases", "missing": "n_missing"}
    tables = [(_sentence(whole.row(0, named=True)), whole[1:].select(*columns, **counts))]
    if sliced.height:
        tables.append(("", readable(sliced).select("slice", *columns, **counts)))
    return tables


def _sentence(row: Mapping[str, Any]) -> str:
    """The main number in one line."""
    value = f"{row['metric']} {interval(row['value'], row['ci_low'], row['ci_high'])}"
    counts = f"{row['n_cases']:,} {row['level']}s, {row['n_docs']:,} documents"
    return f"{row['system']}, {row['benchmark']}:{row['split']}: {value} ({counts})"


def _readable(summary: pl.DataFrame) -> pl.DataFrame:
    """A row per slice and metric, the mean over documents beside the pooled value."""
    from formlab.tables import readable

    summary = readable(summary)
    key = ["split", "task", "level", "metric", "slice"]
    mean = summary.filter(average="macro").select(*key, macro="value")
    rows = summary.filter(average="pooled").join(
        mean, on=key, how="left", nulls_equal=True, maintain_order="left"
    )
    counts = {f"n_{name}": name for name in ("docs", "cases", "missing", "undefined")}
    # Named only where they tell rows apart.
    several = ["split"] if rows["split"].n_unique() > 1 else []
    if rows.select("split", "slice", "metric").is_duplicated().any():
        several += ["task", "level"]
    columns = (*several, "slice", "metric", "value", "ci_low", "ci_high", "macro", *counts)
    return rows.select(columns).rename(counts)
