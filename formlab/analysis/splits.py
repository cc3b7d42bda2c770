"""Extracted entities over few-shot splits: learning curves, and sums over splits."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy

from formlab import tables
from formlab.analysis.comparability import named
from formlab.analysis.summarise import summarise
from formlab.benchmarks import vrdu
from formlab.benchmarks.vrdu import Schema
from formlab.errors import FormlabError
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.metrics.entities import match_entities
from formlab.scoring.evaluate import THRESHOLD, evaluate
from formlab.scoring.tasks.entities import leaves

TASK_TITLES = {
    "single": "one template",
    "mixed": "mixed templates",
    "unseen": "unseen template",
    "all documents": "all documents",
}
TASKS = tuple(TASK_TITLES)
SIMPLE, NESTED, WHOLE = "simple entities", "line items", "all entities"
CELL = {"corpus": pl.String, "task": pl.Enum(TASKS), "train_size": pl.Int64, "n_splits": pl.Int64}
FEW_SHOT: dict[str, Any] = tables.SCHEMAS["summary"] | CELL
FEW_SHOT |= {"part": pl.String, "lowest": pl.Float64, "highest": pl.Float64, "interval": pl.String}
_GROUP = ("corpus", "task", "train_size", "system", "part", "metric")
_LEVEL = 0.95
MODES = ("official", "fixed")
SCORES = ("micro_f1", "macro_f1")
CHANGES: dict[str, Any] = {
    **dict.fromkeys(("corpus", "split", "doc_id", "name", "path", "gold"), pl.String),
    **dict.fromkeys(("official_pred", "fixed_pred"), pl.String),
    **dict.fromkeys(MODES, pl.Float64),
    **dict.fromkeys(("reason", "effect"), pl.String),
}
SHARED, EQUAL = "one prediction, several golds", "equal predictions counted as one"
ABSENT, OTHER = "entity without gold averaged as 0", "another assignment"
PARTS = "order, notation or partial credit of components"
MORE, LESS, ELSE = "worth more when fixed", "worth less when fixed", "counted in one mode only"
_BY_FUNCTION = {"DateMatch": "notation of a date", "PriceMatch": "sign or notation of an amount"}


def split_of(evaluation: Evaluation) -> dict[str, Any]:
    """The task, training size and seed of the split, where the documents know them."""
    return vrdu.split_meta(evaluation.documents)


def corpus_name(evaluation: Evaluation) -> str:
    """What the data set calls itself; else the benchmark."""
    return evaluation.documents["domain"].drop_nulls().first() or evaluation.benchmark


def schema_of(evaluation: Evaluation) -> Schema | None:
    """What may be extracted, as the documents say; None if they do not."""
    try:
        return Schema.of(evaluation)
    except FormlabError:
        return None


def cell_of(split: Evaluation) -> tuple[str, str, int | None]:
    """Corpus, task and training size of a split."""
    info = split_of(split)
    return corpus_name(split), info.get("task") or TASKS[-1], info.get("train_size")


def few_shot(evaluations: Sequence[Evaluation], **draws: int) -> pl.DataFrame:
    """Micro and macro F1, and F1 of simple and of nested entities, by task and training size.

    Returns the columns of `FEW_SHOT`, in the order of task and size. Of several splits (seeds, or
    templates) the value is the mean and the interval a 95 % t interval over splits, cut at 0 and 1;
    of one split it is the score with its bootstrap interval over documents. `interval` says which,
    ``n_splits`` over how many splits with a defined score. `lowest` and `highest` are the scores of
    single splits.

    `evaluations`: one a split; `draws`: `resamples` and `seed` as for `summarise`.
    """
    rows = [pl.DataFrame(schema=FEW_SHOT)]
    rows += [_split_scores(split, draws) for split in evaluations if schema_of(split)]
    groups = pl.concat(rows).group_by(*_GROUP, maintain_order=True)
    means = [_mean_of_splits(group) for _, group in groups]
    return pl.DataFrame(means, schema=FEW_SHOT).sort(
        "corpus", "part", "metric", "task", "train_size", maintain_order=True
    )


def _split_scores(split: Evaluation, draws: Mapping[str, int]) -> pl.DataFrame:
    parts = {(None, None, "micro_f1"): WHOLE, (None, None, "macro_f1"): WHOLE}
    parts[("group", "unrepeated", "f1")] = SIMPLE
    parts |= {("entity", group, "f1"): NESTED for group in schema_of(split).groups}
    scores = summarise(split, by=(), average="pooled", level=_LEVEL, **draws)
    scores = scores.filter(level="document")
    named_parts = [parts.get(key) for key in scores["slice_by", "slice_value", "metric"].rows()]
    cell = dict(zip(CELL, (*cell_of(split), 1), strict=True)) | {"interval": "documents"}
    scores = scores.with_columns(
        *(pl.lit(value).alias(name) for name, value in cell.items()),
        pl.Series("part", named_parts, dtype=pl.String),
        lowest="value",
        highest="value",
    ).drop_nulls("part")
    return scores.select(pl.col(name).cast(kind) for name, kind in FEW_SHOT.items())


def _mean_of_splits(group: pl.DataFrame) -> dict[str, Any]:
    """The row of one split, or the mean of several with its t interval."""
    first = group.row(0, named=True)
    if group.height == 1:
        return first
    values = group["value"].drop_nans()
    mean, half = values.mean() if len(values) else np.nan, np.nan
    if len(values) > 1:
        error = scipy.stats.sem(values.to_numpy())
        half = scipy.stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1) * error
    low, high = np.clip([mean - half, mean + half], 0.0, 1.0).tolist()
    return first | {
        "value": mean,
        "ci_low": low,
        "ci_high": high,
        "lowest": values.min(),
        "highest": values.max(),
        "interval": "splits",
        "n_splits": len(values),
        "n_docs": group["n_docs"].sum(),
        "split": f"{first['corpus']}, {first['task']}, {group.height} splits",
        "settings": first["settings"] | {"interval": f"t,splits,level={_LEVEL:g}"},
    }


def few_shot_systems(evaluations: Iterable[Evaluation]) -> dict[str, list[Evaluation]]:
    """The evaluations of few-shot splits by system.

    Where a split has several evaluations of one system, all but the first are of a system with a
    number: ``rules``, ``rules (2)``. Splits that belong to no task, such as that of all documents,
    overlap the few-shot splits, so that they are dropped beside these.

    Examples
    --------
    >>> from formlab.analysis import open_evaluation
    >>> one = open_evaluation(benchmark="vrdu", system="rules")
    >>> list(few_shot_systems([one, one]))
    ['rules', 'rules (2)']
    """
    splits: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        splits.setdefault(evaluation.split, []).append(evaluation)
    systems: dict[str, list[Evaluation]] = {}
    for evaluation in (each for alike in splits.values() for each in named(alike)):
        systems.setdefault(evaluation.system, []).append(evaluation)
    return {
        name: [split for split in members if split_of(split).get("task")] or members
        for name, members in systems.items()
    }


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
    name = (
        f"{' and '.join(dict.fromkeys(map(corpus_name, evaluations)))}, {len(evaluations)} splits"
    )
    every = {
        table: pl.concat([getattr(split, table) for split in evaluations], how="diagonal")
        for table in Evaluation.TABLES
    }
    # Cases stay of their own split, so that one of a document in several is known by it.
    documents = every["documents"].unique("doc_id", keep="first", maintain_order=True)
    scores = every["scores"].with_columns(split=pl.lit(name))
    if scores.filter(metric="macro_f1")["stats"].list.len().n_unique() > 1:
        scores = scores.filter(~pl.col("metric").str.starts_with("macro_"))
    return dataclasses.replace(
        first,
        documents=documents.with_columns(split=pl.lit(name)),
        cases=every["cases"],
        scores=scores,
        split=name,
        notes=dict(sum((Counter(split.notes) for split in evaluations), Counter())),
        sources={name: code for split in evaluations for name, code in split.sources.items()},
        unreadable={},
        # There is no one corpus of several splits to score again.
        corpus=None,
        predictions=None,
    )


def by_entity(evaluations: Sequence[Evaluation], **draws: int) -> pl.DataFrame:
    """Precision, recall and F1 of each entity, over all splits of a corpus; `draws` as elsewhere.

    Returns the schema SUMMARY, sliced by ``entity`` and ``group``, and the columns `corpus`, `type`
    of an entity (line items are a type of their own) and `n_gold`, how many entities of the gold
    the slice holds.
    """
    corpora: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        corpora.setdefault(corpus_name(evaluation), []).append(evaluation)
    more = {"corpus": pl.String, "type": pl.String, "n_gold": pl.Int64}
    found = [pl.DataFrame(schema=tables.SUMMARY | more)]
    for name, members in corpora.items():
        schema, whole = schema_of(members[0]), merge_splits(members)
        if schema is None:
            continue
        types = {
            entity: NESTED if entity in schema.groups else schema.type_of(entity)
            for entity in schema.entities
        }
        key = ["slice_by", "slice_value"]
        golds = whole.scores.filter(metric="f1", level="document").group_by(key)
        golds = golds.agg(n_gold=pl.col("stats").list.get(1).sum().cast(pl.Int64))
        summary = summarise(whole, by=(), average="pooled", **draws)
        rows = summary.filter(level="document").join(
            golds, on=key, how="left", nulls_equal=True, maintain_order="left"
        )
        kind = pl.col("slice_value").replace_strict(types, default=pl.col("slice_value"))
        found.append(rows.with_columns(corpus=pl.lit(name), type=kind).select(found[0].columns))
    return pl.concat(found)


def changed_entities(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """The entities that earn another score in the other mode, with the reason.

    Returns a row per gold entity that earns another share of itself: what either mode set beside
    it, the share in [0, 1], the reason and the effect; per prediction that one mode does not count
    (`gold` and `path` are null); and per entity name that no gold has (`doc_id` is null too), which
    ``official`` averages as 0.
    """
    changes = [
        pl.DataFrame(
            [
                {"corpus": corpus_name(each), "split": each.split} | row
                for row in mode_changes(each.corpus, each.predictions)
            ],
            schema=CHANGES,
        )
        for each in _scorable(evaluations)
    ]
    more = pl.col("fixed") > pl.col("official")
    effect = pl.when(more).then(pl.lit(MORE)).when(~more).then(pl.lit(LESS)).otherwise(pl.lit(ELSE))
    return pl.concat([pl.DataFrame(schema=CHANGES), *changes]).with_columns(effect=effect)


def both_modes(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """Micro and macro F1 of each split in both modes.

    Returns the rows of `summarise` in mode ``official``, with `corpus`, `task` and `train_size` of
    the split, the values of both modes under their names, and `difference`, fixed minus official.
    """
    corpora = {name: kind for name, kind in CELL.items() if name != "n_splits"}
    more = corpora | dict.fromkeys((*MODES, "difference"), pl.Float64)
    rows = [pl.DataFrame(schema=tables.SUMMARY | more)]
    for evaluation in _scorable(evaluations):
        both = evaluation.corpus, evaluation.predictions
        threshold = evaluation.settings.get("threshold", THRESHOLD)
        scored = [evaluate(*both, mode=mode, threshold=threshold) for mode in MODES]
        first, second = (
            summarise(each, by=(), average="pooled", resamples=0).filter(
                pl.col("metric").is_in(SCORES)
            )
            for each in scored
        )
        cell = zip(corpora.items(), cell_of(evaluation), strict=False)
        rows.append(
            first.with_columns(
                *(pl.lit(value, kind).alias(name) for (name, kind), value in cell),
                official="value",
                fixed=second["value"],
                difference=second["value"] - first["value"],
            ).select(rows[0].columns)
        )
    return pl.concat(rows)


def _scorable(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Those of entities that hold what they scored."""
    return [each for each in evaluations if schema_of(each) and each.corpus and each.predictions]


def mode_changes(corpus: Corpus, predictions: Predictions) -> Iterator[dict[str, Any]]:
    """The rows of `changed_entities` of one corpus, without its name and the effect."""
    schema = Schema.of(corpus)
    known = pl.col("doc_id").is_in(corpus.documents["doc_id"].implode())
    claims = dataclasses.replace(predictions, records=predictions.records.filter(known))
    both = leaves(corpus, claims, schema)
    golds, preds = _items(both.gold, both.gold_records), _items(both.pred, both.pred_records)
    official, fixed = (
        match_entities(both.gold, both.pred, schema.matches, mode=mode) for mode in MODES
    )
    credits = [
        {gold: (pred, credit) for gold, pred, credit in match.pairs.iter_rows()}
        for match in (official, fixed)
    ]
    taken = Counter(official.pairs["pred"])
    for item, gold in golds.items():
        (old, was), (new, now) = (credit.get(item, (None, 0.0)) for credit in credits)
        if was != now:
            reason = _BY_FUNCTION.get(schema.matches.get(gold["name"], ""), OTHER)
            reason = PARTS if gold["name"] in schema.groups else reason
            reason = SHARED if now < was and taken[old] > 1 and old != new else reason
            texts = (None if pred is None else preds[pred]["gold"] for pred in (old, new))
            row = dict(zip(("official_pred", "fixed_pred"), texts, strict=True))
            yield gold | row | {"official": was, "fixed": now, "reason": reason}
    used = set(fixed.pairs["pred"])
    for item in official.forgiven.tolist():
        row = {name: preds[item][name] for name in ("doc_id", "name")} | {"reason": EQUAL}
        text = preds[item]["gold"]
        yield row | {"official_pred": text, "fixed_pred": text if item in used else None}
    named = set(both.gold["name"])
    yield from ({"name": n, "reason": ABSENT} for n in schema.entities if n not in named)


def _items(leaf: pl.DataFrame, records: pl.DataFrame) -> dict[int, dict[str, str]]:
    """By number the document, name, path and text of each entity, of line items all components."""
    items: dict[int, dict[str, str]] = {}
    columns = leaf.select("item", "doc", "name", "row", "component", pl.col("value").fill_null(""))
    for item, doc, name, row, component, text in columns.iter_rows():
        path = records["path"][row]
        if component is not None:
            path, text = "/".join(path.split("/")[:3]), f"{component}: {text}"
        if item in items:
            items[item]["gold"] += f"; {text}"
        else:
            items[item] = {"doc_id": doc, "name": name, "path": path, "gold": text}
    return items
