"""From gold and predictions to an evaluation: batches of documents, each scored on its own."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import polars as pl

from formlab import benchmarks, files, tables
from formlab import workers as processes
from formlab.benchmarks._build import cut
from formlab.errors import DataBroken, FormlabError, UnknownName
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.readers.answers import OWN
from formlab.readers.gold import located, sides
from formlab.saving import replacing
from formlab.scoring import across, choice
from formlab.scoring.batches import Batch, Cut, batches, own_gold
from formlab.scoring.fields import READER, others
from formlab.scoring.score_batch import How, by_corpus, score_documents
from formlab.scoring.tasks import MARKS, families
from formlab.scoring.whole import Whole
from formlab.show import progress

# Similarity from which on the rung `fuzzy` of the ladder holds.
THRESHOLD = 0.8
# The note that counts documents which are predicted and not there.
STRANGE = "predicted documents that are not in the corpus"
# Folders of large evaluations without `out`, whose parts are read from there until Python ends.
_KEPT: list[TemporaryDirectory[str]] = []


class Facts(NamedTuple):
    """What is known of a batch before any is scored; `strange` are its documents of no gold."""

    documents: list[str]
    answered: set[str]
    notes: Counter[str]
    is_matched: bool
    whole: Whole
    strange: list[tuple[str, str]]


@tables.uncollected()
def evaluate(
    gold: Corpus | Iterator[Corpus] | Any,
    predictions: Predictions | Any,
    *,
    images: str | Path | None = None,
    types: Any = None,
    columns: Mapping[str, str] | None = None,
    mode: str | None = None,
    threshold: float = THRESHOLD,
    documents: str | Path | Sequence[str] = choice.ALL,
    limit: int | None = None,
    reader: str = READER,
    out: str | Path | None = None,
    workers: int | str = 1,
    name: str | None = None,
    fallback: str | None = None,
) -> Evaluation:
    """Score predictions against gold, on every task of the benchmark.

    Parameters
    ----------
    gold
        As from `formlab.load`; or corpora of documents that follow one another, as from
        `benchmarks.corpora`; or whatever else `formlab.readers.corpus` takes.
    predictions
        As from `formlab.run`; or whatever `formlab.readers.read_predictions` takes.
    images, types, columns
        Of what is not loaded yet; see `formlab.readers.pair`.
    mode
        One of the benchmark's modes; its first if left out.
    threshold
        The similarity from which on the rung `fuzzy` holds, in [0, 1].
    documents, limit
        Which documents are scored: ``all``; those that were ``answered`` (nonsense, a refusal or
        a crash is an answer too); their names; or, as a path, a file with one name a line. Of them
        the first `limit`, in the corpus' order.
    reader
        The rule by which fields are read from a page's words, one of `fields.READERS`; what the
        other rules read stands in `cases.readings`.
    out
        A folder to save the evaluation in, batch by batch.
    workers
        How many processes score batches, or the address of a Dask scheduler, whose workers must
        see `out`.
    name, fallback
        What the system is called; `fallback` where nothing but the name of a file says it.

    Returns
    -------
    Evaluation
        `cases`, one row per value of either side, and `scores`, one row per case and metric.
        A document without a usable prediction counts as nothing found. Predictions for documents
        that the corpus does not have are cases with the outcome `unscored`. Of a model that was
        asked there are also the shares of its answers that follow instructions.

    Raises
    ------
    UnknownName
        If there is no such mode, document or reading rule.
    DataBroken
        If no prediction is for a document of the corpus, or no document is chosen; if files that
        are not formlab's are in `out`.

    Examples
    --------
    >>> evaluate({"a": {"total": "9.00"}}, {"a": {"total": "6"}}).fields["outcome"].to_list()
    ['mismatch']
    """
    others(reader)  # Whether there is such a rule.
    gold, predictions = located(gold), located(predictions)
    with _workplace(out) as workplace:
        home = Path(workplace)
        if isinstance(gold, Corpus):
            is_small = gold.records.height <= benchmarks.BATCH
            gold = iter([gold]) if is_small else cut(gold, benchmarks.BATCH)
        elif not isinstance(gold, Iterator):
            of_gold, columns = sides(gold, predictions, columns or {})
            gold = own_gold(gold, home / "own", images=images, types=types, columns=of_gold)
        named = {"name": name, "fallback": fallback, "columns": columns}
        made = batches(gold, predictions, home, kept=workers == 1, **named)
        benchmark = benchmarks.get(made.corpus.benchmark)
        if mode and mode not in benchmark.modes:
            raise UnknownName.of(f"mode of {benchmark.name}", mode, benchmark.modes)
        how = How(mode or benchmark.modes[0], threshold, reader)
        choose = partial(choice.decide, documents=documents, limit=limit)
        if made.batches[0].folder is None:
            evaluation = _of_batches(made, how, choose, workers)
            return Evaluation.load(evaluation.save(out)) if out else evaluation
        if out is None:
            _KEPT.append(TemporaryDirectory(prefix="formlab-"))
            out = Path(_KEPT[-1].name, "evaluation")
        with replacing(out) as new:
            _of_batches(made, dataclasses.replace(how, out=new), choose, workers)
    return Evaluation.load(out)


def _workplace(out: str | Path | None) -> TemporaryDirectory[str]:
    """A folder for batches, beside `out` if there is one; what is killed is swept by the next."""
    if out is None:
        return TemporaryDirectory(prefix="formlab-")
    where = files.make_folder(Path(out).absolute().parent)
    with files.writing(out):
        return TemporaryDirectory(dir=where, prefix=files.part_name(Path(out).name))


def _of_batches(
    made: Cut, how: How, choose: Callable[..., choice.Choice], workers: int | str
) -> Evaluation | None:
    """The evaluation of all batches; nothing where it is written into the folder `how.out`."""
    corpus, predictions, remaining = made.corpus, made.predictions, made.batches
    known = facts = _each("reading", partial(know_batch, how=how), remaining, workers)
    answered = {name for fact in facts for name in fact.answered}
    chosen = choose(made.names, answered, where=f"{corpus.benchmark}:{corpus.split}")
    if not made.names and corpus.unreadable:
        raise benchmarks.none_read(corpus.unreadable, corpus.root)
    if chosen.description != choice.ALL:
        names = frozenset(chosen.documents)
        how = dataclasses.replace(how, description=chosen.description, chosen=names)
        both = zip(made.batches, facts, strict=True)
        remaining = [b for b, fact in both if names & {*fact.documents} or fact.strange]
        known = _each("knowing", partial(know_batch, how=how), remaining, workers)
    if not any(fact.is_matched for fact in known):
        raise _unmatched(made, facts, chosen.documents)
    whole = Whole.together(fact.whole for fact in known)
    scored = _each("scoring", partial(score_batch, whole=whole, how=how), remaining, workers)
    notes = Counter(predictions.notes) + Counter(chosen.notes)
    notes += Counter({f"gold: {name}": count for name, count in corpus.flaws.items()})
    notes += Counter({STRANGE: sum(len(fact.strange) for fact in facts)})
    notes += sum((noted for noted, *_ in [*scored, *((f.notes,) for f in facts)]), Counter())
    values = {"notes": dict(notes), "unreadable": corpus.unreadable}
    values["sources"] = corpus.sources | predictions.sources
    if how.out is None:
        (_, evaluation), *_ = scored
        return dataclasses.replace(evaluation, cases=across.told_in(evaluation.cases), **values)
    values |= {name: getattr(corpus, name) for name in ("benchmark", "split", "root")}
    values |= {"corpus": corpus, "predictions": predictions, "made": {}, "mode": how.mode}
    values |= {"system": predictions.system, "settings": how.settings(predictions)}
    parts = across.told_on_disk(how.out, [file for _, part in scored for file in part])
    scores = [how.out / part.table / part.name for part in parts if part.table == "scores"]
    metrics = pl.scan_parquet(scores, glob=False).select(pl.col("metric").unique().sort())
    uses = {"benchmarks": [corpus.benchmark], "metrics": metrics.collect()["metric"]}
    Evaluation.finish(how.out, parts, values, uses)
    return None


def _each(
    text: str, function: Callable[[Batch], Any], jobs: list[Batch], workers: Any
) -> list[Any]:
    """The results for batches, in their order; how many are done is shown."""
    if jobs and jobs[0].folder is None:
        return [function(job) for job in jobs]
    results: dict[int, Any] = {}
    with progress("batches") as bar:
        task = bar.add_task(text, total=len(jobs))
        for batch, result in processes.each(function, jobs, workers=workers):
            if isinstance(result, processes.Lost):
                what = f"batch {batch.number} ended its process twice: {result.reason}"
                raise FormlabError(what, remedy="fewer --workers, so that each has more memory")
            results[batch.number] = result
            bar.update(task, advance=1)
    return [results[number] for number in sorted(results)]


def know_batch(batch: Batch, how: How) -> Facts:
    """What must be known of the chosen documents of a batch before any is scored."""
    corpus, predictions = choice.kept(*batch.opened(), how.chosen)
    matched, strange = by_corpus(corpus, predictions)
    return Facts(
        documents=corpus.documents["doc_id"].to_list(),
        answered=choice.answered(corpus, predictions),
        # What is noted of the whole is known already.
        notes=Counter(predictions.notes) - Counter(batch.predictions.notes),
        is_matched=matched.height > 0,
        whole=whole_of(corpus, predictions),
        strange=strange.select("split", "doc_id").unique().rows(),
    )


def whole_of(corpus: Corpus, predictions: Predictions) -> Whole:
    """What scorers must know of all documents, of these."""
    matched = dataclasses.replace(predictions, records=by_corpus(corpus, predictions)[0])
    tasks = benchmarks.get(corpus.benchmark).tasks
    # What families of tasks note of all predictions.
    marking = families(task for task in tasks if task in MARKS).values()
    return Whole.of(corpus, matched, [family.marks for family in marking])


def score_batch(batch: Batch, whole: Whole, how: How) -> tuple[Counter[str], Any]:
    """Notes of a batch, and its evaluation, or its files in `how.out` if there is a folder."""
    evaluation = score_documents(*choice.kept(*batch.opened(), how.chosen), whole, how)
    is_kept, notes = how.out is None, Counter(evaluation.notes)
    return notes, evaluation if is_kept else evaluation.write_part(how.out, batch.number)


def _unmatched(made: Cut, facts: Sequence[Facts], names: Sequence[str]) -> DataBroken:
    """The error for predictions of which none is for any of the documents `names`."""
    corpus, strange = made.corpus, {row for fact in facts for row in fact.strange}
    splits, predicted = (sorted({row[n] for row in strange}) for n in range(2))
    remedy = "the --split that was predicted, and doc_id as the benchmark spells it"
    if corpus.benchmark == OWN:
        remedy = "doc_id as the gold spells it, or as the files of the forms are called"
    what = f"none of the predictions is for a document of {corpus.benchmark}:{corpus.split}: they "
    what += f"are for {predicted[:3]} of {splits}, the corpus has {names[:3]} and so on"
    return DataBroken(what, where=", ".join(made.predictions.sources) or None, remedy=remedy)


def score_again(
    evaluation: Evaluation,
    *,
    gold: Callable[[Corpus], Corpus] = dataclasses.replace,
    labels: str | None = None,
    reader: str | None = None,
) -> Evaluation | None:
    """The evaluation scored again, part by part, when its parts are asked for.

    `gold` makes the gold of a part of the gold that it has, `labels` is the version of the gold for
    the settings of scores, and `reader` another reading rule, one of `fields.READERS`. None where
    the gold or the predictions were not kept.
    """
    corpus, predictions = evaluation.corpus, evaluation.predictions
    if corpus is None or predictions is None:
        return None
    settings = {"reader": READER, "documents": choice.ALL} | evaluation.settings
    settings |= {"reader": reader or settings["reader"]}
    settings["readings"] = list(others(settings["reader"]))
    chosen = (settings[name] for name in ("threshold", "reader", "documents"))
    how, corpus = How(evaluation.mode, *chosen, labels), corpus.mapped(gold)
    both = zip(corpus.parts(), predictions.parts(), strict=True)
    whole = Whole.together(whole_of(*part) for part in both)
    again = partial(_again, gold=gold, whole=whole, how=how)
    return evaluation.mapped(again, settings=settings, corpus=corpus)


def _again(part: Evaluation, *, gold: Any, whole: Whole, how: How) -> Evaluation:
    predictions = dataclasses.replace(part.predictions, system=part.system)
    return score_documents(gold(part.corpus), predictions, whole, how)
