"""L3 of FORMCRAFT: questions across fields and consistency checks, by kind of relation.

A question is right where the answer holds on the rung `typed` of the ladder. A check is right where
the value of the dependent field does: what the system answered for the check itself or, where it
answered none, what it extracted for that field.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from formlab import metrics, tables, text
from formlab.benchmarks.formcraft import RELATIONS, cells, item_meta
from formlab.metrics.relations import RELATION_METRICS, held
from formlab.scoring import fieldmatch
from formlab.scoring.align import GOLD, PRED, judged
from formlab.scoring.tasks import content
from formlab.scoring.tasks._cases import (
    any_for,
    score_rows,
    settings,
    with_status,
)
from formlab.scoring.tasks._spec import Scored
from formlab.tables import LADDER, Corpus, Predictions

TASKS = {"vqa": "vqa_accuracy", "consistency": "consistency_accuracy"}
_KEY = ["doc_id", "path"]
_FIELDS = pl.col("task").is_in(content.TASKS) & pl.col("path").is_not_null()


def score(corpus: Corpus, predictions: Predictions, *, mode: str, threshold: float) -> Scored:
    """Every question and check (unit `item`): for itself, and in each slice it belongs to.

    The slices are ``all``, one per value of scope, reference, complexity and modal relationship,
    and their combinations, ``scope=…&reference=…&complexity=…&modal=…``; the four rungs of the
    ladder have the slice ``task=…``.
    """
    found, scores, notes = [], [tables.table("scores", [])], {}
    orders = text.date_orders(corpus.records["doc_id"], corpus.records["value"])
    for task in TASKS:
        gold = corpus.records.filter(pl.col("task") == task)
        given = predictions.records.filter(pl.col("task") == task, pl.col("path").is_not_null())
        took_part = given
        if task == "consistency":
            fields = predictions.records.filter(_FIELDS)
            given = pl.concat([given, _extracted(gold, given, corpus, fields)])
            took_part = pl.concat([given, fields])
        if not any_for(predictions.records, took_part):
            notes[f"gold items of {task} not scored: the predictions answer none"] = gold.height
            continue
        cases = judged(
            with_status(_joined(gold, given), predictions.records),
            system=predictions.system,
            threshold=threshold,
            orders=orders,
        )
        found.append(cases)
        # An answer to a question that was never asked is shown, and cannot be right or wrong.
        asked = cases.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")
        scores += _scores(corpus, asked, task, mode, threshold)
    cases = pl.concat([tables.table("cases", []), *found])
    return Scored(cases, pl.concat(scores), {what: n for what, n in notes.items() if n})


def cell_counts(cases: pl.DataFrame) -> pl.DataFrame:
    """How many questions and checks each kind of relation has, and how many were right.

    Parameters
    ----------
    cases
        Of an evaluation.

    Returns
    -------
    polars.DataFrame
        task, scope, reference, complexity, modal, items, right: all 54 combinations of each task,
        those without items included.
    """
    every = [{"task": task} | cell for task in TASKS for cell in cells()]
    names = ["task", *RELATIONS]
    scored = cases.filter(
        pl.col("task").is_in(list(TASKS)), pl.col("gold").is_not_null(),
        pl.col("outcome") != "unscored",
    )  # fmt: skip
    counted = scored.group_by(names).agg(
        items=pl.len().cast(pl.Int64), right=pl.col("typed").sum().cast(pl.Int64)
    )
    table = pl.DataFrame(every).join(counted, on=names, how="left", maintain_order="left")
    return table.with_columns(pl.col("items", "right").fill_null(0))


def _joined(gold: pl.DataFrame, given: pl.DataFrame) -> pl.DataFrame:
    left = gold.rename(GOLD).drop("system", "role", "meta", "confidence")
    right = given.with_columns(pl.col("path").alias("pred_path"))
    right = right.select("doc_id", "path", "pred_path", "value", "status", "origin", "confidence")
    right = right.rename({"value": "pred", "status": "pred_status", "origin": "pred_origin"})
    both = left.join(right, on=_KEY, how="left", maintain_order="left")
    extra = given.join(gold, on=_KEY, how="anti").rename(PRED)
    extra = extra.drop("system", "role", "meta", "accepted").with_columns(
        pl.col("pred_path").alias("path"), pl.lit("spurious").alias("outcome")
    )
    both = both.with_columns(pl.lit(None, pl.String).alias("outcome"))
    return pl.concat([both, extra], how="diagonal_relaxed")


def _extracted(
    gold: pl.DataFrame, given: pl.DataFrame, corpus: Corpus, theirs: pl.DataFrame
) -> pl.DataFrame:
    """Records at the checks' paths with what was extracted for their dependent fields."""
    pairs = fieldmatch.match(corpus.records.filter(_FIELDS), theirs).select(
        "doc_id", "pred_path", dependent="path"
    )
    dependents = [item_meta(meta).dependent for meta in gold["meta"]]
    open_checks = gold.select(_KEY).with_columns(pl.Series("dependent", dependents, pl.String))
    open_checks = open_checks.join(given, on=_KEY, how="anti").rename({"path": "check"})
    found = open_checks.join(pairs, on=["doc_id", "dependent"], how="inner")
    rows = theirs.join(found.select("doc_id", "check", path="pred_path"), on=_KEY, how="inner")
    rows = rows.drop("path").rename({"check": "path"})
    return rows.with_columns(pl.lit("consistency").alias("task")).select(given.columns)


def _slices(cases: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
    """Each kind of slice: its name for the settings, and every case's slice of that kind."""
    yield "all", pl.Series(["all"] * cases.height, dtype=pl.String)
    labels = {axis: cases[axis].fill_null("none") for axis in RELATIONS}
    for axis, values in labels.items():
        yield axis, axis + "=" + values
    joined = [f"{axis}=" + values for axis, values in labels.items()]
    yield (
        "cell",
        pl.Series(["&".join(parts) for parts in zip(*joined, strict=True)], dtype=pl.String),
    )


def _scores(
    corpus: Corpus, cases: pl.DataFrame, task: str, mode: str, threshold: float
) -> Iterator[pl.DataFrame]:
    if not cases.height:
        return
    metric, tallies = TASKS[task], held(cases["typed"].to_list())
    rules = ["unit=item", "rung=typed", text.DATE_RULE]
    if metric == "consistency_accuracy":
        rules += ["answer=given,else-extracted", fieldmatch.RULES]
    said = settings(corpus, metric, *rules, mode=mode)
    entry = RELATION_METRICS[metric]
    for _, names in _slices(cases):
        yield score_rows(cases, entry, tallies, unit="item", settings=said, slices=names.to_list())
    for rung in LADDER:
        name = f"{rung}_accuracy"
        rules = ["unit=item", f"fuzzy>={threshold:g}", text.DATE_RULE]
        said = settings(corpus, name, *rules, mode=mode)
        yield score_rows(
            cases, metrics.get(name), held(cases[rung].to_list()),
            unit="item", settings=said, slices=f"task={task}",
        )  # fmt: skip
