"""Scores of whole documents: trees of groups and fields (L2), JSON, and metrics of plug-ins.

A form's tree is compared by tree edit distance. Where the gold is one JSON object at the path
``/``, a system's JSON is its record of task `value` there.

The scorers of `formlab.scoring.tasks` ask the registry for metrics of the texts they compare. What
a plug-in declares beyond that is scored by `own_scores`, from the cases or, for metrics of whole
documents, from the records. A metric's `view` says what its `tallies` take:

- ``text``: n gold and n predicted texts, cases with the same two counting as one;
- the rungs of the ladder: n booleans of n cases;
- ``trees``: the gold and predicted trees of n documents, `formlab.trees.Node` or None;
- ``records``: the gold and predicted records of n documents, each a list of dicts; what an agent
  clicked and typed is there as well.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import polars as pl

from formlab import benchmarks, metrics, tables
from formlab.folders import Corpus, Predictions
from formlab.metrics.counts import json_tallies
from formlab.metrics.tree import TreePair, tallies
from formlab.scoring.tasks._kit import Scoring, TaskScores, by_document, sides, text_rows
from formlab.tables import USABLE
from formlab.trees import Node, from_records

# The outcome and cause of nodes by what became of them.
_FATES = {"deleted": ("missing", "missed"), "inserted": ("spurious", "spurious")}
_FATES |= {"kept": ("match", None)}
_FORM = Node("form")
# What is noted of all predictions.
BUILT = "groups or links"


def marks(corpus: Corpus, predictions: Predictions) -> set[str]:  # noqa: ARG001
    """Whether predictions say how a form is built."""
    # Entities without a link between them say nothing of it.
    is_entity = pl.col("path").str.contains(r"^/entities/-?\d+$")
    return {BUILT} if structure(predictions.records).filter(~is_entity).height else set()


def score(scoring: Scoring) -> TaskScores:
    """The trees of every document gold beside predicted, or JSON accuracy.

    A document without a usable prediction has the tree of an empty form. The cases are the edit
    script: one per node that was kept, renamed, deleted, inserted, moved or reordered (`subtype`),
    with its labels, depth and cost. A document without a usable JSON has lost every leaf; mode
    `official` forgives a null that was filled in, as the published tool does.
    """
    corpus, whole = scoring.corpus, scoring.whole
    if "layout" not in benchmarks.get(corpus.benchmark).tasks:
        return TaskScores.of(scores=[_json_scores(scoring)])
    if BUILT not in whole.marks and whole.answers["status"].is_in(USABLE).any():
        note = "trees not compared: the predictions give no groups or links"
        return TaskScores.of(notes={note: corpus.documents.height})
    flaws: Counter[str] = Counter()
    # A field whose value is not scored has its place in the form all the same.
    ok = pl.lit("ok").alias("status")
    built = structure(corpus.records.with_columns(ok)), structure(scoring.predictions.records)
    golds, preds = (by_document(side, partial(from_records, flaws=flaws)) for side in built)
    rows = scoring.documents(built[1].with_columns(ok))
    pairs = [TreePair(golds.get(doc, _FORM), preds.get(doc, _FORM)) for doc in rows["doc_id"]]
    rule = "costs=depth|tree=groups,fields"
    scores = scoring.rows(rows, tallies(pairs), rule, level="document", task="layout")
    cases = []
    for row, pair in zip(rows.to_dicts(), pairs, strict=True):
        # The form itself is on both sides and says nothing.
        for edit in filter(lambda edit: edit.depth, pair.edits):
            outcome, cause = _FATES.get(edit.op, ("mismatch", None))
            told = {"subtype": edit.op, "path": edit.gold_path, "pred_path": edit.pred_path}
            gold = edit.label if edit.gold_path is not None else None
            told |= {"gold": gold, "pred": edit.pred_label, "outcome": outcome, "cause": cause}
            cases.append(row | told | {"depth": edit.depth, "cost": edit.cost})
    same = {"task": "layout", "level": "node", "kind": "node"}
    notes = {f"gold tree: {name}": count for name, count in flaws.items()}
    return TaskScores.of([tables.table("cases", cases, **same)], [scores], notes)


def structure(records: pl.DataFrame) -> pl.DataFrame:
    """The records that say how a form is built: its fields, groups and links.

    >>> rows = [{"path": "/a", "task": "text"}, {"path": "/ocr/lines/0", "task": "layout"}]
    >>> structure(pl.DataFrame(rows).with_columns(kind=pl.lit("line"), status=pl.lit("ok"))).height
    1
    """
    # Of task `layout`, words and lines say only what stands where.
    built = (pl.col("task") != "layout") | pl.col("kind").is_in(["group", "link"])
    built &= pl.col("path").is_not_null() & pl.col("status").is_in(USABLE)
    return records.filter(built, ~pl.col("task").is_in(["vqa", "consistency", "click"]))


def _json_scores(scoring: Scoring) -> pl.DataFrame:
    both = scoring.corpus.records, scoring.predictions.records
    gold, answers = (records.filter(task="value", path="/") for records in both)
    gold, rows = gold.select("doc_id", gold="value"), scoring.documents(answers)
    rows = rows.join(gold, on="doc_id", maintain_order="left")
    parts = {"json_accuracy": json_tallies(*sides(rows), official=scoring.mode == "official")}
    return scoring.rows(rows, parts, "lists=any-order", level="document", task="value")


def own_scores(
    scoring: Scoring, cases: pl.DataFrame, scores: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Rows of *scores* for each plug-in's metric, task and level that `scores` does not have."""
    own = [m for name, m in metrics.METRICS.items() if name not in metrics.METRICS.builtin]
    done = {*scores.select("metric", "task", "level").unique().iter_rows()} if own else set()
    cases = cases.filter(pl.col("outcome").ne_missing(pl.lit("unscored")))
    for metric, task in ((m, task) for m in own for task in m.tasks):
        if metric.view in ("trees", "records"):
            yield from _of_documents(metric, task, scoring)
            continue
        for level in metric.units:
            if (metric.name, task, level) not in done:
                rows = cases.filter(pl.col("task") == task, pl.col("level") == level)
                yield from text_rows(scoring, rows, task=task, level=level, chosen=[metric])


def _of_documents(metric: metrics.Metric, task: str, scoring: Scoring) -> Iterator[pl.DataFrame]:
    """Rows of *scores* of the documents that have gold of a task, by what both sides have."""
    both, is_tree = (scoring.corpus.records, scoring.predictions.records), metric.view == "trees"
    some = (structure(side) if is_tree else side.filter(task=task) for side in both)
    golds, preds = (by_document(side, from_records if is_tree else list) for side in some)
    rows = scoring.documents(both[1].drop_nulls("path"))
    rows = rows.filter(pl.col("doc_id").is_in([*golds]))
    if docs := rows["doc_id"].to_list():
        given = [preds.get(doc, None if is_tree else []) for doc in docs]
        counted = {metric.name: metric.count([golds[doc] for doc in docs], given)}
        yield scoring.rows(rows, counted, level="document", task=task)
