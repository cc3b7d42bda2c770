"""How much of an error is only naming: the fields of forms scored under several pairings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial

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
_VALUES = ("value", "ci_low", "ci_high")
_COUNTS = ("n_docs", "n_cases", "n_paired")
SCHEMA = {
    **dict.fromkeys(("metric", "pairing"), pl.String),
    **dict.fromkeys(_VALUES, pl.Float64),
    **dict.fromkeys(_COUNTS, pl.Int64),
    "only_naming": pl.Float64,
}


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
        less the score. ``box`` is NaN where one side has no boxes. No rows for evaluations without
        FORMCRAFT's fields, and where the system named none.

    Examples
    --------
    >>> from formlab import analysis
    >>> read = analysis.open_evaluation(benchmark="formcraft", system="rules")
    >>> error = pairings(read, resamples=0).filter(metric="cer")
    >>> bool(error.filter(pairing="oracle")["value"][0] <= error["value"].min())
    True
    """
    marking = "marking" in benchmarks.get(evaluation.benchmark).tasks
    parts = [_named(part) for part in evaluation.parts()] if marking else []
    if not parts or any(None in (part.corpus, part.predictions) for part in parts):
        return pl.DataFrame(schema=SCHEMA)
    whole = Whole.together(Whole.of(part.corpus, part.predictions) for part in parts)
    sides = [
        side.filter(pl.col("task").is_in(content.TASKS)) for side in (whole.gold, whole.answers)
    ]
    if not sides[1].drop_nulls("path").height:
        return pl.DataFrame(schema=SCHEMA)
    rows = pl.concat(
        _scored(parts, whole, pairing, resamples=resamples, seed=seed) for pairing in PAIRINGS
    )
    if not all(side.drop_nulls(BOX).height for side in sides):
        known = pl.when(pl.col("pairing") != "box")
        rows = rows.with_columns(
            known.then(name).otherwise(float("nan")).alias(name) for name in _VALUES
        )
    present = [name for name in MEASURES if name in rows["metric"]]
    return pl.concat([pl.DataFrame(schema=SCHEMA), *(_compared(rows, name) for name in present)])


def _named(part: Evaluation) -> Evaluation:
    """Without the words that were read: what is read under a field's box needs no name."""
    answers = part.predictions
    if answers is not None:
        words = (pl.col("task") == "layout") & pl.col("kind").is_in(["word", "line"]).fill_null(
            False
        )
        answers = dataclasses.replace(answers, records=answers.records.filter(~words))
    return part.changed(predictions=answers)


def _scored(
    parts: Sequence[Evaluation], whole: Whole, pairing: str, *, resamples: int, seed: int
) -> pl.DataFrame:
    scored = []
    for part in parts:
        score = partial(content.score, part.corpus, part.predictions, kinds=whole, pairing=pairing)
        done = score(mode=part.mode, threshold=part.settings.get("threshold", THRESHOLD))
        scored.append(part.changed(cases=done.cases, scores=done.scores))
    again = Evaluation.of(scored)
    summary = summarise(again, by=(), average="pooled", resamples=resamples, seed=seed)
    rows = tables.only(summary, level="field", slice_by=None)
    paired = again.cases.drop_nulls(["gold", "pred_path"])["modality"]
    counts = {name: paired.is_in(own).sum() for name, own in MEASURES.items()}
    n_paired = pl.col("metric").replace_strict(counts, default=None, return_dtype=pl.Int64)
    rows = rows.with_columns(pairing=pl.lit(pairing), n_paired=n_paired).drop_nulls("n_paired")
    return rows.select("metric", "pairing", *_VALUES, *_COUNTS)


def _compared(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The rows of one metric with what only naming costs."""
    value = pl.col("value")
    error = value if metrics.get(metric).direction == "down" else 1 - value
    rows = rows.filter(metric=metric)
    least = rows.reverse().filter(value.is_not_nan()).sort(error, maintain_order=True).head(1)
    if metric == "mark_f1" and least.height:
        # F1 is no sum over pairs, so that of marks another pairing may have less error.
        others = rows.filter(pl.col("pairing") != "oracle")
        rows = pl.concat([others, least.with_columns(pairing=pl.lit("oracle"))])
    best = rows.filter(pairing="oracle").select(error).item()
    share = pl.when(error > 0).then((error - best) / error).otherwise(float("nan"))
    return rows.with_columns(only_naming=share)
