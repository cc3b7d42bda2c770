"""The command that tries a system's settings on the same pages."""

from pathlib import Path
from typing import Any

import click

from formlab import resources, systems
from formlab.cli import options
from formlab.cli.options import Rows, command, corpus_of, option, pairs
from formlab.errors import DataBroken

NOTEBOOK = resources.folder("notebooks") / "73_settings.ipynb"
_COLUMNS = (
    "term", "value", "share", "difference", "ci_low", "ci_high", "p_adjusted", "gained", "lost",
    "n_units", "n_cases",
)  # fmt: skip


@command(
    click.argument("benchmark"),
    option("--system", "What reads the forms: ocr, rules, chat:MODEL.", required=True),
    option(
        "--set changes",
        "A setting with its values; the others are compared with the first. Repeat it.",
        multiple=True,
        required=True,
        metavar="NAME=VALUE,VALUE…",
    ),
    option("--one-at-a-time", "Fewer runs, nothing about pairs of settings.", bool),
    option("--runs", "A balanced fraction of so many combinations.", options.COUNT),
    *options.BENCHMARK,
    options.FIRST,
    options.out("Folder of the experiment [sweeps/BENCH-SPLIT-SYSTEM]."),
    options.WORKERS,
)
def sweep(benchmark: str, system: str, **options: Any) -> Rows:
    """Run SYSTEM on BENCHMARK with every combination of settings, and say what each does.

    All runs read the same pages. The same command again goes on where it stopped; with more values
    only what is new is read. OUT/evals has an evaluation for each run, which formlab compare and
    formlab report open too.
    """
    from formlab_experiments import sweep_effects, sweeps

    reader = systems.get(system)
    corpus = corpus_of(benchmark, options)
    name = f"{corpus.benchmark}-{corpus.split}-{reader.name}".replace("/", "-")
    out = options["out"] or Path("sweeps") / name
    evaluations = sweeps.sweep(
        corpus,
        reader,
        _levels(options["changes"]),
        out=out,
        **{name: options[name] for name in ("one_at_a_time", "runs", "limit")},
        workers=options["workers"],
    )
    table = sweep_effects.setting_effects(evaluations)
    findings = sweep_effects.settings_findings(evaluations, table)
    main = [("", table.select(_COLUMNS)), *((f"{finding}.", []) for finding in findings)]
    hint = f"{len(evaluations)} runs; the cases: formlab report 73_settings -p experiment={out}"
    return Rows(table, main, hints=[hint])


def _levels(changes: tuple[str, ...]) -> dict[str, list[str]]:
    """The values of each setting, those of equal names together."""
    levels: dict[str, list[str]] = {}
    for change in changes:
        for name, texts in pairs((change,)).items():
            if not all(texts.split(",")):
                remedy = f"--set {name}=VALUE,VALUE"
                raise DataBroken(f"{change!r} has an empty value", remedy=remedy)
            levels.setdefault(name, []).extend(texts.split(","))
    return levels
