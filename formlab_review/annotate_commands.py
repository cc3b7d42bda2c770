"""Commands from unmarked pages to gold facts: Label Studio tasks, checks, agreement, gold."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from formlab import benchmarks
from formlab.console import as_json, path, root
from formlab.errors import DataBroken
from formlab.show import say, show

if TYPE_CHECKING:
    import polars as pl

_exports = click.argument("exports", type=path, nargs=-1, required=True)
_lead = click.option(
    "--lead", help="The annotator who decides, and is not compared with the others."
)
_threshold = click.option(
    "--threshold", type=click.FloatRange(0, 1), default=1.0, show_default=True,
    help="Share of equal annotators below which the lead decides.",
)  # fmt: skip


@click.group()
def annotate() -> None:
    """Annotate facts on pages with Label Studio: tasks, checks, agreement, gold."""


@annotate.command("tasks")
@root
@click.option("--out", type=path, required=True, help="Folder for tasks.json and labelling.xml.")
@click.option(
    "--label", "labels", multiple=True, default=("Number", "Date"), show_default=True,
    help="A type of fact, such as 'Monetary Unit'; several times for several.",
)  # fmt: skip
@click.option("--image-url", help="What comes before an image's name [the image is in the task].")
@as_json
def write_tasks(
    root: Path | None, strict: bool, out: Path, labels: tuple[str, ...], image_url: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Write the pages at --root, without their fact tags, as tasks of Label Studio.

    A page is a file gold_<n>.html or gold_<n>.txt, its picture images/<n>.png; without --root
    the project's sample. Paste labelling.xml into the project's settings and import tasks.json.
    """
    from formlab import files
    from formlab_review import annotation

    corpus = benchmarks.asked("fincriticaled", {"root": root, "strict": strict})
    made = annotation.tasks(corpus, image_url=image_url)
    files.write_json(out / "tasks.json", made)
    files.write_text(out / "labelling.xml", annotation.labelling_config(labels))
    images = sum(bool(task["data"]["image"]) for task in made)
    show([{"tasks": len(made), "images": images, "out": str(out)}], as_json=as_json)


@annotate.command()
@_exports
@as_json
def check(exports: tuple[Path, ...], as_json: bool) -> None:
    """List what is wrong in EXPORTS of Label Studio, or in the tags of a folder of gold pages.

    Marks without a place or a label, in each other, over several elements; numbers that are none
    or lack their sign; dates that are none or contradict each other; pages of one annotator.
    """
    from formlab_review import annotation, fact_checks

    folders = [each for each in exports if each.is_dir()]
    faults = [fault for each in folders for fault in fact_checks.problems_of_gold(each)]
    faults += annotation.read(*(each for each in exports if not each.is_dir())).problems
    show([fault._asdict() for fault in faults], as_json=as_json)
    say({"problems": len(faults)})


@annotate.command("agreement")
@_exports
@_lead
@click.option(
    "--level", type=click.Choice(["entity", "token"]), default="entity", show_default=True
)
@click.option(
    "--mode", type=click.Choice(["fixed", "official"]), default="fixed", show_default=True,
    help="official: an entity is known by its text node alone, as in the released script.",
)  # fmt: skip
@click.option("--ratings", type=path, help="File (CSV) for what each annotator says of each item.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@as_json
def agree(
    exports: tuple[Path, ...], lead: str | None, level: str, mode: str, ratings: Path | None,
    seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Agreement of annotators: Cohen's kappa of pairs, Fleiss' of all, F1, over all and by label.

    EXPORTS are of Label Studio, or one file of ratings (CSV): columns doc_id and item, and one for
    each annotator with a label, none, or nothing where he or she did not see the item.
    """
    from formlab import files
    from formlab_review import annotation
    from formlab_review.agreement import fact_agreement

    if exports[0].suffix == ".csv":
        table = _ratings(exports[0])
    else:
        marks = annotation.read(*exports).without(lead)
        table = annotation.ratings(marks, level=level, mode=mode)
    if ratings is not None:
        files.write_text(ratings, table.write_csv())
    show(fact_agreement(table, seed=seed).to_dicts(), as_json=as_json)


@annotate.command("queue")
@_exports
@_lead
@_threshold
@click.option("--out", type=path, help="File (JSON lines) in which the lead fills in `decision`.")
@as_json
def list_queue(
    exports: tuple[Path, ...], lead: str | None, threshold: float, out: Path | None, as_json: bool
) -> None:
    """List the facts on which annotators differ too much, for the lead to decide.

    A decision is an annotator's name, or the facts that are right: [["Number", "(4,310)"]], []
    for none.
    """
    from formlab import files
    from formlab_review import adjudication, annotation

    rows = adjudication.queue(annotation.read(*exports).without(lead), threshold=threshold)
    if out is not None:
        if out.exists():
            what = "this file is there already and may hold decisions"
            raise DataBroken(what, where=out, remedy="another --out")
        files.write_jsonl(out, rows)
    short = adjudication.in_short(rows)
    raters = dict.fromkeys(name for row in short for name in row)
    show(rows if as_json else [dict.fromkeys(raters) | row for row in short], as_json=as_json)


@annotate.command("gold")
@_exports
@_lead
@_threshold
@click.option("--decisions", type=path, help="The queue's file with the lead's decisions.")
@click.option("--leave-out", is_flag=True, help="Write the gold without what nobody decided on.")
@root
@click.option("--out", type=path, required=True, help="A new folder for the pages.")
@as_json
def write(
    exports: tuple[Path, ...], lead: str | None, threshold: float, decisions: Path | None,
    leave_out: bool, root: Path | None, strict: bool, out: Path, as_json: bool,
) -> None:  # fmt: skip
    """Write the facts that annotators agree on, or the lead decided on, as tags into the pages.

    OUT then loads with --root as benchmark fincriticaled; its facts.jsonl says who decided on each
    fact. Images are copied from the pages at --root.
    """
    from formlab_review import adjudication, annotation

    every = annotation.read(*exports)
    marks, decided = every.without(lead), {}
    if lead is not None:
        decided |= adjudication.decisions_of_lead(every, lead, threshold=threshold)
    if decisions is not None:
        decided |= adjudication.read_decisions(decisions, marks)
    table, undecided = adjudication.facts(marks, decided, threshold=threshold)
    if undecided and not leave_out:
        first = undecided[0]
        text = marks.pages[first.page].context(first.first, first.last)
        what = f"nobody decided on {len(undecided)} facts; the first: {text}"
        remedy = "formlab annotate queue, then --decisions or --lead; or --leave-out"
        raise DataBroken(what, where=f"page {first.page}", remedy=remedy)
    how = {"root": root, "strict": strict}
    source = None if root is None else benchmarks.asked("fincriticaled", how)
    pages = adjudication.write_gold(marks, table, out, source=source)
    say({"facts left out, undecided": len(undecided)} if undecided else {})
    by = {"all": 0, "majority": 0} | dict(table["by"].value_counts(sort=True).iter_rows())
    row = {"pages": pages, "facts": table.height, "all_agree": by.pop("all")}
    row |= {"majority": by.pop("majority"), "decided": sum(by.values()), "out": str(out)}
    show([row], as_json=as_json)


@annotate.command("sample")
@root
@click.option(
    "--share", type=click.FloatRange(0, 1, min_open=True), default=0.05, show_default=True
)
@click.option("--every", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", type=path, help="File (CSV) in which the expert fills in `right`.")
@as_json
def draw(
    root: Path | None, strict: bool, share: float, every: int, seed: int, out: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Draw gold facts for a domain expert: a share of those of each batch of pages at --root."""
    from formlab import files
    from formlab_review import adjudication

    corpus = benchmarks.asked("fincriticaled", {"root": root, "strict": strict})
    table = adjudication.review_sample(corpus, share=share, every=every, seed=seed)
    if out is not None:
        files.write_text(out, table.write_csv())
    show(table.drop("right", "note").to_dicts(), as_json=as_json)


def _ratings(file: Path) -> pl.DataFrame:
    import polars as pl

    from formlab import files

    try:
        table = pl.read_csv(io.StringIO(files.read_text(file)), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DataBroken(f"not a readable CSV: {error}", where=file) from error
    if not {"doc_id", "item"} <= set(table.columns) or table.width < 4:
        remedy = "columns doc_id, item and one for each of two or more annotators"
        raise DataBroken("not a file of ratings", where=file, remedy=remedy)
    return table
