"""Scores of filling in forms: where a system clicks and what it types, field by field."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from formlab import tables, text
from formlab.folders import Corpus, Predictions
from formlab.metrics import actions as family
from formlab.scoring.align import judged
from formlab.scoring.tasks._filled import FilledForm, case_rows, read_forms, settle
from formlab.scoring.tasks._kit import TaskScores, made_by, score_rows
from formlab.scoring.whole import Whole
from formlab.tables import Settings

# Metrics of clicks, as against values.
POINTED = {
    "click_accuracy", "unwanted_clicks", "click_distance", "episodic_click", "action_match_rate",
    "task_score",
}  # fmt: skip
# What is noted of all predictions.
CLICKS, NAMES = "clicks", "names of fields"
# How a field was judged, for the settings of the metric.
_RULES = {
    "click_accuracy": "place={place}|of=fields to click",
    "unwanted_clicks": "place={place}|of=fields to leave alone",
    "value_found_accuracy": "place=anywhere", "value_placed_accuracy": "place=its field",
    "value_submitted_accuracy": "place=submission",
}  # fmt: skip


@tables.uncollected()
def score(
    corpus: Corpus,
    predictions: Predictions,
    *,
    mode: str,
    threshold: float,
    kinds: Whole | None = None,
) -> TaskScores:
    """Every field and every form.

    In mode `official` a value must be the same code points and is found anywhere in the output,
    inside other words too; in mode `fixed` it must be the same number, date, choice or normalised
    text, and stand by itself. A click is right on any screenshot of the form if its page is not
    said. Lines that are meant for no field are cases with the outcome `spurious`.
    """
    kinds = kinds or Whole.of(corpus, predictions, [marks])
    notes: Counter[str] = Counter()
    sent = "value" in set(kinds.answers["task"])
    forms = read_forms(corpus, predictions, notes, sent=sent, dates=kinds.dates)
    if not forms:
        return TaskScores()
    settle(forms, exact=mode == "official", threshold=threshold)
    rows = case_rows(corpus, predictions, forms)
    orders = {form.doc_id: want.order for form in forms for want in form.fields if want.order}
    cases = _cases(rows, system=predictions.system, threshold=threshold, orders=orders,
                   words=kinds.words)  # fmt: skip
    tasks = set(kinds.answers["task"])
    acted = "click" in tasks or "value" not in tasks
    # Where values are given by the names of their fields and nothing is clicked, no click is wrong.
    pointed = CLICKS in kinds.marks or NAMES not in kinds.marks
    notes["values given by the names of their fields: clicks not scored"] += not pointed
    left = set() if pointed else POINTED
    scores = _scores(forms, cases, mode, acted=acted)
    scores = (rows.filter(~pl.col("metric").is_in(left)) for rows in scores)
    return TaskScores.of([cases], scores, notes)


def marks(corpus: Corpus, predictions: Predictions) -> set[str]:
    """Whether anything was clicked, and whether fields were named."""
    forms = read_forms(corpus, predictions, Counter(), sent=False)
    lines = [line for form in forms for line in form.lines]
    found = {CLICKS: any(x.clicks for x in lines), NAMES: any(x.named for x in lines)}
    return {name for name, there in found.items() if there}


def _cases(rows: pl.DataFrame, **how: Any) -> pl.DataFrame:
    missed = rows["missed"]
    frame = judged(rows.drop("missed"), **how)
    misclicked = (frame["outcome"] == "mismatch") & missed.is_not_null()
    return frame.with_columns(pl.when(misclicked).then(missed).otherwise("cause").alias("cause"))


def _scores(
    forms: Sequence[FilledForm], cases: pl.DataFrame, mode: str, *, acted: bool
) -> Iterator[pl.DataFrame]:
    asked = cases.filter(pl.col("gold").is_not_null())
    fields = [want for form in forms for want in form.fields]
    verdicts = [verdict for form in forms for verdict in form.verdicts]
    long = np.array([want.kind == family.DESCRIPTION for want in fields], dtype=bool)
    parts = family.counts(fields, verdicts)
    for name, tallies in parts.items():
        of_what_was_sent = name == "value_submitted_accuracy"
        if not forms[0].has_submission if of_what_was_sent else not acted:
            continue
        rows, used = asked, tallies
        if name == "description_bleu":
            rows, used = asked.filter(long), tallies[long]
        rules = [_RULES[name].format(place=forms[0].place)] if name in _RULES else []
        metric = family.METRICS[name]
        if mode == "official":
            metric = replace(metric, need=None)
        else:
            rules.append(text.DATE_RULE)
        settings = made_by(*rules)
        yield score_rows(rows, metric, used, settings, level="field", mode=mode)
        if name == "action_match_rate":
            yield _spurious(cases, forms, settings, mode)
    sizes = [len(form.fields) for form in forms]
    sent = [form.received for form in forms] if forms[0].has_submission else None
    whole = family.episodes(fields, verdicts, sizes, parts, sent)
    yield from _whole(forms, cases, whole, mode, acted=acted)


def _spurious(
    cases: pl.DataFrame, forms: Sequence[FilledForm], settings: Settings, mode: str
) -> pl.DataFrame:
    """Actions that nothing asked for: made, and matching nothing."""
    lines = [form.lines[number] for form in forms for number in form.extra]
    made = [(not math.isnan(line.x)) + bool(line.value.strip()) for line in lines]
    tallies = np.stack([np.zeros(len(made)), np.array(made, dtype=float)], axis=1)
    rows = cases.filter(pl.col("gold").is_null())
    metric = family.METRICS["action_match_rate"]
    return score_rows(rows, metric, tallies, settings, level="field", mode=mode)


def _whole(
    forms: Sequence[FilledForm], cases: pl.DataFrame,
    whole: dict[str, np.ndarray], mode: str, *, acted: bool,
) -> Iterator[pl.DataFrame]:  # fmt: skip
    order = {form.doc_id: index for index, form in enumerate(forms)}
    rows = cases.filter(pl.col("gold").is_not_null()).unique("doc_id", keep="first")
    rows = rows.sort(pl.col("doc_id").replace_strict(order, return_dtype=pl.Int64))
    ended = pl.Series("status", [form.ended for form in forms], dtype=pl.String)
    rows = rows.with_columns(ended, path=pl.lit(None, pl.String))
    for name, tallies in whole.items():
        if not acted and name != "form_completed":
            continue
        if name == "task_score" and not forms[0].has_submission:
            continue
        by = "by=fields placed" if not forms[0].has_submission else "by=submission"
        rules = [by] if name in ("form_completed", "task_score") else ["avg=fields"]
        if mode != "official":
            rules.append(text.DATE_RULE)
        metric, settings = family.METRICS[name], made_by(*rules)
        yield score_rows(rows, metric, tallies, settings, level="document", mode=mode)
