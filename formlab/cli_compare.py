"""The commands that compare evaluations: of several systems, or of one corpus over time."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab.addresses import fetched
from formlab.console import as_json, path, plain, say, show, workers_options
from formlab.errors import DataBroken

if TYPE_CHECKING:
    import polars as pl

# The columns of --all; --json has every one.
_DIFFERENCES = (
    "metric", "slice", "system_a", "system_b", "value_a", "value_b", "difference", "ci_low",
    "ci_high", "better", "p", "p_holm", "rules", "least_difference", "n_docs", "n_cases",
)  # fmt: skip
_FLIPS = (
    "slice", "system_a", "system_b", "both_right", "only_a", "only_b", "both_wrong", "difference",
    "ci_low", "ci_high", "p", "p_holm", "p_mcnemar", "rules", "n_docs", "n_cases",
)  # fmt: skip
_MAIN_DIFFERENCES = ("metric", "slice", "values", "difference", "better")
_MAIN_FLIPS = ("slice", "only_a", "only_b", "difference", "p_holm")
_NOT_SHOWN = "not shown"


@click.command()
@click.argument("folders", metavar="EVAL_A EVAL_B ...", nargs=-1, required=True, type=fetched)
@click.option("--metric", multiple=True, help="Only this metric, macro_ means included [all].")
@click.option("--by", multiple=True, help="Column of the gold to slice by as well.")
@click.option("--reference", help="Compare every system with this one [all pairs].")
@click.option(
    "--flips", is_flag=True, help="Count the fields that only one of two systems gets right."
)
@click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True)
@click.option("--permutations", type=click.IntRange(min=0), default=9999, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--all", "everything", is_flag=True, help="Print all columns, and macro_ means.")
@workers_options()
@as_json
def compare(folders: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    """Compare two or more systems that were scored on the same forms.

    EVAL_A and EVAL_B are folders that formlab score wrote with --out. A difference is the second
    system's value minus the first's, with its interval; p is that of a permutation test, which
    swaps whole documents. --workers and --scheduler share out what takes longest: fields that were
    read under boxes are scored again under the other reading rules.
    """
    import polars as pl

    from formlab import analysis
    from formlab.folders import Evaluation
    from formlab.tables import readable

    evaluations = [Evaluation.load(folder) for folder in folders]
    ground = analysis.common(evaluations)
    say(ground.notes)
    draws = {name: options[name] for name in ("resamples", "permutations", "seed")}
    by, reference = options["by"], options["reference"]
    if options["flips"]:
        if options["metric"]:
            what = "--flips counts fields that are right, whatever the metric"
            raise DataBroken(what, remedy="--flips without --metric")
        table = analysis.flip_matrices(ground.evaluations, by=by, reference=reference, **draws)
        columns = _FLIPS
    else:
        metrics = options["metric"] or None
        how = {"by": by, "reference": reference, "workers": options["workers"]}
        table = analysis.compare(evaluations, metric=metrics, **how, **draws)
        columns = _DIFFERENCES
    if as_json:
        show(table.to_dicts(), as_json=True)
    else:
        if "better" in table.columns:
            # Null: no test supports that either system is better.
            table = table.with_columns(pl.col("better").fill_null(_NOT_SHOWN))
        table = readable(table)
        if options["everything"]:
            show(table.select(columns).to_dicts(), as_json=False)
        else:
            _show_main(table, asked=bool(options["metric"]))
    if sentence := _of_rules(table["rules"].drop_nulls().to_list()):
        click.echo(plain(sentence), err=True)


def _show_main(table: pl.DataFrame, *, asked: bool) -> None:
    """Print five columns for each pair of systems; means over documents only if `asked` for."""
    from formlab import metrics
    from formlab.analysis.paired_tests import documents_needed

    rows = table.to_dicts()
    if "metric" in table.columns and not asked:
        rows = [row for row in rows if not metrics.is_mean(row["metric"])]
    for row in rows:
        row["difference"] = _with_ends(row["difference"], row["ci_low"], row["ci_high"], "+")
        if "metric" in row:
            row["values"] = f"{row['value_a']:.4f} → {row['value_b']:.4f}"
            row["values"] = row["values"].replace("nan", "–")
    columns = _MAIN_DIFFERENCES if "metric" in table.columns else _MAIN_FLIPS
    pairs = dict.fromkeys((row["system_a"], row["system_b"]) for row in rows)
    for first, second in pairs:
        own = [row for row in rows if (row["system_a"], row["system_b"]) == (first, second)]
        n_docs, needed = max(row["n_docs"] for row in own), documents_needed(0.05 / len(pairs))
        counted = f"{n_docs:,} documents"
        if n_docs < needed:
            counted += f": nothing can be shown, {needed} are needed"
        shown = [{name: row[name] for name in columns} for row in own]
        show(shown, as_json=False, title=f"{first} (a) → {second} (b), {counted}")
    count = f"{len(rows)} of {table.height} rows, {len(columns)} columns"
    click.echo(f"{count}; --all prints all rows with more columns, --json everything", err=True)


@click.command()
@click.argument("folder", metavar="DIR", type=path)
@click.option("--metric", multiple=True, help="Only this metric beside fields right [headlines].")
@click.option("--out", type=path, help="Folder for a report of each corpus.")
@click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True)
@click.option("--permutations", type=click.IntRange(min=0), default=9999, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--all", "everything", is_flag=True, help="Print every metric, not only the first.")
@as_json
def history(folder: Path, as_json: bool, out: Path | None, **options: Any) -> None:
    """Show what changed from run to run, over all evaluations in DIR.

    Evaluations of one corpus stand in the order in which formlab score first saved them, by their
    manifests; equal times in the order of their names. Each run is tested against the one before.
    The exit code is 1 if a report is not complete.
    """
    from formlab import analysis

    evaluations = analysis.open_history(folder)
    draws = {name: options[name] for name in ("resamples", "permutations", "seed")}
    table = analysis.history(evaluations, metric=options["metric"], **draws)
    if as_json:
        show(table.to_dicts(), as_json=True)
    groups = analysis.corpora(evaluations)
    for corpus, runs in groups.items():
        rows = table.filter(corpus=corpus).to_dicts()
        if not options["everything"]:
            rows = [row for row in rows if row["metric"] == rows[0]["metric"]]
        if not as_json:
            counted = f"{len(runs)} run{'s' * (len(runs) > 1)} of {rows[0]['n_docs']:,} documents"
            show([_run(row) for row in rows], as_json=False, title=f"{corpus}: {counted}")
    if out:
        from formlab import reports
        from formlab.reports import notebook, plan

        ends = dict.fromkeys(groups, "") if len(groups) == 1 else {n: f"--{n}" for n in groups}
        for corpus, end in ends.items():
            seen = notebook.seen_from(plan.find("81_history"), folder)
            given = {"evaluations": [seen], "corpus": corpus}
            (built,) = reports.build(
                ["81_history"], out=out, parameters=given | draws, name=f"81_history{end}"
            )
            click.echo(
                plain(f"{built.html or built.name}: {built.error or built.status}"), err=True
            )
            if not built.ok:
                sys.exit(1)


def _run(row: dict[str, Any]) -> dict[str, Any]:
    """One run and metric for people."""
    value, change = (
        _with_ends(row["value"], row["ci_low"], row["ci_high"]),
        _with_ends(row["difference"], row["difference_low"], row["difference_high"], sign="+"),
    )
    what = "fields right" if row["metric"] == "outcome" else f"{row['metric']} ({row['level']})"
    flipped = None if row["fixed"] is None else f"{row['fixed']} / {row['broken']}"
    return {
        "run": row["run"], "at": (row["at"] or "–")[:16], "of": what, "value": value,
        "difference": change, "p_adjusted": row["p_adjusted"], "verdict": row["verdict"],
        "fixed / broken": flipped, "changed": row["note"] or row["changed"],
    }  # fmt: skip


def _with_ends(value: float | None, low: float | None, high: float | None, sign: str = "") -> str:
    """A value with its interval; both may be unknown."""
    if value is None or math.isnan(value):
        return "–"
    unknown = low is None or high is None or math.isnan(low)
    return f"{value:{sign}.4f}" + ("" if unknown else f" [{low:{sign}.4f}, {high:{sign}.4f}]")


def _of_rules(rules: list[str]) -> str | None:
    """The column `rules`, summed up in one line."""
    if not rules:
        return None
    from formlab.scoring.fields import READERS

    depend, names = rules.count("depends"), ", ".join(READERS)
    if not depend:
        return f"reading rules: every verdict on fields is the same under all of them ({names})"
    return (
        f"reading rules: {depend} of {len(rules)} verdicts on fields depend on how fields are read "
        f"from a page ({names}); see the column rules of --all"
    )
