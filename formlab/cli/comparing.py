"""The commands on evaluations and names: compare, report, list, init."""

from __future__ import annotations

import ast
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

import formlab
from formlab.cli import options
from formlab.cli.options import Rows, command, option, pairs
from formlab.show import plain

_AVERAGES = click.Choice(["pooled", "macro"])
# Columns for people: of a comparison without --all, and of what changed over time.
_COMPARED = ("system_a", "system_b", "metric", "slice", "value_a", "value_b", "difference")
_COMPARED += ("ci_low", "ci_high", "only_a", "only_b", "better")
_CHANGED = ("corpus", "run", "at", "metric", "value", "difference", "difference_low")
_CHANGED += ("difference_high", "p_adjusted", "verdict", "fixed", "broken", "changed", "note")


@command(
    click.argument("folders", metavar="EVAL…", nargs=-1, required=True, type=options.file),
    option("--metric", "Only this metric, or outcome: values right [all].", multiple=True),
    option("--average", "Pooled scores, or means over documents [pooled].", _AVERAGES),
    option("--reference", "Compare every system with this one [all pairs]."),
    option("--over-time", "EVAL is a folder of runs: what each changed.", bool),
    option("--resamples", "Draws for intervals [1000] and tests [9999].", options.FROM_ZERO),
    *(options.BY, options.SEED, options.EVERYTHING),
)
def compare(folders: tuple[Path, ...], everything: bool, over_time: bool, **given: Any) -> Rows:
    """Compare two or more systems that were scored on the same forms.

    EVAL are folders that formlab score wrote with --out. A difference is by how much the first
    system is better (its value minus the second's, of error rates the reverse), with its interval;
    p is that of a permutation test, which swaps whole documents. With --over-time, EVAL is one
    folder of evaluations: those of one corpus stand in the order in which they were first saved,
    and each is tested against the one before.
    """
    average = given["average"] or "pooled"
    given["permutations"] = given["resamples"]
    given = {name: value for name, value in given.items() if value not in (None, ())}
    if over_time:
        if len(folders) > 1:
            raise click.UsageError("--over-time beside several folders: name the one around them")
        named = {name: given[name] for name in given if name not in ("by", "reference")}
        runs = formlab.analysis.open_history(folders[0])
        table = formlab.analysis.history(runs, **named | {"average": average})
        main = table if everything else table.filter(metric=table["metric"].first())
        return Rows(table, [("", main.select(_CHANGED))])
    evaluations = [formlab.folders.Evaluation.load(folder) for folder in folders]
    table = formlab.compare(evaluations, **given)
    # Null: no test supports that either system is better.
    main = formlab.tables.readable(table.with_columns(table["better"].fill_null("not shown")))
    if not everything:
        main = main.filter(average=average)
        main = main.select(name for name in _COMPARED if main[name].count())
    return Rows(table, [("", main)], notes=formlab.analysis.common(evaluations).notes)


@command(
    click.argument("notebooks", nargs=-1, type=options.path),
    option("--eval evaluations", "An evaluation's folder [samples].", options.file, multiple=True),
    option("-p --parameter changes", "NAME=VALUE: a parameter of the notebooks.", multiple=True),
    option("--manifest", "A YAML file that lists reports and how they are built.", options.path),
    options.out("Folder of the reports [reports]."),
    option("--workers", "As elsewhere [a process a processor].", options.processes),
    options.SET,
    option("--force", "Rebuild reports that have not changed, too.", bool),
)
def report(
    notebooks: tuple[Path, ...], evaluations: Any, changes: Any, manifest: Path | None, **given: Any
) -> Rows:
    """Run NOTEBOOKS (all, if none is named) and write one HTML page each, and an index.

    What has not changed since it was built is left as it is. The exit code is 1 if a report is
    not complete. Settings are timeout (seconds that a cell may take) and figures (on: as files,
    too); a manifest, which formlab init writes, has them as well.
    """
    from formlab.systems.system import System, above_zero

    usual, settings = {"timeout": 600, "figures": True}, given.pop("settings")
    typed = System("a report", "", start=None, defaults=usual).settings(settings)
    above_zero(typed, "timeout")
    given = {name: value for name, value in given.items() if value is not None}
    given |= {name: typed[name] for name in settings}
    if manifest and (notebooks or evaluations or changes):
        raise click.UsageError("NOTEBOOKS, --eval and -p go into the manifest")
    if manifest:
        results = formlab.reports.build_manifest(manifest, **given)
    else:
        given = {"out": Path("reports"), "workers": None, "evaluations": evaluations} | given
        parameters = {name: _literal(text) for name, text in pairs(changes).items()}
        results = formlab.reports.build(notebooks or None, parameters=parameters, **given)
    rows = [
        {"report": result.html.name if result.html else result.name, "status": result.status}
        | {"seconds": round(result.seconds), "error": result.error or ""}
        for result in results
    ]
    notes = Counter(note for result in results for note in result.notes)
    return Rows(rows, notes=notes, ok=all(result.ok for result in results))


def _literal(text: str) -> Any:
    """A number, list, … where `text` is one as Python writes it, else the text itself."""
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return ast.literal_eval(text)
    return text


# What is listed of each kind beside the name.
_FIELDS = {
    "benchmarks": ("title", "tasks", "splits", "modes", "licence", "source", "citation"),
    "systems": ("title", "defaults"),
    "metrics": ("title", "unit", "direction", "units", "source"),
}


@command(click.argument("kind", type=click.Choice([*_FIELDS, "plugins"])), name="list")
def list_names(kind: str) -> Rows:
    """List benchmarks, systems, metrics or plug-ins.

    Plug-ins say where each comes from, and why it cannot be used, if so.
    """
    if kind == "plugins":
        return Rows(formlab.registry.plugins())
    rows = []
    for name, entry in formlab.registry.view(kind).items():
        values = {field: getattr(entry, field) for field in _FIELDS[kind]}
        rows.append({"name": name} | {field: _text(value) for field, value in values.items()})
    return Rows(rows, [("", [{n: row[n] for n in row if n != "citation"} for row in rows])])


def _text(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{key} ({content})" for key, content in value.items()]
    return value if isinstance(value, str) else ", ".join(value)


@click.command()
@click.argument("folder", type=options.path)
def init(folder: Path) -> None:
    """Copy the notebooks and a manifest of reports into FOLDER, to be changed there.

    Nothing is overwritten.
    """
    from formlab.reports.manifest import make

    manifest, books = make(folder)
    click.echo(plain(f"{len(books)} notebooks in {books[0].parent}, listed in {manifest}"))
    click.echo(plain(f"next: formlab report --manifest {manifest}"))
    click.echo("live: pip install 'formlab[lab]', then jupyter lab")
