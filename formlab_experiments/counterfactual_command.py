"""The command `formlab counterfactual`, and the notebook of its evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    say,
    show,
    split,
    workers_options,
)

if TYPE_CHECKING:
    from formlab_experiments.counterfactual import Pages

NOTEBOOK = resources.folder("notebooks") / "72_counterfactual.ipynb"
CHANGES = ("original", "source", "dependent", "contradicted", "blank", "consistent")
# Datasets that are read as forms of FORMCRAFT.
_AS_FORMS = ("formcraft", "funsd", "sroie")


@click.command()
@click.argument("pages")
@click.option("--system", help="What reads the copies: rules, chat:MODEL; none: only make them.")
@click.option("--pages", "limit", type=click.IntRange(min=1), help="Only so many pages.")
@click.option("--each", type=click.IntRange(min=1), help="Only so many relations of a page.")
@click.option(
    "--change", "copies", multiple=True, type=click.Choice(CHANGES), help="Which copies [all]."
)
@click.option(
    "--alone", multiple=True, metavar="KIND",
    help="Also change values of this kind that follow from nothing: date, money, number.",
)  # fmt: skip
@click.option(
    "--decisions", type=path, help="Decisions on replaced ink: what was rejected is left out."
)
@root
@split
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Of the changed values.",
)
@click.option("--out", type=path, required=True, help="Folder of the experiment.")
@workers_options()
@prompt
@asking
@as_json
def counterfactual(pages: str, out: Path, as_json: bool, **options: Any) -> None:
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
    say(corpus.flaws)
    made = {"copies": corpus.documents.height, "pages": corpus.documents["page_of"].n_unique()}
    if not options["system"]:
        show([made | {"out": str(out)}], as_json=as_json)
        return
    reader = systems.get(options["system"])
    evaluation = read_and_score(
        corpus, reader, out=out, settings=reader.settings(asked(options)),
        workers=options["workers"],
    )  # fmt: skip
    answers = follows(evaluation)
    tables = {
        "share of answers that follow": shares(answers),
        "where evidence, ink and prior differ": leaning(answers, ["system", "asked", "relation"]),
    }
    every = [{"table": title} | row for title, table in tables.items() for row in table.to_dicts()]
    if as_json:
        show(every, as_json=True)
        return
    for title, table in tables.items():
        show(table.to_dicts(), as_json=False, title=title)
        click.echo()
    read = f"{evaluation.system}: {made['copies']} copies of {made['pages']} pages, {out}"
    click.echo(plain(read), err=True)


def pages_of(name: str, options: Mapping[str, Any]) -> Pages:
    """The pages to change: templates that are drawn again, or scans of a dataset."""
    from formlab_experiments import Scans, Templates
    from formlab_experiments.forms.content import load_all
    from formlab_experiments.forms.formcraft import SEED, Form

    if name in _AS_FORMS and options["root"] is not None:
        return Scans(benchmarks.asked("formcraft", options))
    if name == "formcraft":
        return Templates(load_all(name, Form), SEED)
    folder = Path(name)
    if not any(folder.glob("*.yaml")):
        raise click.UsageError(f"{name} is no folder of templates; a dataset needs --root")
    return Templates(load_all(folder.resolve(), Form), SEED)
