"""The command that compares systems: differences with intervals, or which fields flip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from formlab.console import as_json, path, say, show
from formlab.errors import DataBroken

# What a reader of the table wants first; --json has every column.
_DIFFERENCES = (
    "metric", "slice", "system_a", "system_b", "value_a", "value_b", "difference", "ci_low",
    "ci_high", "better", "p", "p_holm", "rules", "least_difference", "n_docs", "n_cases",
)  # fmt: skip
_FLIPS = (
    "slice", "system_a", "system_b", "both_right", "only_a", "only_b", "both_wrong", "difference",
    "ci_low", "ci_high", "p", "p_holm", "p_mcnemar", "rules", "n_docs", "n_cases",
)  # fmt: skip
_NOT_SHOWN = "not shown"


@click.command()
@click.argument("folders", metavar="EVAL_A EVAL_B ...", nargs=-1, required=True, type=path)
@click.option("--metric", multiple=True, help="Only this metric, macro_ means included [all].")
@click.option("--by", multiple=True, help="Column of the gold to slice by as well.")
@click.option("--reference", help="Compare every system with this one [all pairs].")
@click.option(
    "--flips", is_flag=True, help="Count the fields that only one of two systems gets right."
)
@click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True)
@click.option("--permutations", type=click.IntRange(min=0), default=9999, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@as_json
def compare(folders: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    """Compare two or more systems that were scored on the same forms.

    EVAL_A and EVAL_B are folders that formlab score wrote with --out. A difference is the second
    system's value minus the first's, with its interval; p is that of a permutation test, which
    swaps whole documents.
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
        table = analysis.compare(
            ground.evaluations, metric=metrics, by=by, reference=reference, **draws
        )
        columns = _DIFFERENCES
    shown = table if as_json else readable(table).select(columns)
    if "better" in shown.columns and not as_json:
        # Null: no test supports that either system is better.
        shown = shown.with_columns(pl.col("better").fill_null(_NOT_SHOWN))
    show(shown.to_dicts(), as_json=as_json)
    if sentence := _of_rules(table["rules"].drop_nulls().to_list()):
        click.echo(sentence, err=True)


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
        f"from a page ({names}); see the column rules"
    )
