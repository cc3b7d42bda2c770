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
from formlab.analysis import page_text
from formlab.analysis.align import GOLD, PRED, in_order, in_page_text, judged
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
from formlab.tables import BOX, LADDER, Corpus, Predictions

TASKS = ("text", "marking", "visual", "cross")
# What a system that only reads text can be read for: the text under the field's box.
READABLE = ("text", "visual")
NORM = ("nfc", "space", "lower")
TEXT_METRICS = ("cer", "wer", "bleu")


def score(corpus: Corpus, predictions: Predictions, *, mode: str, threshold: float) -> Scored:
    """Every field (unit `field`) by the measures of its modality and by the ladder."""
    gold = corpus.records.filter(pl.col("task").is_in(TASKS), pl.col("path").is_not_null())
    given = predictions.records.filter(pl.col("task").is_in(TASKS), pl.col("path").is_not_null())
    seen = predictions.records.filter(
        pl.col("task") == "layout", pl.col("kind").is_in(["word", "line"])
    )
    texts = predictions.records.filter(pl.col("task") == "text")
    if not given.height and not seen.height and page_text.texts_only(texts):
        return _in_texts(corpus, predictions, gold, texts, mode, threshold)
    if not any_for(predictions.records, given) and not seen.height:
        notes = {"gold fields not scored: the predictions give none": gold.height}
        return Scored(tables.table("cases", []), tables.table("scores", []), notes)
    joined = _under_boxes(_joined(gold, given), seen)
    joined = with_status(joined, predictions.records)
    cases = judged(joined, system=predictions.system, threshold=threshold)
    part = cases.filter(pl.col("outcome") != "unscored")
    rules = [RULES, reading.RULES] if seen.height else [RULES]
    scores = [tables.table("scores", []), *_scores(corpus, part, rules, mode, threshold)]
    return Scored(cases, pl.concat(scores))


def _in_texts(
    corpus: Corpus,
    predictions: Predictions,
    gold: pl.DataFrame,
    texts: pl.DataFrame,
    mode: str,
    threshold: float,
) -> Scored:
    """What is written, found in the texts of pages; marks and drawings cannot be read there."""
    fields = gold.filter(pl.col("task").is_in(READABLE))
    pages = corpus.records.filter(pl.col("path").is_null(), pl.col("task") == "text")
    joined = _joined(fields, texts.filter(pl.col("path").is_not_null()))
    joined, notes = in_page_text(joined, pl.concat([fields, pages]), texts)
    notes["gold fields not scored: a text shows no marks"] = gold.height - fields.height
    joined = with_status(joined, predictions.records)
    cases = in_order(judged(joined, system=predictions.system, threshold=threshold), joined)
    part = cases.filter(
        pl.col("outcome") != "unscored", pl.col("kind").ne_missing(pl.lit(page_text.INSERTED))
    )
    rules = [page_text.RULES]
    scores = [tables.table("scores", []), *_scores(corpus, part, rules, mode, threshold)]
    return Scored(cases, pl.concat(scores), notes)


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


def _under_boxes(joined: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """Fill in what a reader of pages saw under the boxes of fields that no prediction names."""
    if not seen.height:
        return joined
    unnamed = joined.filter(pl.col("task").is_in(READABLE), pl.col("pred_path").is_null())
    found = []
    for (page,), fields in unnamed.drop_nulls(BOX).group_by("page", maintain_order=True):
        read = reading.read_fields(fields, seen.filter(pl.col("page") == page))
        found.append(read.with_columns(pl.lit(page, pl.Int64).alias("pred_page")))
    if not found:
        return joined
    read = pl.concat(found).with_columns(pl.lit("ok").alias("pred_status"))
    columns = [name for name in read.columns if name not in ("doc_id", "path")]
    both = joined.join(
        read, on=["doc_id", "path"], how="left", suffix="_read", maintain_order="left"
    )
    filled = both.with_columns(pl.coalesce(name, f"{name}_read").alias(name) for name in columns)
    return filled.drop(f"{name}_read" for name in columns)


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
