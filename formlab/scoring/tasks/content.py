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

from formlab import metrics, tables, text
from formlab.folders import Corpus, Predictions
from formlab.metrics.counts import field_tallies
from formlab.metrics.marking import cross_tallies, mark_tallies
from formlab.scoring import fields as reading
from formlab.scoring import page_text
from formlab.scoring.align import (
    in_order,
    in_page_text,
    judged,
    side_by_side,
    with_status,
    words_of_pages,
)
from formlab.scoring.pairing import PAIRINGS, match
from formlab.scoring.tasks._kit import (
    NORM,
    TaskScores,
    any_for,
    made_by,
    score_rows,
    text_rows,
    used,
)
from formlab.scoring.whole import Whole

TASKS = ("text", "marking", "visual", "cross")
# What a system that only reads text can be read for: the text under the field's box.
READABLE = ("text", "visual")


def score(
    corpus: Corpus,
    predictions: Predictions,
    *,
    mode: str,
    threshold: float,
    pairing: str = "default",
    reader: str = reading.READER,
    kinds: Whole | None = None,
) -> TaskScores:
    """Every field by the measures of its modality and by the ladder.

    `pairing` is one of `formlab.scoring.pairing.PAIRINGS`.
    """
    kinds = kinds or Whole.of(corpus, predictions)
    cases, rules, notes = read_cases(
        corpus, predictions, threshold=threshold, pairing=pairing, reader=reader, kinds=kinds
    )
    if not cases.height:
        return TaskScores(notes=notes)
    scored = cases.filter(
        pl.col("outcome") != "unscored", pl.col("kind").ne_missing(pl.lit(page_text.INSERTED))
    )
    scores = [*_scores(scored, *rules, mode, threshold)]
    if field_claims(kinds.answers).height:
        scores += _field_scores(scored, PAIRINGS[pairing], mode)
    return TaskScores.of([cases], scores, notes)


def field_claims(records: pl.DataFrame) -> pl.DataFrame:
    """The records of the fields that a system named."""
    return records.filter(pl.col("task").is_in(TASKS), pl.col("path").is_not_null())


def any_read(kinds: Whole) -> bool:
    """Whether a system gave a value of any field, or read words where a field stands."""
    placed = kinds.gold.filter(pl.col("task").is_in(READABLE), pl.col("x0").is_not_null())
    has_value = pl.col("value").is_not_null()
    return field_claims(kinds.answers).filter(has_value).height > 0 or (
        placed.height > 0 and words_of_pages(kinds.answers).height > 0
    )


def read_cases(
    corpus: Corpus,
    predictions: Predictions,
    *,
    threshold: float,
    pairing: str = "default",
    reader: str = reading.READER,
    kinds: Whole | None = None,
) -> tuple[pl.DataFrame, tuple[str | None, str | None], dict[str, int]]:
    """The cases of all fields, the rules they are paired and read by, and notes.

    There is no case where a system names no field and reads no words.
    """
    kinds = kinds or Whole.of(corpus, predictions)
    claimed, is_read = field_claims(kinds.answers), words_of_pages(kinds.answers).height > 0
    gold = corpus.records.filter(pl.col("task").is_in(TASKS), pl.col("path").is_not_null())
    claims, seen = field_claims(predictions.records), words_of_pages(predictions.records)
    texts = predictions.records.filter(pl.col("task") == "text")
    notes: dict[str, int] = {}
    rules = PAIRINGS[pairing], reading.described(reader) if is_read else None
    text_alone = page_text.texts_only(kinds.answers.filter(task="text"))
    if not claimed.height and not is_read and text_alone:
        joined, notes = _in_texts(corpus, gold, texts)
        rules = None, page_text.RULES
    elif not any_for(kinds.answers, claimed) and not is_read:
        notes = {"gold fields not scored: the predictions give none": gold.height}
        return tables.table("cases", []), rules, notes
    else:
        joined = side_by_side(gold, claims, match(gold, claims, by=pairing))
        unnamed = pl.col("task").is_in(READABLE) & pl.col("pred_path").is_null()
        joined = reading.filled(joined, seen, unnamed, reader=reader)
    joined = with_status(joined, predictions.records)
    orders = text.date_orders(corpus.records["doc_id"], corpus.records["value"], kinds.dates)
    cases = judged(
            joined, system=predictions.system, threshold=threshold, orders=orders,
            words=kinds.words,
        )  # fmt: skip
    return in_order(cases, joined), rules, notes


def _in_texts(
    corpus: Corpus, gold: pl.DataFrame, texts: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, int]]:
    """What is written, found in the texts of pages; marks and drawings cannot be read there."""
    fields = gold.filter(pl.col("task").is_in(READABLE))
    pages = corpus.records.filter(pl.col("path").is_null(), pl.col("task") == "text")
    claims = texts.filter(pl.col("path").is_not_null())
    joined = side_by_side(fields, claims, match(fields, claims, by="default"))
    joined, notes = in_page_text(joined, pl.concat([fields, pages]), texts)
    return joined, notes | {
        "gold fields not scored: a text shows no marks": gold.height - fields.height
    }


def _scores(
    cases: pl.DataFrame, pairing: str | None, read: str | None, mode: str, threshold: float
) -> Iterator[pl.DataFrame]:
    if cases.height:
        yield from text_rows(
            cases, task="visual", level="field", mode=mode, threshold=threshold, rules=[pairing],
            read=read, gold_only=True,
        )  # fmt: skip
    written = cases.filter(pl.col("task").is_in(READABLE), pl.col("gold").is_not_null())
    if written.height:
        sides = written["gold"].to_list(), used(written)
        golds, preds = ([text.normalise(value, NORM) for value in side] for side in sides)
        metric = metrics.get("bleu_of_fields")
        settings = made_by(f"norm={','.join(NORM)}|of=gold fields", pairing, read=read)
        tallies = metric.count(golds, preds)
        yield score_rows(written, metric, tallies, settings, level="field", mode=mode)
    marked = cases.filter(pl.col("modality") == "marking")
    if marked.height:
        golds, preds = marked["gold"].fill_null("").to_list(), used(marked)
        columns = marked["subtype"].to_list(), marked["kind"].to_list()
        settings = made_by("marks=normalised,read as the gold", pairing, read=read)
        for name, tallies in mark_tallies(golds, preds, *columns).items():
            yield score_rows(marked, metrics.get(name), tallies, settings, level="field", mode=mode)
    crossed = cases.filter(pl.col("modality") == "cross", pl.col("gold").is_not_null())
    if crossed.height:
        tallies = cross_tallies(crossed["gold"].fill_null("").to_list(), used(crossed))
        settings = made_by("constituents=typed|of=gold fields", pairing, read=read)
        metric = metrics.get("cross_accuracy")
        yield score_rows(crossed, metric, tallies, settings, level="field", mode=mode)


def _field_scores(cases: pl.DataFrame, pairing: str, mode: str) -> Iterator[pl.DataFrame]:
    """Which fields were found at all, whatever was read in them."""
    for name, tallies in field_tallies(cases["gold"].fill_null("").to_list(), used(cases)).items():
        settings = made_by("of=fields with a value", pairing)
        yield score_rows(cases, metrics.get(name), tallies, settings, level="field", mode=mode)
