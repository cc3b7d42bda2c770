"""L3 of FORMCRAFT: questions across fields and consistency checks, by kind of relation.

A question is right where the answer holds on the rung `typed` of the ladder. A check is right where
the value of the dependent field does: what the system answered for the check itself or, where it
answered none, what it extracted for that field.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from formlab import metrics, text
from formlab.benchmarks.formcraft import RELATIONS, item_meta
from formlab.folders import Corpus, Predictions
from formlab.scoring import field_alignment
from formlab.scoring.align import judged, same_paths, side_by_side, with_status
from formlab.scoring.tasks import content
from formlab.scoring.tasks._kit import TaskScores, any_for, made_by, score_rows
from formlab.tables import LADDER

TASKS = {"vqa": "vqa_accuracy", "consistency": "consistency_accuracy"}
LEVELS = {"vqa": "question", "consistency": "check"}
_KEY = ["doc_id", "path"]
_FIELDS = pl.col("task").is_in(content.TASKS) & pl.col("path").is_not_null()


def score(corpus: Corpus, predictions: Predictions, *, mode: str, threshold: float) -> TaskScores:
    """Every question and check: for itself, and in each slice it belongs to.

    It is sliced by scope, reference, complexity and modal relationship, and by all four at once;
    the four rungs of the ladder by task.
    """
    case_tables, scores, notes = [], [], {}
    orders = text.date_orders(corpus.records["doc_id"], corpus.records["value"])
    for task in TASKS:
        gold = corpus.records.filter(pl.col("task") == task)
        answers = predictions.records.filter(pl.col("task") == task, pl.col("path").is_not_null())
        took_part = answers
        if task == "consistency":
            fields = predictions.records.filter(_FIELDS)
            answers = pl.concat([answers, _extracted(gold, answers, corpus, fields)])
            took_part = pl.concat([answers, fields])
        if not any_for(predictions.records, took_part):
            notes[f"gold items of {task} not scored: the predictions answer none"] = gold.height
            continue
        joined = side_by_side(gold, answers, same_paths(gold, answers))
        cases = judged(
            with_status(joined, predictions.records).with_columns(level=pl.lit(LEVELS[task])),
            system=predictions.system,
            threshold=threshold,
            orders=orders,
        )
        case_tables.append(cases)
        # An answer to a question that was never asked is shown, and cannot be right or wrong.
        asked = cases.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")
        scores += _scores(asked, task, mode, threshold)
    return TaskScores.of(case_tables, scores, notes)


def _extracted(
    gold: pl.DataFrame, answers: pl.DataFrame, corpus: Corpus, theirs: pl.DataFrame
) -> pl.DataFrame:
    """Records at the checks' paths with what was extracted for their dependent fields."""
    pairs = field_alignment.match(corpus.records.filter(_FIELDS), theirs).select(
        "doc_id", "pred_path", dependent="path"
    )
    dependents = [item_meta(meta).dependent for meta in gold["meta"]]
    open_checks = gold.select(_KEY).with_columns(pl.Series("dependent", dependents, pl.String))
    open_checks = open_checks.join(answers, on=_KEY, how="anti").rename({"path": "check"})
    matched = open_checks.join(pairs, on=["doc_id", "dependent"], how="inner")
    rows = theirs.join(matched.select("doc_id", "check", path="pred_path"), on=_KEY, how="inner")
    rows = rows.drop("path").rename({"check": "path"})
    return rows.with_columns(pl.lit("consistency").alias("task")).select(answers.columns)


def _slices(cases: pl.DataFrame) -> Iterator[tuple[str | None, pl.Series | None]]:
    """What cases are sliced by, and the value of every case; none for all together."""
    yield None, None
    values = {axis: cases[axis].fill_null("none") for axis in RELATIONS}
    yield from values.items()
    cell = pl.concat_str(values.values(), separator=" & ")
    yield " & ".join(RELATIONS), cases.select(cell.alias("cell"))["cell"]


def _scores(cases: pl.DataFrame, task: str, mode: str, threshold: float) -> Iterator[pl.DataFrame]:
    if not cases.height:
        return
    of = {"level": LEVELS[task], "mode": mode}
    metric = metrics.get(TASKS[task])
    tallies = metric.count(cases["typed"].to_list())
    answers = (
        ("answer=given,else-extracted", field_alignment.RULES) if task == "consistency" else ()
    )
    settings = made_by("rung=typed", text.DATE_RULE, *answers)
    for by, values in _slices(cases):
        yield score_rows(cases, metric, tallies, settings, slice_by=by, slice_value=values, **of)
    settings = made_by(f"fuzzy>={threshold:g}", text.DATE_RULE)
    for metric in metrics.of(task, "field", *LADDER):
        tallies = metric.count(cases[metric.view].to_list())
        yield score_rows(cases, metric, tallies, settings, slice_by="task", slice_value=task, **of)
