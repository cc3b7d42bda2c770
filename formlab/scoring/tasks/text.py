"""Scores of text: whole pages and fields, as error rates and on the strictness ladder."""

import polars as pl

from formlab.metrics.counts import match_tallies
from formlab.readers.values import pattern
from formlab.scoring import page_text, rules
from formlab.scoring.align import PRED, side_by_side, with_status
from formlab.scoring.fields import described, filled, words_of_pages, words_read
from formlab.scoring.item_alignment import placed, same_fields, same_paths
from formlab.scoring.tasks._kit import Scoring, TaskScores, text_rows
from formlab.tables import BOX, USABLE

_PAGE, _UNSCORED = pl.col("path").is_null(), pl.lit("unscored")


def score(scoring: Scoring) -> TaskScores:
    """Pages and fields by every text metric.

    Text is compared as NFC, with white space collapsed and trimmed, in lower case. A missing or
    unusable prediction is the empty text.
    """
    whole = scoring.whole
    cases, read, notes = _cases(scoring)
    scored = cases.filter(pl.col("outcome") != "unscored")
    pages, fields = scored.filter(_PAGE), scored.filter(~_PAGE)
    scores = [*text_rows(scoring, pages, task="text", level="page")]
    scores += text_rows(scoring, fields, task="text", level="field", read=read)
    if fields.height and whole.rules is not None:
        # The values that are right by their rules.
        declared = frozenset(row for row in whole.rules if row[2] is not None)
        known = rules.weights(declared)
        weights = [known.get(pattern(path), 1.0) for path in fields["path"]] if known else None
        rule = rules.described(declared, threshold=scoring.threshold)
        scores.append(scoring.rows(fields, match_tallies(fields, weights), rule, read=read))
    return TaskScores.of([cases], scores, notes)


def _cases(scoring: Scoring) -> tuple[pl.DataFrame, str | None, dict[str, int]]:
    """A row per value of the gold, the prediction or both, how fields are read, and notes."""
    records, whole = scoring.predictions.records, scoring.whole
    gold, claims = (side.filter(task="text") for side in (scoring.corpus.records, records))
    notes: dict[str, int] = {}
    if whole.rules is not None:
        gold = gold.with_columns(pl.col("meta").alias(rules.RULE))
        both = side_by_side(gold, claims, same_fields(gold, claims, **scoring.options))
        both = placed(both, whole.fields)
        is_null = rules.null_answers(both)
        notes["answers that say there is no value, taken for none"] = int(is_null.sum())
        # Where such an answer stands is kept, so that it can be found; who says so has answered.
        names = pl.col(*PRED.values(), "confidence").exclude("pred_origin")
        answered = pl.when(is_null).then(True).alias("has_answer")
        both = both.with_columns(pl.when(~is_null).then(names), answered)
        both = both.filter(~(is_null & (pl.col("outcome") == "spurious").fill_null(False)))
        odd = rules.odd_values(both)
        notes["values that are none of their field's type, compared as text"] = odd
    else:
        both = side_by_side(gold, claims, same_paths(gold, claims))
    # A document-level row without a value gives only the status of the document.
    joined = both.filter(pl.col("outcome").is_null() | ~_PAGE | pl.col("pred").is_not_null())
    answers, read = whole.answers.filter(task="text"), None
    if words_read(whole, "text"):
        read = described(scoring.reader)
        unnamed = ~_PAGE & pl.col("pred_status").is_null()
        # A page was read, but where the field stands on it the gold does not say.
        blind = unnamed & pl.any_horizontal(pl.col(BOX).is_null())
        joined = filled(joined, words_of_pages(records), unnamed, reader=scoring.reader)
        joined = joined.with_columns(outcome=pl.when(blind).then(_UNSCORED).otherwise("outcome"))
    elif page_text.texts_only(answers):
        read = page_text.RULES
        joined, notes = page_text.in_page_text(joined, gold, claims)
    elif answers.filter(~_PAGE).is_empty():
        fields = ~_PAGE & pl.col("gold").is_not_null()
        notes["gold fields not scored: no page has a usable text"] = joined.filter(fields).height
        joined = joined.filter(~fields)
    else:
        # Beside answers that name fields, what is no more than a text is no page that was read.
        texts = claims.filter(_PAGE, pl.col("status").is_in(USABLE)).drop_nulls("value")
        texts = texts.join(gold.filter(~_PAGE), on="doc_id", how="semi")
        texts = texts.join(claims.filter(~_PAGE), on="doc_id", how="anti")
        notes["documents answered by a text that names no field"] = texts["doc_id"].n_unique()
    joined = with_status(joined, records)
    # In an answered document, naming no value for a field left blank is right.
    answered = records.filter(pl.col("status") != "missing")["doc_id"].unique().implode()
    blank = (pl.col("gold").str.strip_chars() == "") & ~_PAGE & pl.col("doc_id").is_in(answered)
    blank = pl.when(blank & (pl.col("status") == "missing") & pl.col("pred_status").is_null())
    pred, status = blank.then(pl.lit("")), blank.then(pl.lit("ok"))
    joined = joined.with_columns(pred=pred.otherwise("pred"), status=status.otherwise("status"))
    usable = whole.answers.filter(pl.col("status").is_in(USABLE))
    if usable.height and not usable.filter(_PAGE, task="text").drop_nulls("value").height:
        # Who gives values alone was not asked for pages: that is no page read wrong.
        pages = joined.select(_PAGE & pl.col("gold_status").is_in(USABLE)).to_series()
        notes["pages not scored: the predictions give no text of a page"] = pages.sum()
        joined = joined.with_columns(outcome=pl.when(_PAGE).then(_UNSCORED).otherwise("outcome"))
    return scoring.judged(joined), read, notes
