"""L2: how much of a form's tree of groups and fields is found, by tree edit distance."""

from __future__ import annotations

from collections import Counter

import polars as pl

from formlab import tables
from formlab.folders import Corpus, Predictions
from formlab.metrics.tree import TreePair, tallies
from formlab.scoring.tasks._kit import Scoring, TaskScores, failed
from formlab.tables import USABLE
from formlab.trees import Node, from_records

RULES = "costs=depth|tree=groups,fields"
# Of task `layout`, these say how a form is structured; words and lines say only what stands where.
STRUCTURE = ("group", "link")
_OUTCOMES = {"kept": "match", "deleted": "missing", "inserted": "spurious"}
_ENTITY = r"^/entities/-?\d+$"
_FORM = Node("form")

# What is noted of all predictions.
BUILT = "groups or links"


def marks(corpus: Corpus, predictions: Predictions) -> set[str]:  # noqa: ARG001
    """Whether predictions say how a form is built."""
    # Entities without a link between them say nothing of it.
    claims = structure(predictions.records).filter(~pl.col("path").str.contains(_ENTITY))
    return {BUILT} if claims.height else set()


def score(scoring: Scoring) -> TaskScores:
    """The trees of every document gold beside predicted.

    A document without a usable prediction has the tree of an empty form. The cases are the edit
    script: one per node that was kept, renamed, deleted, inserted, moved or reordered (`subtype`),
    with its labels, depth and cost.
    """
    corpus, records, whole = scoring.corpus, scoring.predictions.records, scoring.whole
    if BUILT not in whole.marks and whole.answers["status"].is_in(USABLE).any():
        note = "trees not compared: the predictions give no groups or links"
        return TaskScores(notes={note: corpus.documents.height})
    flaws: Counter[str] = Counter()
    # A field whose value is not scored has its place in the form all the same.
    sides = corpus.records.with_columns(status=pl.lit("ok")), records
    golds, preds = (by_document(structure(side), flaws) for side in sides)
    rows = scoring.documents(failed(records) | dict.fromkeys(preds, "ok"))
    pairs = [TreePair(golds.get(doc, _FORM), preds.get(doc, _FORM)) for doc in rows["doc_id"]]
    scores = [scoring.rows(rows, tallies(pairs), RULES, level="document", task="layout")]
    cases = []
    for row, pair in zip(rows.to_dicts(), pairs, strict=True):
        # The form itself is on both sides and says nothing.
        for edit in filter(lambda edit: edit.depth, pair.edits()):
            outcome = _OUTCOMES.get(edit.op, "mismatch")
            cases.append(row | {
                "task": "layout", "level": "node", "kind": "node", "subtype": edit.op,
                "path": edit.gold_path, "pred_path": edit.pred_path, "depth": edit.depth,
                "gold": edit.label if edit.gold_path is not None else None,
                "pred": edit.pred_label, "cost": edit.cost, "outcome": outcome,
                "cause": {"missing": "missed", "spurious": "spurious"}.get(outcome),
            })  # fmt: skip
    notes = {f"gold tree: {name}": count for name, count in flaws.items()}
    return TaskScores.of([tables.table("cases", cases)], scores, notes)


def structure(records: pl.DataFrame) -> pl.DataFrame:
    """The records that say how a form is built: its fields, groups and links.

    >>> rows = [{"path": "/a", "task": "text"}, {"path": "/ocr/lines/0", "task": "layout"}]
    >>> structure(pl.DataFrame(rows).with_columns(kind=pl.lit("line"), status=pl.lit("ok"))).height
    1
    """
    built = (pl.col("task") != "layout") | pl.col("kind").is_in(STRUCTURE)
    built &= pl.col("path").is_not_null() & pl.col("status").is_in(USABLE)
    return records.filter(built, ~pl.col("task").is_in(["vqa", "consistency", "click"]))


def by_document(records: pl.DataFrame, flaws: Counter[str] | None = None) -> dict[str, Node]:
    """The tree of each document that has one."""
    groups = records.group_by("doc_id", maintain_order=True)
    return {str(doc_id): from_records(group.to_dicts(), flaws=flaws) for (doc_id,), group in groups}
