"""The command that draws forms to a plan, and has a system read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab import resources, systems
from formlab.cli import options
from formlab.cli.options import Rows, command, option
from formlab.errors import DataBroken

if TYPE_CHECKING:
    from formlab.folders import Evaluation

NOTEBOOK = resources.folder("notebooks") / "71_designed_forms.ipynb"
COLUMNS = (
    "term", "value", "share", "difference", "ci_low", "ci_high", "p_adjusted", "n_units", "n_cases",
)  # fmt: skip


@command(
    *options.PLAN,
    option("--layout", "Whose files are written.", click.Choice(["funsd", "formcraft"]), "funsd"),
    options.out("Folder of the forms [designs].", default=Path("designs")),
    option("--system", "What reads the forms: ocr, rules, chat:MODEL. Without: only draw."),
    options.SET,
    options.WORKERS,
)
def design(
    factors: tuple[str, ...], more: tuple[str, ...], out: Path, system: str | None, **options: Any
) -> Rows:
    """Draw forms in which every factor varies on its own, with their gold, and say what each does.

    Every combination of the levels is drawn, or a fraction (--runs) in which pairs of levels are
    equally frequent. Factors are fields, kinds, nesting, print (points) and handwriting; NAME alone
    takes the usual levels. With --system it reads the forms, and the effects of factors, pairs and
    contents follow; the same command again goes on where it stopped.
    """
    from formlab_experiments import designs
    from formlab_experiments.reading import read_and_score

    if not (factors := (*factors, *more)):
        raise DataBroken("no factor", remedy=f"--factors with some of {', '.join(designs.FACTORS)}")
    corpus = designs.design(
        _numbers(factors),
        out=out,
        **{name: options[name] for name in ("replicates", "runs", "seed", "layout", "workers")},
    )
    if system is None:
        varied = [name for name in designs.FACTORS if corpus.documents[name].n_unique() > 1]
        hint = f"{corpus.documents.height} forms in {out}"
        return Rows(corpus.documents.select("doc_id", *varied), hints=[hint])
    reader = systems.get(system)
    how = {"settings": reader.settings(options["settings"]), "workers": options["workers"]}
    evaluation = read_and_score(corpus, reader, out=out, **how)
    return effects(evaluation, hint=f"formlab report 71_designed_forms -p experiment={out}")


def effects(evaluation: Evaluation, hint: str, **factors: Any) -> Rows:
    """The effects of a design's factors, for people with the findings that hold."""
    from formlab_experiments import design_analysis

    table = design_analysis.design_effects(evaluation, **factors)
    findings = design_analysis.design_findings(evaluation, table)
    found = [(f"{finding}.", []) for finding in findings if finding.holds]
    table = table.select(COLUMNS)
    return Rows(table, [("", table), *found], hints=[f"the cases: {hint}"])


def _numbers(factors: tuple[str, ...]) -> dict[str, list[float]]:
    """The levels of each factor; none for those that are usual."""
    levels: dict[str, list[float]] = {}
    try:
        for name, _, listed in (text.partition("=") for text in factors):
            levels.setdefault(name, []).extend(float(v) for v in listed.split(",") if v)
    except ValueError as error:
        remedy = "numbers with commas between, as in fields=5,10,20"
        raise DataBroken(f"no levels: {error}", remedy=remedy) from error
    return levels
