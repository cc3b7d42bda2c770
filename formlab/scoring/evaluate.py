"""From gold and predictions to an evaluation: batches of documents, each scored on its own."""

import atexit
import copy
import dataclasses
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from formlab import benchmarks, tables
from formlab.benchmarks.corpus import Reading, cut, none_read
from formlab.errors import FormlabError, TableBroken, UnknownName
from formlab.files import is_file, local
from formlab.folders import Corpus, Evaluation, Folder, Predictions
from formlab.readers import is_run
from formlab.readers.gold import corpora
from formlab.readers.sources import columns_of
from formlab.saving import replacing
from formlab.scoring import across, batches
from formlab.scoring.align import numbered, unscored
from formlab.scoring.batches import ALL
from formlab.scoring.fields import READER, others
from formlab.scoring.tasks import families
from formlab.scoring.tasks._kit import Scoring, TaskScores, answer_scores
from formlab.scoring.tasks.documents import own_scores
from formlab.scoring.whole import Whole, by_corpus
from formlab.show import progress
from formlab.workers import LOST, begun, each, processes

THRESHOLD = 0.8  # Similarity from which on the rung `fuzzy` of the ladder holds.
STRANGE = "predicted documents that are not in the corpus"
Batch = tuple[int, tuple[Corpus, Predictions]]


@dataclasses.dataclass(frozen=True)
class How:
    """How batches are scored: the options of `evaluate`, and what they must know of the whole."""

    mode: str
    reader: str
    out: Path | None = None  # Without it scores stay in memory.
    # Which documents, in words; the version of the gold, null for that of the benchmark.
    documents: str = ALL
    labels: str | None = None
    chosen: frozenset[str] | None = None  # Null chooses all documents.


@tables.uncollected()
def evaluate(
    gold: Corpus | Iterator[Corpus | Reading] | Any,
    predictions: Predictions | Any,
    *,
    images: str | Path | None = None,
    types: Any = None,
    columns: Mapping[str, str] | None = None,
    mode: str | None = None,
    documents: str | int | Path | Sequence[str] = ALL,
    reader: str = READER,
    out: str | Path | None = None,
    workers: int | str = 1,
    pool: Any = None,
    name: str | None = None,
    fallback: str | None = None,
) -> Evaluation:
    """Score predictions against gold, on every task of the benchmark.

    The evaluation has `cases`, one row per value of either side, and `scores`, one row per case and
    metric. A document without a usable prediction counts as nothing found. Predictions for unknown
    documents are cases with the outcome `unscored`. Of a model that was asked there are also the
    shares of its answers that follow instructions.

    `gold` is as from `formlab.load`; or corpora of documents that follow one another, as from
    `benchmarks.corpora`, or what reads them; or whatever else `formlab.readers.corpus` takes, with
    its `images` and `types`. `predictions` are as from `formlab.run`, or whatever
    `formlab.readers.read_predictions` takes; `columns` are of the tables of either side. `mode` is
    one of the benchmark's, by default its first. `documents` are ``all``; those that were
    ``answered`` (nonsense, a refusal or a crash is an answer too); the first so many; their names;
    or, as a path, a file with one name a line. `reader` is the rule by which fields are read from a
    page's words, one of `fields.READERS`; what the other rules read stands in `cases.readings`.
    `out` is a folder to save the evaluation in, batch by batch; `workers` how many processes read
    and score batches (in `pool`, if begun), or the address of a Dask scheduler, whose workers must
    see `out`. `name` is the system's, `fallback` where nothing but the name of a file says it.

    Raises `UnknownName` if there is no such mode, document or reading rule; `DataBroken` if no
    prediction is for a document of the corpus, or none is chosen, or files of others are in `out`.

    >>> evaluate({"a": {"total": "9.00"}}, {"a": {"total": "6"}}).fields["outcome"].to_list()
    ['mismatch']
    """
    others(reader)  # Whether there is such a rule.
    gold, predictions = local(gold), local(predictions)
    with ExitStack() as temporary:
        folder = temporary.enter_context(TemporaryDirectory(prefix="formlab-"))
        home = Path(out or f"{folder}/evaluation")
        with replacing(home) as new, ExitStack() as running:
            work, columns = new / "batches", columns or {}
            running.callback(shutil.rmtree, work, ignore_errors=True)
            if isinstance(gold, Corpus):
                gold = cut(gold.check(), benchmarks.BATCH)
            elif not isinstance(gold, Iterator):
                of_gold, columns = _sides(gold, predictions, columns)
                gold = corpora(gold, work / "own", images=images, types=types, columns=of_gold)
            # Processes start while gold is read; one of them reads a large table of answers.
            here = not isinstance(workers, str)
            spread = partial(running.enter_context, processes(workers, know_batch))
            pool = spread() if (is_sent := is_large(predictions, workers)) else pool
            given = is_sent and begun(pool, batches.stored, predictions, columns, work / "given")
            first = list(islice(gold, 2))
            pool = pool or (spread() if here and workers > 1 and first[1:] else None)
            run = None if here and not first[1:] else partial(each, workers=workers, pool=pool)
            # Other machines may not see the files of gold and answers.
            named = {"given": given, "results": partial(results, run if here else None)}
            named |= {"columns": columns, "name": name, "fallback": fallback}
            both = batches.batches(first, gold, predictions, new, **named)
            kept = new if out is not None or both[0]._scans else None
            evaluation = _scored(*both, documents, run, mode=mode, reader=reader, out=kept)
        if kept is None:
            return evaluation
        if out is None:
            # The parts of a large one are read from there until Python ends.
            atexit.register(temporary.pop_all().close)
    return Evaluation.load(home)


def is_large(source: Any, workers: int | str) -> bool:
    """Whether to read a file takes longer than to begin processes, if there are to be some."""
    is_here = isinstance(workers, int) and workers > 1 and isinstance(source, str | Path)
    return is_here and is_file(source) and Path(source).stat().st_size > 2**22


def _sides(gold: Any, answers: Any, columns: Mapping[str, str]) -> list[dict[str, str]]:
    """The columns of gold and of answers among those that were named for either side."""
    found, every = list[dict[str, str]](), set[str]()
    for source, value in ((gold, "gold"), (answers, "prediction")):
        is_table = columns and not isinstance(source, Folder) and not is_run(source)
        every |= set(known := columns_of(source) if is_table else ())
        side = {name: column for name, column in columns.items() if column in known}
        own = {"value": side[value]} if value in side else {}
        found.append({n: side[n] for n in side if n not in ("gold", "prediction")} | own)
    for column in set(columns.values()) - {c for side in found for c in side.values()}:
        raise UnknownName.of("column", column, every)
    return found


def _scored(
    corpus: Corpus, predictions: Predictions, documents: Any, run: Any, *, mode: Any, **how: Any
) -> Evaluation:
    """The evaluation of all batches; without tables where it is saved in the folder `out`."""
    benchmark = benchmarks.get(corpus.benchmark)
    if (mode := mode or benchmark.modes[0]) not in benchmark.modes:
        raise UnknownName.of(f"mode of {benchmark.name}", mode, benchmark.modes)
    names = corpus.scan("documents").select("doc_id").collect()["doc_id"].to_list()
    if not names and corpus.unreadable:
        raise none_read(corpus.unreadable, corpus.root)
    where, tried = f"{benchmark.name}:{corpus.split}", batches.answered(predictions, corpus.split)
    names, described, left_out = batches.decide(names, tried, documents, where=where)
    chosen = None if described == ALL else frozenset(names)
    how = How(mode, documents=described, chosen=chosen, **how)
    # Facts of the whole are not sent along with every part.
    gold = corpus.parts(flaws={}, sources={}, unreadable={})
    jobs = list(enumerate(zip(gold, predictions.parts(notes={}, sources={}), strict=True)))
    facts = results(run, "reading", partial(know_batch, how=how), jobs)
    wholes, strange = [whole for whole, _ in facts], [row for _, rows in facts for row in rows]
    if not any(whole and whole.answers.height for whole in wholes):
        raise batches.unmatched(corpus, predictions, strange, names)
    jobs = [job for job, whole in zip(jobs, wholes, strict=True) if whole]
    for number in [number for number, whole in enumerate(wholes) if how.out and not whole]:
        for file in how.out.glob(f"*/*/{number:05}.parquet"):
            file.unlink()
    score = partial(score_batch, whole=Whole.together([*filter(None, wholes)]), how=how)
    scored = results(run, "scoring", score, jobs)
    named = ", ".join(f"{name:.80}" for name in sorted({name for _, name in strange})[:2])
    notes = Counter(predictions.notes) + Counter({f"{STRANGE}: {named}": len(strange)})
    # Gold is read, and its flaws are counted, before documents are chosen.
    every = f" of all {len(names) + left_out[batches.LEFT_OUT]} documents" * (chosen is not None)
    notes += Counter(left_out | {f"gold{every}: {n}": of for n, of in corpus.flaws.items()})
    notes += sum((Counter(part.notes) for part in scored), Counter())
    values = {"notes": dict(notes), "unreadable": corpus.unreadable}
    values["sources"] = corpus.sources | predictions.sources
    if how.out is None:
        return dataclasses.replace(scored[0], cases=across.told_in(scored[0].cases), **values)
    across.told_on_disk(how.out)
    evaluation = scored[0].with_scans([], corpus=corpus, predictions=predictions, **values)
    evaluation.finish(how.out)
    return evaluation


def results(run: Any, text: str, function: Any, jobs: Iterable[tuple[int, Any]]) -> list[Any]:
    """The results for batches, in their order; of several, which `run` does, the count is shown."""
    if run is None:
        return list(map(function, jobs))
    results: dict[int, Any] = {}
    with progress("batches") as bar:
        task = bar.add_task(text, total=len(jobs) if isinstance(jobs, list) else None)
        for (number, _), result in run(function, jobs):
            if result is LOST:
                raise FormlabError(f"batch {number}: {LOST}", remedy="more memory, fewer --workers")
            results[number] = result
            bar.update(task, advance=1)
    return [results[number] for number in sorted(results)]


def _chosen(batch: Batch, how: How) -> tuple[Corpus, Predictions]:
    """Gold and predictions of a batch without documents that are not chosen."""
    # What is read of a copy is let go with it.
    corpus, predictions = map(copy.copy, batch[1])
    names = () if how.chosen is None else corpus.documents["doc_id"]
    if not (left_out := [name for name in names if name not in how.chosen]):
        return corpus, predictions
    kept = ~pl.col("doc_id").is_in(left_out)
    return corpus.filtered(kept), predictions.filtered(kept | (pl.col("split") != corpus.split))


@tables.uncollected()
def know_batch(batch: Batch, how: How) -> tuple[Whole | None, list[tuple[str, str]]]:
    """What scorers must know of a batch, null if it is empty, and its strangers."""
    corpus, predictions = _chosen(batch, how)
    strange = by_corpus(corpus, predictions)[1].select("split", "doc_id").unique().rows()
    return Whole.of(corpus, predictions) if corpus.documents.height or strange else None, strange


@tables.uncollected()
def score_batch(batch: Batch, whole: Whole, how: How) -> Evaluation:
    """The evaluation of a batch; without tables if these are written into `how.out`."""
    evaluation = score_documents(*_chosen(batch, how), whole, how)
    if how.out is None:
        return evaluation
    # Where every document is chosen, gold and predictions stand there already.
    there = {n: None for n in evaluation.MEMBERS if getattr(evaluation, n)._scans}
    dataclasses.replace(evaluation, **there).write_part(how.out, batch[0])
    return evaluation.with_scans([], corpus=None, predictions=None)


def score_documents(corpus: Corpus, predictions: Predictions, whole: Whole, how: How) -> Evaluation:
    """The evaluation of some documents of a corpus, by what is known of the `whole`."""
    known, strange = by_corpus(corpus, predictions)
    benchmark, system = benchmarks.get(corpus.benchmark), predictions.system
    records = list(tables.RECORDS)
    plain = dataclasses.replace(corpus, records=corpus.records.select(records))
    answers = dataclasses.replace(predictions, records=known.select(records))
    # A batch of what is predicted for other documents has none.
    tasks = benchmark.tasks if corpus.documents.height else ()
    scoring = Scoring(plain, answers, how.mode, THRESHOLD, whole, how.reader)
    results = [TaskScores.of(), *(family.score(scoring) for family in families(tasks).values())]
    notes = sum((Counter(result.notes) for result in results), Counter())
    scores = [result.scores for result in results]
    # An engine that reads pages got no instruction that it could follow or refuse.
    if whole.prompted:
        is_known = pl.col("doc_id").is_in(corpus.documents["doc_id"].to_list())
        responses = predictions.responses.filter(is_known, pl.col("split") == corpus.split)
        # As everywhere, a run may be called otherwise than its rows say.
        scores.append(answer_scores(responses.with_columns(system=pl.lit(system)), mode=how.mode))
    all_cases, all_scores = pl.concat(result.cases for result in results), pl.concat(scores)
    all_scores = pl.concat([all_scores, *own_scores(scoring, all_cases, all_scores)])
    all_cases = _with_own(all_cases, corpus.records, known)
    # Predictions for other documents are cases without scores, and without a user's own columns.
    if strange.height:
        left = unscored(strange.select(records), system=system)
        all_cases = pl.concat([all_cases, left], how="diagonal")
    said = {"documents": how.documents, "labels": how.labels}
    said = {n: pl.lit(v).cast(pl.Categorical) for n, v in said.items() if v not in (None, ALL)}
    all_scores = all_scores.with_columns(pl.col("settings").struct.with_fields(**said))
    settings = {"system": predictions.settings, "threshold": THRESHOLD, "reader": how.reader}
    settings |= {"readings": list(others(how.reader)), "documents": how.documents}
    facts = {"benchmark": benchmark.name, "split": corpus.split, "system": system, "mode": how.mode}
    facts |= {"root": corpus.root, "settings": settings, "notes": dict(notes)}
    facts |= {"cases": numbered(all_cases), "corpus": corpus, "predictions": predictions}
    # Most rows are scores, which only `score_table` makes: one is checked.
    evaluation = Evaluation(corpus.documents, scores=all_scores.head(1), **facts).check()
    return dataclasses.replace(evaluation, scores=all_scores)


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
    # What all values of a document have is the document's: what only an answer has gets it too.
    own, spurious = pl.col(tables.own_columns("records", gold)), pl.col("outcome") == "spurious"
    of_gold = own.filter(~spurious & pl.col("path").is_not_null())
    one = pl.when((of_gold.n_unique() == 1).over("doc_id")).then(of_gold.first().over("doc_id"))
    return cases.with_columns(pl.when(spurious).then(one).otherwise(own))


def score_again(
    evaluation: Evaluation,
    *,
    gold: Callable[[Corpus], Corpus] = dataclasses.replace,
    labels: str | None = None,
    reader: str | None = None,
) -> Evaluation | None:
    """The evaluation scored again, part by part, when its parts are asked for."""
    corpus, predictions = evaluation.corpus, evaluation.predictions
    if corpus is None or predictions is None:
        return None
    settings = {"reader": READER, "documents": ALL} | evaluation.settings
    reader = reader or settings["reader"]
    settings |= {"reader": reader, "readings": list(others(reader))}
    how = How(evaluation.mode, reader, documents=settings["documents"], labels=labels)
    corpus = corpus.mapped(gold)
    both = zip(corpus.parts(), predictions.parts(), strict=True)
    whole = Whole.together([Whole.of(*part) for part in both])

    def again(part: Evaluation) -> Evaluation:
        answers = dataclasses.replace(part.predictions, system=part.system)
        return score_documents(gold(part.corpus), answers, whole, how)

    return evaluation.mapped(again, settings=settings, corpus=corpus)
