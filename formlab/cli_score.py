"""The commands that run a system over a benchmark and score its predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from formlab import benchmarks, readers, systems
from formlab.addresses import fetched
from formlab.cli_summary import show_summary
from formlab.console import (
    answering,
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
from formlab.errors import DataBroken, FormlabError
from formlab.readers import UNMET

if TYPE_CHECKING:
    import polars as pl

    from formlab.folders import Corpus, Evaluation

_GOLD = (
    click.option(
        "--gold", type=fetched,
        help="Your own gold instead of a BENCHMARK: CSV, TSV, JSONL, Parquet, XLSX, JSON folder.",
    ),
    click.option("--images", type=path, help="--gold: folder of scans or PDFs."),
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
    "--limit", type=click.IntRange(min=1), help="Only this many documents, the first readable."
)
@click.option("--out", type=path, help="Folder of the run [runs/BENCH-SPLIT-SYSTEM].")
@workers_options()
@click.option("--name", help="What the run is called in tables and charts.")
@click.option("--no-cache", is_flag=True, help="Read pages anew that OCR has read before.")
@answering
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
        corpus = benchmarks.asked(benchmark, options)
    name = options["name"] or reader.run_name(settings)
    out = options["out"] or Path("runs") / f"{corpus.benchmark}-{corpus.split}-{name}".replace(
        "/", "-"
    )
    predictions = systems.run(
        corpus, reader, out=out, settings=settings, name=name,
        limit=options["limit"], workers=options["workers"],
        use_cache=not options["no_cache"],
    )  # fmt: skip
    responses = predictions.responses
    say(predictions.notes)
    if options["batch"]:
        from formlab.systems import chat

        counts = {n: predictions.notes.get(note, 0) for n, note in chat.BATCH_NOTES.items()}
        row = {"system": predictions.system} | counts | {"batch": options["batch"]}
        show([row], as_json=as_json)
        click.echo("once its results are there: the same command with --batch-results", err=True)
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
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
    click.option("--all", "everything", is_flag=True, help="Print every score [the main ones]."),
)  # fmt: skip


def scoring(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that scores."""
    for option in reversed(_SCORING):
        command = option(command)
    return command


@click.command()
@own_gold
@click.option("--predictions", required=True, type=fetched)
@root
@split
@scoring
@click.option("--name", help="What the system is called [as its file says, or the --out folder].")
@click.option(
    "--allow-unmatched", is_flag=True, help="Score answers of which no field is one of the gold's."
)
@click.option(
    "--reader", help="How fields are read from a page's words: centre, overlap or cut [centre]."
)
@workers_options()
@as_json
def score(benchmark: str | None, predictions: Path, as_json: bool, **options: Any) -> None:
    """Score predictions against the gold of BENCHMARK, on each split that they are for.

    What is large is scored batch by batch, by --workers; tables go to --out as they are made.
    """
    import polars as pl

    if own_options := _own(benchmark, options):
        called = _own_name(options)
        summary = scored(
            options["gold"], predictions, options, as_json=as_json, **own_options, **called
        )
        show_summary(summary, options, as_json=as_json)
        return
    names = [options["split"]] if options["split"] else readers.splits(predictions) or [None]
    several = len(names) > 1
    how = {"root": options["root"], "strict": options["strict"]}
    # A list for several splits is of all of them together.
    listed = several and isinstance(_wanted(options), Path)
    load = partial(benchmarks.load, benchmark, **how)
    documents = documents_of(options["documents"], (load(split=n) for n in names)) if listed else []
    summaries = []
    for name in names:
        changed = dict(options)
        corpora = benchmarks.corpora(benchmark, split=name, **how)
        if several:
            first = next(corpora)
            corpora = chain([first], corpora)
            changed["out"] = options["out"] and options["out"] / first.split
        if listed:
            whole = load(split=name)
            # Those that this split has.
            changed["documents"] = sorted(set(documents) & set(whole.documents["doc_id"]))
            if not changed["documents"]:
                note = f"note: none of the documents listed is in {plain(whole.split)}"
                click.echo(note, err=True)
                continue
        called = _own_name(options)
        summaries.append(scored(corpora, predictions, changed, as_json=as_json, **called))
    show_summary(pl.concat(summaries), options, as_json=as_json)


def _own_name(options: dict[str, Any]) -> dict[str, Any]:
    """What a system is called: as asked, or like the folder of its evaluation."""
    fallback = options["out"].name if options["out"] else None
    return {"name": options["name"], "fallback": fallback}


@contextmanager
def _home(out: Path | None) -> Iterator[Path]:
    """The folder of an evaluation: `out`, or one for as long as it is needed."""
    if out:
        yield out
    else:
        with TemporaryDirectory(prefix="formlab-") as name:
            yield Path(name, "evaluation")


def _wanted(options: dict[str, Any]) -> Any:
    """The documents asked for, as `evaluate` takes them: a file of them as a path."""
    from formlab.scoring import choice

    documents = options["documents"]
    is_file = isinstance(documents, str) and documents not in (choice.ALL, choice.ANSWERED)
    return Path(documents) if is_file else documents


def documents_of(chosen: str, corpora: Iterable[Corpus]) -> str | list[str]:
    """The value of `--documents`: a keyword, or the ids in a file, each of which is in a corpus."""
    from formlab.scoring import choice

    if chosen in (choice.ALL, choice.ANSWERED):
        return chosen
    names = choice.listed(chosen)
    known = [name for corpus in corpora for name in corpus.documents["doc_id"]]
    choice.check_listed(names, known, file=chosen)
    return list(names)


def scored(
    gold: Any, answers: Any, options: dict[str, Any], *, as_json: bool, **more: Any
) -> pl.DataFrame:
    """The summary of an evaluation, which is saved in `out`; `more` is for `evaluate`."""
    from formlab import analysis
    from formlab.scoring.fields import READER

    with _home(options["out"]) as out, _replacing(out) as replaced:
        evaluation = analysis.evaluate(
            gold, answers, mode=options["mode"], documents=_wanted(options), out=out,
            limit=options["limit"], reader=options.get("reader") or READER,
            workers=options.get("workers", 1), **more,
        )  # fmt: skip
        _check_met(evaluation, options)
        replaced(evaluation)
        return _summary(evaluation, options, as_json=as_json)


def _check_met(evaluation: Evaluation, options: dict[str, Any]) -> None:
    """`DataBroken` if every score is 0 because answers are called otherwise than the gold."""
    notes = evaluation.notes
    if options.get("allow_unmatched") or options["documents"] != "all" or UNMET not in notes:
        return
    said = [note for note in notes if note.startswith(("gold fields that", "answer fields that"))]
    remedy = "--columns for names of columns, or --allow-unmatched if it is meant"
    raise DataBroken(": ".join([UNMET, "; ".join(said)]), remedy=remedy)


@contextmanager
def _replacing(out: Path) -> Iterator[Callable[[Evaluation], None]]:
    """What says, of the evaluation that is now in a folder, that it replaced another system's."""
    from formlab.folders import Evaluation

    before: dict[str, Any] = {}
    with suppress(FormlabError):
        before = Evaluation.manifest_of(out)

    def say_replaced(evaluation: Evaluation) -> None:
        old, new = before.get("sources") or {}, evaluation.sources
        is_other = bool(old.keys() - new.keys() and new.keys() - old.keys())
        if before and (is_other or before.get("system") != evaluation.system):
            names = (f"{before.get('system')} ({', '.join(old)})", evaluation.system)
            note = "note: in {}, the evaluation of {} was replaced by {}".format(out, *names)
            click.secho(plain(note), fg="yellow", err=True)

    yield say_replaced


def _summary(evaluation: Evaluation, options: dict[str, Any], *, as_json: bool) -> pl.DataFrame:
    """The summary of an evaluation.

    Slices that were not asked for are summarised only where all scores are printed. Notes go to
    stderr, first of all which part of the corpus was scored.
    """
    from formlab import analysis, own
    from formlab.progress import working
    from formlab.scoring import choice

    where = f"{evaluation.benchmark}:{evaluation.split}"
    if sentence := choice.part_run(evaluation):
        click.secho(f"{plain(where)}: {sentence}", fg="yellow", bold=True, err=True)
    inferred = f"gold: {own.INFERRED}: "
    types = {note: n for note, n in evaluation.notes.items() if note.startswith(inferred)}
    notes = {n: c for n, c in evaluation.notes.items() if n not in (*choice.NOTES, *types)}
    say(notes, left_out=evaluation.unreadable)
    if types:
        counts = ", ".join(f"{n} {note.removeprefix(inferred)}" for note, n in types.items())
        click.echo(plain(f"{own.INFERRED}: {counts}; --types FILE declares them"), err=True)
    by = options["by"]
    if not by and (options["everything"] or as_json):
        by = benchmarks.get(evaluation.benchmark).slices
    with working(f"drawing {options['resamples']:,} resamples of {where} for intervals"):
        return analysis.summarise(
            evaluation, by=by, resamples=options["resamples"], seed=options["seed"]
        )
