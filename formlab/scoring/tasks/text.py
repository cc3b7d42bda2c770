"""Scores of text: whole pages and fields, as error rates and on the strictness ladder."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from formlab import metrics
from formlab.folders import Corpus, Predictions
from formlab.metrics.matching import match_tallies
from formlab.own.values import pattern
from formlab.scoring import rules
from formlab.scoring.align import cases, words_read
from formlab.scoring.fields import READER, described
from formlab.scoring.page_text import INSERTED, texts_only
from formlab.scoring.page_text import RULES as IN_TEXT
from formlab.scoring.tasks._kit import TaskScores, made_by, score_rows, text_rows, used


def score(
    corpus: Corpus, predictions: Predictions, *, mode: str, threshold: float, reader: str = READER
) -> TaskScores:
    """Pages and fields by every text metric.

    Text is compared as NFC, with white space collapsed and trimmed, in lower case. A missing or
    unusable prediction is the empty text. Text inserted in a page counts in its page's scores; it
    is no field.
    """
    table, notes = cases(corpus, predictions, threshold=threshold, reader=reader)
    gold = rules.with_rules(corpus.records.filter(pl.col("task") == "text"))
    read = words_read(gold, predictions.records).height > 0
    claims = predictions.records.filter(pl.col("task") == "text")
    reading = described(reader) if read else IN_TEXT if texts_only(claims) else None
    scored = table.filter(
        pl.col("outcome") != "unscored", pl.col("kind").ne_missing(pl.lit(INSERTED))
    )
    page = pl.col("path").is_null()
    scores = []
    for level, rows in (("page", scored.filter(page)), ("field", scored.filter(~page))):
        if rows.height:
            read = reading if level == "field" else None
            scores += text_rows(
                rows, task="text", level=level, mode=mode, threshold=threshold, read=read
            )
            if level == "field" and rules.RULE in gold.columns:
                scores += _matches(rows, gold, mode=mode, threshold=threshold, read=read)
    return TaskScores.of([table], scores, notes)


def _matches(
    fields: pl.DataFrame, gold: pl.DataFrame, *, mode: str, threshold: float, read: str | None
) -> Iterator[pl.DataFrame]:
    """Rows of *scores* of the values that are right by their rules."""
    known = rules.weights(gold)
    weights = [known.get(pattern(path), 1.0) for path in fields["path"]] if known else None
    right = (fields["outcome"] == "match").to_list()
    settings = made_by(rules.described(gold, threshold=threshold), read=read)
    tallies = match_tallies(fields["gold"].to_list(), used(fields), right, weights)
    for name, parts in tallies.items():
        yield score_rows(fields, metrics.get(name), parts, settings, level="field", mode=mode)
