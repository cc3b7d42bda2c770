"""Some documents of a corpus and what is predicted for them as cases and scores."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from formlab import benchmarks, tables
from formlab.errors import TableBroken
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.metrics.counts import VALIDITY_METRICS, answer_tallies
from formlab.scoring import choice
from formlab.scoring.align import unscored
from formlab.scoring.fields import others
from formlab.scoring.own_metrics import own_scores
from formlab.scoring.tasks import READING, families
from formlab.scoring.tasks._kit import made_by, score_table
from formlab.scoring.whole import Whole


@dataclasses.dataclass(frozen=True)
class How:
    """How batches are scored: the options of `evaluate`, and what they must know of the whole.

    Of all documents `chosen` are scored, null for all, as `description` says. `labels` is the
    version of the gold, null for that of the benchmark. Without `out` scores stay in memory.
    """

    mode: str
    threshold: float
    reader: str
    description: str = choice.ALL
    labels: str | None = None
    chosen: frozenset[str] | None = None
    out: Path | None = None

    def settings(self, predictions: Predictions) -> dict[str, Any]:
        """The settings of an evaluation of these predictions."""
        settings = {"system": predictions.settings, "threshold": self.threshold}
        settings |= {"reader": self.reader, "readings": list(others(self.reader))}
        return settings | {"documents": self.description}


def score_documents(corpus: Corpus, predictions: Predictions, whole: Whole, how: How) -> Evaluation:
    """The evaluation of some documents of a corpus, by what is known of the `whole`.

    Predictions for documents that the corpus does not have are cases without any score.
    """
    known, strange = by_corpus(corpus, predictions)
    matched = dataclasses.replace(predictions, records=known)
    cases, scores, notes = _scored(corpus, matched, whole, how)
    if strange.height:
        # Of a user's own columns there is nothing in a case without gold.
        left = unscored(strange.select(list(tables.RECORDS)), system=predictions.system)
        cases = pl.concat([cases, left], how="diagonal")
        matched = dataclasses.replace(predictions, records=pl.concat([known, strange]))
    special = {"documents": how.description, "labels": how.labels}
    if special := {n: value for n, value in special.items() if value not in (None, choice.ALL)}:
        scores = tables.with_settings(scores, **special)
    same = {name: getattr(corpus, name) for name in ("documents", "benchmark", "split", "root")}
    same |= {"system": predictions.system, "mode": how.mode, "corpus": corpus}
    same |= {"settings": how.settings(predictions), "predictions": matched}
    notes = {name: count for name, count in notes.items() if count}
    # Most rows are scores, which only `score_table` makes: one is checked.
    checked = Evaluation(cases=_numbered(cases), scores=scores.head(1), notes=notes, **same).check()
    return dataclasses.replace(checked, scores=scores)


def by_corpus(corpus: Corpus, predictions: Predictions) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The predicted records for documents of the corpus, and those for others."""
    known = pl.col("doc_id").is_in(corpus.documents["doc_id"].to_list())
    known &= pl.col("split") == corpus.split
    records = predictions.records
    is_known = records.select(known).to_series()
    # Where all are known, no copy is made.
    return (records if is_known.all() else records.filter(is_known)), records.filter(~is_known)


def _scored(
    corpus: Corpus, predictions: Predictions, whole: Whole, how: How
) -> tuple[pl.DataFrame, pl.DataFrame, Counter[str]]:
    """The cases and scores of all tasks, and what there is to note of them."""
    benchmark = benchmarks.get(corpus.benchmark)
    plain, answers = (
        dataclasses.replace(folder, records=folder.records.select(list(tables.RECORDS)))
        for folder in (corpus, predictions)
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
        is_known = pl.col("doc_id").is_in(corpus.documents["doc_id"].to_list())
        responses = predictions.responses.filter(is_known, pl.col("split") == corpus.split)
        # As everywhere, a run may be called otherwise than its rows say.
        responses = responses.with_columns(system=pl.lit(predictions.system))
        scores.append(answer_scores(responses, mode=how.mode))
    all_cases, all_scores = pl.concat(cases), pl.concat(scores)
    theirs = own_scores(plain, answers, all_cases, all_scores, how.mode)
    named = _with_own(all_cases, corpus.records, predictions.records)
    return named, pl.concat([all_scores, *theirs]), notes


def _with_own(cases: pl.DataFrame, gold: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """The cases with a user's own columns of either side's records."""
    for key, records in {"path": gold, "pred_path": answers}.items():
        own = tables.own_columns("records", records)
        if twice := sorted({*own} & {*cases.columns}):
            raise TableBroken(f"own columns of gold and of predictions: {', '.join(twice)}")
        if own:
            # A model may give a path twice.
            first = records.drop_nulls("path").unique(["doc_id", "path"], keep="first")
            first = first.select("doc_id", pl.col("path").alias(key), *own)
            cases = cases.join(first, on=["doc_id", key], how="left", maintain_order="left")
    if names := tables.own_columns("records", gold):
        # What all values of a document have is the document's: what only an answer has gets it too.
        one = (pl.when(pl.col(n).n_unique() == 1).then(pl.col(n).first()).alias(n) for n in names)
        of_document = gold.drop_nulls("path").group_by("doc_id").agg(one)
        joining = {"on": "doc_id", "how": "left", "suffix": " of", "maintain_order": "left"}
        spurious = pl.col("outcome") == "spurious"
        filled = (pl.when(spurious).then(f"{n} of").otherwise(n).alias(n) for n in names)
        cases = cases.join(of_document, **joining).with_columns(filled)
        cases = cases.drop(f"{n} of" for n in names)
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
