"""The command that tries a system's settings on the same pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from formlab import benchmarks, resources, systems
from formlab.console import as_json, pairs, path, plain, root, show, split, workers_options
from formlab.errors import DataBroken

NOTEBOOK = resources.folder("notebooks") / "73_settings.ipynb"
_COLUMNS = (
    "term", "value", "share", "difference", "ci_low", "ci_high", "p_adjusted", "gained", "lost",
    "n_units", "n_cases",
)  # fmt: skip


@click.command()
@click.argument("benchmark")
@click.option("--system", required=True, help="What reads the forms: ocr, rules, chat:MODEL.")
@click.option(
    "--set", "changes", multiple=True, required=True, metavar="NAME=VALUE,VALUE…",
    help="A setting with its values; the others are compared with the first. Repeat it.",
)  # fmt: skip
@click.option(
    "--one-at-a-time", is_flag=True,
    help="Change one setting at a time: fewer runs, nothing about settings that depend on others.",
)  # fmt: skip
@click.option(
    "--runs", type=click.IntRange(min=1), help="A balanced fraction of so many combinations."
)
@root
@split
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many documents.")
@click.option("--out", type=path, help="Folder of the experiment [sweeps/BENCH-SPLIT-SYSTEM].")
@workers_options()
@as_json
def sweep(benchmark: str, system: str, as_json: bool, **options: Any) -> None:
    """Run SYSTEM on BENCHMARK with every combination of settings, and say what each does.

    All runs read the same pages. The same command again goes on where it stopped; with more values
    only what is new is read. OUT/evals has an evaluation for each run, which formlab compare and
    formlab report open too.
    """
    from formlab_experiments import sweep_effects, sweeps

    reader = systems.get(system)
    corpus = benchmarks.asked(benchmark, options)
    name = f"{corpus.benchmark}-{corpus.split}-{reader.name}".replace("/", "-")
    out = options["out"] or Path("sweeps") / name
    evaluations = sweeps.sweep(
        corpus, reader, _levels(options["changes"]), out=out,
        **{n: options[n] for n in ("one_at_a_time", "runs", "workers", "limit")},
    )  # fmt: skip
    table = sweep_effects.setting_effects(evaluations)
    if as_json:
        show(table.to_dicts(), as_json=True)
        return
    show(table.select(_COLUMNS).to_dicts(), as_json=False)
    for finding in sweep_effects.settings_findings(evaluations, table):
        click.echo(plain(f"{finding}."))
    hint = f"{len(evaluations)} runs; the cases: formlab report 73_settings -p experiment={out}"
    click.echo(plain(hint), err=True)


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
