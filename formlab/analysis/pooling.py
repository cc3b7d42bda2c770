"""All splits of a benchmark as one evaluation, its entities and data types, and lost values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

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
_SLICE = ["slice_by", "slice_value"]
_FACTS = ("benchmark", "system", "mode", "root", "settings", "made")
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
    entities = pl.col("stats").filter(metric="macro_f1").list.len()
    sizes = [e.gathered(lambda part: part.scores.select(entities).unique()) for e in evaluations]
    documents = pl.concat([each.documents for each in evaluations], how="diagonal")
    documents = documents.unique("doc_id", keep="first", maintain_order=True)
    documents = documents.with_columns(pl.lit(name).alias("split"))
    count = max(len(list(each.parts())) for each in evaluations)
    make = partial(_of_splits, evaluations, macro=pl.concat(sizes)["stats"].n_unique() < 2)
    # All splits of a document in one part; the first also has what is of no document.
    own = [documents[number::count] for number in range(count)]
    gone = ~pl.col("doc_id").is_in(pl.concat([own[0].clear(), *own[1:]])["doc_id"].implode())
    chosen = [gone, *(pl.col("doc_id").is_in(each["doc_id"].implode()) for each in own[1:])]
    parts = [partial(make, *both) for both in zip(own, chosen, strict=True)]
    whole = parts[0]() if count == 1 else Evaluation.of(parts, documents=documents)
    notes = sum((Counter(each.notes) for each in evaluations), Counter())
    sources = {name: code for each in evaluations for name, code in each.sources.items()}
    return whole.changed(notes=dict(notes), sources=sources)


def _of_splits(
    evaluations: Sequence[Evaluation], documents: pl.DataFrame, chosen: pl.Expr, *, macro: bool
) -> Evaluation:
    """What all splits have of some documents."""
    split = documents["split"].first()
    own = {
        table: pl.concat(
            [
                getattr(part, table).filter(chosen)
                for each in evaluations
                for part in each.parts()
            ],
            how="diagonal",
        )
        for table in ("cases", "scores")
    }  # fmt: skip
    if not macro:
        own["scores"] = own["scores"].filter(~pl.col("metric").str.starts_with("macro_"))
    # Cases stay of their own split, so that one of a document in several is known by it.
    own["scores"] = own["scores"].with_columns(pl.lit(split).alias("split"))
    # Of several splits there is no one corpus to score again.
    first = evaluations[0]
    facts = {name: getattr(first, name) for name in _FACTS}
    return Evaluation(documents=documents, split=split, **own, **facts)


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
        typed = partial(_with_types, types=types)
        whole = merge_splits([each.changed({"scores": typed}) for each in members])
        gold = whole.gathered(_gold_counts).group_by(_SLICE).agg(pl.col("n_gold").sum())
        summary = summarise(whole, by=(), resamples=resamples, seed=seed)
        summary = summary.join(gold, on=_SLICE, how="left", nulls_equal=True, maintain_order="left")
        kind = pl.col("slice_value").replace_strict(types, default=pl.col("slice_value"))
        summary = summary.with_columns(corpus=pl.lit(name), type=kind)
        tables_of_corpora.append(summary.select(tables_of_corpora[0].columns))
    return pl.concat(tables_of_corpora)


def _gold_counts(part: Evaluation) -> pl.DataFrame:
    count = pl.col("stats").list.get(1).sum().cast(pl.Int64)
    return part.scores.filter(pl.col("metric") == "f1").group_by(_SLICE).agg(n_gold=count)


def _with_types(part: Evaluation, types: dict[str, str]) -> pl.DataFrame:
    """The scores of whole documents, and those of entities added up by data type."""
    ready = part.scores.filter(pl.col("level") == "document")
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
    return pl.concat([ready, summed.select(*tables.SCORES)])


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
