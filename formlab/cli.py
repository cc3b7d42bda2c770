"""The command line: parses, calls, prints. Errors go to stderr; the user's mistakes exit with 2."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click
import polars as pl

from formlab import analysis, benchmarks, files, formats, metrics, systems
from formlab.cli_compare import compare
from formlab.cli_facts import filing, judge
from formlab.cli_report import report
from formlab.console import as_json, asked, asking, plain, root, say, show, split
from formlab.errors import FormlabError
from formlab.scoring import part
from formlab.scoring.fields import READER, READERS
from formlab.tables import USABLE, Corpus, Evaluation, Predictions, readable
from formlab_arena.commands import arena
from formlab_arena.evaluation import read_run
from formlab_review.commands import formcraft


class _Group(click.Group):
    """Turns what a user can mend into one line on stderr and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FormlabError as error:
            click.echo(f"error: {plain(str(error))}", err=True)
            sys.exit(2)
        except BrokenPipeError:
            # The reader of the output (head, less) has gone: nothing is wrong.
            sys.stderr.close()
            sys.exit(0)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(files.version(), package_name="formlab")
def main() -> None:
    """Where and why models fail on forms."""


@main.command("benchmarks")
@as_json
def list_benchmarks(as_json: bool) -> None:
    """What can be loaded: tasks, splits, licence, and the sample at hand."""
    rows = [
        {
            "name": name,
            "title": benchmark.title,
            "tasks": ", ".join(benchmark.tasks),
            "splits": ", ".join(f"{s} ({n})" for s, n in benchmark.splits.items()),
            "modes": ", ".join(benchmark.modes),
            "licence": benchmark.licence,
            "source": benchmark.source,
            **({"citation": benchmark.citation} if as_json else {}),
            "sample": (benchmarks.SAMPLES / name).is_dir(),
        }
        for name, benchmark in benchmarks.BENCHMARKS.items()
    ]
    show(rows, as_json=as_json)


@main.command()
@click.argument("benchmark")
@click.option("--system", required=True, help="What reads the forms: ocr, rules, chat:MODEL.")
@root
@split
@click.option(
    "--limit", type=click.IntRange(min=1), help="Only the first so many documents that can be read."
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder of the run [runs/BENCH-SPLIT-SYSTEM]."
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--name", help="What the run is called in tables and charts.")
@asking
@as_json
def run(benchmark: str, system: str, as_json: bool, **options: Any) -> None:
    """Let a system read the forms of BENCHMARK. The same command goes on after a crash."""
    reader = systems.get(system)
    settings = reader.settings(asked(options))
    corpus = benchmarks.load(benchmark, root=options["root"], split=options["split"])
    name = options["name"] or reader.run_name(settings)
    out = options["out"] or Path("runs") / f"{benchmark}-{corpus.split}-{name}".replace("/", "-")
    predictions = systems.run(
        corpus, reader, out=out, settings=settings, name=name,
        limit=options["limit"], workers=options["workers"],
    )  # fmt: skip
    responses = predictions.responses
    say(predictions.notes, only=(systems.SKIPPED,))
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
        "--documents",
        default=part.ALL,
        show_default=True,
        metavar="all|answered|FILE",
        help="Which documents to score; FILE has one doc_id a line.",
    ),
    click.option(
        "--limit", type=click.IntRange(min=1), help="Only the first so many of these documents."
    ),
    click.option("--mode", help="How to score: official (as published) or fixed."),
    click.option(
        "--out", type=click.Path(path_type=Path), help="Folder to save the evaluation in."
    ),
    click.option("--by", multiple=True, help="Column to slice by [the benchmark's own]."),
    click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True),
    click.option("--seed", type=int, default=0, show_default=True),
)


def _scoring(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what every command takes that scores."""
    for option in reversed(_SCORING):
        command = option(command)
    return command


@main.command()
@click.argument("benchmark")
@click.option("--predictions", required=True, type=click.Path(path_type=Path))
@root
@split
@_scoring
@click.option(
    "--reader", type=click.Choice(READERS), default=READER, show_default=True,
    help="How fields are read from the words of a page.",
)  # fmt: skip
@as_json
def score(benchmark: str, predictions: Path, as_json: bool, **options: Any) -> None:
    """Score predictions against the gold of BENCHMARK, on each split that they are for."""
    wanted = [options["split"]] if options["split"] else formats.splits(predictions) or [None]
    load = partial(benchmarks.load, benchmark, root=options["root"])
    documents = _documents(options["documents"], (load(split=name) for name in wanted))
    summaries = []
    for name in wanted:
        corpus = load(split=name)
        chosen = _in_split(documents, corpus, alone=len(wanted) == 1)
        if not chosen:
            click.echo(f"note: none of the documents listed is in {corpus.split}", err=True)
            continue
        found = formats.read_predictions(predictions, corpus)
        evaluation = _scored(corpus, found, options | {"documents": chosen})
        if options["out"]:
            several = len(wanted) > 1
            evaluation.save(options["out"] / corpus.split if several else options["out"])
        summaries.append(_summary(evaluation, options))
    summary = pl.concat(summaries)
    show(summary.to_dicts() if as_json else _readable(summary), as_json=as_json)


@arena.command("score")
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@_scoring
@as_json
def score_arena(folder: Path, as_json: bool, **options: Any) -> None:
    """Score the clicks, values and submissions of RUN, a folder of `formlab arena fill`."""
    corpus, found = read_run(folder)
    documents = _documents(options["documents"], [corpus])
    evaluation = _scored(corpus, found, options | {"documents": documents})
    if options["out"]:
        evaluation.save(options["out"])
    summary = _summary(evaluation, options)
    show(summary.to_dicts() if as_json else _readable(summary), as_json=as_json)


def _documents(chosen: str, corpora: Iterable[Corpus]) -> str | list[str]:
    """What `--documents` names: a word, or the documents of a list, all of which are there."""
    if chosen in (part.ALL, part.ANSWERED):
        return chosen
    wanted = part.listed(chosen)
    known = [name for corpus in corpora for name in corpus.documents["doc_id"]]
    part.check_listed(wanted, known, file=chosen)
    return list(wanted)


def _in_split(documents: str | list[str], corpus: Corpus, *, alone: bool) -> str | list[str]:
    """Of a list for several splits those that this one has; a list for one is taken whole."""
    if alone or isinstance(documents, str):
        return documents
    return sorted(set(documents) & set(corpus.documents["doc_id"]))


def _scored(corpus: Corpus, found: Predictions, options: dict[str, Any]) -> Evaluation:
    """The evaluation, and on stderr what is to be known of it: the part of the corpus first."""
    evaluation = analysis.evaluate(
        corpus, found, mode=options["mode"], documents=options["documents"],
        limit=options["limit"], reader=options.get("reader", READER),
    )  # fmt: skip
    if sentence := part.part_run(evaluation):
        where = f"{evaluation.benchmark}:{evaluation.split}"
        click.secho(f"{plain(where)}: {sentence}", fg="yellow", bold=True, err=True)
    say({note: n for note, n in evaluation.notes.items() if note not in part.NOTES})
    return evaluation


def _summary(evaluation: Evaluation, options: dict[str, Any]) -> pl.DataFrame:
    by = options["by"] or benchmarks.get(evaluation.benchmark).slices
    return analysis.summarise(
        evaluation, by=by, resamples=options["resamples"], seed=options["seed"]
    )


def _readable(summary: pl.DataFrame) -> list[dict[str, Any]]:
    """A row per slice and metric, the mean over documents beside the pooled value."""
    summary = readable(summary)
    means = {n: metrics.plain(n) for n in summary["metric"].unique() if metrics.is_mean(n)}
    macro = pl.col("metric").is_in(list(means))
    mean = summary.filter(macro).select(
        "split", pl.col("metric").replace(means), "slice", macro="value"
    )
    rows = summary.filter(~macro).join(mean, on=["split", "metric", "slice"], how="left")
    counts = {f"n_{name}": name for name in ("docs", "cases", "missing", "undefined")}
    several = ("split",) if rows["split"].n_unique() > 1 else ()
    columns = (*several, "slice", "metric", "value", "ci_low", "ci_high", "macro", *counts)
    return rows.select(columns).rename(counts).to_dicts()


main.add_command(compare)
main.add_command(judge)
main.add_command(filing)
main.add_command(formcraft)
main.add_command(report)
main.add_command(arena)


if __name__ == "__main__":
    main()
