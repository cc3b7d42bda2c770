"""L1 of FORMCRAFT: fields of every modality, matched by name and place, each by its measure.

Textual and visual fields by CER, WER and BLEU; marks by precision, recall and F1; a cross-modal
field counts only whole. All of them also on the strictness ladder. The gold tells the modality; a
field that no gold asks for counts in the modality the system claimed for it: its marks in the
precision of marks, itself in that of fields. There are no characters to compare it with, so that
CER, WER, BLEU and the accuracy of cross-modal fields are of the gold's fields alone: to answer more
than is asked is no worse reading than to say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from formlab import tables
from formlab.metrics.counts import field_tallies
from formlab.metrics.marking import cross_tallies, mark_tallies
from formlab.metrics.text import bleu_of_fields
from formlab.scoring import page_text
from formlab.scoring.align import PAIRING, match, side_by_side, with_status
from formlab.scoring.fields import described, filled, words_of_pages
from formlab.scoring.tasks._kit import (
    NORM,
    Scoring,
    TaskScores,
    any_for,
    normalised,
    text_rows,
    used,
)

TASKS = ("text", "marking", "visual", "cross")
# What a system that only reads text can be read for: the text under the field's box.
READABLE = ("text", "visual")


def score(scoring: Scoring) -> TaskScores:
    """Every field by the measures of its modality and by the ladder."""
    cases, rules, notes = read_cases(scoring)
    scored = cases.filter(pl.col("outcome") != "unscored")
    scores = [*_scores(scoring, scored, *rules)] if cases.height else []
    if cases.height and field_claims(scoring.whole.answers).height:
        # Which fields were found at all, whatever was read in them.
        tallies = field_tallies(scored["gold"].fill_null("").to_list(), used(scored))
        scores.append(scoring.rows(scored, tallies, "of=fields with a value", PAIRING))
    return TaskScores.of([cases], scores, notes)


def field_claims(records: pl.DataFrame) -> pl.DataFrame:
    """The records of the fields that a system named."""
    return records.filter(pl.col("task").is_in(TASKS), pl.col("path").is_not_null())


def read_cases(
    scoring: Scoring,
) -> tuple[pl.DataFrame, tuple[str | None, str | None], dict[str, int]]:
    """The cases of all fields, the rules they are paired and read by, and notes."""
    records, answers = scoring.predictions.records, scoring.whole.answers
    claimed, is_read = field_claims(answers), words_of_pages(answers).height > 0
    gold, claims = field_claims(scoring.corpus.records), field_claims(records)
    notes: dict[str, int] = {}
    rules = PAIRING, described(scoring.reader) if is_read else None
    if not claimed.height and not is_read and page_text.texts_only(answers.filter(task="text")):
        # Marks and drawings cannot be read in the texts of pages.
        fields, texts = gold.filter(pl.col("task").is_in(READABLE)), records.filter(task="text")
        pages = scoring.corpus.records.filter(pl.col("path").is_null(), pl.col("task") == "text")
        claims = texts.filter(pl.col("path").is_not_null())
        joined = side_by_side(fields, claims, match(fields, claims))
        joined, notes = page_text.in_page_text(joined, pl.concat([fields, pages]), texts)
        notes["gold fields not scored: a text shows no marks"] = gold.height - fields.height
        rules = None, page_text.RULES
    elif not any_for(answers, claimed) and not is_read:
        notes = {"gold fields not scored: the predictions give none": gold.height}
        return tables.table("cases", []), rules, notes
    else:
        joined = side_by_side(gold, claims, match(gold, claims))
        unnamed = pl.col("task").is_in(READABLE) & pl.col("pred_path").is_null()
        joined = filled(joined, words_of_pages(records), unnamed, reader=scoring.reader)
    return scoring.judged(with_status(joined, records)), rules, notes


def _scores(
    scoring: Scoring, cases: pl.DataFrame, pairing: str | None, read: str | None
) -> Iterator[pl.DataFrame]:
    if cases.height:
        options = {"task": "visual", "level": "field", "read": read, "gold_only": True}
        yield from text_rows(scoring, cases, pairing, **options)
    written = cases.filter(pl.col("task").is_in(READABLE), pl.col("gold").is_not_null())
    if written.height:
        sides = written["gold"], pl.Series(used(written), dtype=pl.String)
        tallies = {"bleu_of_fields": bleu_of_fields(*(normalised(s).to_list() for s in sides))}
        rule = f"norm={','.join(NORM)}|of=gold fields"
        yield scoring.rows(written, tallies, rule, pairing, read=read)
    marked = cases.filter(pl.col("modality") == "marking")
    if marked.height:
        golds, preds = marked["gold"].fill_null("").to_list(), used(marked)
        columns = marked["subtype"].to_list(), marked["kind"].to_list()
        rule = "marks=normalised,read as the gold"
        yield scoring.rows(marked, mark_tallies(golds, preds, *columns), rule, pairing, read=read)
    crossed = cases.filter(pl.col("modality") == "cross", pl.col("gold").is_not_null())
    if crossed.height:
        tallies = {"cross_accuracy": cross_tallies(crossed["gold"].to_list(), used(crossed))}
        rule = "constituents=typed|of=gold fields"
        yield scoring.rows(crossed, tallies, rule, pairing, read=read)
