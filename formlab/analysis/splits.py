"""Extracted entities over few-shot splits: learning curves, tables of systems, sums of splits."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import scipy

from formlab import tables
from formlab.analysis.comparability import named
from formlab.analysis.compare import Key, scores_compared
from formlab.analysis.side_by_side import marked
from formlab.analysis.summarise import summary_of
from formlab.benchmarks import vrdu
from formlab.benchmarks.vrdu import Schema
from formlab.errors import FormlabError
from formlab.folders import Evaluation
from formlab.scoring.causes import CAUSES
from formlab.stats.sums import Row, document_sums

TASK_TITLES = {
    "single": "one template",
    "mixed": "mixed templates",
    "unseen": "unseen template",
    "all documents": "all documents",
}
TASKS = tuple(TASK_TITLES)
SIMPLE, NESTED, WHOLE = "simple entities", "line items", "all entities"
CELL = {"corpus": pl.String, "task": pl.Enum(TASKS), "train_size": pl.Int64, "n_splits": pl.Int64}
_SPREAD = {"part": pl.String, "lowest": pl.Float64, "highest": pl.Float64, "interval": pl.String}
_ROWS = tables.SCHEMAS["summary"] | {"mark": pl.String, "p": pl.Float64} | CELL
FEW_SHOT: dict[str, Any] = tables.SCHEMAS["summary"] | CELL | _SPREAD
_GROUP = ("corpus", "task", "train_size", "system", "part", "metric")
_LEVEL = 0.95
# Values read wrongly come before those that are missing or made up: they show more.
_NOT_READ = ("spurious", "hallucinated", "missed", "missing_document")
_ORDER = (*(name for name in CAUSES if name not in _NOT_READ), *_NOT_READ)


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
    rows = [pl.DataFrame(schema=FEW_SHOT)]
    rows += [_split_scores(split, resamples, seed) for split in evaluations if schema_of(split)]
    groups = pl.concat(rows).group_by(*_GROUP, maintain_order=True)
    means = [_mean_of_splits(group) for _, group in groups]
    return pl.DataFrame(means, schema=FEW_SHOT).sort(
        "corpus", "part", "metric", "task", "train_size", maintain_order=True
    )


def cell_of(split: Evaluation) -> tuple[str, str, int | None]:
    """Corpus, task and training size of a split."""
    info = split_of(split)
    return corpus_name(split), info.get("task") or TASKS[-1], info.get("train_size")


def _split_scores(split: Evaluation, resamples: int, seed: int) -> pl.DataFrame:
    parts = {(None, None, "micro_f1"): WHOLE, (None, None, "macro_f1"): WHOLE}
    parts[("group", "unrepeated", "f1")] = SIMPLE
    parts |= {("entity", group, "f1"): NESTED for group in schema_of(split).groups}
    # No interval is drawn of the other scores.
    rows = {key: row for key, row in _document_rows(split).items() if key in parts}
    cell = dict(zip(CELL, (*cell_of(split), 1), strict=True)) | {"interval": "documents"}
    scores = summary_of(rows.values(), resamples=resamples, level=_LEVEL, seed=seed).with_columns(
        *(pl.lit(value).alias(name) for name, value in cell.items()),
        pl.Series("part", [parts[key] for key in rows], dtype=pl.String),
        lowest="value",
        highest="value",
    )
    return scores.select(pl.col(name).cast(kind) for name, kind in FEW_SHOT.items())


def _document_rows(split: Evaluation) -> dict[Key, Row]:
    """The sums of the pooled scores of documents, by slice and metric."""
    names = "slice_by", "slice_value", "metric"
    return {
        tuple(row.labels[name] for name in names): row
        for row in document_sums(split, (), average="pooled")
        if row.labels["level"] == "document"
    }


def _mean_of_splits(group: pl.DataFrame) -> dict[str, Any]:
    """The row of one split, or the mean of several with its t interval."""
    first = group.row(0, named=True)
    if group.height == 1:
        return first
    values = group["value"].drop_nans()
    mean, half = values.mean(), float("nan")
    if len(values) > 1:
        half = scipy.stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1) * scipy.stats.sem(
            values.to_numpy()
        )
    mean = float("nan") if mean is None else mean
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


def few_shot_side_by_side(
    systems: Mapping[str, Sequence[Evaluation]],
    scores: Sequence[str] = ("micro_f1", "macro_f1"),
    *,
    resamples: int = 1000,
    permutations: int = 9999,
    seed: int = 0,
) -> pl.DataFrame:
    """`side_by_side` at each corpus, task and training size, over all seeds and templates.

    Parameters
    ----------
    systems
        As from `few_shot_systems`.
    scores
        Of ``micro_f1`` and ``macro_f1``.
    resamples, permutations, seed
        As for `side_by_side`.

    Returns
    -------
    polars.DataFrame
        The rows of `side_by_side`, `task` that of the splits, and `corpus`, `train_size` and
        ``n_splits``, over how many splits. A score is the mean over them, as in the paper; its
        interval and its test are by documents, one of several splits drawn with all of these, and
        p values are adjusted within the cell and score. Where the systems of a cell have other
        splits (of other seeds, say), nothing is tested: `mark` and `p` are null.

    Examples
    --------
    >>> from formlab.analysis import open_evaluation
    >>> both = [open_evaluation(benchmark="vrdu", system=name) for name in ("rules", "template")]
    >>> options = {"resamples": 99, "permutations": 99}
    >>> table = few_shot_side_by_side(few_shot_systems(both), ["micro_f1"], **options)
    >>> table.select("task", "train_size", "system", "mark").rows()
    [('single', 2, 'rules', 'near'), ('single', 2, 'template', 'best')]
    """
    cells: dict[tuple, dict[tuple[str, ...], dict[str, list[Evaluation]]]] = {}
    for system, members in systems.items():
        splits_of: dict[tuple, list[Evaluation]] = {}
        for split in sorted(members, key=lambda split: split.split):
            splits_of.setdefault(cell_of(split), []).append(split)
        for cell, splits in splits_of.items():
            names = tuple(split.split for split in splits)
            cells.setdefault(cell, {}).setdefault(names, {})[system] = splits
    draws = {"resamples": resamples, "seed": seed}
    rows = [pl.DataFrame(schema=_ROWS)]
    for cell, alike in cells.items():
        for names, members in alike.items():
            sums = {system: _sums_of_splits(own, scores) for system, own in members.items()}
            values = [row for own in sums.values() for row in own.values()]
            table = marked(
                summary_of(values, level=_LEVEL, **draws),
                scores_compared(sums, permutations=permutations, **draws),
            )
            columns: dict[str, Any] = dict(zip(CELL, (*cell, len(names)), strict=True))
            # The best of a few systems is not the best of the cell.
            columns |= {"mark": None, "p": None} if len(alike) > 1 else {}
            table = table.with_columns(pl.lit(v, _ROWS[n]).alias(n) for n, v in columns.items())
            rows.append(table.select(*_ROWS))
    return pl.concat(rows).sort("corpus", "task", "train_size", maintain_order=True)


def _sums_of_splits(splits: Sequence[Evaluation], scores: Sequence[str]) -> dict[Key, Row]:
    """Each score as a mean over splits: the sums of a document in all of them beside each other."""
    names = pl.concat([split.document_names for split in splits]).unique().sort()
    places = [names.search_sorted(split.document_names).to_numpy() for split in splits]
    found = [_document_rows(split) for split in splits]
    sums = {}
    for metric in scores:
        rows = [own[None, None, metric] for own in found]
        tallies = [np.zeros((len(names), row.tally.shape[1])) for row in rows]
        for tally, place, row in zip(tallies, places, rows, strict=True):
            tally[place] = row.tally
        counts = {n: sum(row.labels[n] for row in rows) for n in ("n_cases", "n_undefined")}
        counts |= {"n_docs": len(names), "split": _name_of(splits)}
        score = partial(_mean_score, rows, np.cumsum([t.shape[1] for t in tallies])[:-1])
        sums[metric, "pooled", "document", None, None] = Row(
            rows[0].labels | counts, np.hstack(tallies), score
        )
    return sums


def _mean_score(rows: Sequence[Row], ends: np.ndarray, sums: np.ndarray) -> np.ndarray:
    parts = np.split(sums, ends, axis=-1)
    return np.mean([row.score(part) for row, part in zip(rows, parts, strict=True)], axis=0)


def _name_of(splits: Sequence[Evaluation]) -> str:
    if len(splits) == 1:
        return splits[0].split
    return f"{' and '.join(dict.fromkeys(map(corpus_name, splits)))}, {len(splits)} splits"


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
    name = pl.lit(_name_of(evaluations)).alias("split")
    every = {
        table: pl.concat([getattr(split, table) for split in evaluations], how="diagonal")
        for table in Evaluation.TABLES
    }
    # Cases stay of their own split, so that one of a document in several is known by it.
    documents = every["documents"].unique("doc_id", keep="first", maintain_order=True)
    scores = every["scores"].with_columns(name)
    if scores.filter(metric="macro_f1")["stats"].list.len().n_unique() > 1:
        scores = scores.filter(~pl.col("metric").str.starts_with("macro_"))
    return dataclasses.replace(
        first,
        documents=documents.with_columns(name),
        cases=every["cases"],
        scores=scores,
        split=_name_of(evaluations),
        notes=dict(sum((Counter(split.notes) for split in evaluations), Counter())),
        sources={name: code for split in evaluations for name, code in split.sources.items()},
        unreadable={},
        # There is no one corpus of several splits to score again.
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
    more = {"corpus": pl.String, "type": pl.String, "n_gold": pl.Int64}
    found = [pl.DataFrame(schema=tables.SUMMARY | more)]
    for name, members in corpora.items():
        schema = schema_of(members[0])
        if schema is None:
            continue
        types = {
            entity: NESTED if entity in schema.groups else schema.type_of(entity)
            for entity in schema.entities
        }
        rows = _document_rows(merge_splits(members))
        for (column, entity, metric), row in list(rows.items()):
            if column == "entity":
                key = "type", types[entity], metric
                of_type = {"slice_by": "type", "slice_value": types[entity]}
                tally = row.parts + (rows[key].tally if key in rows else 0)
                rows[key] = Row(row.labels | of_type, tally, row.score)
        golds = [rows.get((*key[:2], "f1")) for key in rows]
        summary = summary_of(rows.values(), resamples=resamples, level=_LEVEL, seed=seed)
        kind = pl.col("slice_value").replace_strict(types, default=pl.col("slice_value"))
        counts = [None if row is None else int(row.parts[:, 1].sum()) for row in golds]
        found.append(
            summary.with_columns(
                pl.Series("n_gold", counts, dtype=pl.Int64), corpus=pl.lit(name), type=kind
            ).select(found[0].columns)
        )
    return pl.concat(found)


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
    alike = -pl.col("similarity").fill_nan(None)
    wrong = wrong.sort(rank, alike, "doc_id", "path", nulls_last=True)
    return wrong if each is None else wrong.group_by("cause", maintain_order=True).head(each)
