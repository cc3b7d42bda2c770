"""L1 of FORMCRAFT: fields of every modality, matched by name and place, each by its measure.

Textual and visual fields by CER, WER and BLEU; marks by precision, recall and F1; a cross-modal
field counts only whole. All of them also on the strictness ladder. The gold tells the modality; a
field that no gold asks for counts in the modality the system claimed for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from formlab import metrics, tables, text
from formlab.analysis import fields as reading
from formlab.analysis.align import GOLD, PRED, judged
from formlab.analysis.fieldmatch import RULES, match
from formlab.analysis.tasks._cases import (
    any_for,
    score_rows,
    settings,
    used,
    with_status,
)
from formlab.analysis.tasks._spec import Scored
from formlab.metrics.marking import MARKING_METRICS, cross_tallies, mark_tallies
from formlab.tables import LADDER, Corpus, Predictions

TASKS = ("text", "marking", "visual", "cross")
# What a system that only reads text can be read for: the text under the field's box.
READABLE = ("text", "visual")
NORM = ("nfc", "space", "lower")
TEXT_METRICS = ("cer", "wer", "bleu")


def score(
    corpus: Corpus,
    predictions: Predictions,
    *,
    mode: str,
    threshold: float,
    reader: str = reading.READER,
) -> Scored:
    """Every field (unit `field`) by the measures of its modality and by the ladder."""
    gold = corpus.records.filter(pl.col("task").is_in(TASKS), pl.col("path").is_not_null())
    given = predictions.records.filter(pl.col("task").is_in(TASKS), pl.col("path").is_not_null())
    seen = predictions.records.filter(
        pl.col("task") == "layout", pl.col("kind").is_in(["word", "line"])
    )
    if not any_for(predictions.records, given) and not seen.height:
        notes = {"gold fields not scored: the predictions give none": gold.height}
        return Scored(tables.table("cases", []), tables.table("scores", []), notes)
    joined = _under_boxes(_joined(gold, given), seen, reader)
    joined = with_status(joined, predictions.records)
    cases = judged(joined, system=predictions.system, threshold=threshold)
    part = cases.filter(pl.col("outcome") != "unscored")
    rules = [RULES, reading.described(reader)] if seen.height else [RULES]
    scores = [tables.table("scores", []), *_scores(corpus, part, rules, mode, threshold)]
    return Scored(cases, pl.concat(scores))


def _joined(gold: pl.DataFrame, given: pl.DataFrame) -> pl.DataFrame:
    """Gold beside its match, then what was predicted and matches nothing."""
    pairs = match(gold, given).drop("match")
    left = gold.rename(GOLD).drop("system", "role", "meta", "confidence")
    right = given.rename(PRED).select("doc_id", "confidence", *PRED.values())
    both = left.join(pairs, on=["doc_id", "path"], how="left", maintain_order="left")
    both = both.join(right, on=["doc_id", "pred_path"], how="left", maintain_order="left")
    extra = given.rename(PRED).join(pairs, on=["doc_id", "pred_path"], how="anti")
    extra = extra.drop("system", "role", "meta", "accepted").with_columns(
        pl.col("pred_path").alias("path"), pl.lit("spurious").alias("outcome")
    )
    both = both.with_columns(pl.lit(None, pl.String).alias("outcome"))
    return pl.concat([both, extra], how="diagonal_relaxed")


def _under_boxes(joined: pl.DataFrame, seen: pl.DataFrame, reader: str) -> pl.DataFrame:
    """Fill in what a reader of pages saw under the boxes of fields that no prediction names."""
    if not seen.height:
        return joined
    gold = joined.filter(pl.col("gold_status").is_not_null())
    unnamed = pl.col("task").is_in(READABLE) & pl.col("pred_path").is_null()
    return reading.filled(joined, reading.read_fields(gold, seen, reader=reader), unnamed)


def _scores(
    corpus: Corpus, part: pl.DataFrame, rules: list[str], mode: str, threshold: float
) -> Iterator[pl.DataFrame]:
    def rows(cases: pl.DataFrame, name: str, tallies: np.ndarray, how: str) -> pl.DataFrame:
        said = settings(corpus, name, "unit=field", how, *rules, mode=mode)
        metric = MARKING_METRICS.get(name) or metrics.get(name)
        return score_rows(cases, metric, tallies, unit="field", settings=said)

    written = part.filter(pl.col("modality").is_in(["textual", "visual"]))
    if written.height:
        golds = [text.normalise(value, NORM) for value in written["gold"].fill_null("")]
        preds = [text.normalise(value, NORM) for value in used(written)]
        for name in TEXT_METRICS:
            tallies = np.asarray(metrics.get(name).tallies(golds, preds))
            yield rows(written, name, tallies, f"norm={text.settings(NORM)}")
    marked = part.filter(pl.col("modality") == "marking")
    if marked.height:
        golds, preds = marked["gold"].fill_null("").to_list(), used(marked)
        for name, tallies in mark_tallies(golds, preds, marked["subtype"].to_list()).items():
            yield rows(marked, name, tallies, "marks=normalised")
    crossed = part.filter(pl.col("modality") == "cross")
    if crossed.height:
        tallies = cross_tallies(crossed["gold"].fill_null("").to_list(), used(crossed))
        yield rows(crossed, "cross_accuracy", tallies, "constituents=typed")
    for rung in LADDER:
        name = f"{rung}_accuracy"
        tallies = np.asarray(metrics.get(name).tallies(part[rung].to_list()))
        if part.height:
            yield rows(part, name, tallies, f"fuzzy>={threshold:g}")
