"""The command that makes web forms to a plan, and has an agent fill them in."""

import re
from pathlib import Path
from typing import Any

import click

from formlab.cli import options
from formlab.cli.options import Rows, command, option
from formlab.errors import DataBroken, NotAvailable
from formlab_arena.command_options import OBSERVE, changes_of, progress_of


@command(
    *options.PLAN,
    options.out("Folder of the forms [web-designs].", default=Path("web-designs")),
    option("--system", "Who fills in: oracle, rules, chat:MODEL. Without: only forms."),
    option("--agent", "Your own: module:Class, file.py:Class, or file.py with one agent."),
    OBSERVE,
    *options.MODEL,
    options.WORKERS,
)
def design(factors: tuple[str, ...], more: tuple[str, ...], out: Path, **options: Any) -> Rows:
    """Make web forms in which every factor varies on its own, and say what each does to an agent.

    Every combination of the levels is a form, or a fraction (--runs) in which pairs of levels are
    equally frequent. Factors are fields, kinds, pages and widgets (native, custom); NAME alone
    takes the usual levels. With --system, or --agent, the forms are filled in from texts that quote
    labels and values, and the effects of factors, pairs and kinds of controls follow; the same
    command again goes on where it stopped. `formlab arena serve --forms OUT/forms` shows the forms.
    """
    try:
        from formlab_experiments.design_command import effects
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
    plan = {name: options[name] for name in ("replicates", "runs", "seed")}
    named = (text.partition("=") for text in factors)
    levels = {name: [v for v in values.split(",") if v] for name, _, values in named}
    tasks = designs.web_tasks(levels, out=out, **plan)
    if not options["system"]:
        rows = [
            {"form": form.code, "fields": len(form.fields), "pages": len(form.pages)}
            | dict(form.style)
            for form in tasks.forms.values()
        ]
        return Rows(rows, hints=[f"{len(rows)} forms in {out}"])
    system, shown = options["system"], options["observe"] or ""
    settings = run.RunSettings(
        system, seed=options["seed"], observe=shown, options=changes_of(options)
    )
    name = re.sub(r"[^\w.-]+", "-", f"{system}-{shown}" if shown else system)
    with progress_of(system, len(tasks.instances)) as tell:
        workers = options["workers"]
        run.fill(out / "runs" / name, settings, tasks=tasks, tell=tell, workers=workers)
    evaluation = designs.web_evaluation(out, out / "runs" / name)
    evaluation.save(out / "evals" / name)
    hint = f"formlab report 40_form_filling --eval {out / 'evals' / name}"
    return effects(evaluation, hint=hint, factors=designs.varied(out))
