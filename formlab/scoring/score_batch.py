"""Scoring of one batch: a corpus and predictions to cases, and a score per case and metric."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from formlab import benchmarks, tables
from formlab.benchmarks import Benchmark
from formlab.errors import TableBroken
from formlab.folders import Corpus, Evaluation, PartFile, Predictions
from formlab.metrics.counts import VALIDITY_METRICS, answer_tallies
from formlab.scoring.align import unscored
from formlab.scoring.batches import Batch
from formlab.scoring.choice import ALL, answered, kept
from formlab.scoring.fields import others
from formlab.scoring.own_metrics import own_scores
from formlab.scoring.tasks import MARKS, READING, families
from formlab.scoring.tasks._kit import made_by, score_table
from formlab.scoring.whole import Whole

# Similarity from which on the rung `fuzzy` of the ladder holds.
THRESHOLD = 0.8


@dataclasses.dataclass(frozen=True)
class How:
    """How batches are scored: the options of `evaluate`, and what they must know of the whole.

    Of all documents `chosen` are scored, null for all of them, as `description` says. `labels` is
    the version of the gold, null for that of the benchmark. What is scored goes into the folder
    `out`; without one it stays in memory.
    """

    mode: str
    threshold: float
    reader: str
    description: str = ALL
    labels: str | None = None
    chosen: frozenset[str] | None = None
    out: Path | None = None


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is known of a batch before any is scored.

    `answered` are those of its `documents` that have an answer, `is_matched` says whether anything
    is predicted for them, and `whole` is what scorers must know of it. `strange` are the splits and
    names of predicted documents that it does not have.
    """

    documents: list[str]
    answered: set[str]
    notes: Counter[str]
    is_matched: bool
    whole: Whole
    strange: list[tuple[str, str]]


class Scored(NamedTuple):
    """A scored batch: the files of its tables, or where none are written its evaluation."""

    notes: Counter[str]
    files: list[PartFile]
    evaluation: Evaluation | None


def _opened(batch: Batch, how: How) -> tuple[Corpus, Predictions]:
    """The chosen documents of a batch with their gold, and what is predicted for them."""
    corpus, predictions = batch.opened()
    return (corpus, predictions) if how.chosen is None else kept(corpus, predictions, how.chosen)


def know_batch(batch: Batch, how: How) -> Facts:
    """What must be known of the chosen documents of a batch before any is scored."""
    corpus, predictions = _opened(batch, how)
    matched, strange = by_corpus(corpus, predictions)
    return Facts(
        documents=corpus.documents["doc_id"].to_list(),
        answered=answered(corpus, predictions),
        # What is noted of the whole is known already.
        notes=Counter(predictions.notes) - Counter(batch.predictions.notes),
        is_matched=matched.height > 0,
        whole=whole_of(corpus, predictions),
        strange=strange.select("split", "doc_id").unique().rows(),
    )


def whole_of(corpus: Corpus, predictions: Predictions) -> Whole:
    """What scorers must know of all documents, of these."""
    matched = dataclasses.replace(predictions, records=by_corpus(corpus, predictions)[0])
    return Whole.of(corpus, matched, marks_of(benchmarks.get(corpus.benchmark)))


def score_batch(batch: Batch, whole: Whole, how: How) -> Scored:
    """Score a batch, into files of `how.out` if there is such a folder."""
    evaluation = score_documents(*_opened(batch, how), whole, how)
    notes = Counter(evaluation.notes)
    if how.out is None:
        return Scored(notes, [], evaluation)
    return Scored(notes, evaluation.write_part(how.out, batch.number), None)


def score_documents(corpus: Corpus, predictions: Predictions, whole: Whole, how: How) -> Evaluation:
    """The evaluation of some documents of a corpus, by what is known of the `whole`.

    Predictions for documents that the corpus does not have are cases without any score.
    """
    here, strange = by_corpus(corpus, predictions)
    matched = dataclasses.replace(predictions, records=here)
    cases, scores, notes = _scored(corpus, matched, whole, how)
    if strange.height:
        # Of a user's own columns there is nothing in a case without gold.
        left = unscored(strange.select(list(tables.RECORDS)), system=predictions.system)
        cases = pl.concat([cases, left], how="diagonal")
        matched = dataclasses.replace(predictions, records=pl.concat([here, strange]))
    special = {"documents": how.description, "labels": how.labels}
    if special := {name: value for name, value in special.items() if value and value != ALL}:
        scores = tables.with_settings(scores, **special)
    checked = Evaluation(
        documents=corpus.documents,
        cases=_numbered(cases),
        scores=scores.head(1),  # Most rows, which only `score_table` makes.
        benchmark=corpus.benchmark,
        split=corpus.split,
        system=predictions.system,
        mode=how.mode,
        root=corpus.root,
        settings=settings_of(predictions, how),
        notes={name: count for name, count in notes.items() if count},
        corpus=corpus,
        predictions=matched,
    ).check()
    return dataclasses.replace(checked, scores=scores)


def by_corpus(corpus: Corpus, predictions: Predictions) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The predicted records for documents of the corpus, and those for others."""
    known = pl.col("doc_id").is_in(corpus.documents["doc_id"].to_list())
    known &= pl.col("split") == corpus.split
    is_known = predictions.records.select(known).to_series()
    if is_known.all():
        return predictions.records, predictions.records.clear()
    return predictions.records.filter(is_known), predictions.records.filter(~is_known)


def marks_of(benchmark: Benchmark) -> list[Callable[[Corpus, Predictions], set[str]]]:
    """What families of tasks of the benchmark note of all predictions, for `Whole.of`."""
    marking = families(task for task in benchmark.tasks if task in MARKS)
    return [family.marks for family in marking.values()]


def _scored(
    corpus: Corpus, predictions: Predictions, whole: Whole, how: How
) -> tuple[pl.DataFrame, pl.DataFrame, Counter[str]]:
    """The cases and scores of all tasks, and what there is to note of them."""
    benchmark = benchmarks.get(corpus.benchmark)
    plain, answers = (
        dataclasses.replace(side, records=side.records.select(list(tables.RECORDS)))
        for side in (corpus, predictions)
    )
    notes: Counter[str] = Counter()
    cases, scores = [tables.table("cases", [])], [tables.table("scores", [])]
    # A batch of what is predicted for other documents has none.
    tasks = benchmark.tasks if corpus.documents.height else ()
    for name, family in families(tasks).items():
        options: dict[str, Any] = {"mode": how.mode, "threshold": how.threshold, "kinds": whole}
        options |= {"reader": how.reader} if name in READING else {}
        result = family.score(plain, answers, **options)
        cases.append(result.cases)
        scores.append(result.scores)
        notes.update(result.notes)
    # An engine that reads pages got no instruction that it could follow or refuse.
    if whole.prompted:
        here = pl.col("doc_id").is_in(corpus.documents["doc_id"].to_list())
        responses = predictions.responses.filter(here, pl.col("split") == corpus.split)
        # As everywhere, a run may be called otherwise than its rows say.
        responses = responses.with_columns(system=pl.lit(predictions.system))
        scores.append(answer_scores(responses, mode=how.mode))
    all_cases, all_scores = pl.concat(cases), pl.concat(scores)
    theirs = own_scores(plain, answers, all_cases, all_scores, how.mode)
    named = _with_own(all_cases, corpus.records, predictions.records)
    return named, pl.concat([all_scores, *theirs]), notes


def settings_of(predictions: Predictions, how: How) -> dict[str, Any]:
    """The settings of an evaluation."""
    return {
        "system": predictions.settings,
        "threshold": how.threshold,
        "reader": how.reader,
        "readings": list(others(how.reader)),
        "documents": how.description,
    }


def _with_own(cases: pl.DataFrame, gold: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """The cases with a user's own columns of either side's records."""
    own = {
        key: (records, tables.own_columns("records", records))
        for key, records in (("path", gold), ("pred_path", answers))
    }
    if twice := set(own["path"][1]) & set(own["pred_path"][1]):
        raise TableBroken(f"own columns of gold and of predictions: {', '.join(sorted(twice))}")
    if taken := {name for _, names in own.values() for name in names} & tables.RESERVED:
        names = ", ".join(sorted(taken))
        raise TableBroken(f"own columns with names of other tables' columns: {names}")
    for key, (records, names) in own.items():
        if names:
            theirs = records.filter(pl.col("path").is_not_null())
            theirs = theirs.select("doc_id", pl.col("path").alias(key), *names)
            # A model may give a path twice.
            theirs = theirs.unique(["doc_id", key], keep="first")
            cases = cases.join(theirs, on=["doc_id", key], how="left", maintain_order="left")
    if names := own["path"][1]:
        # What all values of a document have is the document's: what only an answer has gets it too.
        of_document = gold.drop_nulls("path").group_by("doc_id").agg(
            pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)
            for name in names
        )  # fmt: skip
        cases = cases.join(
            of_document, on="doc_id", how="left", suffix=" of", maintain_order="left"
        )
        spurious = pl.col("outcome") == "spurious"
        filled = (pl.when(spurious).then(f"{n} of").otherwise(n).alias(n) for n in names)
        cases = cases.with_columns(filled).drop(f"{name} of" for name in names)
    return cases


def _numbered(cases: pl.DataFrame) -> pl.DataFrame:
    """The cases, each with a key of its own: what a model gave again ends in ``#2`` and so on."""
    key = list(tables.KEYS["cases"])
    # A path may end like that already.
    while cases.select(key).is_duplicated().any():
        number = pl.int_range(1, pl.len() + 1).over(key)
        path = pl.coalesce("pred_path", "path", pl.lit(""))
        again = pl.when(number > 1).then(pl.format("{}#{}", path, number)).otherwise("pred_path")
        cases = cases.with_columns(again.alias("pred_path"))
    return cases


def answer_scores(responses: pl.DataFrame, *, mode: str | None = None) -> pl.DataFrame:
    """Scores of the answers' statuses, a row per answer and share: over all tasks and by task."""
    rows = responses.with_columns(path=pl.lit(None, pl.String))
    scores = [tables.table("scores", [])]
    for name, metric in VALIDITY_METRICS.items():
        counted = [(metric, answer_tallies(rows["status"].to_list(), name), made_by())]
        for slices in ({}, {"slice_by": "task", "slice_value": rows["task"]}):
            scores.append(score_table(rows, counted, level="answer", mode=mode, **slices))
    return pl.concat(scores)
