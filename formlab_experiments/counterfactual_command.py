"""The command `formlab counterfactual`, and the notebook of its evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab import resources, systems
from formlab.cli import options
from formlab.cli.options import Rows, command, corpus_of, option
from formlab.show import plain

if TYPE_CHECKING:
    from formlab_experiments.counterfactual import Pages

NOTEBOOK = resources.folder("notebooks") / "72_counterfactual.ipynb"
CHANGES = ("original", "source", "dependent", "contradicted", "blank", "consistent")
# Datasets that are read as forms of FORMCRAFT.
_AS_FORMS = ("formcraft", "funsd", "sroie")


@command(
    click.argument("pages"),
    option("--system", "What reads the copies: rules, chat:MODEL; none: only make them."),
    option("--pages limit", "Only so many pages.", options.COUNT),
    option("--each", "Only so many relations of a page.", options.COUNT),
    option("--change copies", "Which copies [all].", click.Choice(CHANGES), multiple=True),
    option(
        "--alone",
        "Also change values of this kind that follow from nothing: date, money, number.",
        multiple=True,
        metavar="KIND",
    ),
    option("--decisions", "Decisions on replaced ink; the rejected is left out.", options.path),
    *options.BENCHMARK,
    options.SEED,
    options.out("Folder of the experiment.", required=True),
    options.WORKERS,
    options.PROMPT,
    *options.MODEL,
)
def counterfactual(pages: str, out: Path, **options: Any) -> Rows:
    """Change values on PAGES and see whether answers follow the evidence, the ink or the prior.

    PAGES is formcraft (the sample, drawn again), a folder of templates, or with --root formcraft,
    funsd or sroie, in whose scans ink is replaced; OUT/replaced.html shows each replacement to
    accept or reject it. Run the same command again to resume.
    """
    from formlab_experiments import (
        Scans,
        accepted,
        counterfactual_corpus,
        follows,
        leaning,
        read_and_score,
        review_page,
        shares,
    )

    source = pages_of(pages, options)
    corpus = counterfactual_corpus(
        source, out=out, seed=options["seed"], limit=options["limit"], each=options["each"],
        changes=options["copies"] or CHANGES, alone=options["alone"],
    )  # fmt: skip
    if isinstance(source, Scans):
        page = review_page(corpus, source, out)
        click.echo(plain(f"review of replaced ink: {page}"), err=True)
    if options["decisions"]:
        corpus = accepted(corpus, out, options["decisions"])
    made = {"copies": corpus.documents.height, "pages": corpus.documents["page_of"].n_unique()}
    if not options["system"]:
        return Rows([made | {"out": str(out)}], notes=corpus.flaws)
    reader = systems.get(options["system"])
    evaluation = read_and_score(
        corpus,
        reader,
        out=out,
        settings=reader.settings(options["settings"]),
        workers=options["workers"],
    )
    answers = follows(evaluation)
    tables = {
        "share of answers that follow": shares(answers),
        "where evidence, ink and prior differ": leaning(answers, ["system", "asked", "relation"]),
    }
    every = [{"table": title} | row for title, table in tables.items() for row in table.to_dicts()]
    read = f"{evaluation.system}: {made['copies']} copies of {made['pages']} pages, {out}"
    return Rows(every, list(tables.items()), notes=corpus.flaws, hints=[read])


def pages_of(name: str, options: Mapping[str, Any]) -> Pages:
    """The pages to change: templates that are drawn again, or scans of a dataset."""
    from formlab_experiments import Scans, Templates
    from formlab_experiments.forms.content import load_all
    from formlab_experiments.forms.formcraft import SEED, Form

    if name in _AS_FORMS and options["root"] is not None:
        return Scans(corpus_of("formcraft", options))
    if name == "formcraft":
        return Templates(load_all(name, Form), SEED)
    folder = Path(name)
    if not any(folder.glob("*.yaml")):
        raise click.UsageError(f"{name} is no folder of templates; a dataset needs --root")
    return Templates(load_all(folder.resolve(), Form), SEED)
