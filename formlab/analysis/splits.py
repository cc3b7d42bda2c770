"""Extracted entities over few-shot splits: learning curves, and sums over splits."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl
import scipy

from formlab import tables
from formlab.analysis.summarise import summarise
from formlab.benchmarks.corpus import meta_of
from formlab.benchmarks.vrdu import Schema
from formlab.errors import FormlabError
from formlab.folders import Evaluation
from formlab.metrics.entities import match_entities
from formlab.scoring.tasks.entities import leaves

TASK_TITLES = {"single": "one template", "mixed": "mixed templates", "unseen": "unseen template"}
TASK_TITLES |= {"all documents": "all documents"}
TASKS = tuple(TASK_TITLES)
SIMPLE, NESTED, WHOLE = "simple entities", "line items", "all entities"
FEW_SHOT = tables.SUMMARY | tables.schema("corpus part interval train_size:int n_splits:int")
FEW_SHOT |= tables.schema("lowest:number highest:number") | {"task": pl.Enum(TASKS)}
_LEVEL = 0.95
MODES = ("official", "fixed")
CHANGES = tables.schema("corpus split doc_id name path gold official_pred fixed_pred")
CHANGES |= tables.schema("official:number fixed:number effect")


def schema_of(evaluation: Evaluation) -> Schema | None:
    """What may be extracted, as the documents say; None if they do not."""
    with suppress(FormlabError):
        return Schema.of(evaluation)
    return None


def cell_of(split: Evaluation) -> tuple[str, str, int | None]:
    """Corpus (what the data set calls itself), task and training size of a split."""
    corpus = split.documents["domain"].drop_nulls().first() or split.benchmark
    info = meta_of(split.documents["meta"].first())
    return corpus, info.get("task") or TASKS[-1], info.get("train_size")


def few_shot(evaluations: Sequence[Evaluation], **draws: int) -> pl.DataFrame:
    """Micro and macro F1, and F1 of simple and of nested entities, by task and training size.

    Returns the columns of `FEW_SHOT`, in the order of task and size. Of several splits (seeds, or
    templates) the value is the mean and the interval a 95 % t interval over splits, cut at 0 and 1;
    of one split it is the score with its bootstrap interval over documents. `interval` says which,
    ``n_splits`` over how many splits with a defined score. `lowest` and `highest` are of single
    splits. `evaluations`: one a split; `draws`: as for `summarise`.
    """
    metric, value = pl.col("metric"), pl.col("slice_value")
    of_all = pl.col("slice_by").is_null() & metric.is_in(["micro_f1", "macro_f1"])
    part = pl.when(of_all).then(pl.lit(WHOLE)).when(metric != "f1").then(None)
    part = part.when(value == "unrepeated").then(pl.lit(SIMPLE))
    part = part.when(pl.col("type") == NESTED).then(pl.lit(NESTED))
    rows = [pl.DataFrame(schema=FEW_SHOT)]
    for split in filter(schema_of, evaluations):
        _, task, size = cell_of(split)
        labels = {"task": task, "train_size": size, "n_splits": 1, "interval": "documents"}
        labels = [pl.lit(label).alias(name) for name, label in labels.items()]
        scores = by_entity([split], **draws).with_columns(part=part).drop_nulls("part")
        scores = scores.with_columns(*labels, lowest="value", highest="value")
        rows.append(scores.select(pl.col(name).cast(kind) for name, kind in FEW_SHOT.items()))
    key = ["corpus", "task", "train_size", "system", "part", "metric"]
    means = [_mean(group) for _, group in pl.concat(rows).group_by(key, maintain_order=True)]
    order = ["corpus", "part", "metric", "task", "train_size"]
    return pl.DataFrame(means, schema=FEW_SHOT).sort(order, maintain_order=True)


def _mean(group: pl.DataFrame) -> dict[str, Any]:
    """The row of one split, or the mean of several with its t interval."""
    row = group.row(0, named=True)
    if group.height == 1:
        return row
    values = group["value"].drop_nans()
    count, spread = len(values), (values.mean(), values.std())
    mean, spread = (np.nan if of is None else of for of in spread)
    half = scipy.special.stdtrit(count - 1, (1 + _LEVEL) / 2) * spread / max(count, 1) ** 0.5
    low, high = np.clip([mean - half, mean + half], 0.0, 1.0).tolist()
    row |= {"value": mean, "ci_low": low, "ci_high": high, "interval": "splits"}
    row |= {"lowest": values.min(), "highest": values.max(), "n_splits": count}
    row |= {"settings": row["settings"] | {"interval": f"t,splits,level={_LEVEL:g}"}}
    row |= {"split": f"{row['corpus']}, {row['task']}, {group.height} splits"}
    return row | {"n_docs": group["n_docs"].sum()}


def merge_splits(evaluations: Sequence[Evaluation]) -> Evaluation:
    """All splits as one evaluation: a document of several splits counts once for each.

    It stays one document, so intervals over documents draw all its splits together. Means over
    entities are left out where the splits have different entities. `evaluations`: one or more of
    one benchmark, system, mode and root.
    """
    first = evaluations[0]
    if len(evaluations) == 1:
        return first
    corpora = dict.fromkeys(cell_of(split)[0] for split in evaluations)
    name = f"{' and '.join(corpora)}, {len(evaluations)} splits"
    # Cases stay of their own split, so that one of a document in several is known by it.
    parts = ([getattr(split, table) for split in evaluations] for table in Evaluation.TABLES)
    documents, cases, scores = (pl.concat(of, how="diagonal") for of in parts)
    if scores.filter(metric="macro_f1")["stats"].list.len().n_unique() > 1:
        scores = scores.filter(~pl.col("metric").str.starts_with("macro_"))
    documents = documents.unique("doc_id", keep="first", maintain_order=True)
    documents, scores = (of.with_columns(split=pl.lit(name)) for of in (documents, scores))
    # There is no one corpus of several splits to score again.
    facts = {"split": name, "unreadable": {}, "corpus": None, "predictions": None}
    facts["notes"] = dict(sum((Counter(split.notes) for split in evaluations), Counter()))
    facts["sources"] = {of: code for split in evaluations for of, code in split.sources.items()}
    return dataclasses.replace(first, documents=documents, cases=cases, scores=scores, **facts)


def by_entity(evaluations: Sequence[Evaluation], **draws: int) -> pl.DataFrame:
    """Precision, recall and F1 of each entity, over all splits of a corpus; `draws` as elsewhere.

    Returns the schema SUMMARY, sliced by ``entity`` and ``group``, and the columns `corpus`, `type`
    of an entity (line items are a type of their own) and `n_gold`, how many the gold has of it.
    """
    corpora: dict[str, list[Evaluation]] = {}
    for evaluation in filter(schema_of, evaluations):
        corpora.setdefault(cell_of(evaluation)[0], []).append(evaluation)
    columns = tables.SUMMARY | tables.schema("corpus type n_gold:int")
    found, key = [pl.DataFrame(schema=columns)], ["slice_by", "slice_value"]
    for name, splits in corpora.items():
        schema, merged = Schema.of(splits[0]), merge_splits(splits)
        types = {entity: schema.type_of(entity) for entity in schema.entities}
        types |= dict.fromkeys(schema.groups, NESTED)
        golds = merged.scores.filter(metric="f1", level="document").group_by(key)
        golds = golds.agg(n_gold=pl.col("stats").list.get(1).sum().cast(pl.Int64))
        rows = summarise(merged, by=(), average="pooled", **draws).filter(level="document")
        rows = rows.join(golds, on=key, how="left", nulls_equal=True, maintain_order="left")
        kind = pl.col("slice_value").replace(types)
        found.append(rows.with_columns(corpus=pl.lit(name), type=kind).select(*columns))
    return pl.concat(found)


def changed_entities(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """The entities of the gold that earn another share of themselves in the other mode.

    Returns the schema CHANGES: what either mode set beside an entity, the share in [0, 1] that it
    earns in each, and the effect. Only of evaluations of entities that hold what they scored.
    """
    changes = [pl.DataFrame(schema=CHANGES)]
    for split in filter(schema_of, evaluations):
        if not split.corpus or not split.predictions:
            continue
        schema, documents = Schema.of(split.corpus), split.corpus.documents["doc_id"].implode()
        answers = split.predictions.filtered(pl.col("doc_id").is_in(documents))
        both = [side.filter("is_scored") for side in leaves(split.corpus, answers, schema)[:2]]
        table, preds = map(_items, both)
        for mode in MODES:
            pairs = match_entities(*both, schema.matches, mode=mode).pairs
            texts = preds.select(pred="item", **{f"{mode}_pred": "gold"})
            pairs = pairs.join(texts, on="pred", how="left").drop("pred")
            pairs = pairs.rename({"gold": "item", "credit": mode})
            table = table.join(pairs, on="item", how="left", maintain_order="left")
        table = table.with_columns(pl.col(MODES).fill_null(0.0))
        named = {"corpus": pl.lit(cell_of(split)[0]), "split": pl.lit(split.split)}
        changes.append(table.filter(pl.col("official") != pl.col("fixed")).with_columns(**named))
    more = pl.when(pl.col("fixed") > pl.col("official")).then(pl.lit("more"))
    effect = pl.format("worth {} when fixed", more.otherwise(pl.lit("less")))
    return pl.concat(changes, how="diagonal").with_columns(effect=effect).select(*CHANGES)


def _items(values: pl.DataFrame) -> pl.DataFrame:
    """By number the document, name, path and text of each entity, of line items all components."""
    value = pl.col("value").fill_null("")
    part = pl.format("{}: {}", "component", value)
    # The path of a component is /item/number/component.
    home = pl.col("path").str.extract("^(/[^/]*(?:/[^/]*)?)")
    rows = values.with_columns(path=home, gold=pl.coalesce(part, value))
    firsts = pl.col("name", "path").first(), pl.col("doc").first().alias("doc_id")
    return rows.group_by("item", maintain_order=True).agg(*firsts, pl.col("gold").str.join("; "))
