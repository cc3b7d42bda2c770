"""L1 of FORMCRAFT: fields of every modality, matched by name and place, each by its measure.

Textual and visual fields by CER, WER and BLEU; marks by precision, recall and F1; a cross-modal
field counts only whole. All of them also on the strictness ladder. The gold tells the modality; a
field that no gold asks for counts in the modality the system claimed for it: its marks in the
precision of marks, itself in that of fields. There are no characters to compare it with, so that
CER, WER, BLEU and the accuracy of cross-modal fields are of the gold's fields alone: to answer more
than is asked is no worse reading than to say nothing.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import polars as pl

from formlab import metrics, tables
from formlab.metrics import SOME_CLAIM
from formlab.metrics.counts import field_tallies
from formlab.metrics.marking import cross_tallies, mark_tallies
from formlab.scoring import page_text
from formlab.scoring.align import PAIRING, match, side_by_side
from formlab.scoring.fields import described, filled, words_of_pages
from formlab.scoring.tasks._kit import Scoring, TaskScores, any_for, text_rows, used
from formlab.tables import LADDER

TASKS = ("text", "marking", "visual", "cross")
# What a system that only reads text can be read for: the text under the field's box.
READABLE = ("text", "visual")


def score(scoring: Scoring) -> TaskScores:
    """Every field by the measures of its modality and by the ladder."""
    cases, (pairing, read), notes = read_cases(scoring)
    scored = cases.filter(pl.col("outcome") != "unscored")
    scores = _scores(scoring, scored, pairing, read) if cases.height else ()
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
    in_texts = not (claimed.height or is_read)
    in_texts &= page_text.texts_only(answers.filter(task="text"))
    if not (in_texts or is_read or any_for(answers, claimed)):
        notes = {"gold fields not scored: the predictions give none": gold.height}
        return tables.table("cases", []), rules, notes
    # Marks and drawings cannot be read in the texts of pages.
    fields = gold.filter(pl.col("task").is_in(READABLE)) if in_texts else gold
    joined = side_by_side(fields, claims, match(fields, claims))
    if in_texts:
        pages = scoring.corpus.records.filter(pl.col("path").is_null(), pl.col("task") == "text")
        joined, notes = page_text.in_page_text(
            joined, pl.concat([fields, pages]), records.filter(task="text")
        )
        notes["gold fields not scored: a text shows no marks"] = gold.height - fields.height
        rules = None, page_text.RULES
    else:
        unnamed = pl.col("task").is_in(READABLE) & pl.col("pred_path").is_null()
        joined = filled(joined, words_of_pages(records), unnamed, reader=scoring.reader)
    return scoring.judged(joined), rules, notes


def _scores(
    scoring: Scoring, cases: pl.DataFrame, pairing: str | None, read: str | None
) -> Iterator[pl.DataFrame]:
    has_gold, of_gold = pl.col("gold").is_not_null(), "of=gold fields"
    options = {"task": "visual", "level": "field", "read": read}
    ladder = metrics.of("visual", "field", *LADDER)
    yield from text_rows(scoring, cases, pairing, **options, chosen=ladder)
    # Of the fields of their tasks and, but for metrics that ask for claims, of the gold's alone.
    chosen: dict[Any, list[metrics.Metric]] = defaultdict(list)
    for metric in (*metrics.of("visual", "field", "text"), metrics.get("bleu_of_fields")):
        chosen[metric.tasks, metric.need == SOME_CLAIM].append(metric)
    for (tasks, of_claims), some in chosen.items():
        rows = cases.filter(pl.col("task").is_in(tasks), has_gold | of_claims)
        rules = None if of_claims else of_gold, pairing
        yield from text_rows(scoring, rows, *rules, **options, chosen=some)
    marked, crossed = cases.filter(modality="marking"), cases.filter(has_gold, modality="cross")
    columns = marked["subtype"].to_list(), marked["kind"].to_list()
    tallies, rule = mark_tallies(*_texts(marked), *columns), "marks=normalised,read as the gold"
    yield scoring.rows(marked, tallies, rule, pairing, read=read)
    tallies = {"cross_accuracy": cross_tallies(*_texts(crossed))}
    yield scoring.rows(crossed, tallies, "constituents=typed", of_gold, pairing, read=read)
    if field_claims(scoring.whole.answers).height:
        # Which fields were found at all, whatever was read in them.
        tallies = field_tallies(*_texts(cases))
        yield scoring.rows(cases, tallies, "of=fields with a value", PAIRING)


def _texts(cases: pl.DataFrame) -> tuple[list[str], list[str]]:
    return cases["gold"].fill_null("").to_list(), used(cases)
