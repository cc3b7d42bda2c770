"""Commands from unmarked pages to gold facts: Label Studio tasks, checks, agreement, gold."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from formlab.cli import options
from formlab.cli.options import Rows, command, corpus_of, option
from formlab.errors import DataBroken

if TYPE_CHECKING:
    import polars as pl

_EXPORTS = click.argument("exports", type=options.path, nargs=-1, required=True)
_LEAD = option("--lead", "The annotator who decides, and is not compared with the others.")
_THRESHOLD = option(
    "--threshold",
    "Share of equal annotators below which the lead decides.",
    click.FloatRange(0, 1),
    1.0,
)


@click.group()
def annotate() -> None:
    """Annotate facts on pages with Label Studio: tasks, checks, agreement, gold."""


@command(
    options.ROOT,
    options.out("Folder for tasks.json and labelling.xml.", required=True),
    option(
        "--label labels",
        "A type of fact, such as 'Monetary Unit'; repeat it.",
        default=("Number", "Date"),
        multiple=True,
    ),
    option("--image-url", "What comes before an image's name [the image is in the task]."),
    group=annotate,
)
def tasks(root: Path | None, out: Path, labels: tuple[str, ...], image_url: str | None) -> Rows:
    """Write the pages at --root, without their fact tags, as tasks of Label Studio.

    A page is a file gold_<n>.html or gold_<n>.txt, its picture images/<n>.png; without --root
    the project's sample. Paste labelling.xml into the project's settings and import tasks.json.
    """
    from formlab import files
    from formlab_review import annotation

    corpus = corpus_of("fincriticaled", {"root": root})
    made = annotation.tasks(corpus, image_url=image_url)
    files.write_json(out / "tasks.json", made)
    files.write_text(out / "labelling.xml", annotation.labelling_config(labels))
    images = sum(bool(task["data"]["image"]) for task in made)
    return Rows([{"tasks": len(made), "images": images, "out": str(out)}])


@command(_EXPORTS, group=annotate)
def check(exports: tuple[Path, ...]) -> Rows:
    """List what is wrong in EXPORTS of Label Studio, or in the tags of a folder of gold pages.

    Marks without a place or a label, in each other, over several elements; numbers that are none
    or lack their sign; dates that are none or contradict each other; pages of one annotator.
    """
    from formlab_review import annotation, fact_checks

    folders = [each for each in exports if each.is_dir()]
    faults = [fault for each in folders for fault in fact_checks.problems_of_gold(each)]
    faults += annotation.read(*(each for each in exports if not each.is_dir())).problems
    return Rows([fault._asdict() for fault in faults], notes={"problems": len(faults)})


@command(
    _EXPORTS,
    _LEAD,
    option("--level", kind=click.Choice(["entity", "token"]), default="entity"),
    option(
        "--mode",
        "official: an entity is its text node alone.",
        click.Choice(["fixed", "official"]),
        "fixed",
    ),
    option("--ratings", "File (CSV) for what each annotator says of each item.", options.path),
    options.SEED,
    group=annotate,
)
def agreement(
    exports: tuple[Path, ...], lead: str | None, level: str, mode: str, ratings: Path | None,
    seed: int,
) -> Rows:  # fmt: skip
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
    return Rows(fact_agreement(table, seed=seed))


@command(
    _EXPORTS,
    _LEAD,
    _THRESHOLD,
    options.out("File (JSON lines) in which the lead fills in `decision`."),
    group=annotate,
)
def queue(exports: tuple[Path, ...], lead: str | None, threshold: float, out: Path | None) -> Rows:
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
    return Rows(rows, [("", [dict.fromkeys(raters) | row for row in short])])


@command(
    _EXPORTS,
    _LEAD,
    _THRESHOLD,
    option("--decisions", "The queue's file with the lead's decisions.", options.path),
    option("--leave-out", "Write the gold without what nobody decided on.", bool),
    options.ROOT,
    options.out("A new folder for the pages.", required=True),
    group=annotate,
)
def gold(
    exports: tuple[Path, ...], lead: str | None, threshold: float, decisions: Path | None,
    leave_out: bool, root: Path | None, out: Path,
) -> Rows:  # fmt: skip
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
    source = None if root is None else corpus_of("fincriticaled", {"root": root})
    pages = adjudication.write_gold(marks, table, out, source=source)
    notes = {"facts left out, undecided": len(undecided)} if undecided else {}
    by = {"all": 0, "majority": 0} | dict(table["by"].value_counts(sort=True).iter_rows())
    row = {"pages": pages, "facts": table.height, "all_agree": by.pop("all")}
    row |= {"majority": by.pop("majority"), "decided": sum(by.values()), "out": str(out)}
    return Rows([row], notes=notes)


@command(
    options.ROOT,
    option("--share", kind=click.FloatRange(0, 1, min_open=True), default=0.05),
    option("--every", kind=options.COUNT, default=100),
    options.SEED,
    options.out("File (CSV) in which the expert fills in `right`."),
    group=annotate,
)
def sample(root: Path | None, share: float, every: int, seed: int, out: Path | None) -> Rows:
    """Draw gold facts for a domain expert: a share of those of each batch of pages at --root."""
    from formlab import files
    from formlab_review import adjudication

    corpus = corpus_of("fincriticaled", {"root": root})
    table = adjudication.review_sample(corpus, share=share, every=every, seed=seed)
    if out is not None:
        files.write_text(out, table.write_csv())
    return Rows(table.drop("right", "note"))


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
