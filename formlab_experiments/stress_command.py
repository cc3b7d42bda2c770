"""The command `formlab stress`, and the notebook of its evaluations."""

from pathlib import Path
from typing import Any

import click

from formlab import resources, systems
from formlab.cli import options
from formlab.cli.options import Rows, command, corpus_of, option

NOTEBOOK = resources.folder("notebooks") / "70_stress.ipynb"


@command(
    click.argument("benchmark"),
    option("--system", "What reads the forms: ocr, rules, chat:MODEL.", required=True),
    option(
        "--vary",
        "Degradations: blur, noise, skew, scale, jpeg, contrast, fold, stain, ink [all].",
        multiple=True,
        metavar="NAME=FROM:TO:N,…",
    ),
    option("--pages", "How many documents, drawn by --seed.", options.COUNT),
    *options.BENCHMARK,
    options.SEED,
    options.out("Folder of the experiment [stress/BENCH-SPLIT]."),
    options.WORKERS,
    options.BY,
    option("--resamples", "Draws for intervals.", options.FROM_ZERO, 2000),
    options.PROMPT,
    *options.MODEL,
)
def stress(benchmark: str, system: str, **options: Any) -> Rows:
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
    settings = reader.settings(options["settings"])
    corpus = corpus_of(benchmark, options)
    out = options["out"] or Path("stress") / f"{corpus.benchmark}-{corpus.split}"
    made = stress_corpus(
        corpus, options["vary"], out=out, pages=options["pages"], seed=options["seed"]
    )
    evaluation = read_and_score(
        made, reader, out=out, settings=settings, workers=options["workers"]
    )
    cases = print_sizes(judged_fields(evaluation))
    draws = {"resamples": options["resamples"], "seed": options["seed"]}
    tables = {"share of fields right": response(cases)}
    tables |= {f"share of fields right by {name}": response(cases, name) for name in options["by"]}
    tables["amount at which half is left"] = half_level(cases, **draws)
    tables |= {"which does more over its range": harm(cases), "causes": growing_causes(cases)}
    rows = {name: table.to_dicts() for name, table in tables.items()}
    every = [{"table": name} | row for name, of_table in rows.items() for row in of_table]
    main = [
        (title, table.drop("low", "high", "by", strict=False)) for title, table in tables.items()
    ]
    read = f"{evaluation.system}: {evaluation.documents.height} pages, {out}"
    return Rows(every, main, hints=[read])
