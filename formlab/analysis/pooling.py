"""All splits of a benchmark as one evaluation, its entities and data types, and lost values."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from formlab import tables
from formlab.analysis.few_shot import NESTED, corpus_name, schema_of
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation
from formlab.metrics import METRICS
from formlab.scoring.causes import CAUSES

# Values read wrongly come before those that are missing or made up: they show more.
_NOT_READ = ("spurious", "hallucinated", "missed", "missing_document")
_ORDER = (*(name for name in CAUSES if name not in _NOT_READ), *_NOT_READ)


def merge_splits(evaluations: Sequence[Evaluation]) -> Evaluation:
    """All splits as one evaluation: a document of several splits counts once for each.

    It stays one document, so intervals over documents draw all its splits together. Means over
    entities are left out where the splits have different entities.

    Parameters
    ----------
    evaluations
        At least one; all of one benchmark, system, mode and root.
    """
    first = evaluations[0]
    if len(evaluations) == 1:
        return first
    corpora = dict.fromkeys(corpus_name(each) for each in evaluations)
    name = f"{' and '.join(corpora)}, {len(evaluations)} splits"
    split = pl.lit(name).alias("split")
    scores = pl.concat([each.scores for each in evaluations])
    if scores.filter(metric="macro_f1")["stats"].list.len().n_unique() > 1:
        scores = scores.filter(~pl.col("metric").str.starts_with("macro_"))
    notes = sum((Counter(each.notes) for each in evaluations), Counter())
    documents = pl.concat([each.documents for each in evaluations], how="diagonal")
    return dataclasses.replace(
        first,
        documents=documents.unique("doc_id", keep="first", maintain_order=True).with_columns(split),
        # Of its own split, so that a case of a document in several is known by it.
        cases=pl.concat([each.cases for each in evaluations], how="diagonal"),
        scores=scores.with_columns(split),
        split=name,
        sources={name: code for each in evaluations for name, code in each.sources.items()},
        notes=dict(notes),
        # Of several splits there is no one corpus to score again.
        corpus=None,
        predictions=None,
    )


def by_entity(
    evaluations: Sequence[Evaluation], *, resamples: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """Precision, recall and F1 of each entity and of each data type, over all splits of a corpus.

    Returns
    -------
    polars.DataFrame
        The schema SUMMARY, sliced by ``entity`` and ``type`` (simple entities of that type; line
        items are their own), and the columns `corpus`, `type` and `n_gold`, how many
        entities of the gold the slice holds.
    """
    corpora: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        corpora.setdefault(corpus_name(evaluation), []).append(evaluation)
    extra = {"corpus": pl.String, "type": pl.String, "n_gold": pl.Int64}
    tables_of_corpora = [pl.DataFrame(schema=tables.SUMMARY | extra)]
    for name, members in corpora.items():
        schema = schema_of(members[0])
        if schema is None:
            continue
        types = {
            entity: NESTED if entity in schema.groups else schema.type_of(entity)
            for entity in schema.entities
        }
        whole = merge_splits([_with_types(each, types) for each in members])
        on = ["slice_by", "slice_value"]
        gold = whole.scores.filter(pl.col("metric") == "f1").group_by(on)
        gold = gold.agg(n_gold=pl.col("stats").list.get(1).sum().cast(pl.Int64))
        summary = summarise(whole, by=(), resamples=resamples, seed=seed)
        summary = summary.join(gold, on=on, how="left", nulls_equal=True, maintain_order="left")
        kind = pl.col("slice_value").replace_strict(types, default=pl.col("slice_value"))
        summary = summary.with_columns(corpus=pl.lit(name), type=kind)
        tables_of_corpora.append(summary.select(tables_of_corpora[0].columns))
    return pl.concat(tables_of_corpora)


def _with_types(evaluation: Evaluation, types: dict[str, str]) -> Evaluation:
    """Its scores of whole documents, and those of entities added up by data type."""
    ready = evaluation.scores.filter(pl.col("level") == "document")
    simple = ready.filter(pl.col("slice_by") == "entity").with_columns(
        slice_by=pl.lit("type"),
        slice_value=pl.col("slice_value").replace_strict(types, return_dtype=pl.String),
    )
    keys = [name for name in tables.SCORES if name not in ("stats", "value")]
    count = pl.concat_list(pl.col("stats").list.get(number).sum() for number in range(3))
    summed = simple.group_by(*keys, maintain_order=True).agg(count.alias("stats"))
    values = [
        float(METRICS[metric].score_in(mode)(np.array(counts)))
        for metric, mode, counts in summed.select("metric", "mode", "stats").iter_rows()
    ]
    summed = summed.with_columns(pl.Series("value", values, dtype=pl.Float64))
    return dataclasses.replace(evaluation, scores=pl.concat([ready, summed.select(*tables.SCORES)]))


def errors_by_cause(cases: pl.DataFrame, *, each: int | None = None) -> pl.DataFrame:
    """The cases that cost a score, sorted by cause and within it the most alike first.

    Spurious and missed values come last. Near misses tell more than values that have nothing in
    common. A value of a document that stands in several splits comes once.

    Parameters
    ----------
    cases
        The schema CASES.
    each
        At most so many of each cause.

    Examples
    --------
    >>> case = {"benchmark": "b", "split": "s", "system": "x", "task": "entity", "path": "/a"}
    >>> case["level"] = "field"
    >>> rows = [case | {"doc_id": str(i), "cause": cause, "outcome": "missing"}
    ...     for i, cause in enumerate(["missed", "digit", "missed"])]
    >>> errors_by_cause(tables.table("cases", rows), each=1)["cause"].to_list()
    ['digit', 'missed']
    """
    wrong = cases.filter(
        pl.col("path").is_not_null(),
        pl.col("cause").is_not_null(),
        pl.col("outcome").is_in(["mismatch", "missing", "spurious"]),
    ).unique(["doc_id", "path", "pred_path", "pred"], keep="first", maintain_order=True)
    ranks = {name: rank for rank, name in enumerate(_ORDER)}
    rank = pl.col("cause").replace_strict(ranks, default=len(CAUSES), return_dtype=pl.Int64)
    wrong = wrong.sort(
        rank, pl.col("similarity").fill_nan(None), "doc_id", "path",
        descending=[False, True, False, False], nulls_last=True,
    )  # fmt: skip
    return wrong if each is None else wrong.group_by("cause", maintain_order=True).head(each)
