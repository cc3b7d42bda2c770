"""Metrics that were made outside of formlab, scored on every task that they declare.

The scorers of `formlab.scoring.tasks` ask the registry for metrics of the texts they compare. What
a plug-in declares beyond that is scored here, from the cases or, for metrics of whole documents,
from the records. A metric's `view` says what its `tallies` take:

- ``text`` and the rungs of the ladder: n gold and n predicted texts, or n booleans, of n cases;
- ``boxes``: two arrays of shape (n, 4), x0 y0 x1 y1, NaN where a case has no box;
- ``trees``: the gold and predicted trees of n documents, `formlab.trees.Node` or None;
- ``records``: the gold and predicted records of n documents, each a list of dicts; what an agent
  clicked and typed is there as well.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from formlab import metrics
from formlab.scoring.tasks._kit import Scoring, failed, made_by, score_table, text_rows
from formlab.scoring.tasks.layout import by_document, structure


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
    records = scoring.predictions.records
    sides = scoring.corpus.records, records
    if is_tree := metric.view == "trees":
        golds, preds = (by_document(structure(side)) for side in sides)
    else:
        of_task = (side.filter(pl.col("task") == task) for side in sides)
        groups = (side.partition_by("doc_id", as_dict=True) for side in of_task)
        golds, preds = ({doc: rows.to_dicts() for (doc,), rows in side.items()} for side in groups)
    first = records.filter(pl.col("path").is_not_null()).unique("doc_id", keep="first")
    rows = scoring.documents(failed(records) | dict(first.select("doc_id", "status").iter_rows()))
    rows = rows.filter(pl.col("doc_id").is_in(list(golds)))
    absent = None if is_tree else []
    if docs := rows["doc_id"].to_list():
        both = [golds[doc] for doc in docs], [preds.get(doc, absent) for doc in docs]
        counted = [(metric, metric.count(*both), made_by())]
        yield score_table(rows, counted, level="document", mode=scoring.mode, task=task)
