"""The command `formlab stress`, and the notebook of its evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from formlab import benchmarks, resources, systems
from formlab.console import (
    as_json,
    asked,
    asking,
    path,
    plain,
    prompt,
    root,
    show,
    split,
    workers_options,
)

NOTEBOOK = resources.folder("notebooks") / "70_stress.ipynb"


@click.command()
@click.argument("benchmark")
@click.option("--system", required=True, help="What reads the forms: ocr, rules, chat:MODEL.")
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=FROM:TO:NUMBER,…",
    help="Degradations: blur, noise, skew, scale, jpeg, contrast, fold, stain, ink [all].",
)
@click.option("--pages", type=click.IntRange(min=1), help="How many documents, drawn by --seed.")
@root
@split
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", type=path, help="Folder of the experiment [stress/BENCH-SPLIT].")
@workers_options()
@click.option("--by", multiple=True, help="Column with a curve for each value, such as kind.")
@click.option("--resamples", type=click.IntRange(min=0), default=2000, show_default=True)
@prompt
@asking
@as_json
def stress(benchmark: str, system: str, as_json: bool, **options: Any) -> None:
    """Make pages of BENCHMARK worse by known amounts, and see what SYSTEM still reads.

    Every level is read on the same pages. Run the same command again to resume; of formlab's
    notebooks, 70_stress shows the evaluation in OUT.
    """
    from formlab_experiments import (
        growing_causes,
        half_level,
        harm,
        judged_fields,
        print_sizes,
        read_and_score,
        response,
        stress_corpus,
    )

    reader = systems.get(system)
    settings = reader.settings(asked(options))
    corpus = benchmarks.asked(benchmark, options)
    out = options["out"] or Path("stress") / f"{corpus.benchmark}-{corpus.split}"
    made = stress_corpus(
        corpus, options["vary"], out=out, pages=options["pages"], seed=options["seed"]
    )
    evaluation = read_and_score(
        made, reader, out=out, settings=settings, workers=options["workers"],
    )  # fmt: skip
    cases = print_sizes(judged_fields(evaluation))
    draws = {"resamples": options["resamples"], "seed": options["seed"]}
    tables = {"share of fields right": response(cases)}
    tables |= {f"share of fields right by {name}": response(cases, name) for name in options["by"]}
    tables["amount at which half is left"] = half_level(cases, **draws)
    tables |= {"which does more over its range": harm(cases), "causes": growing_causes(cases)}
    for title, table in tables.items():
        rows = table.drop("low", "high", "by", strict=False).to_dicts()
        if not as_json:
            show(rows, as_json=False, title=f"\n{title}")
    if as_json:
        every = [
            {"table": name} | row for name, table in tables.items() for row in table.to_dicts()
        ]
        show(every, as_json=True)
    click.echo(plain(f"{evaluation.system}: {evaluation.documents.height} pages, {out}"), err=True)
