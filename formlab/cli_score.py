"""The commands that run a system over a benchmark and score its predictions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab import benchmarks, formats, systems
from formlab.console import (
    as_json,
    asked,
    asking,
    pairs,
    path,
    plain,
    prompt,
    root,
    say,
    show,
    split,
    workers_options,
)

if TYPE_CHECKING:
    import polars as pl

    from formlab.folders import Corpus, Predictions

# How many scores of a split are printed without --all.
MAIN = 10
_GOLD = (
    click.option(
        "--gold",
        type=path,
        help="Your own gold instead of a BENCHMARK: CSV, TSV, JSONL, Parquet, XLSX, JSON folder.",
    ),
    click.option(
        "--images", type=path, help="--gold: folder of scans or PDFs."
    ),
    click.option(
        "--types", help="--gold: JSON Schema, YAML or module:Class that types the fields."
    ),
    click.option(
        "--columns", default="", metavar="NAME=COLUMN,…",
        help="--gold: what columns are called, such as doc_id=id,gold=target,prediction=output.",
    ),
)  # fmt: skip


def own_gold(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what every command takes that may have a user's own gold for a benchmark."""
    for option in reversed(_GOLD):
        command = option(command)
    return click.argument("benchmark", required=False)(command)


def _own(benchmark: str | None, options: dict[str, Any]) -> dict[str, Any] | None:
    """What the user's own gold is read with; None where a benchmark is named."""
    if (benchmark is None) == (options["gold"] is None):
        raise click.UsageError("either BENCHMARK or --gold")
    if benchmark:
        return None
    columns = pairs(tuple(name for name in options["columns"].split(",") if name))
    return {"images": options["images"], "types": options["types"], "columns": columns}


@click.command()
@own_gold
@click.option("--system", required=True, help="What reads the forms: ocr, rules, chat:MODEL.")
@root
@split
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Only this many documents, the first that can be read.",
)
@click.option("--out", type=path, help="Folder of the run [runs/BENCH-SPLIT-SYSTEM].")
@workers_options()
@click.option("--name", help="What the run is called in tables and charts.")
@click.option("--batch", help="chat: write the questions into files for a batch, in this folder.")
@click.option("--batch-results", help="chat: file or folder with what came back of a batch.")
@prompt
@asking
@as_json
def run(benchmark: str | None, system: str, as_json: bool, **options: Any) -> None:
    """Run a system on the forms of BENCHMARK. Run the same command again to resume."""
    import polars as pl

    from formlab.tables import USABLE

    reader = systems.get(system)
    settings = reader.settings(asked(options))
    if own_options := _own(benchmark, options):
        from formlab import own

        corpus = own.corpus(options["gold"], **own_options)
    else:
        corpus = benchmarks.load(benchmark, root=options["root"], split=options["split"])
    name = options["name"] or reader.run_name(settings)
    out = options["out"] or Path("runs") / f"{corpus.benchmark}-{corpus.split}-{name}".replace(
        "/", "-"
    )
    predictions = systems.run(
        corpus, reader, out=out, settings=settings, name=name,
        limit=options["limit"], workers=options["workers"],
        scheduler=options["scheduler"],
    )  # fmt: skip
    responses = predictions.responses
    say(predictions.notes)
    if options["batch"]:
        from formlab.systems import chat

        counts = {n: predictions.notes.get(note, 0) for n, note in chat.BATCH_NOTES.items()}
        row = {"system": predictions.system} | counts | {"batch": options["batch"]}
        show([row], as_json=as_json)
        remedy = "once its results are there: the same command with --batch-results"
        click.echo(remedy, err=True)
        return
    failed = responses.filter(~pl.col("status").is_in(USABLE))
    for doc_id, status, error in failed.select("doc_id", "status", "error").head(5).rows():
        click.echo(f"{status}: {plain(doc_id)}: {plain(error or 'no reason given')}", err=True)
    row = {
        "system": predictions.system, "documents": responses.height, "failed": failed.height,
        "records": predictions.records.height, "out": str(out),
    }  # fmt: skip
    show([row], as_json=as_json)


_SCORING = (
    click.option(
        "--documents", default="all", show_default=True, metavar="all|answered|FILE",
        help="Which documents to score; FILE has one doc_id a line.",
    ),
    click.option(
        "--limit", type=click.IntRange(min=1), help="Only the first of these documents, this many."
    ),
    click.option("--mode", help="How to score: official (as published) or fixed."),
    click.option("--out", type=path, help="Folder for the evaluation."),
    click.option("--by", multiple=True, help="Column to slice by [the benchmark's own]."),
    click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True),
    click.option("--seed", type=int, default=0, show_default=True),
    click.option("--all", "everything", is_flag=True, help="Print every score [the main ones]."),
)  # fmt: skip


def scoring(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that scores."""
    for option in reversed(_SCORING):
        command = option(command)
    return command


@click.command()
@own_gold
@click.option("--predictions", required=True, type=path)
@root
@split
@scoring
@click.option(
    "--reader",
    help="How fields are read from the words of a page: centre, overlap or cut [centre].",
)
@as_json
def score(benchmark: str | None, predictions: Path, as_json: bool, **options: Any) -> None:
    """Score predictions against the gold of BENCHMARK, on each split that they are for."""
    import polars as pl

    if own_options := _own(benchmark, options):
        from formlab import own

        corpus, answers = own.pair(options["gold"], predictions, **own_options)
        chosen = documents_of(options["documents"], [corpus])
        summary = scored(corpus, answers, options | {"documents": chosen}, as_json=as_json)
        show_summary(summary, options, as_json=as_json)
        return
    names = [options["split"]] if options["split"] else formats.splits(predictions) or [None]
    load = partial(benchmarks.load, benchmark, root=options["root"])
    documents = documents_of(options["documents"], (load(split=name) for name in names))
    summaries = []
    for name in names:
        corpus = load(split=name)
        chosen = documents
        if len(names) > 1 and not isinstance(documents, str):
            # Of a list for several splits, those that this one has.
            chosen = sorted(set(documents) & set(corpus.documents["doc_id"]))
        if not chosen:
            click.echo(f"note: none of the documents listed is in {corpus.split}", err=True)
            continue
        answers = formats.read_predictions(predictions, corpus)
        several = bool(options["out"]) and len(names) > 1
        out = options["out"] / corpus.split if several else options["out"]
        changed = options | {"documents": chosen, "out": out}
        summaries.append(scored(corpus, answers, changed, as_json=as_json))
    show_summary(pl.concat(summaries), options, as_json=as_json)


def documents_of(chosen: str, corpora: Iterable[Corpus]) -> str | list[str]:
    """The value of `--documents`: a keyword, or the ids in a file, each of which is in a corpus."""
    from formlab.scoring import part

    if chosen in (part.ALL, part.ANSWERED):
        return chosen
    names = part.listed(chosen)
    known = [name for corpus in corpora for name in corpus.documents["doc_id"]]
    part.check_listed(names, known, file=chosen)
    return list(names)


def scored(
    corpus: Corpus, answers: Predictions, options: dict[str, Any], *, as_json: bool
) -> pl.DataFrame:
    """The summary of an evaluation, which is saved in the option `out`.

    Slices that were not asked for are summarised only where all scores are printed. Notes go to
    stderr, first of all which part of the corpus was scored.
    """
    from formlab import analysis, own
    from formlab.progress import working
    from formlab.scoring import part
    from formlab.scoring.fields import READER

    where = f"{corpus.benchmark}:{corpus.split}"
    with working(f"scoring {corpus.documents.height:,} documents of {where}"):
        evaluation = analysis.evaluate(
            corpus, answers, mode=options["mode"], documents=options["documents"],
            limit=options["limit"], reader=options.get("reader") or READER,
        )  # fmt: skip
    if sentence := part.part_run(evaluation):
        click.secho(f"{plain(where)}: {sentence}", fg="yellow", bold=True, err=True)
    inferred = f"gold: {own.INFERRED}: "
    types = {note: n for note, n in evaluation.notes.items() if note.startswith(inferred)}
    say({n: c for n, c in evaluation.notes.items() if n not in (*part.NOTES, *types)})
    if types:
        counts = ", ".join(f"{n} {note.removeprefix(inferred)}" for note, n in types.items())
        click.echo(f"{own.INFERRED}: {counts}; --types FILE declares them", err=True)
    if options["out"]:
        evaluation.save(options["out"])
    by = options["by"]
    if not by and (options["everything"] or as_json):
        by = benchmarks.get(evaluation.benchmark).slices
    with working(f"drawing {options['resamples']:,} resamples of {where} for intervals"):
        return analysis.summarise(
            evaluation, by=by, resamples=options["resamples"], seed=options["seed"]
        )


def show_summary(summary: pl.DataFrame, options: dict[str, Any], *, as_json: bool) -> None:
    """Print a summary: as JSON every column, with `--all` every score, else the main ones."""
    if as_json:
        show(summary.to_dicts(), as_json=True)
        return
    rows = _readable(summary)
    main = rows if options["everything"] else _main(summary, options["by"])
    show(main, as_json=False)
    if len(main) < len(rows):
        shown = f"{len(main)} of {len(rows):,} scores"
        click.echo(f"{shown}; --all prints all and slices, --json every column", err=True)


def _main(summary: pl.DataFrame, by: Collection[str]) -> list[dict[str, Any]]:
    """The main scores of each split, and with `by` those of its slices."""
    import polars as pl

    from formlab import metrics
    from formlab.analysis import headlines
    from formlab.registry import OWN
    from formlab.tables import LADDER, readable

    kinds = summary["metric"].unique().to_list()
    pooled = summary.filter(~pl.col("metric").is_in([n for n in kinds if metrics.is_mean(n)]))
    # First what speaks for a level, then metrics of plug-ins and of values that are right by the
    # rules of one's own forms, the ladder, and what is left.
    heads = headlines(pooled).select(
        "split", "metric", level="score_level", place=pl.int_range(pl.len())
    )
    plugged = [n for n in pooled["metric"].unique() if metrics.METRICS.source(n) != OWN]
    ladder = [f"{rung}_accuracy" for rung in LADDER]
    rank = (
        pl.when(pl.col("place").is_not_null()).then(0)
        .when(pl.col("value").is_nan()).then(4)
        .when(pl.col("metric").is_in(plugged) | pl.col("metric").str.starts_with("match_")).then(1)
        .when(pl.col("metric").is_in(ladder), pl.col("level") == "field").then(2)
        .otherwise(3)
    )  # fmt: skip
    ranked = pooled.join(heads, on=["split", "metric", "level"], how="left", maintain_order="left")
    ranked = ranked.with_columns(rank.alias("rank")).sort("rank", "place", maintain_order=True)
    whole = ranked.filter(pl.col("slice_by").is_null())
    whole = whole.group_by("split", maintain_order=True).head(MAIN)
    sliced = ranked.filter(pl.col("slice_by").is_in(list(by)), pl.col("rank") < 2)
    several = ["split"] if summary["split"].n_unique() > 1 else []
    columns = (*several, "task", "level", *(["slice"] if by else []), "metric")
    rows = readable(pl.concat([whole, sliced.select(whole.columns)]))
    return rows.select(
        *columns, "value", "ci_low", "ci_high", n="n_cases", missing="n_missing"
    ).to_dicts()


def _readable(summary: pl.DataFrame) -> list[dict[str, Any]]:
    """A row per slice and metric, the mean over documents beside the pooled value."""
    import polars as pl

    from formlab import metrics
    from formlab.tables import readable

    summary = readable(summary)
    means = {n: metrics.plain(n) for n in summary["metric"].unique() if metrics.is_mean(n)}
    macro = pl.col("metric").is_in(list(means))
    key = ["split", "task", "level", "metric", "slice"]
    mean = summary.filter(macro).with_columns(pl.col("metric").replace(means))
    mean = mean.select(*key, macro="value")
    rows = summary.filter(~macro).join(
        mean, on=key, how="left", nulls_equal=True, maintain_order="left"
    )
    counts = {f"n_{name}": name for name in ("docs", "cases", "missing", "undefined")}
    # Named only where they tell rows apart.
    several = ["split"] if rows["split"].n_unique() > 1 else []
    if rows.select("split", "slice", "metric").is_duplicated().any():
        several += ["task", "level"]
    columns = (*several, "slice", "metric", "value", "ci_low", "ci_high", "macro", *counts)
    return rows.select(columns).rename(counts).to_dicts()
