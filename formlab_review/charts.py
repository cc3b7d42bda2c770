"""What a report shows of reviews: their progress, contradicted labels, agreement of reviewers."""

from typing import Any

import polars as pl

from formlab import charts
from formlab import decisions as decided
from formlab.charts import Caption, Card, Cards, Table
from formlab_review.adjudication import in_short, queue
from formlab_review.agreement import disagreements, fact_agreement, reviewer_agreement
from formlab_review.annotation import Annotations, ratings
from formlab_review.editor import FormReview
from formlab_review.form_differences import form_agreement, form_queue
from formlab_review.label_audit import by_majority
from formlab_review.session import Review, corpora

# A page may stand in one cell; a table shows the beginning of it.
_LONG = 80
# Settings of one engine, such as ocr and ocr(scale=2.0), are no two witnesses.
_ENGINES = pl.col("systems").list.eval(pl.element().str.extract(r"^([^(]*)")).list.n_unique()


def review_cards(review: Review, proposed: pl.DataFrame) -> Cards:
    """A review in short: how far it has got, and how many labels are contradicted.

    `proposed` is as from `proposals`.
    """
    done, total = len(review.done), f"{len(review.items):,}"
    majority, by_any = by_majority(proposed), f"{proposed.height:,}"
    apart = majority.filter(_ENGINES > 1).height
    items, labels = corpora(item.key for item in review.items), corpora(proposed.to_dicts())
    of_any = f"of {by_any} by any, in {labels}"
    cards = [
        Card("items decided", done, f"of {total}, in {items}"),
        Card("labels contradicted by a majority", majority.height, of_any),
    ]
    finding = (
        f"Reviewers have decided {done:,} of {total} items of {items}. Systems contradict {by_any} "
        f"labels of {labels}: {majority.height:,} by a majority with the same value, {apart:,} of "
        "these by more than one engine."
    )
    return Cards(cards, finding=finding)


def proposals_table(proposed: pl.DataFrame, *, rows: int = 50) -> tuple[Caption, Table | Caption]:
    """Labels that systems contradict, those on which most agree first, under their caption.

    Parameters
    ----------
    proposed
        As from `proposals`.
    rows
        At most so many are shown.
    """
    majority = by_majority(proposed)
    apart = majority.filter(_ENGINES > 1)
    caption = Caption(
        f"Labels that systems contradict, most agreed first, n = {proposed.height:,}: "
        f"{majority.height:,} by a majority with the same value, {apart.height:,} of these "
        "by more than one engine.",
        label="Table",
    )
    if not proposed.height:
        return caption, charts.note("No system contradicts a label.")
    shown = proposed.select(
        "doc_id", "task", "path", _short("gold").alias("label"), _short("pred").alias("read as"),
        agree=pl.format("{} of {}", "n_agree", "n_systems"),
        systems=pl.col("systems").list.join(", "),
    )  # fmt: skip
    key = {name: name for name in ("doc_id", "task", "path")}
    return caption, charts.table(shown, titles={"doc_id": "document"}, rows=rows, cases=key)


def agreement_tables(
    decisions: pl.DataFrame, *, resamples: int = 1000, seed: int = 0
) -> tuple[Any, ...]:
    """How far reviewers agree, and on what they do not; a note if fewer than two decided.

    Parameters
    ----------
    decisions
        As from `formlab.decisions.read`.
    resamples, seed
        Of the intervals.
    """
    kappas = reviewer_agreement(decisions, resamples=resamples, seed=seed)
    if not kappas["n_items"].sum():
        text = "Agreement needs two reviewers who decided on the same items, a file for each."
        return (charts.note(text),)
    text = "Cohen's kappa of reviewers, beyond chance; 95 % intervals by drawing documents."
    settings = f"n={resamples},seed={seed}|decisions={decided.version(decisions)}"
    differ = disagreements(decisions).drop("benchmark", "split")
    caption = f"What reviewers decided differently, n = {differ.height:,}."
    same = "The reviewers decided the same throughout."
    return *_kappas(text, kappas, settings, n_items="both"), *_listed(caption, differ, same)


def form_tables(
    first: FormReview, second: FormReview, decisions: pl.DataFrame | None = None, *,
    resamples: int = 1000, seed: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    """How far two reviewers agree on whole forms, and what there is to decide between them.

    Parameters
    ----------
    first, second
        The reviews, of the same corpus.
    decisions
        Of those who adjudicate, as from `formlab.decisions.read`.
    resamples, seed
        Of the intervals.
    """
    both = first.progress().join(second.progress().select("doc_id", also="verified"), on="doc_id")
    count = both.filter("verified", "also").height
    if not count:
        text = "Agreement on whole forms needs two reviewers who verified the same ones."
        return (charts.note(text),)
    text = f"Agreement by attribute on {count:,} forms; Cohen's kappa, intervals by documents."
    table = form_agreement(first, second, resamples=resamples, seed=seed)
    differ = form_queue(first, second, decisions)
    open_count = differ["decision"].null_count()
    caption = f"What they left differently, n = {differ.height:,}; {open_count:,} open."
    same = "The reviewers left the forms the same."
    kappas = _kappas(text, table, f"n={resamples},seed={seed}")
    return *kappas, *_listed(caption, differ, same, doc_id="form")


def annotation_tables(
    annotations: Annotations, *, resamples: int = 1000, seed: int = 0
) -> tuple[Any, ...]:
    """How far annotators of facts agree, what the lead has to decide, and what is wrong.

    Parameters
    ----------
    annotations
        Of m annotators, without the lead, as from `formlab_review.annotation.read`.
    resamples, seed
        Of the intervals.
    """
    levels = {level: ratings(annotations, level=level) for level in ("entity", "token")}
    kappas = [
        fact_agreement(table, resamples=resamples, seed=seed).select(pl.lit(level).alias("of"), "*")
        for level, table in levels.items()
    ]
    table = pl.concat(kappas).filter(pl.col("n_items") > 0)
    if not table.height:
        text = "Agreement on facts needs exports of two annotators (formlab annotate)."
        return (charts.note(text),)
    text = (
        "Cohen's kappa of pairs of annotators, Fleiss' of all, and the F1 of what they marked, by "
        "fact (entity) and by word (token); 95 % intervals by drawing pages."
    )
    differ = pl.DataFrame(in_short(queue(annotations)), infer_schema_length=None)
    faults = [fault._asdict() for fault in annotations.problems]
    wrong = pl.DataFrame(faults).drop("where", "task", strict=False)
    return (
        *_kappas(text, table, f"n={resamples},seed={seed}"),
        *_listed(f"What the lead has to decide, n = {differ.height:,}.", differ, doc_id="page"),
        *_listed(f"What the checks report, n = {wrong.height:,}.", wrong, doc_id="page"),
    )


def _kappas(text: str, table: pl.DataFrame, settings: str, **titles: str) -> tuple[Any, ...]:
    """A table of agreement under its caption."""
    names = {"ci_low": "low", "ci_high": "high", "n_items": "items", "n_same": "the same"}
    caption = Caption(text, label="Table", settings=f"kappa|ci=bootstrap,documents,{settings}")
    return caption, charts.table(table, titles=names | titles)


def _listed(text: str, frame: pl.DataFrame, empty: str = "", **titles: str) -> tuple[Any, ...]:
    """A table under its caption, long texts cut; without rows, a note."""
    if not frame.height:
        return (charts.note(empty or text),)
    short = frame.with_columns(_short(pl.String))
    return Caption(text, label="Table"), charts.table(short, titles=titles)


def _short(*names: str | type[pl.String]) -> pl.Expr:
    value = pl.col(names)
    long = value.str.len_chars() > _LONG
    return pl.when(long).then(value.str.head(_LONG) + "…").otherwise(value)
