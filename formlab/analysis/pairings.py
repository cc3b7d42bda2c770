"""How much of an error is only naming: the fields of forms scored under several pairings."""

from __future__ import annotations

import dataclasses

import polars as pl

from formlab import benchmarks, metrics, tables
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation
from formlab.scoring.evaluate import THRESHOLD
from formlab.scoring.tasks import content
from formlab.scoring.whole import Whole
from formlab.tables import BOX

PAIRINGS = ("default", "label", "box", "value", "oracle")
# The measure of each modality; see `formlab.scoring.tasks.content`.
MEASURES = {"cer": ("textual", "visual"), "mark_f1": ("marking",), "cross_accuracy": ("cross",)}
_VALUES, _COUNTS = ("value", "ci_low", "ci_high"), ("n_docs", "n_cases", "n_paired")
SCHEMA = {
    **dict.fromkeys(("metric", "pairing"), pl.String),
    **dict.fromkeys(_VALUES, pl.Float64),
    **dict.fromkeys(_COUNTS, pl.Int64),
    "only_naming": pl.Float64,
}


def pairings(evaluation: Evaluation, *, resamples: int = 1000, seed: int = 0) -> pl.DataFrame:
    """The scores of FORMCRAFT's fields (L1) under each way to pair gold and predicted fields.

    Returns
    -------
    polars.DataFrame
        A row per metric and pairing: ``default`` as for the evaluation's own scores, ``label``,
        ``box`` (NaN where one side has no boxes), ``value`` and ``oracle``, the least edits that
        any pairing needs. Only fields that the system named count, not words under a field's box.
        `n_paired` gold fields have a partner. `only_naming` is the share of the row's error that
        vanishes under the best pairing: the value stands in the answer under another name; NaN
        where there is no error. An error is the CER, or 1 less the score. No rows for evaluations
        without FORMCRAFT's fields, and where the system named none.

    Examples
    --------
    >>> from formlab import analysis
    >>> read = analysis.open_evaluation(benchmark="formcraft", system="rules")
    >>> error = pairings(read, resamples=0).filter(metric="cer")
    >>> bool(error.filter(pairing="oracle")["value"][0] <= error["value"].min())
    True
    """
    corpus, given = evaluation.corpus, evaluation.predictions
    has_fields = "marking" in benchmarks.get(evaluation.benchmark).tasks
    if not has_fields or corpus is None or given is None:
        return pl.DataFrame(schema=SCHEMA)
    is_word = (pl.col("task") == "layout") & pl.col("kind").is_in(["word", "line"]).fill_null(False)
    given = dataclasses.replace(given, records=given.records.filter(~is_word))
    whole = Whole.of(corpus, given)
    gold, named = (
        side.filter(pl.col("task").is_in(content.TASKS)) for side in (whole.gold, whole.answers)
    )
    if not named.drop_nulls("path").height:
        return pl.DataFrame(schema=SCHEMA)
    boxed = all(side.drop_nulls(BOX).height for side in (gold, named))
    how = {"mode": evaluation.mode, "threshold": evaluation.settings.get("threshold", THRESHOLD)}
    frames = [pl.DataFrame(schema=SCHEMA)]
    for pairing in PAIRINGS:
        done = content.score(corpus, given, kinds=whole, pairing=pairing, **how)
        again = dataclasses.replace(evaluation, cases=done.cases, scores=done.scores)
        rows = summarise(again, by=(), average="pooled", resamples=resamples, seed=seed)
        paired = done.cases.drop_nulls(["gold", "pred_path"])["modality"]
        counts = {name: paired.is_in(modalities).sum() for name, modalities in MEASURES.items()}
        rows = tables.only(rows, level="field", slice_by=None)
        rows = rows.filter(pl.col("metric").is_in(list(MEASURES))).with_columns(
            pairing=pl.lit(pairing),
            n_paired=pl.col("metric").replace_strict(counts, return_dtype=pl.Int64),
            only_naming=pl.lit(None, pl.Float64),
        )
        if pairing == "box" and not boxed:
            rows = rows.with_columns(pl.lit(float("nan")).alias(name) for name in _VALUES)
        frames.append(rows.select(list(SCHEMA)))
    down = [name for name in MEASURES if metrics.get(name).direction == "down"]
    error = pl.when(pl.col("metric").is_in(down)).then("value").otherwise(1 - pl.col("value"))
    best = error.fill_nan(None).min().over("metric")
    share = pl.when(error > 0).then((error - best) / error).otherwise(float("nan"))
    order = pl.col("metric").cast(pl.Enum(list(MEASURES)))
    return pl.concat(frames).with_columns(only_naming=share).sort(order, maintain_order=True)
