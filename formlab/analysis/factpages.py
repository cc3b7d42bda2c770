"""Pages by how many of their facts are right, and the audit of a judge on an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from formlab import benchmarks, files, formats
from formlab.analysis.audit import COLUMNS, RATERS, answers, audit
from formlab.analysis.kappa import rater_agreement
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Evaluation

GENERAL = ("rouge1_stem", "rougeL_stem", "edit_distance")
_HUMAN = ("doc_id", "path", "correct")
_PAGE = (
    "doc_id", "domain", "facts", "found", "correct", "wrong", "fact_accuracy", "general",
    "structure",
)  # fmt: skip


def fact_pages(evaluation: Evaluation) -> pl.DataFrame:
    """A row per page, the page with the most wrong facts first.

    Returns
    -------
    polars.DataFrame
        `doc_id domain facts found correct wrong fact_accuracy general structure`; `general` is
        (R1 + RL + 1 - E) / 3 of the page's text, in [0, 1], as the paper ranks by; `structure` is
        0, 1 or 2. A page without facts has NaN for its accuracy.
    """
    facts = evaluation.cases.filter(pl.col("task") == "fact", pl.col("path").is_not_null())
    counts = facts.group_by("doc_id").agg(
        pl.len().cast(pl.Int64).alias("facts"),
        (pl.col("outcome") != "missing").sum().cast(pl.Int64).alias("found"),
        (pl.col("outcome") == "match").sum().cast(pl.Int64).alias("correct"),
    )
    pages = evaluation.scores.filter(pl.col("level") == "page")
    scores = [
        pages.filter(pl.col("metric") == name).select("doc_id", pl.col("value").alias(name))
        for name in (*GENERAL, "structure_score")
    ]
    table = evaluation.documents.select("doc_id", "domain")
    for part in (counts, *scores):
        table = table.join(part, on="doc_id", how="left", maintain_order="left")
    r1, rl, edits = (pl.col(name) for name in GENERAL)
    correct, facts_ = (pl.col(name).cast(pl.Float64) for name in ("correct", "facts"))
    return (
        table.with_columns(pl.col("facts", "found", "correct").fill_null(0))
        .with_columns(
            (pl.col("facts") - pl.col("correct")).alias("wrong"),
            (correct / facts_).alias("fact_accuracy"),
            ((r1 + rl + 1 - edits) / 3).alias("general"),
            pl.col("structure_score").cast(pl.Int64).alias("structure"),
        )
        .select(_PAGE)
        .sort("wrong", "general", "doc_id", descending=[True, False, False])
    )


@dataclass(frozen=True)
class Audit:
    """What rule, judge and human said of each fact, their agreement, and what was odd.

    The tables are as from `audit` and `rater_agreement`, empty where nothing was judged.
    """

    table: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=COLUMNS))
    kappas: pl.DataFrame = field(default_factory=lambda: rater_agreement(pl.DataFrame(), ()))
    notes: dict[str, int] = field(default_factory=dict)


def open_audit(
    evaluation: Evaluation,
    judge: str | Path = "",
    *,
    predictions: str | Path = "",
    humans: str | Path = "",
    resamples: int = 1000,
    seed: int = 0,
) -> Audit:
    """The audit of a judge's answers on an evaluation; without answers, an empty one.

    Parameters
    ----------
    evaluation
        Of a benchmark with facts; its gold is read again from its root.
    judge
        The judge's JSON file.
    predictions
        What was judged, in any format; the folder ``pred`` beside the gold if left out.
    humans
        A CSV of verdicts with columns `doc_id path correct`, and `reason` if known.
    resamples, seed
        Of the intervals of kappa; pages are drawn.

    Raises
    ------
    DataMissing, DataBroken
        If a file is absent or unreadable, or the evaluation's gold is no longer at its root.
    """
    if not str(judge):
        return Audit()
    if evaluation.root is None:
        raise DataMissing("the evaluation names no folder of gold", remedy="score it again")
    corpus = benchmarks.load(evaluation.benchmark, root=evaluation.root, split=evaluation.split)
    beside = evaluation.root / "pred"
    if not str(predictions) and not beside.is_dir():
        remedy = "the parameter predictions with what was judged"
        raise DataMissing("no predictions to audit", where=beside, remedy=remedy)
    found = formats.read_predictions(predictions or beside, corpus)
    said = _humans(Path(humans)) if str(humans) else None
    table, notes = audit(corpus, found, answers(Path(judge)), humans=said)
    raters = [name for name in RATERS if table[name].null_count() < table.height]
    kappas = rater_agreement(table, raters, resamples=resamples, seed=seed)
    return Audit(table, kappas, notes)


def _humans(file: Path) -> pl.DataFrame:
    text = files.read_text(file)
    try:
        table = pl.read_csv(text.encode(), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DataBroken(f"not a readable CSV: {error}", where=file) from error
    missing = [name for name in _HUMAN if name not in table.columns]
    if missing:
        raise DataBroken(f"no column {', '.join(missing)}", where=f"{file}:1")
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    known = pl.col("correct").str.strip_chars().str.to_lowercase()
    odd = table.with_row_index("line", 2).filter(~known.is_in(list(words)).fill_null(False))
    if odd.height:
        where = f"{file}:{odd['line'][0]}"
        raise DataBroken("a verdict is true or false", where=where, remedy="true or false")
    return table.with_columns(known.replace_strict(words, return_dtype=pl.Boolean).alias("correct"))
