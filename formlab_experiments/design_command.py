"""The command that draws forms to a plan, and has a system read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from formlab import resources, systems
from formlab.console import as_json, pairs, path, plain, show, workers_options
from formlab.errors import DataBroken

NOTEBOOK = resources.folder("notebooks") / "71_designed_forms.ipynb"
COLUMNS = (
    "term", "value", "share", "difference", "ci_low", "ci_high", "p_adjusted", "n_units", "n_cases",
)  # fmt: skip


@click.command()
@click.option(
    "--factors", multiple=True, metavar="NAME=LEVEL,LEVEL…",
    help="What varies: fields, kinds, nesting, print (points), handwriting. Further ones follow.",
)  # fmt: skip
@click.argument("more", nargs=-1, metavar="[NAME=LEVEL,LEVEL…]…")
@click.option("--replicates", type=click.IntRange(min=1), default=1, show_default=True,
              help="Forms of each combination.")  # fmt: skip
@click.option(
    "--runs", type=click.IntRange(min=1), help="A balanced fraction of so many combinations."
)
@click.option("--layout", type=click.Choice(["funsd", "formcraft"]), default="funsd",
              show_default=True, help="Whose files are written.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", type=path, default=Path("designs"), show_default=True)
@click.option("--system", help="What reads the forms: ocr, rules, chat:MODEL. Without: only draw.")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="A setting of it.")
@workers_options()
@as_json
def design(
    factors: tuple[str, ...], more: tuple[str, ...], out: Path, system: str | None, as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Draw forms in which every factor varies on its own, with their gold, and say what each does.

    Every combination of the levels is drawn, or a fraction (--runs) in which pairs of levels are
    equally frequent. NAME alone takes the usual levels. With --system it reads the forms, and the
    effects of factors, pairs and contents follow; the same command again goes on where it stopped.
    """
    from formlab_experiments import design_analysis, designs
    from formlab_experiments.reading import read_and_score

    if not (factors := (*factors, *more)):
        raise DataBroken("no factor", remedy=f"--factors with some of {', '.join(designs.FACTORS)}")
    corpus = designs.design(
        dict(map(_levels, factors)), out=out, replicates=options["replicates"],
        runs=options["runs"], seed=options["seed"], layout=options["layout"],
        workers=options["workers"],
    )  # fmt: skip
    if system is None:
        varied = [name for name in designs.FACTORS if corpus.documents[name].n_unique() > 1]
        show(corpus.documents.select("doc_id", *varied).to_dicts(), as_json=as_json)
        click.echo(plain(f"{corpus.documents.height} forms in {out}"), err=True)
        return
    reader = systems.get(system)
    evaluation = read_and_score(
        corpus, reader, out=out, settings=reader.settings(pairs(options["changes"])),
        workers=options["workers"],
    )  # fmt: skip
    table = design_analysis.design_effects(evaluation)
    show(table.select(COLUMNS).to_dicts(), as_json=as_json)
    if not as_json:
        for finding in design_analysis.design_findings(evaluation, table):
            if finding.holds:
                click.echo(plain(f"{finding}."))
    hint = f"the cases: formlab report 71_designed_forms -p experiment={out}"
    click.echo(plain(hint), err=True)


def _levels(text: str) -> tuple[str, list[float]]:
    """The levels of a factor; none for those that are usual."""
    name, _, levels = text.partition("=")
    try:
        return name, [float(level) for level in levels.split(",") if level]
    except ValueError as error:
        remedy = "numbers with commas between, as in fields=5,10,20"
        raise DataBroken(f"no levels: {text!r}", remedy=remedy) from error
