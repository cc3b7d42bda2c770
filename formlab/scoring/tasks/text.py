"""Scores of text: whole pages and fields, as error rates and on the strictness ladder."""

from __future__ import annotations

import polars as pl

from formlab import metrics
from formlab.folders import Corpus, Predictions
from formlab.metrics.counts import match_tallies
from formlab.readers.values import pattern
from formlab.scoring import rules
from formlab.scoring.align import cases, words_read
from formlab.scoring.fields import READER, described
from formlab.scoring.page_text import INSERTED, texts_only
from formlab.scoring.page_text import RULES as IN_TEXT
from formlab.scoring.tasks._kit import TaskScores, made_by, score_table, text_rows, used
from formlab.scoring.whole import Whole


def score(
    corpus: Corpus, predictions: Predictions, *, mode: str, threshold: float,
    kinds: Whole | None = None, reader: str = READER,
) -> TaskScores:  # fmt: skip
    """Pages and fields by every text metric.

    Text is compared as NFC, with white space collapsed and trimmed, in lower case. A missing or
    unusable prediction is the empty text. Text inserted in a page counts in its page's scores; it
    is no field.
    """
    kinds = kinds or Whole.of(corpus, predictions)
    table, notes = cases(corpus, predictions, threshold=threshold, reader=reader, kinds=kinds)
    text_alone = texts_only(kinds.answers.filter(task="text"))
    reading = described(reader) if words_read(kinds) else IN_TEXT if text_alone else None
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
            if level == "field" and kinds.by_rules:
                scores.append(_matches(rows, kinds, mode=mode, threshold=threshold, read=read))
    return TaskScores.of([table], scores, notes)


def _matches(
    fields: pl.DataFrame, kinds: Whole, *, mode: str, threshold: float, read: str | None
) -> pl.DataFrame:
    """Rows of *scores* of the values that are right by their rules."""
    known = rules.weights(kinds.declared)
    weights = [known.get(pattern(path), 1.0) for path in fields["path"]] if known else None
    right = (fields["outcome"] == "match").to_list()
    settings = made_by(rules.described(kinds.declared, threshold=threshold), read=read)
    tallies = match_tallies(fields["gold"].to_list(), used(fields), right, weights)
    counted = [(metrics.get(name), parts, settings) for name, parts in tallies.items()]
    return score_table(fields, counted, level="field", mode=mode)
