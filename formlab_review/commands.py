"""Commands that make FORMCRAFT data: drafts of a model, and forms that people verified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab import benchmarks, resources
from formlab.console import as_json, asked, asking, path, prompt, root, split
from formlab.show import plain, say, show

if TYPE_CHECKING:
    from formlab_review.acceptance import Accepted
    from formlab_review.drafts import Draft
    from formlab_review.editor import FormReview

FILE = "drafts.jsonl"
NOTEBOOK = resources.folder("notebooks") / "02_review.ipynb"
_model = click.option("--model", required=True, help="The model, as the server names it.")
_out = click.option("--out", type=path, required=True, help=f"Folder of the drafts ({FILE}).")
_limit = click.option("--limit", type=click.IntRange(min=1), help="Only the first so many forms.")
_examples = click.option(
    "--examples", type=path, help="Forms with good items, to show to the model [formlab's own]."
)


@click.group()
def formcraft() -> None:
    """Make data like FORMCRAFT's with a model: drafts, which people then verify."""


@formcraft.command()
@click.argument("annotations", type=path)
@click.option("--images", type=path, help="Their images [beside ANNOTATIONS, or in it].")
@_model
@_limit
@prompt
@asking
@_out
@as_json
def convert(
    annotations: Path, images: Path | None, model: str, out: Path, as_json: bool, **options: Any
) -> None:
    """Turn a folder of annotated JSON files, and their images, into forms of FORMCRAFT's schema.

    OUT then loads with --root as benchmark formcraft. Forms that it has already are left alone.
    """
    from formlab_review import drafting

    made = drafting.forms(
        annotations, model=model, out=out, images=images, settings=_settings(model, options),
        limit=options["limit"],
    )  # fmt: skip
    _report(made, model, out, as_json)


def _drafting(task: str, help_text: str) -> Callable[..., Any]:
    """The command that drafts items of `task`."""

    @formcraft.command(task, help=help_text)
    @root
    @split
    @_model
    @_limit
    @_examples
    @prompt
    @asking
    @_out
    @as_json
    def command(
        model: str, out: Path, as_json: bool, examples: Path | None, **options: Any
    ) -> None:
        from formlab_review import drafting

        corpus = benchmarks.asked("formcraft", options)
        shown = None
        if examples is not None:
            shown = drafting.examples_of(benchmarks.load("formcraft", root=examples), task)
        made = drafting.items(
            task, corpus, model=model, out=out, settings=_settings(model, options),
            limit=options["limit"], examples=shown,
        )  # fmt: skip
        _report(made, model, out, as_json)

    return command


vqa = _drafting("vqa", "Draft questions that take several fields of a form to answer.")
consistency = _drafting(
    "consistency", "Draft pairs of fields where the value of one follows from the other."
)


@formcraft.command()
@click.option("--drafts", "drafted", type=path, required=True, help=f"Folder of drafts ({FILE}).")
@click.option("--reviews", type=path, required=True, help="Folder of decisions, one file a person.")
@root
@click.option("--out", type=path, required=True, help="Folder of the forms.")
@as_json
def accept(
    drafted: Path, reviews: Path, root: Path | None, strict: bool, out: Path, as_json: bool
) -> None:
    """Write the drafts that people accepted or edited into forms of FORMCRAFT's schema.

    The forms that the drafts are about are those at --root, else those beside the drafts, else
    the project's sample. OUT then loads with --root as benchmark formcraft.
    """
    import formlab_review as review
    from formlab import decisions
    from formlab.benchmarks.formcraft import splits
    from formlab_review.drafts import read

    decided, made, rows = decisions.read(reviews), read(drafted), []
    base = root or (drafted if splits(drafted) else None)
    for name in sorted({draft.split for draft in made}):
        corpus = benchmarks.asked("formcraft", {"root": base, "split": name, "strict": strict})
        counts = _saved(review.accepted(corpus, made, decided), out)
        rows += [{"split": name, **row} for row in counts]
    show(rows, as_json=as_json)


_reviewers = click.argument("reviewers", nargs=-1, required=True)
_edits = click.option(
    "--edits", type=path, required=True, help="Folder of changes to forms, one file a person."
)
_decisions = click.option(
    "--decisions", type=path, help="Folder of decisions on what the reviewers left differently."
)


@formcraft.command()
@_reviewers
@_edits
@root
@split
@click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True)
@as_json
def agreement(reviewers: tuple[str, ...], resamples: int, as_json: bool, **options: Any) -> None:
    """How far two reviewers agree on whole forms, attribute by attribute: Cohen's kappa, share, n.

    Of REVIEWERS, two names, only forms count that both verified.
    """
    import formlab_review as review

    desks = _desks(reviewers, 2, options)
    show(review.form_agreement(*desks, resamples=resamples).to_dicts(), as_json=as_json)


@formcraft.command()
@_reviewers
@_edits
@_decisions
@root
@split
@as_json
def queue(
    reviewers: tuple[str, ...], decisions: Path | None, as_json: bool, **options: Any
) -> None:
    """What two reviewers left differently in whole forms, and what was decided on it.

    Notebook 02_review shows the same, and takes the decisions of a third person.
    """
    import formlab_review as review

    desks = _desks(reviewers, 2, options)
    show(review.form_queue(*desks, _decided(decisions)).to_dicts(), as_json=as_json)


@formcraft.command()
@_reviewers
@_edits
@_decisions
@root
@split
@click.option("--out", type=path, required=True, help="Folder of the forms.")
@as_json
def gold(
    reviewers: tuple[str, ...], decisions: Path | None, out: Path, as_json: bool, **options: Any
) -> None:
    """Write the forms that one reviewer verified, or two with each difference decided.

    OUT then loads with --root as benchmark formcraft.
    """
    import formlab_review as review

    made = review.gold(*_desks(reviewers, len(reviewers), options), decisions=_decided(decisions))
    rows = _saved(made, out)
    if made.forms:
        say(benchmarks.load("formcraft", root=out, split=options["split"]).flaws)
    show(rows, as_json=as_json)


def _saved(made: Accepted, out: Path) -> list[dict[str, Any]]:
    """Write forms; the counts of what was drafted, by kind."""
    made.save(out)
    for doc_id, place, why in made.kept_out():
        click.echo(plain(f"kept out: {doc_id}{place or ''}: {why}"), err=True)
    say(made.notes)
    return [row for row in made.counts().to_dicts() if row["drafts"]]


def _desks(reviewers: tuple[str, ...], count: int, options: dict[str, Any]) -> list[FormReview]:
    import formlab_review as review

    if len(reviewers) != count or count > 2:
        raise click.UsageError("two reviewers" if count < 3 else "one reviewer or two")
    corpus = benchmarks.asked("formcraft", options)
    return [review.FormReview(corpus, options["edits"], name) for name in reviewers]


def _decided(folder: Path | None) -> Any:
    from formlab import decisions

    return None if folder is None else decisions.read(folder)


def _settings(model: str, options: dict[str, Any]) -> dict[str, Any]:
    from formlab.systems import chat

    return chat.system(f"{chat.PREFIX}{model}").settings(asked(options))


def _report(made: list[Draft], model: str, out: Path, as_json: bool) -> None:
    from formlab.tables import USABLE
    from formlab_review.drafting import counts

    for draft in [draft for draft in made if draft.status not in USABLE][:5]:
        reason = "; ".join(draft.rejected) or "no reason given"
        click.echo(f"{draft.status}: {plain(draft.doc_id)}: {plain(reason)}", err=True)
    # Reasons without what differs from item to item: paths, values, quotations.
    kinds = Counter(
        reason.partition(" '")[0].partition(" /")[0].partition(":")[0]
        for draft in made
        if draft.path
        for reason in draft.rejected
    )
    say({f"rejected: {kind}": count for kind, count in kinds.most_common()})
    show([{"model": model, **counts(made), "out": str(out)}], as_json=as_json)
