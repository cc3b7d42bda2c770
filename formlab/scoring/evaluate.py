"""From a corpus and predictions to an evaluation: cases, and a score per case and metric."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import benchmarks, tables
from formlab.benchmarks import Benchmark
from formlab.errors import DataBroken, TableBroken, UnknownName
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.metrics.response_validity import VALIDITY_METRICS, answer_tallies
from formlab.readers.gold import BENCHMARK, pair
from formlab.scoring import part
from formlab.scoring.align import unscored
from formlab.scoring.fields import READER, others
from formlab.scoring.kinds import Kinds
from formlab.scoring.own_metrics import own_scores
from formlab.scoring.tasks import MARKS, READING, families
from formlab.scoring.tasks._kit import made_by, score_rows

# Similarity from which on the rung `fuzzy` of the ladder holds.
THRESHOLD = 0.8
# The note that counts documents which are predicted and not there.
STRANGE = "predicted documents that are not in the corpus"


@tables.uncollected()
def evaluate(
    corpus: Corpus | Any,
    predictions: Predictions | Any,
    *,
    images: str | Path | None = None,
    types: Any = None,
    columns: Mapping[str, str] | None = None,
    mode: str | None = None,
    threshold: float = THRESHOLD,
    documents: str | Sequence[str] = part.ALL,
    limit: int | None = None,
    reader: str = READER,
) -> Evaluation:
    """Score predictions against gold, on every task of the benchmark.

    Parameters
    ----------
    corpus
        As from `formlab.load`; or gold of one's own: a path, a polars or pandas frame, or whatever
        else `formlab.readers.corpus` takes, as it takes `images` and `types`.
    predictions
        As from `formlab.run`; or whatever `formlab.readers.predictions` takes.
    images, types, columns
        Of what is not loaded yet; see `formlab.readers.pair`.
    mode
        One of the benchmark's modes; its first if left out.
    threshold
        The similarity from which on the rung `fuzzy` holds, in [0, 1].
    documents
        Which documents are scored: ``all``; those that were ``answered`` (nonsense, a refusal or
        a crash is an answer too); or their names.
    limit
        Only the first so many of them, in the corpus' order.
    reader
        The rule by which fields are read from a page's words, one of `fields.READERS`; what the
        other rules read stands in `cases.readings`.

    Returns
    -------
    Evaluation
        `cases`, one row per value of either side, and `scores`, one row per case and metric.
        A document without a usable prediction is there and counts as nothing found. Predictions
        for documents that the corpus does not have are cases with the outcome `unscored`. Of a
        model that was asked there are also the shares of its answers that follow instructions.
        `settings` says which documents were chosen, and so does each score's where not all were;
        `notes` counts documents without any answer.

    Raises
    ------
    UnknownName
        If the benchmark has no such mode, the corpus no such document, or there is no such
        reading rule.
    DataBroken
        If no prediction is for a document of the corpus, or no document is chosen.

    Examples
    --------
    >>> gold = pl.DataFrame({"doc_id": ["a", "b"], "total": ["9.00", "5"]})
    >>> answers = pl.DataFrame({"doc_id": ["a", "b"], "total": ["9.00", "6"]})
    >>> evaluate(gold, answers).fields.select("doc_id", "outcome").rows()
    [('a', 'match'), ('b', 'mismatch')]
    """
    corpus, predictions = pair(corpus, predictions, images=images, types=types, columns=columns)
    benchmark = benchmarks.get(corpus.benchmark)
    mode = mode_of(benchmark, mode)
    chosen = part.choose(corpus, predictions, documents, limit=limit)
    corpus, predictions = chosen.corpus, chosen.predictions
    here, strange = by_corpus(corpus, predictions)
    if not here.height:
        predicted, splits = (strange[name].unique().to_list() for name in ("doc_id", "split"))
        documents = corpus.documents["doc_id"].to_list()
        where = ", ".join(predictions.sources) or None
        raise no_match(corpus.benchmark, corpus.split, documents, predicted, splits, where=where)
    notes = Counter(predictions.notes) + Counter({f"gold: {n}": c for n, c in corpus.flaws.items()})
    if strange.height:
        notes[STRANGE] = strange.select("split", "doc_id").unique().height
    answers = dataclasses.replace(predictions, records=here)
    kinds = Kinds.of(corpus, answers, marks_of(benchmark))
    how: dict[str, Any] = {"mode": mode, "threshold": threshold, "reader": reader, "kinds": kinds}
    shards = [score_shard(*both, **how) for both in part.cut(corpus, answers)]
    if strange.height:
        shards[-1] = with_strange(shards[-1], strange)
    notes += sum((Counter(shard.notes) for shard in shards), Counter()) + Counter(chosen.notes)
    values: dict[str, Any] = {
        "notes": dict(notes), "sources": corpus.sources | predictions.sources,
        "corpus": corpus, "predictions": predictions, "unreadable": corpus.unreadable,
    }  # fmt: skip
    shards = [part.with_selection(shard, chosen.description) for shard in shards]
    if len(shards) == 1:
        return dataclasses.replace(shards[0], **values)
    return Evaluation.of(shards, documents=corpus.documents, **values)


def mode_of(benchmark: Benchmark, mode: str | None) -> str:
    """The mode of scoring, by default the benchmark's first; `UnknownName` if it has none such."""
    if mode and mode not in benchmark.modes:
        raise UnknownName.of(f"mode of {benchmark.name}", mode, benchmark.modes)
    return mode or benchmark.modes[0]


def by_corpus(corpus: Corpus, predictions: Predictions) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The predicted records for documents of the corpus, and those for others."""
    known = pl.col("doc_id").is_in(corpus.documents["doc_id"].to_list())
    known &= pl.col("split") == corpus.split
    is_known = predictions.records.select(known).to_series()
    if is_known.all():
        return predictions.records, predictions.records.clear()
    return predictions.records.filter(is_known), predictions.records.filter(~is_known)


def marks_of(benchmark: Benchmark) -> list[Callable[[Corpus, Predictions], set[str]]]:
    """What families of tasks of the benchmark note of all predictions, for `Kinds.of`."""
    marking = families(task for task in benchmark.tasks if task in MARKS)
    return [family.marks for family in marking.values()]


def score_shard(
    corpus: Corpus, predictions: Predictions, *, mode: str, threshold: float, reader: str,
    kinds: Kinds,
) -> Evaluation:  # fmt: skip
    """The evaluation of some documents of a corpus, by what `kinds` says of all of them.

    `predictions` are for these documents only; there may be none.
    """
    benchmark = benchmarks.get(corpus.benchmark)
    answers = dataclasses.replace(predictions, records=without_own(predictions.records))
    plain = dataclasses.replace(corpus, records=without_own(corpus.records))
    notes: Counter[str] = Counter()
    results = []
    # What is predicted for other documents only may be a shard without any.
    tasks = benchmark.tasks if corpus.documents.height else ()
    for name, family in families(tasks).items():
        options: dict[str, Any] = {"mode": mode, "threshold": threshold, "kinds": kinds}
        options |= {"reader": reader} if name in READING else {}
        results.append(family.score(plain, answers, **options))
        notes.update(results[-1].notes)
    cases, scores = (
        [tables.table(name, []), *(getattr(scored, name) for scored in results)]
        for name in ("cases", "scores")
    )
    cases = pl.concat(cases)
    scores = pl.concat([*scores, _answers(corpus, predictions, mode, prompted=kinds.prompted)])
    theirs = own_scores(plain, answers, cases, scores, mode)
    return Evaluation(
        documents=corpus.documents,
        cases=_numbered(_with_own(cases, corpus.records, predictions.records)),
        scores=pl.concat([scores, *theirs]),
        benchmark=corpus.benchmark,
        split=corpus.split,
        system=predictions.system,
        mode=mode,
        root=corpus.root,
        settings={
            "system": predictions.settings,
            "threshold": threshold,
            "reader": reader,
            "readings": list(others(reader)),
        },
        notes={name: count for name, count in notes.items() if count},
        corpus=corpus,
        predictions=predictions,
    ).check()


def with_strange(shard: Evaluation, strange: pl.DataFrame) -> Evaluation:
    """A shard with the predictions for documents that the corpus does not have, as cases."""
    left = unscored(without_own(strange), system=shard.system)
    # Of a user's own columns there is nothing in a case without gold.
    cases = _numbered(pl.concat([shard.cases, left], how="diagonal"))
    records = pl.concat([shard.predictions.records, strange])
    kept = dataclasses.replace(shard.predictions, records=records)
    return dataclasses.replace(shard, cases=cases, predictions=kept).check()


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


def no_match(
    benchmark: str, split: str, documents: Sequence[str], predicted: Iterable[str],
    splits: Iterable[str], *, where: object = None,
) -> DataBroken:  # fmt: skip
    """The error where nothing is predicted for any of the `documents` of a corpus."""
    remedy = "the --split that was predicted, and doc_id as the benchmark spells it"
    if benchmark == BENCHMARK:
        remedy = "doc_id as the gold spells it, or as the files of the forms are called"
    return DataBroken(
        f"none of the predictions is for a document of {benchmark}:{split}: they are for "
        f"{sorted(predicted)[:3]} of {sorted(splits)}, the corpus has {documents[:3]} and so on",
        where=where,
        remedy=remedy,
    )
