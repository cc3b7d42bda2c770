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
from formlab.errors import DataBroken
from formlab.show import plain

if TYPE_CHECKING:
    import polars as pl


# Columns that only --json has.
_HIDDEN = ("benchmark", "split", "task", "level", "mode", "n_undefined", "settings")
# Columns that only the share of values right has.
_OF_VALUES = ("both_right", "only_a", "only_b", "both_wrong")
_MAIN_DIFFERENCES = ("metric", "slice", "values", "difference", "better")
_AVERAGES = click.Choice(["pooled", "macro"])
_MAIN_FLIPS = ("slice", "only_a", "only_b", "difference", "p_holm")


@command(
    click.argument("folders", metavar="EVAL…", nargs=-1, required=True, type=options.file),
    option("--metric", "Only this metric, or outcome: values right [all].", multiple=True),
    option("--average", "Pooled scores, or means over documents [pooled].", _AVERAGES),
    options.BY,
    option("--reference", "Compare every system with this one [all pairs]."),
    option("--over-time", "EVAL is a folder of runs: what each changed.", bool),
    option("--resamples", "Draws for intervals [1000] and tests [9999].", options.FROM_ZERO),
    options.SEED,
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
    from formlab.folders import Evaluation

    metric, average, draws = how["metric"], how["average"] or "pooled", {"seed": how["seed"]}
    if how["resamples"] is not None:
        draws |= dict.fromkeys(("resamples", "permutations"), how["resamples"])
    if over_time:
        if len(folders) > 1:
            raise DataBroken("--over-time beside several folders", remedy="the folder around them")
        draws |= {"metric": metric, "average": average}
        return _history(folders[0], everything=everything, **draws)
    evaluations = [Evaluation.load(folder.absolute()) for folder in folders]
    draws |= {name: how[name] for name in ("by", "reference", "average")}
    table = analysis.compare(evaluations, metric=metric or None, **draws)
    tables, hints = _pairs(table, everything=everything, average=average)
    if rules := table["rules"].drop_nulls().to_list():
        hints.append(f"reading rules: {rules.count('depends')} of {len(rules)} verdicts on fields ")
        hints[-1] += "depend on how fields are read from a page; see the column rules of --all"
    return Rows(table, tables, notes=analysis.common(evaluations).notes, hints=hints)


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
    systems = table.partition_by("system_a", "system_b", maintain_order=True)
    needed, tables = documents_needed(0.05 / max(1, len(systems))), []
    for pair in systems:
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
        count = f"{len(runs)} run{'s' * (len(runs) > 1)} of {rows[0]['n_docs']:,} documents"
        tables.append((f"{corpus}: {count}", [_run(row) for row in rows]))
    return Rows(table, tables)


def _run(row: dict[str, Any]) -> dict[str, Any]:
    """One run and metric for people; of kinds those on which the verdict is another."""
    mean = ", macro" if row["average"] == "macro" else ""
    of = "fields right" if row["metric"] == "outcome" else f"{row['metric']} ({row['level']}{mean})"
    kinds: dict[str, list[str]] = {"better": [], "worse": []}
    for kind in row["kinds"] or ():
        kinds["better" if kind["difference"] > 0 else "worse"].append(kind["kind"])
    kinds.pop(row["verdict"], None)
    others = "; ".join(f"{word} on {', '.join(names)}" for word, names in kinds.items() if names)
    ends = (row["difference"], row["difference_low"], row["difference_high"])
    value = interval(row["value"], row["ci_low"], row["ci_high"])
    cells = {"run": row["run"], "at": (row["at"] or "–")[:16], "of": of, "value": value}
    cells |= {"difference": interval(*ends, sign="+"), "p_adjusted": row["p_adjusted"]}
    cells["verdict"] = f"{row['verdict']} ({others})" if others else row["verdict"]
    flips = None if row["fixed"] is None else f"{row['fixed']} / {row['broken']}"
    return cells | {"fixed / broken": flips, "changed": row["note"] or row["changed"]}


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
    from formlab.systems._spec import System, above_zero

    usual = {"layout": "single", "timeout": 600, "figures": True}
    settings = System("a report", "", start=None, defaults=usual).settings(given["settings"])
    above_zero(settings, "timeout")
    how = {name: settings[name] for name in given["settings"]}
    how |= {name: given[name] for name in ("out", "workers") if given[name]}
    parameters = {name: _literal(text) for name, text in pairs(given["changes"]).items()}
    evaluations = given["evaluations"]
    beside = {"NOTEBOOKS": notebooks, "--eval": evaluations, "-p": parameters}
    if manifest:
        for name in (name for name, value in beside.items() if value):
            raise DataBroken(f"{name} beside --manifest", remedy="put it into the manifest")
        results = reports.build_manifest(manifest, force=force, **how)
    else:
        how = {"out": Path("reports"), "workers": None} | how
        how |= {"parameters": parameters, "evaluations": evaluations}
        results = reports.build(notebooks or None, force=force, **how)
    names = [result.html.name if result.html else result.name for result in results]
    rows = [
        {"report": name, "status": r.status, "seconds": round(r.seconds, 1), "error": r.error or ""}
        for name, r in zip(names, results, strict=True)
    ]
    # Numbers of a table have four places.
    main = [("", [row | {"seconds": f"{row['seconds']:.1f}"} for row in rows])]
    notes = Counter(note for result in results for note in result.notes)
    return Rows(rows, main, notes=notes, ok=all(result.ok for result in results))


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
    from formlab import cache, files
    from formlab.benchmarks import SAMPLES

    if clear and kind != "cache":
        raise click.UsageError("--clear goes with formlab list cache")
    if kind == "plugins":
        return Rows(registry.plugins())
    rows = []
    for name in (cache.PAGES, cache.RUNS) if kind == "cache" else ():
        folder = files.cache_folder() / name
        sizes = [size for _, size, _ in cache.entries(folder)]
        row = {"name": name, "entries": len(sizes), "megabytes": round(sum(sizes) / 1e6, 1)}
        row |= {"most": cache.GIGABYTES * 1000, "folder": str(folder)}
        rows.append(row | ({"dropped": cache.drop_oldest(folder, gigabytes=0)} if clear else {}))
    if kind == "cache":
        return Rows(rows)
    for name, entry in registry.view(kind).items():
        row: dict[str, Any] = {"name": name}
        for field in _FIELDS[kind]:
            value = getattr(entry, field)
            if isinstance(value, dict):
                value = [f"{key} ({content})" for key, content in value.items()]
            row[field] = value if isinstance(value, str) else ", ".join(value)
        rows.append(row | ({"sample": (SAMPLES / name).is_dir()} if kind == "benchmarks" else {}))
    for problem in registry.problems(kind):
        name, source, reason = (plain(problem[key]) for key in ("name", "source", "problem"))
        click.echo(f"note: plug-in that cannot be used: {name} ({source}): {reason}", err=True)
    return Rows(rows, [("", [{n: row[n] for n in row if n != "citation"} for row in rows])])


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
