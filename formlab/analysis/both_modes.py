"""What the modes ``official`` and ``fixed`` make of the same answers, from a saved evaluation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import tables
from formlab.analysis import mode_changes
from formlab.analysis.few_shot import TASKS, corpus_name, said, schema_of
from formlab.metrics import METRICS
from formlab.scoring.tasks import entities
from formlab.tables import BOX, USABLE, Corpus, Evaluation, Predictions

MODES = ("official", "fixed")
SCORES = ("micro_f1", "macro_f1")
CHANGES: dict[str, Any] = {"corpus": pl.String, "split": pl.String} | mode_changes.COLUMNS
COMPARED: dict[str, Any] = {
    "corpus": pl.String, "task": pl.Enum(TASKS), "train_size": pl.Int64, "split": pl.String,
    "metric": pl.String, "official": pl.Float64, "fixed": pl.Float64, "difference": pl.Float64,
    "exact": pl.Boolean, "settings": pl.String,
}  # fmt: skip
# Sums of the same numbers in another order differ by less.
_CLOSE = 1e-9


def changed_entities(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """The entities that earn another score in the other mode, with the reason.

    Returns
    -------
    polars.DataFrame
        The columns of `formlab.analysis.mode_changes.mode_changes`, and `corpus` and `split`.
    """
    found = [pl.DataFrame(schema=CHANGES)]
    for one in evaluations:
        if schema_of(one) is not None:
            named = pl.lit(corpus_name(one)).alias("corpus"), pl.lit(one.split).alias("split")
            found.append(mode_changes.mode_changes(*answers_of(one)).select(*named, pl.all()))
    return pl.concat(found)


def both_modes(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """Micro and macro F1 of each split in both modes.

    Returns
    -------
    polars.DataFrame
        The columns of `COMPARED`. `difference` is fixed minus official. `exact` tells whether the
        answers, as the evaluation keeps them, give again the score that it holds: where they do
        not, it does not keep all that its mode looks at (the order or place of equal answers).
    """
    rows = [row for one in evaluations if schema_of(one) is not None for row in _compared(one)]
    return pl.DataFrame(rows, schema=COMPARED)


def _compared(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    corpus, predictions = answers_of(evaluation)
    threshold = evaluation.settings.get("threshold", 0.8)
    scored = {
        mode: entities.score(corpus, predictions, mode=mode, threshold=threshold).scores
        for mode in MODES
    }
    info = said(evaluation)
    for metric in SCORES:
        values = {mode: _value(scores, metric) for mode, scores in scored.items()}
        before = _value(evaluation.scores, metric)
        settings = tables.only(evaluation.scores, metric=metric, slice="all")["settings"]
        yield values | {
            "corpus": corpus_name(evaluation), "task": info.get("task") or TASKS[-1],
            "train_size": info.get("train_size"), "split": evaluation.split, "metric": metric,
            "difference": values["fixed"] - values["official"],
            "exact": bool(np.isclose(values[evaluation.mode], before, atol=_CLOSE, rtol=0)),
            "settings": settings.first().replace(f"mode={evaluation.mode}", "mode=both"),
        }  # fmt: skip


def _value(scores: pl.DataFrame, metric: str) -> float:
    rows = tables.only(scores, metric=metric, slice="all")
    return float(METRICS[metric].score(np.array(rows["stats"].to_list()).sum(axis=0)))


def answers_of(evaluation: Evaluation) -> tuple[Corpus, Predictions]:
    """Gold and predictions of an evaluation of entities, as far as its cases keep them.

    The order of the answers is that of their origins. What equal predictions must have in common
    (their place) is not kept as such: under ``official`` it follows from which of them were
    scored, under ``fixed`` the page and box stand for it.
    """
    here = evaluation.cases.filter(
        pl.col("task") == "entity",
        pl.col("doc_id").is_in(evaluation.documents["doc_id"].implode()),
    )
    base = {"benchmark": evaluation.benchmark, "split": evaluation.split, "task": "entity"}
    gold = here.filter(pl.col("gold_origin").is_not_null())
    kept = ("doc_id", "path", "kind", "subtype", "page", *BOX, "gold_origin")
    golds = [
        base | {"role": "gold", "value": row["gold"], "accepted": row["accepted"]}
        | {"status": "unscored" if row["outcome"] == "unscored" else "ok"}
        | {name.removeprefix("gold_"): row[name] for name in kept}
        for row in gold.iter_rows(named=True)
    ]  # fmt: skip
    corpus = Corpus(
        evaluation.documents, tables.table("records", golds),
        evaluation.benchmark, evaluation.split, evaluation.root,
    )  # fmt: skip
    found = tables.table("records", _given(here, base, evaluation))
    return corpus, Predictions(found, tables.table("responses", []), evaluation.system)


def _given(
    cases: pl.DataFrame, base: dict[str, Any], evaluation: Evaluation
) -> list[dict[str, Any]]:
    usable = pl.col("status").is_in(USABLE)
    # Officially one prediction may stand beside several golds, right beside the first of them.
    pred = cases.filter(pl.col("pred_origin").is_not_null(), usable).sort(
        pl.col("outcome") == "mismatch", maintain_order=True
    )
    item = pl.struct("doc_id", pl.col("pred_path").str.extract(r"^(/[^/]*(?:/\d+)?)"))
    right = pl.col("outcome").is_in(["match", "unscored"])
    pred = pred.with_columns(right.all().over(item).alias("right"))
    pred = pred.unique(["doc_id", "pred_path"], keep="first", maintain_order=True)
    official = evaluation.mode == "official"
    rows = sorted(pred.iter_rows(named=True), key=_place)
    return [
        base | {"role": "prediction", "system": evaluation.system, "doc_id": row["doc_id"]}
        | {"path": row["pred_path"], "value": row["pred"], "origin": row["pred_origin"]}
        | {"status": row["status"], "meta": _identity(row, official=official)}
        for row in rows
    ]  # fmt: skip


def _identity(row: dict[str, Any], *, official: bool) -> str:
    place = [row[f"pred_{name}"] for name in ("page", *BOX)]
    if official:
        # An equal of a right prediction was forgiven if at one place with it, else it was wrong.
        return "" if row["right"] else row["pred_path"]
    return row["pred_path"] if None in place else json.dumps(place)


def _place(row: dict[str, Any]) -> list[list[str | int]]:
    # The parts of a line item keep the order of the cases where one origin stands for them all.
    item = "/".join(row["pred_path"].split("/")[:3])
    return [_steps(row["pred_origin"]), _steps(item)]


def _steps(text: str) -> list[str | int]:
    """A place as texts and numbers in turn, so that the tenth comes after the second."""
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"(\d{1,18})", text))]
