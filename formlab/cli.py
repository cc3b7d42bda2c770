"""The command line: parses, calls, prints. Errors go to stderr; the user's mistakes exit with 2."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import click
import polars as pl

from formlab import analysis, benchmarks, files, formats, metrics, systems
from formlab.arena.commands import arena
from formlab.cli_facts import filing, judge
from formlab.console import as_json, plain, root, say, show, split
from formlab.errors import DataBroken, FormlabError
from formlab.tables import USABLE

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


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
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many documents.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder of the run [runs/BENCH-SPLIT-SYSTEM]."
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="A setting of the system."
)
@click.option("--name", help="What the run is called in tables and charts.")
@click.option("--base-url", help="chat: address of an OpenAI-compatible endpoint.")
@click.option("--retry", help="chat: 'bad' asks again what was malformed, refused or cut short.")
@click.option("--max-cost", help="chat: stop before the calls cost more than this.")
@click.option("--max-calls", help="chat: stop after so many calls.")
@as_json
def run(benchmark: str, system: str, as_json: bool, **options: Any) -> None:
    """Let a system read the forms of BENCHMARK. The same command goes on after a crash."""
    reader = systems.get(system)
    flags = {name: options[name] for name in ("base_url", "retry", "max_cost", "max_calls")}
    given = {name: value for name, value in flags.items() if value is not None}
    settings = reader.settings(_settings(options["changes"]) | given)
    corpus = benchmarks.load(benchmark, root=options["root"], split=options["split"])
    name = options["name"] or reader.run_name(settings)
    out = options["out"] or Path("runs") / f"{benchmark}-{corpus.split}-{name}".replace("/", "-")
    predictions = systems.run(
        corpus, reader, out=out, settings=settings, name=name,
        limit=options["limit"], workers=options["workers"],
    )  # fmt: skip
    responses = predictions.responses
    failed = responses.filter(~pl.col("status").is_in(USABLE))
    for doc_id, status, error in failed.select("doc_id", "status", "error").head(5).rows():
        click.echo(f"{status}: {plain(doc_id)}: {plain(error or 'no reason given')}", err=True)
    row = {
        "system": predictions.system, "documents": responses.height, "failed": failed.height,
        "records": predictions.records.height, "out": str(out),
    }  # fmt: skip
    show([row], as_json=as_json)


@main.command()
@click.argument("benchmark")
@click.option("--predictions", required=True, type=click.Path(path_type=Path))
@root
@split
@click.option("--mode", help="How to score: official (as published) or fixed.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to save the evaluation in.")
@click.option("--by", multiple=True, help="Column to slice by [the benchmark's own].")
@click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@as_json
def score(benchmark: str, predictions: Path, as_json: bool, **options: Any) -> None:
    """Score predictions against the gold of BENCHMARK, on each split that they are for."""
    wanted = [options["split"]] if options["split"] else formats.splits(predictions) or [None]
    summaries = []
    for name in wanted:
        corpus = benchmarks.load(benchmark, root=options["root"], split=name)
        found = formats.read_predictions(predictions, corpus)
        evaluation = analysis.evaluate(corpus, found, mode=options["mode"])
        if options["out"]:
            several = len(wanted) > 1
            evaluation.save(options["out"] / corpus.split if several else options["out"])
        say(evaluation.notes)
        by = options["by"] or benchmarks.get(benchmark).slices
        summaries.append(
            analysis.summarise(
                evaluation, by=by, resamples=options["resamples"], seed=options["seed"]
            )
        )
    summary = pl.concat(summaries)
    show(summary.to_dicts() if as_json else _readable(summary), as_json=as_json)


def _readable(summary: pl.DataFrame) -> list[dict[str, Any]]:
    """A row per slice and metric, the mean over documents beside the pooled value."""
    macro = pl.col("metric").is_in([n for n in summary["metric"].unique() if metrics.is_mean(n)])
    mean = summary.filter(macro).select(
        "split", pl.col("metric").str.strip_prefix("macro_"), "slice", macro="value"
    )
    rows = summary.filter(~macro).join(mean, on=["split", "metric", "slice"], how="left")
    counts = {f"n_{name}": name for name in ("docs", "cases", "missing", "undefined")}
    several = ("split",) if rows["split"].n_unique() > 1 else ()
    columns = (*several, "slice", "metric", "value", "ci_low", "ci_high", "macro", *counts)
    return rows.select(columns).rename(counts).to_dicts()


@main.command()
@click.argument("notebooks", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--eval",
    "evaluations",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Folder of an evaluation.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("reports"), show_default=True)
@click.option(
    "-p",
    "--parameter",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the notebooks.",
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True)
@as_json
def report(notebooks: tuple[Path, ...], out: Path, as_json: bool, **options: Any) -> None:
    """Run NOTEBOOKS (all, if none is named) and write one HTML file each, and an index."""
    from formlab import reports

    chosen = [_notebook(path) for path in notebooks] or sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
    parameters = {name: _literal(text) for name, text in _settings(options["changes"]).items()}
    results = reports.build(
        chosen, out=out, parameters=parameters, evaluations=options["evaluations"],
        workers=options["workers"],
    )  # fmt: skip
    rows = [
        {"report": r.html.name if r.html else "", "status": "built" if r.ok else "failed",
         "seconds": round(r.seconds, 1), "error": r.error or ""}
        for r in results
    ]  # fmt: skip
    show(rows, as_json=as_json)
    if not all(result.ok for result in results):
        sys.exit(1)


def _notebook(path: Path) -> Path:
    """A notebook by path, or by the name of one of formlab's own."""
    own = NOTEBOOKS / f"{path.name.removesuffix('.ipynb')}.ipynb"
    return own if not path.is_file() and own.is_file() else path


def _settings(changes: tuple[str, ...]) -> dict[str, str]:
    values = {}
    for change in changes:
        name, equal, value = change.partition("=")
        if not equal:
            raise DataBroken(f"{change!r} is not NAME=VALUE", remedy=f"{name}=…")
        values[name] = value
    return values


def _literal(text: str) -> Any:
    """A number, list, … where `text` is one as Python writes it, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


main.add_command(judge)
main.add_command(filing)
main.add_command(arena)


if __name__ == "__main__":
    main()
