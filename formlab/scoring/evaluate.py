"""From gold and predictions to an evaluation: batches of documents, each scored on its own."""

from __future__ import annotations

import dataclasses
import shutil
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, TypeVar

import polars as pl

from formlab import benchmarks, files, readers, tables
from formlab import workers as processes
from formlab.benchmarks import Benchmark
from formlab.benchmarks._build import cut as cut_corpus
from formlab.errors import DataBroken, FormlabError, UnknownName
from formlab.folders import Corpus, Evaluation, Predictions, made_now
from formlab.readers.gold import BENCHMARK, located, pair, sides
from formlab.saving import replacing
from formlab.scoring import choice
from formlab.scoring.batches import Batch, Cut, batches, own_gold, system_name
from formlab.scoring.fields import READER, others
from formlab.scoring.score_batch import (
    THRESHOLD,
    Facts,
    How,
    by_corpus,
    facts_of,
    know_batch,
    open_batch,
    score_batch,
    score_documents,
    settings_of,
)
from formlab.scoring.whole import Whole
from formlab.show import progress

R = TypeVar("R")
# The note that counts documents which are predicted and not there.
STRANGE = "predicted documents that are not in the corpus"
# Bytes of gold and answers of one's own that are read as a whole.
SMALL = 250_000


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
        `benchmarks.corpora`; or gold of one's own: a path, a polars or pandas frame, or whatever
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
        If the benchmark has no such mode, the corpus no such document, or there is no such
        reading rule.
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
    source = predictions
    own_options = {"images": images, "types": types, "columns": columns}
    if not isinstance(gold, Corpus | Iterator) and _is_small(gold, predictions, workers):
        gold, predictions = pair(gold, predictions, **own_options)
    if isinstance(gold, Iterator):
        # Most benchmarks are one batch.
        few = list(islice(gold, 2))
        gold = few[0] if len(few) == 1 and workers == 1 else chain(few, gold)
    options = {"mode": mode, "threshold": threshold, "reader": reader}
    chosen = {"documents": documents, "limit": limit}
    if isinstance(gold, Corpus) and gold.records.height <= benchmarks.BATCH and workers == 1:
        answers = predictions
        if not isinstance(answers, Predictions):
            answers = readers.predictions(answers, gold, columns=columns)
        answers = dataclasses.replace(answers, system=system_name(answers, source, name, fallback))
        evaluation = _in_memory(gold, answers, chosen, options)
        return evaluation if out is None else Evaluation.load(evaluation.save(out))
    home = None if out is not None else Home(mkdtemp(prefix="formlab-"))
    with _staged(home.path / "evaluation" if home else out) as (folder, new):
        if isinstance(gold, Corpus):
            corpora: Iterable[Corpus] = cut_corpus(gold, benchmarks.BATCH)
        elif isinstance(gold, Iterator):
            corpora = gold
        else:
            own_options["columns"], columns = sides(gold, predictions, columns or {})
            corpora = own_gold(gold, folder / "own", **own_options)
        cut = batches(corpora, predictions, folder, columns=columns, name=name, fallback=fallback)
        _in_batches(cut, new, chosen, options, workers)
    return home.held(Evaluation.load(home.path / "evaluation")) if home else Evaluation.load(out)


class Home:
    """A folder that is removed with the last evaluation whose parts are read from it."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)

    def __reduce__(self) -> Any:
        # Another process only reads there.
        return Path, (self.path,)

    def held(self, evaluation: Evaluation) -> Evaluation:
        """The evaluation, which keeps this folder for as long as it is there."""
        parts = [partial(_opened_in, self, part) for part in evaluation.lazy_parts]
        known = {name: getattr(evaluation, name) for name in Evaluation.scalars()}
        members = {name: getattr(evaluation, name) for name in Evaluation.MEMBERS}
        for member in members.values():
            member.__dict__["_home"] = self
        return Evaluation.of(parts, **known, **members) if parts else evaluation


def _opened_in(home: Home, part: Callable[[], Evaluation]) -> Evaluation:  # noqa: ARG001
    return part()


def _is_small(gold: Any, predictions: Any, workers: int | str) -> bool:
    """Whether a user's own gold and answers are read as a whole: few, or in memory already."""
    if workers != 1:
        return False
    sides = [side for side in (gold, predictions) if isinstance(side, Path)]
    sizes = (f.stat().st_size for s in sides for f in (s, *s.rglob("*")) if f.is_file())
    return len(sides) < 2 or sum(sizes) < SMALL


@contextmanager
def _staged(out: str | Path) -> Iterator[tuple[Path, Path]]:
    """Where batches are written, and the evaluation of them: in `out` when the block ends well."""
    home = files.make_folder(Path(out).absolute().parent)
    with (
        TemporaryDirectory(prefix=".formlab-", suffix=".part", dir=home) as name,
        replacing(out) as new,
    ):
        yield Path(name), new


def _in_memory(
    corpus: Corpus,
    predictions: Predictions,
    chosen: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Evaluation:
    """The evaluation of one batch that is in memory."""
    answered = choice.answered(corpus, predictions)
    names = corpus.documents["doc_id"].to_list()
    decision = _decided(corpus, names, answered, chosen)
    corpus, predictions = choice.kept(corpus, predictions, decision.documents)
    how = _how(corpus, decision, options)
    facts = dataclasses.replace(facts_of(corpus, predictions, answered), notes=Counter())
    where = ", ".join(predictions.sources) or None
    _check_matched(corpus, [facts], where, by_corpus(corpus, predictions)[0].height > 0)
    scored = score_documents(corpus, predictions, know_batch(corpus, predictions), how)
    notes = _notes(corpus, predictions, [facts], decision) + Counter(scored.notes)
    return dataclasses.replace(
        scored,
        notes=dict(notes),
        sources=corpus.sources | predictions.sources,
        unreadable=corpus.unreadable,
    )


def _in_batches(
    cut: Cut,
    new: Path,
    chosen: Mapping[str, Any],
    options: Mapping[str, Any],
    workers: int | str,
) -> None:
    """Write the evaluation of all batches into the folder `new`."""
    corpus, predictions = cut.corpus, cut.predictions
    where = ", ".join(predictions.sources) or None
    how = _how(corpus, choice.Choice([], choice.ALL, {}), options)
    facts = _each("reading", partial(_facts, how=how), cut.batches, workers)
    answered = {name for each in facts for name in each.answered}
    decision = _decided(corpus, cut.names, answered, chosen)
    if not cut.names and corpus.unreadable:
        raise benchmarks.none_read(corpus.unreadable, corpus.root)
    how = dataclasses.replace(_how(corpus, decision, options), out=new)
    kept = cut.batches
    if decision.description != choice.ALL:
        how = dataclasses.replace(how, chosen=frozenset(decision.documents))
        some = [bool(how.chosen & {*each.documents}) or bool(each.strange) for each in facts]
        kept = [batch for batch, is_kept in zip(kept, some, strict=True) if is_kept]
    known = _each("knowing", partial(_known, how=how), kept, workers)
    _check_matched(corpus, facts, where, any(matched for _, matched in known), decision.documents)
    scoring = partial(score_batch, whole=Whole.together(each for each, _ in known), how=how)
    scored = _each("scoring", scoring, kept, workers)
    notes = _notes(corpus, predictions, facts, decision)
    notes += sum((noted for _, noted in scored), Counter())
    values = {
        "corpus": corpus,
        "predictions": predictions,
        "benchmark": corpus.benchmark,
        "split": corpus.split,
        "root": corpus.root,
        "system": predictions.system,
        "mode": how.mode,
        "settings": settings_of(predictions, how),
        "sources": corpus.sources | predictions.sources,
        "notes": dict(notes),
        "unreadable": corpus.unreadable,
        "made": made_now(),
    }
    parts = [part for written, _ in scored for part in written]
    scores = pl.scan_parquet(
        [new / p.table / p.name for p in parts if p.table == "scores"], glob=False
    )
    metrics = scores.select(pl.col("metric").unique().sort()).collect()["metric"]
    uses = {"benchmarks": [corpus.benchmark], "metrics": metrics}
    Evaluation.finish(new, parts, values, uses)


def _facts(batch: Batch, how: How) -> Facts:
    corpus, predictions = open_batch(batch, how)
    return facts_of(corpus, predictions, choice.answered(corpus, predictions))


def _known(batch: Batch, how: How) -> tuple[Whole, bool]:
    """What scorers must know of a batch, and whether it has predictions for its documents."""
    corpus, predictions = open_batch(batch, how)
    matched = by_corpus(corpus, predictions)[0].height > 0
    return know_batch(corpus, predictions).counted(), matched


def _each(
    text: str, function: Callable[[Batch], R], jobs: Sequence[Batch], workers: int | str
) -> list[R]:
    """The results for batches, in their order; how many are done is shown."""
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


def _how(corpus: Corpus, decision: choice.Choice, options: Mapping[str, Any]) -> How:
    mode = mode_of(benchmarks.get(corpus.benchmark), options["mode"])
    return How(mode, options["threshold"], options["reader"], decision.description)


def _decided(
    corpus: Corpus, names: list[str], answered: set[str], chosen: Mapping[str, Any]
) -> choice.Choice:
    """Which documents are scored; those in a file are all in the gold."""
    documents = chosen["documents"]
    if isinstance(documents, Path):
        requested = choice.listed(documents)
        choice.check_listed(requested, names, file=documents)
        documents = list(requested)
    where = f"{corpus.benchmark}:{corpus.split}"
    return choice.decide(names, answered, documents, limit=chosen["limit"], where=where)


def _notes(
    corpus: Corpus, predictions: Predictions, facts: Sequence[Facts], decision: choice.Choice
) -> Counter[str]:
    notes = Counter(predictions.notes)
    notes += Counter({f"gold: {name}": count for name, count in corpus.flaws.items()})
    notes += sum((each.notes for each in facts), Counter())
    notes += Counter({STRANGE: sum(each.strange for each in facts)})
    return notes + Counter(decision.notes)


def mode_of(benchmark: Benchmark, mode: str | None) -> str:
    """The mode of scoring, by default the benchmark's first; `UnknownName` if it has none such."""
    if mode and mode not in benchmark.modes:
        raise UnknownName.of(f"mode of {benchmark.name}", mode, benchmark.modes)
    return mode or benchmark.modes[0]


def _check_matched(
    corpus: Corpus,
    facts: Sequence[Facts],
    where: object,
    is_matched: bool,
    documents: Sequence[str] | None = None,
) -> None:
    """`DataBroken` if nothing is predicted for any of the documents."""
    if is_matched:
        return
    names = documents or [name for each in facts for name in each.documents]
    predicted = {name for each in facts for name in each.predicted}
    splits = {name for each in facts for name in each.splits}
    remedy = "the --split that was predicted, and doc_id as the benchmark spells it"
    if corpus.benchmark == BENCHMARK:
        remedy = "doc_id as the gold spells it, or as the files of the forms are called"
    raise DataBroken(
        f"none of the predictions is for a document of {corpus.benchmark}:{corpus.split}: they are "
        f"for {sorted(predicted)[:3]} of {sorted(splits)}, the corpus has {names[:3]} and so on",
        where=where,
        remedy=remedy,
    )


def read_again(evaluation: Evaluation, reader: str) -> Evaluation | None:
    """The evaluation as another reading rule makes it.

    Parameters
    ----------
    evaluation
        As from `evaluate`.
    reader
        One of `fields.READERS`.

    Returns
    -------
    Evaluation or None
        The same evaluation but for its settings where nothing was read under boxes: no rule has a
        say there. None where the gold or the predictions were not kept.

    Raises
    ------
    UnknownName
        If there is no such rule.
    """
    settings = evaluation.settings | {"reader": reader, "readings": list(others(reader))}
    if reader == evaluation.settings.get("reader", READER):
        return evaluation
    read = evaluation.scan("cases").select(pl.col("readings").count()).collect().item()
    if not read:
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

    Parameters
    ----------
    evaluation
        As from `evaluate`.
    gold
        Makes the gold of a part of the gold that it has.
    labels
        The version of the gold, for the settings of scores.
    settings
        In place of those of the evaluation.

    Returns
    -------
    Evaluation or None
        None where the gold or the predictions were not kept.
    """
    if any(None in (part.corpus, part.predictions) for part in evaluation.parts()):
        return None
    settings = dict(settings or evaluation.settings)
    same = gold or _unchanged
    whole = Whole.together(
        know_batch(same(part.corpus), part.predictions) for part in evaluation.parts()
    )
    reader, description = settings.get("reader", READER), settings.get("documents", choice.ALL)
    how = How(evaluation.mode, settings["threshold"], reader, description)
    again = partial(
        _again, gold=same, labels=labels, whole=whole, how=how, system=evaluation.system
    )
    # All that is known already, so that no part is scored to learn it.
    names = ("benchmark", "split", "system", "mode", "root", "notes", "sources", "made")
    known = {name: getattr(evaluation, name) for name in (*names, "unreadable")}
    return evaluation.mapped(again, settings=settings, **known)


def _unchanged(corpus: Corpus) -> Corpus:
    return corpus


def _again(
    part: Evaluation,
    *,
    gold: Callable[[Corpus], Corpus],
    labels: str | None,
    whole: Whole,
    how: How,
    system: str,
) -> Evaluation:
    answers = dataclasses.replace(part.predictions, system=system)
    scored = score_documents(gold(part.corpus), answers, whole, how)
    if not labels:
        return scored
    return dataclasses.replace(scored, scores=tables.with_settings(scored.scores, labels=labels))
