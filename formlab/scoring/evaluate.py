"""From gold and predictions to an evaluation: batches of documents, each scored on its own."""

from __future__ import annotations

import dataclasses
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import polars as pl

from formlab import benchmarks, files, tables
from formlab import workers as processes
from formlab.benchmarks._build import cut
from formlab.errors import DataBroken, FormlabError, UnknownName
from formlab.folders import Corpus, Evaluation, Predictions, made_now, replacing
from formlab.readers.answers import OWN
from formlab.readers.gold import located, sides
from formlab.scoring import across, choice
from formlab.scoring.batches import Batch, Cut, batches, own_gold
from formlab.scoring.fields import READER, others
from formlab.scoring.score_batch import (
    THRESHOLD,
    Facts,
    How,
    know_batch,
    score_batch,
    score_documents,
    settings_of,
    whole_of,
)
from formlab.scoring.whole import Whole
from formlab.show import progress

R = TypeVar("R")
# The note that counts documents which are predicted and not there.
STRANGE = "predicted documents that are not in the corpus"
# Folders of large evaluations without `out`, whose parts are read from there until Python ends.
_KEPT: list[TemporaryDirectory[str]] = []


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
    documents
        Which documents are scored: ``all``; those that were ``answered`` (nonsense, a refusal or
        a crash is an answer too); their names; or, as a path, a file with one name a line.
    limit
        Only the first so many of them, in the corpus' order.
    reader
        The rule by which fields are read from a page's words, one of `fields.READERS`; what the
        other rules read stands in `cases.readings`.
    out
        A folder to save the evaluation in. What is large is written there batch by batch, and
        tables are read when they are asked for.
    workers
        How many processes score batches, or the address of a Dask scheduler, whose workers must
        see `out`.
    name, fallback
        What the system is called; `fallback` where nothing but the name of a file says it.

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
        If there is no such mode, document or reading rule.
    DataBroken
        If no prediction is for a document of the corpus, or no document is chosen; if files that
        are not formlab's are in `out`.

    Examples
    --------
    >>> gold = pl.DataFrame({"doc_id": ["a", "b"], "total": ["9.00", "5"]})
    >>> answers = pl.DataFrame({"doc_id": ["a", "b"], "total": ["9.00", "6"]})
    >>> evaluate(gold, answers).fields.select("doc_id", "outcome").rows()
    [('a', 'match'), ('b', 'mismatch')]
    """
    others(reader)  # Whether there is such a rule.
    gold, predictions = located(gold), located(predictions)
    with _workplace(out) as home:
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
            evaluation = _scored(made, how, choose, workers)
            return Evaluation.load(evaluation.save(out)) if out else evaluation
        if out is None:
            _KEPT.append(TemporaryDirectory(prefix="formlab-"))
            out = Path(_KEPT[-1].name, "evaluation")
        with replacing(out) as new:
            _scored(made, dataclasses.replace(how, out=new), choose, workers)
    return Evaluation.load(out)


@contextmanager
def _workplace(out: str | Path | None) -> Iterator[Path]:
    """A folder for batches, beside `out` if there is one; what is killed is swept by the next."""
    if out is None:
        with TemporaryDirectory(prefix="formlab-") as name:
            yield Path(name)
        return
    folder = files.make_folder(Path(out).absolute().parent) / files.part_name(Path(out).name)
    with files.writing(out):
        folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _scored(
    made: Cut, how: How, choose: Callable[..., choice.Choice], workers: int | str
) -> Evaluation | None:
    """The evaluation of all batches; nothing where it is written into the folder `how.out`."""
    corpus, predictions = made.corpus, made.predictions
    facts = _each("reading", partial(know_batch, how=how), made.batches, workers)
    answered = {name for fact in facts for name in fact.answered}
    chosen = choose(made.names, answered, where=f"{corpus.benchmark}:{corpus.split}")
    if not made.names and corpus.unreadable:
        raise benchmarks.none_read(corpus.unreadable, corpus.root)
    remaining, known = made.batches, facts
    if chosen.description != choice.ALL:
        names = frozenset(chosen.documents)
        how = dataclasses.replace(how, description=chosen.description, chosen=names)
        both = zip(made.batches, facts, strict=True)
        remaining = [b for b, fact in both if names & {*fact.documents} or fact.strange]
        known = _each("knowing", partial(know_batch, how=how), remaining, workers)
    if not any(fact.is_matched for fact in known):
        raise _unmatched(corpus, predictions, facts, chosen.documents)
    whole = Whole.together(fact.whole for fact in known)
    scored = _each("scoring", partial(score_batch, whole=whole, how=how), remaining, workers)
    notes = Counter(predictions.notes) + Counter(chosen.notes)
    notes += Counter({f"gold: {name}": count for name, count in corpus.flaws.items()})
    notes += sum((fact.notes for fact in facts), Counter())
    notes += Counter({STRANGE: sum(len(fact.strange) for fact in facts)})
    notes += sum((part.notes for part in scored), Counter())
    values = {"notes": dict(notes), "unreadable": corpus.unreadable}
    values["sources"] = corpus.sources | predictions.sources
    if how.out is None:
        evaluation = scored[0].evaluation
        return dataclasses.replace(evaluation, cases=across.told_in(evaluation.cases), **values)
    values |= {"corpus": corpus, "predictions": predictions, "made": made_now()}
    values |= {name: getattr(corpus, name) for name in ("benchmark", "split", "root")}
    values |= {"system": predictions.system, "mode": how.mode}
    values |= {"settings": settings_of(predictions, how)}
    parts = across.told_on_disk(how.out, [file for part in scored for file in part.files])
    files_ = [how.out / part.table / part.name for part in parts if part.table == "scores"]
    metrics = pl.scan_parquet(files_, glob=False).select(pl.col("metric").unique().sort())
    uses = {"benchmarks": [corpus.benchmark], "metrics": metrics.collect()["metric"]}
    Evaluation.finish(how.out, parts, values, uses)
    return None


def _each(
    text: str, function: Callable[[Batch], R], jobs: Sequence[Batch], workers: int | str
) -> list[R]:
    """The results for batches, in their order; how many are done is shown."""
    if jobs and jobs[0].folder is None:
        return [function(job) for job in jobs]
    results: dict[int, R] = {}
    with progress("batches") as bar:
        task = bar.add_task(text, total=len(jobs))
        for batch, result in processes.each(function, jobs, workers=workers):
            if isinstance(result, processes.Lost):
                what = f"batch {batch.number} ended its process twice: {result.reason}"
                raise FormlabError(what, remedy="fewer --workers, so that each has more memory")
            results[batch.number] = result
            bar.update(task, advance=1)
    return [results[number] for number in sorted(results)]


def _unmatched(
    corpus: Corpus, predictions: Predictions, facts: Sequence[Facts], names: Sequence[str]
) -> DataBroken:
    """The error for predictions of which none is for any of the documents `names`."""
    strange = {row for fact in facts for row in fact.strange}
    splits, predicted = (sorted({row[n] for row in strange}) for n in range(2))
    remedy = "the --split that was predicted, and doc_id as the benchmark spells it"
    if corpus.benchmark == OWN:
        remedy = "doc_id as the gold spells it, or as the files of the forms are called"
    what = f"none of the predictions is for a document of {corpus.benchmark}:{corpus.split}: they "
    what += f"are for {predicted[:3]} of {splits}, the corpus has {names[:3]} and so on"
    return DataBroken(what, where=", ".join(predictions.sources) or None, remedy=remedy)


def read_again(evaluation: Evaluation, reader: str) -> Evaluation | None:
    """The evaluation as another reading rule, one of `fields.READERS`, makes it.

    The same evaluation but for its settings where nothing was read under boxes: no rule has a
    say there. None where the gold or the predictions were not kept; `UnknownName` if there is no
    such rule.
    """
    settings = evaluation.settings | {"reader": reader, "readings": list(others(reader))}
    if reader == evaluation.settings.get("reader", READER):
        return evaluation
    if not evaluation.scan("cases").select(pl.col("readings").count()).collect().item():
        return evaluation.changed(settings=settings)
    return score_again(evaluation, settings=settings)


def score_again(
    evaluation: Evaluation,
    *,
    gold: Callable[[Corpus], Corpus] | None = None,
    labels: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Evaluation | None:
    """The evaluation scored again, part by part, when its parts are asked for.

    `gold` makes the gold of a part of the gold that it has, `labels` is the version of the gold
    for the settings of scores, `settings` are in place of those of the evaluation. None where the
    gold or the predictions were not kept.
    """
    if any(None in (part.corpus, part.predictions) for part in evaluation.parts()):
        return None
    gold, settings = gold or _unchanged, dict(settings or evaluation.settings)
    reader, description = settings.get("reader", READER), settings.get("documents", choice.ALL)
    how = How(evaluation.mode, settings["threshold"], reader, description, labels)
    facts = (whole_of(gold(part.corpus), part.predictions) for part in evaluation.parts())
    known = {"whole": Whole.together(facts), "how": how, "system": evaluation.system}
    again = partial(_again, gold=gold, **known)
    # All that is known already, so that no part is scored to learn it.
    names = ("benchmark", "split", "system", "mode", "root", "notes", "sources", "made")
    known = {name: getattr(evaluation, name) for name in (*names, "unreadable")}
    return evaluation.mapped(again, settings=settings, **known)


def _unchanged(corpus: Corpus) -> Corpus:
    return corpus


def _again(part: Evaluation, *, gold: Any, whole: Whole, how: How, system: str) -> Evaluation:
    predictions = dataclasses.replace(part.predictions, system=system)
    return score_documents(gold(part.corpus), predictions, whole, how)
