"""How much of an error is only naming: the fields of forms scored under several pairings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from formlab import benchmarks, metrics, tables
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation
from formlab.scoring.score_batch import THRESHOLD
from formlab.scoring.tasks import content
from formlab.scoring.whole import Whole
from formlab.tables import BOX

PAIRINGS = ("default", "label", "box", "value", "oracle")
# The measure of each modality; see `formlab.scoring.tasks.content`.
MEASURES = {"cer": ("textual", "visual"), "mark_f1": ("marking",), "cross_accuracy": ("cross",)}
_SEEN = (pl.col("task") == "layout") & pl.col("kind").is_in(["word", "line"]).fill_null(False)
SCHEMA = {
    "metric": pl.String, "pairing": pl.String, "value": pl.Float64, "ci_low": pl.Float64,
    "ci_high": pl.Float64, "n_docs": pl.Int64, "n_cases": pl.Int64, "n_paired": pl.Int64,
    "only_naming": pl.Float64, "lowest": pl.Float64, "highest": pl.Float64,
}  # fmt: skip


def pairings(evaluation: Evaluation, *, resamples: int = 1000, seed: int = 0) -> pl.DataFrame:
    """The scores of FORMCRAFT's fields (L1) under each way to pair gold and predicted fields.

    Parameters
    ----------
    evaluation
        As from `formlab.evaluate`, with its corpus and predictions.
    resamples, seed
        Draws of documents for the intervals.

    Returns
    -------
    polars.DataFrame
        A row per metric and pairing: ``default`` as for the evaluation's own scores, ``label``,
        ``box``, ``value`` and ``oracle``, the least error that any pairing gives (of marks, the
        least that was found). Only fields that the system named count: one that no name is paired
        with is missed here, even where the page's words can be read under its box. `n_cases`
        counts the values scored, `n_paired` the gold fields that have a partner. `only_naming` is
        the share of the row's error, in [0, 1], that vanishes under the oracle: the value stands
        in the answer under another name; NaN where there is no error. An error is the CER, or 1
        less the score. `lowest` and `highest` span the metric's values over all pairings. ``box``
        is NaN where one side has no boxes. No rows for evaluations without FORMCRAFT's fields,
        and where the system named none.

    Examples
    --------
    >>> import dataclasses, polars as pl
    >>> from formlab import evaluate, load, tables
    >>> from formlab.folders import Predictions
    >>> corpus = load("formcraft")
    >>> first = corpus.documents.head(1)
    >>> gold = corpus.records.filter(doc_id=first["doc_id"][0], task="text")
    >>> corpus = dataclasses.replace(corpus, documents=first, records=gold)
    >>> records = gold.with_columns(
    ...     pl.format("/{}", pl.int_range(pl.len())).alias("path"),
    ...     role=pl.lit("prediction"), system=pl.lit("numbers"),
    ... )
    >>> predictions = Predictions(records, tables.table("responses", []), "numbers")
    >>> frame = pairings(evaluate(corpus, predictions), resamples=0)
    >>> frame.filter(pl.col("pairing").is_in(["label", "value"]))["value"].to_list()
    [1.0, 0.0]
    """
    marking = "marking" in benchmarks.get(evaluation.benchmark).tasks
    parts = [_unseen(part) for part in evaluation.parts()] if marking else []
    if not parts or any(each.corpus is None or each.predictions is None for each in parts):
        return pl.DataFrame(schema=SCHEMA)
    kinds = Whole.together(Whole.of(each.corpus, each.predictions) for each in parts)
    if not _fields(kinds.answers).drop_nulls("path").height:
        return pl.DataFrame(schema=SCHEMA)
    rows = [
        row | {"pairing": name}
        for name in PAIRINGS
        for row in _scored(parts, kinds, name, resamples=resamples, seed=seed)
    ]
    frame = pl.DataFrame(rows, schema=SCHEMA)
    present = [name for name in MEASURES if name in set(frame["metric"])]
    return pl.concat(_compared(frame.filter(metric=name), name) for name in present)


def _unseen(part: Evaluation) -> Evaluation:
    """Without the words that were read: what is read under a field's box needs no name."""
    answers = part.predictions
    if answers is not None:
        answers = dataclasses.replace(answers, records=answers.records.filter(~_SEEN))
    return part.changed(predictions=answers)


def _scored(
    parts: Sequence[Evaluation], kinds: Whole, pairing: str, **draws: int
) -> Iterator[dict[str, Any]]:
    scored = []
    for part in parts:
        done = content.score(
            part.corpus, part.predictions, mode=part.mode, kinds=kinds, pairing=pairing,
            threshold=part.settings.get("threshold", THRESHOLD),
        )  # fmt: skip
        scored.append(part.changed(cases=done.cases, scores=done.scores))
    again = Evaluation.of(scored)
    summary = tables.only(summarise(again, by=(), **draws), level="field", slice_by=None)
    summary = summary.filter(pl.col("metric").is_in(list(MEASURES)))
    paired = again.cases.filter(pl.col("gold").is_not_null(), pl.col("pred_path").is_not_null())
    sides = kinds.gold, kinds.answers
    blind = pairing == "box" and not all(_fields(side).drop_nulls(BOX).height for side in sides)
    unknown = dict.fromkeys(("value", "ci_low", "ci_high"), float("nan")) if blind else {}
    columns = ["metric", "value", "ci_low", "ci_high", "n_docs", "n_cases"]
    for row in summary.select(columns).iter_rows(named=True):
        own = paired["modality"].is_in(MEASURES[row["metric"]])
        yield row | {"n_paired": int(own.sum())} | unknown


def _fields(records: pl.DataFrame) -> pl.DataFrame:
    return records.filter(pl.col("task").is_in(content.TASKS))


def _compared(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The rows of one metric with what only naming costs."""
    value = pl.col("value")
    error = value if metrics.get(metric).direction == "down" else 1 - value
    # F1 is no sum over pairs, so that of marks another pairing may have less error.
    least = rows.reverse().filter(value.is_not_nan()).sort(error, maintain_order=True).head(1)
    if metric == "mark_f1" and least.height:
        others = rows.filter(pl.col("pairing") != "oracle")
        rows = pl.concat([others, least.with_columns(pairing=pl.lit("oracle"))])
    best = rows.filter(pairing="oracle").select(error).item()
    share = pl.when(error > 0).then((error - best) / error).otherwise(float("nan"))
    known = value.fill_nan(None)
    rows = rows.with_columns(only_naming=share, lowest=known.min(), highest=known.max())
    return rows.select(list(SCHEMA))
