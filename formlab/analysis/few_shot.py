"""Scores of extracted entities over few-shot splits, by task and training size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy

from formlab import tables
from formlab.analysis.summarise import summarise
from formlab.benchmarks import vrdu
from formlab.benchmarks.vrdu import Schema
from formlab.errors import FormlabError
from formlab.folders import Evaluation

TASKS = ("single", "mixed", "unseen", "all documents")
TASK_TITLES = {
    "single": "one template", "mixed": "mixed templates", "unseen": "unseen template",
    "all documents": "all documents",
}  # fmt: skip
SIMPLE, NESTED, WHOLE = "simple entities", "line items", "all entities"
FEW_SHOT: dict[str, Any] = {
    "corpus": pl.String, "task": pl.Enum(TASKS), "train_size": pl.Int64, "system": pl.String,
    "part": pl.String, "metric": pl.String, "average": pl.String,
    **dict.fromkeys(("value", "ci_low", "ci_high", "lowest", "highest"), pl.Float64),
    "interval": pl.String, "n_splits": pl.Int64, "n_docs": pl.Int64,
    "benchmark": pl.String, "split": pl.String,
    "level": pl.String, "mode": pl.String, "settings": tables.SETTINGS,
}  # fmt: skip
_GROUP = ("corpus", "task", "train_size", "system", "part", "metric")
_LEVEL = 0.95


def few_shot_only(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations of splits that belong to a task; all of them if none does.

    The split of all documents overlaps the few-shot splits, so that it is dropped beside them.
    """
    return [each for each in evaluations if split_of(each).get("task")] or list(evaluations)


def split_of(evaluation: Evaluation) -> dict[str, Any]:
    """The task, training size and seed of the split, where the documents know them."""
    return vrdu.split_meta(evaluation.documents)


def corpus_name(evaluation: Evaluation) -> str:
    """What the data set calls itself; else the benchmark."""
    named = evaluation.documents["domain"].drop_nulls()
    return named.first() or evaluation.benchmark


def schema_of(evaluation: Evaluation) -> Schema | None:
    """What may be extracted, as the documents say; None if they do not."""
    try:
        return Schema.of(evaluation)
    except FormlabError:
        return None


def few_shot(
    evaluations: Sequence[Evaluation], *, resamples: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """Micro and macro F1, and F1 of simple and of nested entities, by task and training size.

    Parameters
    ----------
    evaluations
        One a split.
    resamples, seed
        As for `summarise`.

    Returns
    -------
    polars.DataFrame
        The columns of `FEW_SHOT`, in the order of task and size. Of several splits (seeds, or
        templates) the value is the mean and the interval a 95 % t interval over splits, cut at 0
        and 1; of one split it is the score with its bootstrap interval over documents. `interval`
        says which, ``n_splits`` over how many splits with a defined score. `lowest` and `highest`
        are the scores of single splits.
    """
    rows = [row for each in evaluations for row in _split_rows(each, resamples, seed)]
    groups = pl.DataFrame(rows, schema=FEW_SHOT).group_by(*_GROUP, maintain_order=True)
    return pl.DataFrame([_over_splits(group) for _, group in groups], schema=FEW_SHOT).sort(
        "corpus", "part", "metric", "task", "train_size", maintain_order=True
    )


def _split_rows(evaluation: Evaluation, resamples: int, seed: int) -> Iterable[dict[str, Any]]:
    schema, info = schema_of(evaluation), split_of(evaluation)
    if schema is None:
        return
    parts = {
        (None, None): (WHOLE, ("micro_f1", "macro_f1")), ("group", "unrepeated"): (SIMPLE, ("f1",)),
        **{("entity", group): (NESTED, ("f1",)) for group in schema.groups},
    }  # fmt: skip
    # Of the other scores no interval is drawn.
    slices = pl.DataFrame(list(parts), schema=["slice_by", "slice_value"], orient="row")
    known = pl.col("metric").is_in([metric for _, names in parts.values() for metric in names])

    def ready(part: Evaluation) -> pl.DataFrame:
        rows = part.scores.filter(known, level="document")
        return rows.join(slices, on=["slice_by", "slice_value"], how="semi", nulls_equal=True)

    whole = evaluation.changed({"scores": ready})
    base = {
        "corpus": corpus_name(evaluation), "train_size": info.get("train_size"),
        "task": info.get("task") or TASKS[-1], "interval": "documents", "n_splits": 1,
    }  # fmt: skip
    for row in summarise(whole, by=(), average="pooled", resamples=resamples, seed=seed).to_dicts():
        part, names = parts.get((row["slice_by"], row["slice_value"]), (None, ()))
        if row["metric"] in names:
            spread = {"part": part, "lowest": row["value"], "highest": row["value"]}
            yield {name: row.get(name) for name in FEW_SHOT} | base | spread


def _over_splits(group: pl.DataFrame) -> dict[str, Any]:
    first = group.row(0, named=True) | {"n_docs": group["n_docs"].sum()}
    if group.height == 1:
        return first
    values = group["value"].drop_nans().to_numpy()
    mean = float(values.mean()) if values.size else math.nan
    half = math.nan
    if values.size > 1:
        half = scipy.stats.t.ppf((1 + _LEVEL) / 2, values.size - 1) * scipy.stats.sem(values)
    low, high = np.clip([mean - half, mean + half], 0.0, 1.0).tolist()
    named = f"{first['corpus']}, {first['task']}, {group.height} splits"
    return first | {
        "value": mean, "ci_low": low, "ci_high": high, "interval": "splits",
        "lowest": group["value"].fill_nan(None).min(),
        "highest": group["value"].fill_nan(None).max(),
        "n_splits": values.size, "split": named,
        "settings": first["settings"] | {"interval": f"t,splits,level={_LEVEL:g}"},
    }  # fmt: skip
