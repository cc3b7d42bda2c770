"""The command line: parses, calls, prints. Errors go to stderr; the user's mistakes exit with 2."""

from __future__ import annotations

import ast
import json
import math
import sys
from pathlib import Path
from typing import Any

import click
import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from formlab import analysis, benchmarks, files, formats, metrics, systems
from formlab.errors import DataBroken, FormlabError

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
root = click.option("--root", type=click.Path(path_type=Path), help="Folder of the official files.")
split = click.option("--split", help="A split of the benchmark; its first if left out.")


class _Group(click.Group):
    """Turns what a user can mend into one line on stderr and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FormlabError as error:
            click.echo(f"error: {_plain(str(error))}", err=True)
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
    _print(rows, as_json=as_json)


@main.command()
@click.argument("benchmark")
@click.option("--system", required=True, help="What reads the forms, such as ocr.")
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
@as_json
def run(benchmark: str, system: str, as_json: bool, **options: Any) -> None:
    """Let a system read the forms of BENCHMARK. The same command goes on after a crash."""
    reader = systems.get(system)
    settings = reader.settings(_settings(options["changes"]))
    corpus = benchmarks.load(benchmark, root=options["root"], split=options["split"])
    name = options["name"] or reader.run_name(settings)
    out = options["out"] or Path("runs") / f"{benchmark}-{corpus.split}-{name}"
    predictions = systems.run(
        corpus, reader, out=out, settings=settings, name=name,
        limit=options["limit"], workers=options["workers"],
    )  # fmt: skip
    responses = predictions.responses
    failed = responses.filter(pl.col("error").is_not_null())
    for doc_id, error in failed.select("doc_id", "error").head(5).rows():
        click.echo(f"failed: {_plain(doc_id)}: {_plain(error)}", err=True)
    row = {
        "system": predictions.system, "documents": responses.height, "failed": failed.height,
        "records": predictions.records.height, "out": str(out),
    }  # fmt: skip
    _print([row], as_json=as_json)


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
        for note, count in evaluation.notes.items():
            click.echo(f"note: {_plain(note)}: {count}", err=True)
        by = options["by"] or benchmarks.get(benchmark).slices
        summaries.append(
            analysis.summarise(
                evaluation, by=by, resamples=options["resamples"], seed=options["seed"]
            )
        )
    summary = pl.concat(summaries)
    _print(summary.to_dicts() if as_json else _readable(summary), as_json=as_json)


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
    _print(rows, as_json=as_json)
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


def _plain(text: str) -> str:
    # What a model or a file name holds must not steer the terminal.
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _print(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        plain = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
            for row in rows
        ]
        click.echo(json.dumps(plain, indent=1, ensure_ascii=False))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for key in rows[0] if rows else ():
        numeric = all(isinstance(row[key], int | float) for row in rows)
        table.add_column(key, justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    # A file or a pipe has no width: nothing is cut or folded there.
    Console(width=None if sys.stdout.isatty() else 10_000).print(table)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4f}"
    return escape(_plain(str(value)))


if __name__ == "__main__":
    main()
