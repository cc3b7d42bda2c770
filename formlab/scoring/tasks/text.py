"""Scores of text: whole pages and fields, as error rates and on the strictness ladder."""

from __future__ import annotations

import polars as pl

from formlab.metrics.counts import match_tallies
from formlab.readers.values import pattern
from formlab.scoring import page_text, rules
from formlab.scoring.align import PRED, side_by_side, with_status
from formlab.scoring.fields import described, filled, words_of_pages, words_read
from formlab.scoring.item_alignment import placed, same_fields, same_paths
from formlab.scoring.tasks._kit import Scoring, TaskScores, text_rows, used
from formlab.tables import BOX, USABLE

_UNSCORED = pl.lit("unscored")


def score(scoring: Scoring) -> TaskScores:
    """Pages and fields by every text metric.

    Text is compared as NFC, with white space collapsed and trimmed, in lower case. A missing or
    unusable prediction is the empty text.
    """
    whole = scoring.whole
    table, notes = cases(scoring)
    reading = None
    if words_read(whole):
        reading = described(scoring.reader)
    elif page_text.texts_only(whole.answers.filter(task="text")):
        reading = page_text.RULES
    scored = table.filter(pl.col("outcome") != "unscored")
    page = pl.col("path").is_null()
    scores = []
    for level, rows in (("page", scored.filter(page)), ("field", scored.filter(~page))):
        if rows.height:
            read = reading if level == "field" else None
            scores += text_rows(scoring, rows, task="text", level=level, read=read)
            if level == "field" and whole.rules is not None:
                scores.append(_matches(rows, scoring, read))
    return TaskScores.of([table], scores, notes)


def _matches(fields: pl.DataFrame, scoring: Scoring, read: str | None) -> pl.DataFrame:
    """Rows of *scores* of the values that are right by their rules."""
    declared = frozenset(row for row in scoring.whole.rules if row[2] is not None)
    known = rules.weights(declared)
    weights = [known.get(pattern(path), 1.0) for path in fields["path"]] if known else None
    right = (fields["outcome"] == "match").to_list()
    tallies = match_tallies(fields["gold"].to_list(), used(fields), right, weights)
    rule = rules.described(declared, threshold=scoring.threshold)
    return scoring.rows(fields, tallies, rule, read=read)


def cases(scoring: Scoring) -> tuple[pl.DataFrame, dict[str, int]]:
    """One row per value that is in the gold, in the prediction or in both, and notes."""
    records, whole = scoring.predictions.records, scoring.whole
    claims = records.filter(pl.col("task") == "text")
    gold = scoring.corpus.records.filter(pl.col("task") == "text")
    gold = rules.with_rules(gold, whole.rules is not None)
    notes: dict[str, int] = {}
    if rules.RULE in gold.columns:
        options = {"threshold": scoring.threshold, "orders": scoring.orders}
        both = side_by_side(gold, claims, same_fields(gold, claims, **options))
        both = placed(both, whole.fields)
        is_null = rules.null_answers(both)
        notes["answers that say there is no value, taken for none"] = int(is_null.sum())
        both = _without_answers(both, is_null)
        odd = rules.odd_values(both)
        notes["values that are none of their field's type, compared as text"] = odd
    else:
        both = side_by_side(gold, claims, same_paths(gold, claims))
    is_read, page = words_read(whole), pl.col("path").is_null()
    # A document-level row without a value gives only the status of the document.
    has_content = ~page | pl.col("pred").is_not_null()
    spurious = both.filter(pl.col("outcome") == "spurious", has_content)
    asked = both.filter(pl.col("outcome").is_null())
    unnamed = ~page & pl.col("pred_status").is_null()
    if is_read:
        asked = filled(asked, words_of_pages(records), unnamed, reader=scoring.reader)
        # A page was read, but where the field stands on it the gold does not say.
        blind = unnamed & pl.any_horizontal(pl.col(side).is_null() for side in BOX)
        asked = asked.with_columns(outcome=pl.when(blind).then(_UNSCORED).otherwise("outcome"))
    joined = pl.concat([asked, spurious], how="diagonal_relaxed")
    answers = whole.answers.filter(task="text")
    if not is_read and page_text.texts_only(answers):
        joined, notes = page_text.in_page_text(joined, gold, claims)
    elif not is_read and answers.filter(~page).is_empty():
        fields = ~page & pl.col("gold").is_not_null()
        notes["gold fields not scored: no page has a usable text"] = joined.filter(fields).height
        joined = joined.filter(~fields)
    joined = _blank_fields_right(with_status(joined, records), records)
    usable = whole.answers.filter(pl.col("status").is_in(USABLE))
    texts = usable.filter(page, pl.col("value").is_not_null(), task="text")
    if usable.height and not texts.height:
        # Who gives values alone was not asked for pages: that is no page read wrong.
        pages = joined.filter(page, pl.col("gold_status").is_in(USABLE))
        notes["pages not scored: the predictions give no text of a page"] = pages.height
        joined = joined.with_columns(outcome=pl.when(page).then(_UNSCORED).otherwise("outcome"))
    return scoring.judged(joined), notes


def _without_answers(both: pl.DataFrame, is_null: pl.Series) -> pl.DataFrame:
    """The cases as if no answer had been given where one says that there is no value."""
    # Where it stands is kept, so that it can be found.
    names = [name for name in (*PRED.values(), "confidence") if name != "pred_origin"]
    none = [pl.when(is_null).then(None).otherwise(name).alias(name) for name in names]
    spurious = (pl.col("outcome") == "spurious").fill_null(False)
    # Who says so has answered.
    none.append(pl.when(is_null).then(True).alias("has_answer"))
    return both.with_columns(none).filter(~(is_null & spurious))


def _blank_fields_right(joined: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """In an answered document, naming no value for a field left blank is right."""
    answered = records.filter(pl.col("status") != "missing")["doc_id"].unique()
    blank = (pl.col("gold").str.strip_chars() == "") & pl.col("path").is_not_null()
    blank &= (pl.col("status") == "missing") & pl.col("pred_status").is_null()
    blank &= pl.col("doc_id").is_in(answered.implode())
    status = pl.when(blank).then(pl.lit("ok")).otherwise("status")
    return joined.with_columns(
        pred=pl.when(blank).then(pl.lit("")).otherwise("pred"), status=status
    )
