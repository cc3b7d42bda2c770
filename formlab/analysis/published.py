"""Scores measured here in one table with those that papers published."""

from __future__ import annotations

import polars as pl

from formlab import tables
from formlab.analysis.few_shot import TASK_TITLES, TASKS, WHOLE

OWN, PUBLISHED = "measured here", "published"
# What VRDU's data sets call themselves, and what the paper calls them.
PAPER_CORPORA = {"DeepForm": "ad-buy-form", "FARA": "registration-form"}
# Own kinds of field, and what FormFactory's Table 2 calls them. The paper does not say how its
# Checkbox and Check differ: several boxes to choose from stand beside the one, a single tick beside
# the other.
KINDS = {
    "string": "String", "dropdown": "Drop-down List", "choice": "Checkbox",
    "radio": "Radio Button", "description": "Description", "date": "Date", "checkbox": "Check",
    "number": "Number", "file": "File", "episodic": "Episodic",
}  # fmt: skip
_TEXT = ("rouge1", "rougeL", "edit_distance")
_FIGURES = (*_TEXT, "number_accuracy", "temporal_accuracy", "fact_accuracy")


def own_label(summary: pl.DataFrame) -> str:
    """What was measured, as a legend says it: the system and the forms it was measured on."""
    row = summary.row(0, named=True)
    return f"{row['system']} on {row['benchmark']}:{row['split']}"


def text_and_facts(summary: pl.DataFrame, printed: pl.DataFrame) -> pl.DataFrame:
    """Published systems and one's own by the text they read and by the facts they get right.

    Parameters
    ----------
    summary
        As from `formlab.summarise`, sliced by ``kind``.
    printed
        A published table of FinCriticalED: one row a system, figures as printed.

    Returns
    -------
    polars.DataFrame
        `system kind rouge1 rougeL edit_distance number_accuracy temporal_accuracy fact_accuracy
        general general_rank fact_rank moved`. `kind` tells what was measured here from what was
        published; `general` is (R1 + RL + 1 - E) / 3, in [0, 1]. Ranks, 1 best, are among the
        published systems, which read the same pages; `moved` says which of the two is higher.
    """
    rows = [_facts_row(summary)] if summary.height else []
    schema = {"system": pl.String, "kind": pl.String} | dict.fromkeys(_FIGURES, pl.Float64)
    theirs = printed.with_columns(kind=pl.lit(PUBLISHED)).select(
        "system", "kind", pl.col(_FIGURES).cast(pl.Float64)
    )
    r1, rl, edits = (pl.col(name) for name in _TEXT)
    every = pl.concat([theirs, pl.DataFrame(rows, schema=schema)])
    every = every.with_columns(general=(r1 + rl + 1 - edits) / 3)
    ranked = every.filter(kind=PUBLISHED).select(
        "system",
        pl.col("general").rank("min", descending=True).cast(pl.Int64).alias("general_rank"),
        pl.col("fact_accuracy").rank("min", descending=True).cast(pl.Int64).alias("fact_rank"),
    )
    text, facts = pl.col("general_rank"), pl.col("fact_rank")
    moved = pl.when(text > facts).then(pl.lit("facts rank higher"))
    moved = moved.when(text < facts).then(pl.lit("text ranks higher"))
    moved = moved.when(text == facts).then(pl.lit("same rank"))
    ranked = ranked.with_columns(pl.lit(PUBLISHED).alias("kind"))
    joined = every.join(ranked, on=["system", "kind"], how="left", maintain_order="left")
    return joined.with_columns(moved.alias("moved"))


def _facts_row(summary: pl.DataFrame) -> dict[str, object]:
    facts = tables.only(summary, metric="fact_accuracy")
    values = {
        "rouge1": tables.only(summary, metric="macro_rouge1_stem", slice_by=None),
        "rougeL": tables.only(summary, metric="macro_rougeL_stem", slice_by=None),
        "edit_distance": tables.only(summary, metric="macro_edit_distance", slice_by=None),
        "number_accuracy": tables.only(facts, slice_by="kind", slice_value="number"),
        "temporal_accuracy": tables.only(facts, slice_by="kind", slice_value="temporal"),
        "fact_accuracy": tables.only(facts, slice_by=None),
    }
    row = {name: rows["value"].first() for name, rows in values.items()}
    return {"system": own_label(summary), "kind": OWN} | row


def few_shot_beside(scores: pl.DataFrame, printed: pl.DataFrame) -> pl.DataFrame:
    """Published scores by task and training size, and one's own on the same data and sizes.

    Parameters
    ----------
    scores
        As from `few_shot`; what is of other documents or splits than the paper's is left out.
    printed
        VRDU's published Table 3.

    Returns
    -------
    polars.DataFrame
        `corpus task templates train_size system metric value kind`, and of own rows the interval,
        `n_docs` and `n_splits`; `kind` tells what was measured here from what was published, and
        `templates` is the task in words.
    """
    on = ["corpus", "task", "train_size"]
    theirs = printed.select(
        "corpus", pl.col("task").cast(pl.Enum(TASKS)), pl.col("train_size").cast(pl.Int64),
        "system", "metric", "value", pl.lit(PUBLISHED).alias("kind"),
    )  # fmt: skip
    own = scores.filter(pl.col("part") == WHOLE).select(
        pl.col("corpus").replace(PAPER_CORPORA), "task", "train_size", "system", "metric", "value",
        pl.lit(OWN).alias("kind"), "ci_low", "ci_high", "n_docs", "n_splits",
    ).join(theirs, on=on, how="semi")  # fmt: skip
    named = pl.format("{} ({})", "system", "kind").alias("system")
    templates = pl.col("task").cast(pl.String).replace(TASK_TITLES).alias("templates")
    both = pl.concat([theirs, own], how="diagonal").with_columns(named, templates)
    return both.sort("task", "corpus", "train_size", maintain_order=True)


def table_2(summary: pl.DataFrame, printed: pl.DataFrame) -> pl.DataFrame:
    """Click and value by kind of field as in Table 2 of FormFactory, own and published.

    A value counts if it is found anywhere in the output, a description with its BLEU; the kind
    ``Episodic`` is the mean over forms.

    Parameters
    ----------
    summary
        As from `formlab.summarise`, sliced by ``kind``.
    printed
        The published table, in percent as printed but for BLEU.

    Returns
    -------
    polars.DataFrame
        `system`, `origin` (measured here, published), `kind`, `metric` (``click``, ``value``),
        `value` in [0, 1], and for own ones `ci_low`, `ci_high`, `n_cases` and `n_docs`; in the
        paper's order of kinds.
    """
    ratio = (pl.col("kind") == "Description") & (pl.col("metric") == "value")
    theirs = printed.select(
        "system", pl.lit(PUBLISHED).alias("origin"), "kind", "metric",
        pl.when(ratio).then("value").otherwise(pl.col("value") / 100).alias("value"),
    )  # fmt: skip
    side = {
        "click_accuracy": "click", "episodic_click": "click", "value_found_accuracy": "value",
        "episodic_value": "value", "description_bleu": "value",
    }  # fmt: skip
    of_kind = pl.col("slice_by") == "kind"
    episodic = pl.col("slice_by").is_null() & pl.col("metric").str.starts_with("episodic_")
    kind = pl.when(of_kind).then("slice_value").otherwise(pl.lit("episodic"))
    ours = summary.filter(of_kind | episodic, pl.col("metric").is_in(list(side))).select(
        pl.lit(own_label(summary) if summary.height else "").alias("system"),
        pl.lit(OWN).alias("origin"), kind.replace_strict(KINDS, default=None).alias("kind"),
        pl.col("metric").replace(side), "value", "ci_low", "ci_high", "n_cases", "n_docs",
    )  # fmt: skip
    ours = ours.filter(pl.col("value").is_finite(), pl.col("kind").is_not_null())
    order = pl.col("kind").replace_strict({name: at for at, name in enumerate(KINDS.values())})
    return pl.concat([ours, theirs], how="diagonal").sort(order, maintain_order=True)
