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

import numpy as np
import polars as pl

from formlab import metrics
from formlab.folders import Corpus, Predictions
from formlab.metrics import Metric
from formlab.scoring.align import with_status
from formlab.scoring.tasks._kit import NORM, made_by, normalised, score_table, used
from formlab.scoring.tasks.layout import by_document, structure
from formlab.tables import BOX, LADDER


def own_scores(
    corpus: Corpus, predictions: Predictions, cases: pl.DataFrame, scores: pl.DataFrame, mode: str
) -> Iterator[pl.DataFrame]:
    """Rows of *scores* for each plug-in's metric, task and level that `scores` does not have."""
    own = [m for name, m in metrics.METRICS.items() if name not in metrics.METRICS.builtin]
    cases = cases.filter(pl.col("outcome").ne_missing(pl.lit("unscored")))
    for metric, task in ((m, task) for m in own for task in m.tasks):
        done = scores.filter(pl.col("metric") == metric.name, pl.col("task") == task)["level"]
        if metric.view in ("trees", "records"):
            if "document" not in done:
                yield from _of_documents(metric, task, corpus, predictions, mode)
            continue
        for level in set(metric.units) - set(done):
            rows = cases.filter(pl.col("task") == task, pl.col("level") == level)
            if rows.height:
                how = f"norm={','.join(NORM)}" if metric.view == "text" else None
                tallies = _of_cases(metric, rows)
                counted = [(metric, tallies, made_by(how))]
                yield score_table(rows, counted, level=level, mode=mode)


def _of_cases(metric: Metric, rows: pl.DataFrame) -> np.ndarray:
    if metric.view in LADDER:
        return metric.count(rows[metric.view].to_list())
    if metric.view == "boxes":
        sides = (BOX, [f"pred_{name}" for name in BOX])
        return metric.count(*(rows.select(side).to_numpy().astype(float) for side in sides))
    sides = rows["gold"].fill_null(""), pl.Series(used(rows), dtype=pl.String)
    return metric.count(*(normalised(side).to_list() for side in sides))


def _of_documents(
    metric: Metric, task: str, corpus: Corpus, predictions: Predictions, mode: str
) -> Iterator[pl.DataFrame]:
    sides = corpus.records, predictions.records
    if is_tree := metric.view == "trees":
        golds, preds = (by_document(structure(side)) for side in sides)
    else:
        of_task = (side.filter(pl.col("task") == task) for side in sides)
        groups = (side.partition_by("doc_id", as_dict=True) for side in of_task)
        golds, preds = ({doc: rows.to_dicts() for (doc,), rows in side.items()} for side in groups)
    rows = corpus.documents.filter(pl.col("doc_id").is_in(list(golds)))
    if not rows.height:
        return
    answered = predictions.records.filter(pl.col("path").is_not_null())
    status = answered.select("doc_id", pred_status="status").unique("doc_id", keep="first")
    rows = rows.select("benchmark", "split", "doc_id", path=pl.lit(None, pl.String))
    rows = rows.with_columns(system=pl.lit(predictions.system))
    rows = with_status(rows.join(status, on="doc_id", how="left"), predictions.records)
    pairs = [(golds[doc], preds.get(doc, None if is_tree else [])) for doc in rows["doc_id"]]
    tallies = metric.count(*map(list, zip(*pairs, strict=True)))
    counted = [(metric, tallies, made_by())]
    yield score_table(rows, counted, level="document", mode=mode, task=task)
