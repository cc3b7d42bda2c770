"""L2: how much of a form's tree of groups and fields is found, by tree edit distance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.folders import Corpus, Predictions
from formlab.metrics.tree import Edit, tree_edit_tallies
from formlab.scoring.tasks._kit import TaskScores, made_by, score_rows
from formlab.scoring.whole import Whole
from formlab.tables import USABLE
from formlab.trees import Node, from_records

RULES = "costs=depth|tree=groups,fields"
# Of task `layout`, these say how a form is structured; words and lines say only what stands where.
STRUCTURE = ("group", "link")
_CAUSES = {"missing": "missed", "spurious": "spurious"}
_OUTCOMES = {"kept": "match", "deleted": "missing", "inserted": "spurious"}
_ENTITY = r"^/entities/-?\d+$"

# What is noted of all predictions.
BUILT = "groups or links"


def score(
    corpus: Corpus,
    predictions: Predictions,
    *,
    mode: str,
    threshold: float,
    kinds: Whole | None = None,
) -> TaskScores:
    """The trees of every document gold beside predicted.

    A document without a usable prediction has the tree of an empty form. The cases are the edit
    script: one per node that was kept, renamed, deleted, inserted, moved or reordered (`subtype`),
    with its labels, depth and cost. `threshold` does not matter here.
    """
    kinds = kinds or Whole.of(corpus, predictions, [marks])
    del threshold
    # A field whose value is not scored has its place in the form all the same.
    gold = structure(corpus.records.with_columns(pl.lit("ok").alias("status")))
    predicted = structure(predictions.records)
    if BUILT not in kinds.marks and kinds.answers["status"].is_in(USABLE).any():
        notes = {
            "trees not compared: the predictions give no groups or links": corpus.documents.height
        }
        return TaskScores(notes=notes)
    flaws: Counter[str] = Counter()
    golds, preds = (by_document(records, flaws) for records in (gold, predicted))
    failed = _failed(predictions.records)
    ids = corpus.documents["doc_id"].to_list()
    tallies = tree_edit_tallies(
        [golds.get(doc, Node("form")) for doc in ids], [preds.get(doc, Node("form")) for doc in ids]
    )
    status = ["ok" if doc in preds else failed.get(doc, "missing") for doc in ids]
    rows = corpus.documents.select("benchmark", "split", "doc_id").with_columns(
        pl.lit(predictions.system).alias("system"),
        pl.lit(None, pl.String).alias("path"),
        pl.Series("status", status, dtype=pl.String),
    )
    distance = np.stack([tallies[:, 0], np.ones(len(ids))], axis=1)
    scores = [
        score_rows(
            rows, metrics.get(name), parts, made_by(RULES),
            level="document", mode=mode, task="layout",
        )
        for name, parts in (("tree_edit_distance", distance), ("tree_similarity", tallies[:, 1:]))
    ]  # fmt: skip
    notes = {f"gold tree: {name}": count for name, count in flaws.items()}
    pairs = ((row, golds.get(row["doc_id"]), preds.get(row["doc_id"])) for row in rows.to_dicts())
    return TaskScores.of([_cases(pairs)], scores, notes)


def marks(corpus: Corpus, predictions: Predictions) -> set[str]:  # noqa: ARG001
    """Whether predictions say how a form is built."""
    # Entities without a link between them say nothing of it.
    claims = structure(predictions.records).filter(~pl.col("path").str.contains(_ENTITY))
    return {BUILT} if claims.height else set()


def _cases(pairs: Iterable[tuple[dict[str, Any], Node | None, Node | None]]) -> pl.DataFrame:
    """A row per node of either tree, from the edit script of each document."""
    rows = []
    for row, gold, pred in pairs:
        for edit in metrics.edit_script(gold or Node("form"), pred or Node("form")):
            # The form itself is on both sides and says nothing.
            if edit.depth:
                rows.append(row | _case(edit))
    return tables.table("cases", rows)


def _case(edit: Edit) -> dict[str, Any]:
    outcome = _OUTCOMES.get(edit.op, "mismatch")
    return {
        "task": "layout", "level": "node", "kind": "node", "subtype": edit.op, "outcome": outcome,
        "path": edit.gold_path, "pred_path": edit.pred_path, "depth": edit.depth, "cost": edit.cost,
        "gold": edit.label if edit.gold_path is not None else None,
        "pred": edit.pred_label,
        "cause": _CAUSES.get(outcome),
    }  # fmt: skip


def structure(records: pl.DataFrame) -> pl.DataFrame:
    """The records that say how a form is built: its fields, groups and links.

    Examples
    --------
    >>> rows = [{"path": "/a", "task": "text"}, {"path": "/ocr/lines/0", "task": "layout"}]
    >>> structure(pl.DataFrame(rows).with_columns(kind=pl.lit("line"), status=pl.lit("ok"))).height
    1
    """
    built = (pl.col("task") != "layout") | pl.col("kind").is_in(STRUCTURE)
    return records.filter(
        built, pl.col("path").is_not_null(), pl.col("status").is_in(USABLE),
        ~pl.col("task").is_in(["vqa", "consistency", "click"]),
    )  # fmt: skip


def by_document(records: pl.DataFrame, flaws: Counter[str] | None = None) -> dict[str, Node]:
    """The tree of each document that has one."""
    return {
        str(doc_id): from_records(group, flaws=flaws)
        for (doc_id,), group in records.group_by("doc_id", maintain_order=True)
    }


def _failed(records: pl.DataFrame) -> dict[str, str]:
    bad = records.filter(pl.col("path").is_null(), ~pl.col("status").is_in(USABLE))
    return dict(bad.select("doc_id", "status").rows())
