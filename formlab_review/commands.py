"""Commands that make FORMCRAFT data: drafts of a model, and forms that people verified."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab import benchmarks, resources
from formlab.cli import options
from formlab.cli.options import Rows, command, corpus_of, option
from formlab.show import plain, say

if TYPE_CHECKING:
    from formlab_review.acceptance import Accepted
    from formlab_review.drafts import Draft
    from formlab_review.editor import FormReview

FILE = "drafts.jsonl"
NOTEBOOK = resources.folder("notebooks") / "02_review.ipynb"
_MODEL = option("--model", "The model, as the server names it.", required=True)
_DRAFTED = (
    options.FIRST,
    options.PROMPT,
    *options.MODEL,
    options.out(f"Folder of the drafts ({FILE}).", required=True),
)
_FORMS = options.out("Folder of the forms.", required=True)


@click.group()
def formcraft() -> None:
    """Make data like FORMCRAFT's with a model: drafts, which people then verify."""


@command(
    click.argument("annotations", type=options.path),
    option("--images", "Their images [beside ANNOTATIONS, or in it].", options.path),
    _MODEL,
    *_DRAFTED,
    group=formcraft,
)
def convert(annotations: Path, images: Path | None, model: str, out: Path, **options: Any) -> Rows:
    """Turn a folder of annotated JSON files, and their images, into forms of FORMCRAFT's schema.

    OUT then loads with --root as benchmark formcraft. Forms that it has already are left alone.
    """
    from formlab_review import drafting

    made = drafting.forms(
        annotations,
        model=model,
        out=out,
        images=images,
        settings=_settings(model, options),
        limit=options["limit"],
    )
    return _report(made, model, out)


def _drafting(task: str, help_text: str) -> click.Command:
    """The command that drafts items of `task`."""

    def draft(model: str, out: Path, examples: Path | None, **options: Any) -> Rows:
        from formlab_review import drafting

        corpus = corpus_of("formcraft", options)
        shown = None
        if examples is not None:
            shown = drafting.examples_of(benchmarks.load("formcraft", root=examples), task)
        made = drafting.items(
            task,
            corpus,
            model=model,
            out=out,
            settings=_settings(model, options),
            limit=options["limit"],
            examples=shown,
        )
        return _report(made, model, out)

    draft.__doc__ = help_text
    examples = option("--examples", "Good forms for the model to see [ours].", options.path)
    group = (*options.BENCHMARK, _MODEL, examples, *_DRAFTED)
    return command(*group, name=task, group=formcraft)(draft)


vqa = _drafting("vqa", "Draft questions that take several fields of a form to answer.")
consistency = _drafting(
    "consistency", "Draft pairs of fields where the value of one follows from the other."
)


@command(
    option("--drafts", f"Folder of drafts ({FILE}).", options.path, required=True),
    option("--reviews", "Folder of decisions, one file a person.", options.path, required=True),
    options.ROOT,
    _FORMS,
    group=formcraft,
)
def accept(drafts: Path, reviews: Path, root: Path | None, out: Path) -> Rows:
    """Write the drafts that people accepted or edited into forms of FORMCRAFT's schema.

    The forms that the drafts are about are those at --root, else those beside the drafts, else
    the project's sample. OUT then loads with --root as benchmark formcraft.
    """
    import formlab_review as review
    from formlab import decisions
    from formlab.benchmarks.formcraft import splits
    from formlab_review.drafts import read

    decided, made, rows = decisions.read(reviews), read(drafts), []
    base = root or (drafts if splits(drafts) else None)
    for name in sorted({draft.split for draft in made}):
        corpus = corpus_of("formcraft", {"root": base, "split": name})
        counts = _saved(review.accepted(corpus, made, decided), out)
        rows += [{"split": name, **row} for row in counts]
    return Rows(rows)


_REVIEWED = (
    click.argument("reviewers", nargs=-1, required=True),
    option("--edits", "Folder of changes, one file a person.", options.path, required=True),
    *options.BENCHMARK,
)
_DECISIONS = option("--decisions", "Folder of decisions on what differs.", options.path)


@command(*_REVIEWED, options.RESAMPLES, group=formcraft)
def agreement(reviewers: tuple[str, ...], resamples: int, **options: Any) -> Rows:
    """How far two reviewers agree on whole forms, attribute by attribute: Cohen's kappa, share, n.

    Of REVIEWERS, two names, only forms count that both verified.
    """
    import formlab_review as review

    desks = _desks(reviewers, 2, options)
    return Rows(review.form_agreement(*desks, resamples=resamples))


@command(*_REVIEWED, _DECISIONS, group=formcraft)
def queue(reviewers: tuple[str, ...], decisions: Path | None, **options: Any) -> Rows:
    """What two reviewers left differently in whole forms, and what was decided on it.

    Notebook 02_review shows the same, and takes the decisions of a third person.
    """
    import formlab_review as review

    desks = _desks(reviewers, 2, options)
    return Rows(review.form_queue(*desks, _decided(decisions)))


@command(*_REVIEWED, _DECISIONS, _FORMS, group=formcraft)
def gold(reviewers: tuple[str, ...], decisions: Path | None, out: Path, **options: Any) -> Rows:
    """Write the forms that one reviewer verified, or two with each difference decided.

    OUT then loads with --root as benchmark formcraft.
    """
    import formlab_review as review

    made = review.gold(*_desks(reviewers, len(reviewers), options), decisions=_decided(decisions))
    rows = _saved(made, out)
    if not made.forms:
        return Rows(rows)
    return Rows(rows, notes=benchmarks.load("formcraft", root=out, split=options["split"]).flaws)


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
    corpus = corpus_of("formcraft", options)
    return [review.FormReview(corpus, options["edits"], name) for name in reviewers]


def _decided(folder: Path | None) -> Any:
    from formlab import decisions

    return None if folder is None else decisions.read(folder)


def _settings(model: str, options: dict[str, Any]) -> dict[str, Any]:
    from formlab.systems import chat

    return chat.system(f"{chat.PREFIX}{model}").settings(options["settings"])


def _report(made: list[Draft], model: str, out: Path) -> Rows:
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
    notes = {f"rejected: {kind}": count for kind, count in kinds.most_common()}
    return Rows([{"model": model, **counts(made), "out": str(out)}], notes=notes)
