"""Scoring of any size: shard by shard on disk, in several processes or on a cluster."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from formlab import benchmarks, files, readers
from formlab import workers as run
from formlab.errors import DataBroken, FormlabError
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.progress import progress
from formlab.saving import MANIFEST
from formlab.scoring import part
from formlab.scoring.evaluate import (
    STRANGE,
    THRESHOLD,
    by_corpus,
    marks_of,
    mode_of,
    no_match,
    score_shard,
    with_strange,
)  # fmt: skip
from formlab.scoring.fields import READER, others
from formlab.scoring.kinds import Kinds

# In the folder of a shard: the digest of the source that its corpus and predictions are of.
_SOURCE = "source.json"
# What is known of a corpus as a whole, and so stands in its first shard.
_OF_CORPUS = ("flaws", "sources", "unreadable")


@dataclasses.dataclass(frozen=True)
class Shard:
    """What the whole has to know of a shard whose corpus and predictions are on disk.

    `digest` is the same exactly if these are; `answered` are those of its `documents` that have an
    answer, `strange` counts predicted documents that it does not have. `matched` says whether there
    are predictions for any of its documents, `predicted` and `splits` what others are for.
    """

    name: str
    digest: str
    benchmark: str
    split: str
    documents: list[str]
    answered: set[str]
    kinds: Kinds
    notes: dict[str, int]
    sources: dict[str, str]
    unreadable: dict[str, str]
    strange: int
    matched: bool
    predicted: list[str]
    splits: list[str]


def pairs(corpus: Corpus, predictions: Predictions) -> Iterator[tuple[Corpus, Predictions]]:
    """A corpus and predictions in shards, as `score` takes them.

    What is predicted for documents that the corpus does not have is last, without documents.
    """
    here, strange = by_corpus(corpus, predictions)
    asked = pl.col("doc_id").is_in(corpus.documents["doc_id"].to_list())
    responses, rest = (predictions.responses.filter(each) for each in (asked, ~asked))
    answers = dataclasses.replace(predictions, records=here, responses=responses)
    # What is counted of the whole stands in the first shard.
    flaws = {name: getattr(corpus, name) for name in _OF_CORPUS}
    notes = {name: getattr(predictions, name) for name in ("notes", "sources")}
    for documents, theirs in part.cut(corpus, answers):
        yield dataclasses.replace(documents, **flaws), dataclasses.replace(theirs, **notes)
        flaws, notes = ({name: {} for name in each} for each in (flaws, notes))
    if strange.height or rest.height:
        none = {"documents": corpus.documents.clear(), "records": corpus.records.clear()}
        yield (
            dataclasses.replace(corpus, **none, **flaws),
            dataclasses.replace(
                predictions, records=strange, responses=rest, notes={}, sources={}
            ),
        )  # fmt: skip


def score(
    sources: Iterable[Any],
    out: str | Path,
    *,
    open_source: Callable[[Any], tuple[Corpus, Predictions]] | None = None,
    answers: Path | None = None,
    mode: str | None = None,
    threshold: float = THRESHOLD,
    documents: str | Path | Sequence[str] = part.ALL,
    limit: int | None = None,
    reader: str = READER,
    workers: int | run.Crew = 1,
    scheduler: str | None = None,
) -> Evaluation:
    """Score shards of documents, each on its own, into the folder `out`.

    The evaluation is that of `evaluate` of the whole, and its files are the same to the byte
    whatever the workers and their order. Made again of the same sources with the same options, it
    keeps the shards that are finished; `out` is an evaluation only when all of them are.

    Parameters
    ----------
    sources
        Corpora with their predictions, of different documents of one benchmark and split, in their
        order, such as those of `pairs`. With `open_source`, plain data that it opens; what has the
        same `digest` is not opened again.
    out
        Where the evaluation goes; every worker must see it.
    open_source
        Importable; called by the workers.
    answers
        A run: what it has for documents that no source has is counted, too.
    mode, threshold, limit, reader
        As for `evaluate`.
    documents
        As for `evaluate`; or a file with one ``doc_id`` a line.
    workers, scheduler
        As for `formlab.workers.each`.

    Returns
    -------
    Evaluation
        Opened from `out`: its shards are read when they are asked for.

    Raises
    ------
    UnknownName, DataBroken
        As `evaluate`; `DataBroken` too if two shards have the same document.
    FormlabError
        If a shard ends its process twice.
    """
    out = Path(out)
    others(reader)  # Whether there is such a rule.
    files.make_folder(out.parent)
    with (
        TemporaryDirectory(prefix=f".{out.name}.", suffix=".part", dir=out.parent) as home,
        run.shared(out.parent) as mark,
        run.crew(workers) as crew,
    ):
        new = Path(home).resolve()
        jobs = ((f"{number:05}", source) for number, source in enumerate(sources))
        in_crew = crew.workers > 1 and not scheduler
        if in_crew:
            # They import what they need while the sources are listed here.
            crew.begin(_read, (_begun, (mark, (new, open_source))))
        team = _Team(mark, crew if in_crew else workers, scheduler)
        # What is here already goes to other processes by way of the disk.
        reading, jobs = (team, list(jobs)) if open_source else (_Team(mark), jobs)
        shards = reading.each("reading", _read, jobs, (new, open_source))
        if answers:
            shards += _rest(new, shards, answers)
        choice = _choice(shards, documents, limit)
        # Of the whole, whatever is chosen of it.
        notes = sum((Counter(shard.notes) for shard in shards), Counter())
        notes[STRANGE] = sum(shard.strange for shard in shards)
        origins, unreadable = (
            {name: text for shard in shards for name, text in getattr(shard, field).items()}
            for field in ("sources", "unreadable")
        )
        if choice.description != part.ALL:
            shards = team.each("choosing", _keep, _kept(shards, set(choice.documents)), (new,))
        if unreadable and not any(shard.documents for shard in shards):
            raise benchmarks.none_read(unreadable, out)
        if not any(shard.matched for shard in shards):
            predicted, splits = (
                {word for shard in shards for word in getattr(shard, field)}
                for field in ("predicted", "splits")
            )
            first = shards[0]
            raise no_match(first.benchmark, first.split, choice.documents, predicted, splits)
        how: dict[str, Any] = {"threshold": threshold, "reader": reader}
        how["mode"] = mode_of(benchmarks.get(shards[0].benchmark), mode)
        # How a shard is scored depends on what the others are like.
        key = _digest(files.version(), choice.description, how, [s.digest for s in shards])
        how["kinds"] = Kinds.together(shard.kinds for shard in shards)
        scoring = [(shard.name, _digest(shard.digest, key)) for shard in shards]
        scored = team.each("scoring", _score, scoring, (new, choice.description, how))
        notes += sum((Counter(each) for each in scored), Counter()) + Counter(choice.notes)
        known = {"notes": dict(notes), "sources": origins, "unreadable": unreadable}
        parts = [partial(Evaluation.opened, new / shard.name / "scored") for shard in shards]
        Evaluation.of(parts, **known).save(out)
    return Evaluation.load(out)


@dataclasses.dataclass(frozen=True)
class _Team:
    """Who does the jobs; `mark` is a file that all of them must see."""

    mark: Path
    workers: int | run.Crew = 1
    scheduler: str | None = None

    def each(
        self, text: str, function: Callable[..., Any], jobs: Iterable[tuple[str, Any]],
        state: tuple[Any, ...],
    ) -> list[Any]:  # fmt: skip
        """The results in the order of the jobs' names; how many are done is shown."""
        results: dict[str, Any] = {}
        options = {"workers": self.workers, "scheduler": self.scheduler}
        with progress("shards") as bar:
            task = bar.add_task(text, total=len(jobs) if isinstance(jobs, list) else None)
            for (name, _), result in run.each(
                function, jobs, begin=(_begun, (self.mark, state)), **options
            ):
                if isinstance(result, run.Lost):
                    what = f"shard {name} ended its process twice: {result.reason}"
                    raise FormlabError(what, remedy="fewer --workers, so that each has more memory")
                results[name] = result
                bar.update(task, advance=1)
        return [results[name] for name in sorted(results)]


def _begun(mark: Path, state: tuple[Any, ...]) -> tuple[Any, ...]:
    run.seen(mark)
    return state


def _read(
    state: tuple[Path, Callable[[Any], tuple[Corpus, Predictions]] | None], job: tuple[str, Any]
) -> Shard:
    """Write a shard's corpus and predictions, unless those of the same source are there."""
    (out, open_source), (name, source) = state, job
    folder = _home(out, name)
    digest = source.get("digest") if isinstance(source, Mapping) else None
    # What is there and damaged is read again.
    with suppress(FormlabError):
        if digest and files.read_json(folder / _SOURCE) == digest:
            return _known(folder, *_stored(folder))
    shard = _written(folder, *(open_source(source) if open_source else source))
    if digest:
        files.write_json(folder / _SOURCE, digest)
    return shard


def _rest(out: Path, shards: Sequence[Shard], run: Path) -> list[Shard]:
    """A shard without documents, of what a run has for others than those of `shards`, if any."""
    corpus, _ = _stored(_home(out, shards[0].name))
    known = [name for shard in shards for name in shard.documents]
    answers = readers.read_predictions(run, corpus, documents=known, others=True)
    if not answers.records.height + answers.responses.height:
        return []
    none = {name: getattr(corpus, name).clear() for name in Corpus.TABLES}
    return [
        _written(
            _home(out, f"{len(shards):05}"),
            dataclasses.replace(corpus, **none, **{name: {} for name in _OF_CORPUS}),
            dataclasses.replace(answers, notes={}, sources={}),
        )
    ]


def _keep(state: tuple[Path], job: tuple[str, list[str] | None]) -> Shard:
    """Leave the chosen documents alone in a shard that has others; null for all of them."""
    (out,), (name, chosen) = state, job
    folder = _home(out, name)
    both = _stored(folder)
    return _known(folder, *both) if chosen is None else _written(folder, *part.kept(*both, chosen))


def _score(state: tuple[Path, str, dict[str, Any]], job: tuple[str, str]) -> dict[str, int]:
    """Score a shard, unless that was done with the same `key`; what there is to note of it."""
    (out, description, how), (name, _) = state, job
    folder = _home(out, name)
    # Whoever read this shard has checked it.
    corpus, predictions = _stored(folder)
    here, strange = by_corpus(corpus, predictions)
    shard = score_shard(corpus, dataclasses.replace(predictions, records=here), **how)
    if strange.height:
        shard = with_strange(shard, strange)
    shard = part.with_selection(shard, description)
    shard.save(folder / "scored")
    return shard.notes


def _home(folder: Path, name: str) -> Path:
    return folder / name


def _stored(folder: Path) -> tuple[Corpus, Predictions]:
    return Corpus.load(folder / "corpus"), Predictions.load(folder / "predictions")


def _written(folder: Path, corpus: Corpus, predictions: Predictions) -> Shard:
    with files.writing(folder):
        (folder / _SOURCE).unlink(missing_ok=True)
    corpus.save(folder / "corpus")
    predictions.save(folder / "predictions")
    return _known(folder, corpus, predictions)


def _known(folder: Path, corpus: Corpus, predictions: Predictions) -> Shard:
    manifests = [(folder / name / MANIFEST).read_text() for name in ("corpus", "predictions")]
    here, strange = by_corpus(corpus, predictions)
    matched = dataclasses.replace(predictions, records=here)
    notes = Counter(predictions.notes)
    notes.update({f"gold: {name}": count for name, count in corpus.flaws.items()})
    return Shard(
        name=folder.name,
        digest=_digest(*manifests),
        benchmark=corpus.benchmark,
        split=corpus.split,
        documents=corpus.documents["doc_id"].to_list(),
        answered=part.answered(corpus, predictions),
        kinds=Kinds.of(corpus, matched, marks_of(benchmarks.get(corpus.benchmark))).counted(),
        notes=dict(notes),
        sources=corpus.sources | predictions.sources,
        unreadable=corpus.unreadable,
        strange=strange.select("split", "doc_id").unique().height,
        matched=here.height > 0,
        predicted=strange["doc_id"].unique().sort().head(3).to_list(),
        splits=strange["split"].unique().to_list(),
    )


def _choice(
    shards: Sequence[Shard], documents: str | Path | Sequence[str], limit: int | None
) -> part.Choice:
    """Which documents of all shards are scored."""
    names = [name for shard in shards for name in shard.documents]
    where = f"{shards[0].benchmark}:{shards[0].split}"
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise DataBroken(f"document {twice!r} is in two shards", where=where)
    if isinstance(documents, Path):
        requested = part.listed(documents)
        part.check_listed(requested, names, file=documents)
        documents = list(requested)
    answered = {name for shard in shards for name in shard.answered}
    return part.decide(names, answered, documents, limit=limit, where=where)


def _kept(shards: Iterable[Shard], chosen: set[str]) -> list[tuple[str, list[str] | None]]:
    """A job for each shard that something is left of: the documents that it keeps, null for all."""
    kept = [(shard, [name for name in shard.documents if name in chosen]) for shard in shards]
    return [
        (shard.name, None if names == shard.documents else names)
        for shard, names in kept
        if names or shard.strange
    ]


def _digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, default=str).encode()).hexdigest()
