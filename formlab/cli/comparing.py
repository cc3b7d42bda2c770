"""The commands on evaluations and names: compare, report, list, init."""

from __future__ import annotations

import ast
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab import registry
from formlab.cli import options
from formlab.cli.options import Rows, Table, command, interval, option, pairs
from formlab.errors import DataBroken, DataMissing
from formlab.show import plain

if TYPE_CHECKING:
    import polars as pl

    from formlab.folders import Evaluation

# Columns that only --json has.
_HIDDEN = ("benchmark", "split", "task", "level", "mode", "n_undefined", "settings")
# Columns that only the share of values right has.
_OF_VALUES = ("both_right", "only_a", "only_b", "both_wrong")
_MAIN_DIFFERENCES = ("metric", "slice", "values", "difference", "better")
_MAIN_FLIPS = ("slice", "only_a", "only_b", "difference", "p_holm")


@command(
    click.argument("folders", metavar="EVAL…", nargs=-1, required=True, type=options.file),
    option(
        "--metric",
        "Only this metric, or outcome: values right, and by one alone [all].",
        multiple=True,
    ),
    option(
        "--average",
        "Pooled scores, or means over documents [pooled; --all, --json: both].",
        click.Choice(["pooled", "macro"]),
    ),
    options.BY,
    option("--reference", "Compare every system with this one [all pairs]."),
    option("--over-time", "EVAL is a folder of runs: what each changed.", bool),
    option("--resamples", "Draws for intervals [1000] and tests [9999].", options.FROM_ZERO),
    options.SEED,
    options.WORKERS,
    options.EVERYTHING,
)
def compare(folders: tuple[Path, ...], everything: bool, over_time: bool, **how: Any) -> Rows:
    """Compare two or more systems that were scored on the same forms.

    EVAL are folders that formlab score wrote with --out. A difference is by how much the first
    system is better (its value minus the second's, of error rates the reverse), with its interval;
    p is that of a permutation test, which swaps whole documents. With --over-time, EVAL is one
    folder of evaluations: those of one corpus stand in the order in which they were first saved,
    and each is tested against the one before.
    """
    from formlab import analysis

    metric, average, draws = how["metric"], how["average"] or "pooled", {"seed": how["seed"]}
    if how["resamples"] is not None:
        draws |= dict.fromkeys(("resamples", "permutations"), how["resamples"])
    if over_time:
        if len(folders) > 1:
            raise DataBroken("--over-time beside several folders", remedy="the folder around them")
        draws |= {"metric": metric, "average": average}
        return _history(folders[0], everything=everything, **draws)
    evaluations = [_evaluation(folder) for folder in folders]
    ground = analysis.common(evaluations)
    draws |= {"by": how["by"], "reference": how["reference"]}
    draws |= {"metric": metric or None, "average": how["average"], "workers": how["workers"]}
    table = analysis.compare(evaluations, **draws)
    tables, hints = _pairs(table, everything=everything, average=average)
    hints += _reading_rules(table["rules"].drop_nulls().to_list())
    return Rows(table, tables, notes=ground.notes, hints=hints)


def _evaluation(folder: Path) -> Evaluation:
    """The evaluation in a folder; of what holds none, what it is and how one is made."""
    from formlab.folders import Evaluation
    from formlab.saving import MANIFEST, settled

    if not (settled(folder) / MANIFEST).exists():
        what = "this is a file, not the folder of an evaluation"
        if folder.is_dir() or not folder.exists():
            what = "this folder holds no evaluation" if folder.is_dir() else "no such folder"
        remedy = "formlab score GOLD --predictions FILE --out FOLDER makes one"
        raise DataMissing(what, where=folder, remedy=remedy)
    # A whole path: workers open what is in it by themselves.
    return Evaluation.load(folder.absolute())


def _pairs(table: pl.DataFrame, *, everything: bool, average: str) -> tuple[list[Table], list[str]]:
    """Five columns for each pair of systems, of scores of one average."""
    from formlab.stats.tests import documents_needed
    from formlab.tables import readable

    # Null: no test supports that either system is better.
    table = table.with_columns(table["better"].fill_null("not shown"))
    columns = _MAIN_DIFFERENCES if table["only_a"].null_count() else _MAIN_FLIPS
    table = table.drop(name for name in _OF_VALUES if not table[name].count())
    table = readable(table)
    if everything:
        return [("", table.drop(_HIDDEN, strict=False))], []
    every = table.height
    table = table.filter(average=average)
    pairs = table.partition_by("system_a", "system_b", maintain_order=True)
    needed, tables = documents_needed(0.05 / max(1, len(pairs))), []
    for pair in pairs:
        count = pair["n_docs"].max()
        title = f"{pair['system_a'][0]} against {pair['system_b'][0]}, {count:,} documents"
        title += ", means over them" if average == "macro" else ""
        if count < needed:
            title += f": nothing can be shown, {needed} are needed"
        rows = pair.to_dicts()
        for row in rows:
            row["difference"] = interval(row["difference"], row["ci_low"], row["ci_high"], "+")
            row["values"] = f"{interval(row['value_a'])} against {interval(row['value_b'])}"
        tables.append((title, [{name: row[name] for name in columns} for row in rows]))
    hint = f"{table.height} of {every} rows, {len(columns)} columns; --all prints all rows "
    return tables, [f"{hint}with more columns, --json everything"]


def _history(folder: Path, *, everything: bool, **how: Any) -> Rows:
    """Each run of a corpus beside the one before: only the first metric unless all are wanted."""
    from formlab import analysis

    evaluations = analysis.open_history(folder)
    table = analysis.history(evaluations, **how)
    tables = []
    for corpus, runs in analysis.corpora(evaluations).items():
        rows = table.filter(corpus=corpus).to_dicts()
        if not everything:
            rows = [row for row in rows if row["metric"] == rows[0]["metric"]]
        title = (
            f"{corpus}: {len(runs)} run{'s' * (len(runs) > 1)} of {rows[0]['n_docs']:,} documents"
        )
        tables.append((title, [_run(row) for row in rows]))
    return Rows(table, tables)


def _run(row: dict[str, Any]) -> dict[str, Any]:
    """One run and metric for people."""
    is_outcome = row["metric"] == "outcome"
    mean = ", macro" if row["average"] == "macro" else ""
    ends = (row["difference"], row["difference_low"], row["difference_high"])
    return {
        "run": row["run"],
        "at": (row["at"] or "–")[:16],
        "of": "fields right" if is_outcome else f"{row['metric']} ({row['level']}{mean})",
        "value": interval(row["value"], row["ci_low"], row["ci_high"]),
        "difference": interval(*ends, sign="+"),
        "p_adjusted": row["p_adjusted"],
        "verdict": _with_kinds(row),
        "fixed / broken": None if row["fixed"] is None else f"{row['fixed']} / {row['broken']}",
        "changed": row["note"] or row["changed"],
    }


def _with_kinds(row: dict[str, Any]) -> str | None:
    """The verdict, with the kinds on which it is another: ``not shown (worse on date)``."""
    kinds = {"better": [], "worse": []}
    for kind in row["kinds"] or ():
        kinds["better" if kind["difference"] > 0 else "worse"].append(kind["kind"])
    texts = [
        f"{verdict} on {', '.join(names)}"
        for verdict, names in kinds.items()
        if names and verdict != row["verdict"]
    ]
    return f"{row['verdict']} ({'; '.join(texts)})" if texts else row["verdict"]


def _reading_rules(rules: list[str]) -> list[str]:
    """The column `rules`, summed up in one line; none where fields are named by systems."""
    from formlab.scoring.fields import READERS

    depend, names = rules.count("depends"), ", ".join(READERS)
    if not rules:
        return []
    if not depend:
        return [f"reading rules: every verdict on fields is the same under all of them ({names})"]
    return [
        f"reading rules: {depend} of {len(rules)} verdicts on fields depend on how fields are read "
        f"from a page ({names}); see the column rules of --all"
    ]


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
def report(notebooks: tuple[Path, ...], manifest: Path | None, force: bool, **given: Any) -> Rows:
    """Run NOTEBOOKS (all, if none is named) and write one HTML page each, and an index.

    What has not changed since it was built is left as it is. The exit code is 1 if a report is
    not complete. Settings are layout (single, site), timeout (seconds that a cell may take) and
    figures (on: as files, too); a manifest, which formlab init writes, has them as well.
    """
    from formlab import reports

    how = _building(given["settings"])
    how |= {name: given[name] for name in ("out", "workers") if given[name]}
    parameters = {name: _literal(text) for name, text in pairs(given["changes"]).items()}
    beside = {"NOTEBOOKS": notebooks, "--eval": given["evaluations"], "-p": parameters}
    if manifest:
        for name in (name for name, value in beside.items() if value):
            raise DataBroken(f"{name} beside --manifest", remedy="put it into the manifest")
        results = reports.build_manifest(manifest, force=force, **how)
    else:
        results = reports.build(
            notebooks or None,
            parameters=parameters,
            evaluations=given["evaluations"],
            force=force,
            **{"out": Path("reports"), "workers": None} | how,
        )
    rows = [
        {
            "report": result.html.name if result.html else result.name,
            "status": result.status,
            "seconds": round(result.seconds, 1),
            "error": result.error or "",
        }
        for result in results
    ]
    # Numbers of a table have four places.
    main = [("", [row | {"seconds": f"{row['seconds']:.1f}"} for row in rows])]
    notes = Counter(note for result in results for note in result.notes)
    return Rows(rows, main, notes=notes, ok=all(result.ok for result in results))


def _building(typed: dict[str, str]) -> dict[str, Any]:
    """The settings of ``--set`` of how reports are built, each as its type."""
    from formlab.systems._spec import System, above_zero

    usual = {"layout": "single", "timeout": 600, "figures": True}
    settings = System("a report", "", start=None, defaults=usual).settings(typed)
    above_zero(settings, "timeout")
    return {name: settings[name] for name in typed}


def _literal(text: str) -> Any:
    """A number, list, … where `text` is one as Python writes it, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


# What is listed of each kind beside the name.
_FIELDS = {
    "benchmarks": ("title", "tasks", "splits", "modes", "licence", "source", "citation"),
    "systems": ("title", "defaults"),
    "metrics": ("title", "unit", "direction", "units", "source"),
}


@command(
    click.argument("kind", type=click.Choice([*_FIELDS, "plugins", "cache"])),
    option("--clear", "Of the cache: drop all of it.", bool),
    name="list",
)
def list_known(kind: str, clear: bool) -> Rows:
    """List benchmarks, systems, metrics, plug-ins, or what the cache holds.

    Plug-ins say where each comes from, and why it cannot be used, if so. The cache has pages that
    were read and runs over the samples, so that they are not computed again; it is in
    FORMLAB_CACHE, else in the user's cache folder, and drops first what was not used for longest.
    """
    from formlab.benchmarks import SAMPLES

    if clear and kind != "cache":
        raise click.UsageError("--clear goes with formlab list cache")
    if kind == "cache":
        return Rows(_cache(clear))
    if kind == "plugins":
        return Rows(registry.plugins())
    rows = []
    for name, entry in registry.view(kind).items():
        rows.append({"name": name} | {f: _text(getattr(entry, f)) for f in _FIELDS[kind]})
        if kind == "benchmarks":
            rows[-1]["sample"] = (SAMPLES / name).is_dir()
    for problem in registry.problems(kind):
        name, source, reason = (plain(problem[key]) for key in ("name", "source", "problem"))
        click.echo(f"note: plug-in that cannot be used: {name} ({source}): {reason}", err=True)
    return Rows(rows, [("", [{n: row[n] for n in row if n != "citation"} for row in rows])])


def _text(value: Any) -> str:
    """Several values as one text."""
    if isinstance(value, dict):
        return ", ".join(f"{name} ({content})" for name, content in value.items())
    return value if isinstance(value, str) else ", ".join(value)


def _cache(clear: bool) -> list[dict[str, Any]]:
    from formlab import cache, files

    rows = []
    for name in (cache.PAGES, cache.RUNS):
        folder = files.cache_folder() / name
        entries = cache.entries(folder)
        megabytes = round(sum(size for _, size, _ in entries) / 1e6, 1)
        row = {"name": name, "entries": len(entries), "megabytes": megabytes}
        row |= {"most": cache.GIGABYTES * 1000, "folder": str(folder)}
        rows.append(row | ({"dropped": cache.drop_oldest(folder, gigabytes=0)} if clear else {}))
    return rows


@click.command()
@click.argument("folder", type=options.path)
def init(folder: Path) -> None:
    """Copy the notebooks and a manifest of reports into FOLDER, to be changed there.

    Nothing is overwritten.
    """
    from formlab.reports.manifest import make

    manifest, books = make(folder)
    shown = plain(os.path.relpath(manifest))
    click.echo(f"{len(books)} notebooks in {plain(str(books[0].parent))}, listed in {shown}")
    click.echo(f"next: formlab report --manifest {shown}")
    click.echo("live: pip install 'formlab[lab]', then jupyter lab")
