"""The command that makes web forms to a plan, and has an agent fill them in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from formlab.console import as_json, asking, plain, show, workers_options
from formlab.errors import DataBroken, NotAvailable
from formlab_arena.command_options import PATH, changes_of, progress_of


@click.command()
@click.option(
    "--factors", multiple=True, metavar="NAME=LEVEL,LEVEL…",
    help="What varies: fields, kinds, pages, widgets (native, custom). Further ones follow.",
)  # fmt: skip
@click.argument("more", nargs=-1, metavar="[NAME=LEVEL,LEVEL…]…")
@click.option("--replicates", type=click.IntRange(min=1), default=1, show_default=True,
              help="Forms of each combination.")  # fmt: skip
@click.option(
    "--runs", type=click.IntRange(min=1), help="A balanced fraction of so many combinations."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", type=PATH, default=Path("web-designs"), show_default=True)
@click.option("--system", help="Who fills in: oracle, rules, chat:MODEL. Without: only forms.")
@click.option("--agent", help="Your own: module:Class, file.py:Class, or file.py with one agent.")
@click.option(
    "--observe", type=click.Choice(["pixels", "boxes", "tree"]),
    help="What it is shown beside the screenshot, if not what it asks for.",
)  # fmt: skip
@asking
@workers_options()
@as_json
def design(
    factors: tuple[str, ...], more: tuple[str, ...], out: Path, as_json: bool, **options: Any
) -> None:
    """Make web forms in which every factor varies on its own, and say what each does to an agent.

    Every combination of the levels is a form, or a fraction (--runs) in which pairs of levels are
    equally frequent. NAME alone takes the usual levels. With --system, or --agent, the forms are
    filled in from texts that quote labels and values, and the effects of factors, pairs and kinds
    of controls follow; the same command again goes on where it stopped. `formlab arena serve
    --forms OUT/forms` shows the forms.
    """
    try:
        from formlab_experiments import design_analysis, design_command
    except ImportError as error:
        remedy = "install formlab with its package formlab_experiments"
        raise NotAvailable("plans and effects are not installed", remedy=remedy) from error
    from formlab_arena import agent_registry, designs, run

    if not (factors := (*factors, *more)):
        raise DataBroken("no factor", remedy=f"--factors with some of {', '.join(designs.FACTORS)}")
    if options["agent"]:
        if options["system"]:
            raise click.UsageError("--agent goes without --system")
        options["system"] = agent_registry.load(options["agent"])
    pairs = (text.partition("=") for text in factors)
    levels = {name: [v for v in values.split(",") if v] for name, _, values in pairs}
    plan = {name: options[name] for name in ("replicates", "runs", "seed")}
    tasks = designs.web_tasks(levels, out=out, **plan)
    if not options["system"]:
        rows = [{"form": f.code, "fields": len(f.fields), "pages": len(f.pages)} | dict(f.style)
                for f in tasks.forms.values()]  # fmt: skip
        show(rows, as_json=as_json)
        click.echo(plain(f"{len(rows)} forms in {out}"), err=True)
        return
    system, shown = options["system"], options["observe"] or ""
    settings = run.RunSettings(
        system, seed=options["seed"], observe=shown, options=changes_of(options)
    )
    name = re.sub(r"[^\w.-]+", "-", f"{system}-{shown}" if shown else system)
    with progress_of(system, len(tasks.instances)) as tell:
        run.fill(
            out / "runs" / name, settings, tasks=tasks, tell=tell, workers=options["workers"],
        )  # fmt: skip
    evaluation = designs.web_evaluation(out, out / "runs" / name)
    evaluation.save(out / "evals" / name)
    table = design_analysis.design_effects(evaluation, factors=designs.varied(out))
    show(table.select(design_command.COLUMNS).to_dicts(), as_json=as_json)
    if not as_json:
        for finding in design_analysis.design_findings(evaluation, table):
            if finding.holds:
                click.echo(plain(f"{finding}."))
    click.echo(plain(f"the cases: formlab open {out / 'evals' / name}"), err=True)
