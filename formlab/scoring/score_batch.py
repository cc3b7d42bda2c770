"""Scoring of one batch: a corpus and predictions to cases, and a score per case and metric."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from formlab import benchmarks, tables
from formlab.benchmarks import Benchmark
from formlab.errors import TableBroken
from formlab.folders import Corpus, Evaluation, PartFile, Predictions
from formlab.metrics.response_validity import VALIDITY_METRICS, answer_tallies
from formlab.scoring.align import unscored
from formlab.scoring.batches import Batch
from formlab.scoring.choice import kept, with_selection
from formlab.scoring.fields import others
from formlab.scoring.own_metrics import own_scores
from formlab.scoring.tasks import MARKS, READING, families
from formlab.scoring.tasks._kit import made_by, score_rows
from formlab.scoring.whole import Whole

# Similarity from which on the rung `fuzzy` of the ladder holds.
THRESHOLD = 0.8


@dataclasses.dataclass(frozen=True)
class How:
    """How batches are scored: the options of `evaluate`, and what they must know of the whole.

    Of all documents `chosen` are scored, null for all of them, as `description` says. What is
    scored goes into the folder `out`.
    """

    mode: str
    threshold: float
    reader: str
    description: str
    chosen: frozenset[str] | None = None
    out: Path | None = None


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is known of a batch before any is scored.

    `answered` are those of its `documents` that have an answer; `strange` counts predicted
    documents that it does not have, `predicted` and `splits` are of these.
    """

    documents: list[str]
    answered: set[str]
    notes: Counter[str]
    strange: int
    predicted: list[str]
    splits: list[str]


def open_batch(batch: Batch, how: How) -> tuple[Corpus, Predictions]:
    """The chosen documents of a batch with their gold, and what is predicted for them."""
    corpus = batch.gold()
    predictions = batch.answers(corpus)
    if how.chosen is None:
        return corpus, predictions
    return kept(corpus, predictions, [n for n in corpus.documents["doc_id"] if n in how.chosen])


def facts_of(corpus: Corpus, predictions: Predictions, answered: set[str]) -> Facts:
    """Those of a corpus and predictions, of whose documents some are `answered`."""
    _, strange = by_corpus(corpus, predictions)
    return Facts(
        documents=corpus.documents["doc_id"].to_list(),
        answered=answered,
        notes=Counter(predictions.notes),
        strange=strange.select("split", "doc_id").unique().height,
        predicted=strange["doc_id"].unique().sort().head(3).to_list(),
        splits=strange["split"].unique().to_list(),
    )


def know_batch(corpus: Corpus, predictions: Predictions) -> Whole:
    """What scorers must know of all batches, of this one."""
    matched = dataclasses.replace(predictions, records=by_corpus(corpus, predictions)[0])
    return Whole.of(corpus, matched, marks_of(benchmarks.get(corpus.benchmark)))


def score_batch(batch: Batch, whole: Whole, how: How) -> tuple[list[PartFile], Counter[str]]:
    """Score a batch into files of `how.out`: these, and what there is to note of it."""
    scored = score_documents(*open_batch(batch, how), whole, how)
    return scored.write_part(how.out, batch.number), Counter(scored.notes)


def score_documents(corpus: Corpus, predictions: Predictions, whole: Whole, how: How) -> Evaluation:
    """The evaluation of some documents of a corpus, by what is known of the `whole`."""
    here, strange = by_corpus(corpus, predictions)
    answers = dataclasses.replace(predictions, records=here)
    scored = _scored(corpus, answers, whole, how)
    if strange.height:
        scored = _with_strange(scored, strange)
    return with_selection(scored, how.description)


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


def _scored(corpus: Corpus, predictions: Predictions, whole: Whole, how: How) -> Evaluation:
    benchmark = benchmarks.get(corpus.benchmark)
    answers = dataclasses.replace(predictions, records=without_own(predictions.records))
    plain = dataclasses.replace(corpus, records=without_own(corpus.records))
    notes: Counter[str] = Counter()
    results = []
    # A batch of what is predicted for other documents has none.
    tasks = benchmark.tasks if corpus.documents.height else ()
    for name, family in families(tasks).items():
        options: dict[str, Any] = {"mode": how.mode, "threshold": how.threshold, "kinds": whole}
        options |= {"reader": how.reader} if name in READING else {}
        results.append(family.score(plain, answers, **options))
        notes.update(results[-1].notes)
    cases, scores = (
        [tables.table(name, []), *(getattr(scored, name) for scored in results)]
        for name in ("cases", "scores")
    )
    cases = pl.concat(cases)
    scores = pl.concat([*scores, _answers(corpus, predictions, how.mode, prompted=whole.prompted)])
    theirs = own_scores(plain, answers, cases, scores, how.mode)
    return Evaluation(
        documents=corpus.documents,
        cases=_numbered(_with_own(cases, corpus.records, predictions.records)),
        scores=pl.concat([scores, *theirs]),
        benchmark=corpus.benchmark,
        split=corpus.split,
        system=predictions.system,
        mode=how.mode,
        root=corpus.root,
        settings=settings_of(predictions, how),
        notes={name: count for name, count in notes.items() if count},
        corpus=corpus,
        predictions=predictions,
    ).check()


def settings_of(predictions: Predictions, how: How) -> dict[str, Any]:
    """The settings of an evaluation."""
    return {
        "system": predictions.settings,
        "threshold": how.threshold,
        "reader": how.reader,
        "readings": list(others(how.reader)),
        "documents": how.description,
    }


def _with_strange(scored: Evaluation, strange: pl.DataFrame) -> Evaluation:
    """An evaluation with the predictions for documents that the corpus does not have, as cases."""
    left = unscored(without_own(strange), system=scored.system)
    # Of a user's own columns there is nothing in a case without gold.
    cases = _numbered(pl.concat([scored.cases, left], how="diagonal"))
    records = pl.concat([scored.predictions.records, strange])
    kept = dataclasses.replace(scored.predictions, records=records)
    return dataclasses.replace(scored, cases=cases, predictions=kept).check()


def without_own(records: pl.DataFrame) -> pl.DataFrame:
    """Without a user's own columns."""
    return records.select(list(tables.RECORDS))


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
        tallies = answer_tallies(rows["status"].to_list(), name)
        for by, values in ((None, None), ("task", rows["task"])):
            scores.append(
                score_rows(
                    rows, metric, tallies, made_by(), level="answer", mode=mode,
                    slice_by=by, slice_value=values,
                )
            )  # fmt: skip
    return pl.concat(scores)


def _answers(
    corpus: Corpus, predictions: Predictions, mode: str, *, prompted: bool
) -> pl.DataFrame:
    # An engine that reads pages got no instruction that it could follow or refuse.
    if not prompted:
        return tables.table("scores", [])
    here = pl.col("doc_id").is_in(corpus.documents["doc_id"].to_list())
    responses = predictions.responses.filter(here, pl.col("split") == corpus.split)
    # As everywhere, a run may be called otherwise than its rows say.
    return answer_scores(responses.with_columns(system=pl.lit(predictions.system)), mode=mode)
