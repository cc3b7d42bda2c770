"""How gold and predictions of any size become evaluations, until `evaluate` does so by itself."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from formlab import benchmarks, readers
from formlab.cli import scoring
from formlab.show import plain

if TYPE_CHECKING:
    from formlab.folders import Corpus, Evaluation, Predictions

# Bytes of a user's own gold and answers that are read as a whole.
_SMALL = 250_000
How = dict[str, Any]


def evaluations(gold: str | Path, answers: Path, how: How) -> Iterator[Evaluation]:
    """The evaluation of answers to gold for each split that they are for, saved in `out`."""
    yield from (_of_own if isinstance(gold, Path) else _of_benchmark)(gold, answers, how)


def of_pair(corpus: Corpus, predictions: Predictions, how: How) -> Iterator[Evaluation]:
    """The evaluation of what is read already."""
    yield from _scored(
        corpus, predictions, how | {"documents": _listed(how["documents"], [corpus])}
    )


def _of_benchmark(name: str, answers: Path, how: How) -> Iterator[Evaluation]:
    from formlab.scoring import loaded

    names = [how["split"]] if how["split"] else readers.splits(answers) or [None]
    several, root = len(names) > 1, how["root"]
    load = partial(benchmarks.load, name, root=root)
    # A list for several splits is of all of them together.
    is_list = several and isinstance(how["documents"], Path)
    listed = _listed(how["documents"], (load(split=n) for n in names)) if is_list else ()
    for split in names:
        shards = [] if is_list else loaded.sources(name, answers, root=root, split=split)
        if len(shards) > 1:
            out = _folder(how["out"], shards[0]["split"], several)
            shards = [shard | {"name": how["name"]} for shard in shards]
            opening = {"open_source": loaded.opened, "answers": answers}
            yield from _in_shards(shards, how | {"out": out}, **opening)
            continue
        corpus = load(split=split)
        if is_list:
            # Those that this split has.
            chosen = sorted(set(listed) & set(corpus.documents["doc_id"]))
        else:
            chosen = _listed(how["documents"], [corpus])
        if not chosen:
            click.echo(f"note: none of the documents listed is in {plain(corpus.split)}", err=True)
            continue
        predictions = _called(readers.predictions(answers, corpus), answers, how)
        out = _folder(how["out"], corpus.split, several)
        yield from _scored(corpus, predictions, how | {"documents": chosen, "out": out})


def _of_own(gold: Path, answers: Path, how: How) -> Iterator[Evaluation]:
    from formlab.own import sharded
    from formlab.readers import gold as own
    from formlab.scoring import part

    reading = {name: how[name] for name in ("images", "types", "columns")}
    if how["workers"] == 1 and _size(gold) + _size(answers) < _SMALL:
        corpus, predictions = own.pair(gold, answers, **reading)
        chosen = _listed(how["documents"], [corpus])
        predictions = _called(predictions, answers, how)
        yield from _scored(corpus, predictions, how | {"documents": chosen})
        return
    with _home(how["out"]) as out:
        folder = out / ".sources"

        def sources() -> Iterator[dict[str, Any]]:
            # Planned when they are asked for: the processes start meanwhile.
            plan = sharded.plan(gold, answers, folder=folder, records=part.SHARD, **reading)
            name = system_name(plan.system, answers, how)
            yield from (source | {"name": name} for source in plan.sources)

        yield from _in_shards(sources(), how | {"out": out}, open_source=sharded.open)
        shutil.rmtree(folder, ignore_errors=True)


def _called(predictions: Predictions, answers: Path, how: How) -> Predictions:
    return dataclasses.replace(predictions, system=system_name(predictions.system, answers, how))


def system_name(system: str, answers: Path, how: How) -> str:
    """What a system is called: as asked; like the folder of its evaluation, if only its file is."""
    from formlab.readers.door import stem

    is_stem = system == stem(answers.resolve()) and not readers.is_run(answers)
    return how["name"] or (how["out"].name if how["out"] and is_stem else system)


def _folder(out: Path | None, split: str, several: bool) -> Path | None:
    """Where the evaluation of a split goes, which may be one of several."""
    return out / split if out and several else out


def _size(path: Path) -> int:
    """Bytes of a file or a folder; 0 if it is not there."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())


def _listed(chosen: str | int | Path, corpora: Iterable[Corpus]) -> str | int | list[str]:
    """The choice of documents; of a file the ids in it, each of which is in a corpus."""
    from formlab.scoring import part

    if not isinstance(chosen, Path):
        return chosen
    names = part.listed(chosen)
    known = [name for corpus in corpora for name in corpus.documents["doc_id"]]
    part.check_listed(names, known, file=chosen)
    return list(names)


def _chosen(how: How) -> dict[str, Any]:
    """The options of how documents are chosen and scored, as `evaluate` takes them."""
    from formlab.scoring.fields import READER

    documents = how["documents"]
    limit = documents if isinstance(documents, int) else None
    chosen = {"documents": "all" if limit else documents, "limit": limit, "mode": how["mode"]}
    return chosen | {"reader": how["reader"] or READER}


def _scored(corpus: Corpus, predictions: Predictions, how: How) -> Iterator[Evaluation]:
    from formlab import analysis
    from formlab.scoring import many, part
    from formlab.show import working

    if how["workers"] != 1 or corpus.records.height > part.SHARD:
        yield from _in_shards(many.pairs(corpus, predictions), how)
        return
    where = f"{corpus.benchmark}:{corpus.split}"
    with working(f"scoring {corpus.documents.height:,} documents of {where}"):
        evaluation = analysis.evaluate(corpus, predictions, **_chosen(how))
    scoring.check_met(evaluation, how)
    if how["out"]:
        with scoring.replacing(how["out"]) as replaced:
            evaluation.save(how["out"])
            replaced(evaluation)
    yield evaluation


def _in_shards(sources: Iterable[Any], how: How, **opening: Any) -> Iterator[Evaluation]:
    from formlab.scoring import many

    with _home(how["out"]) as out, scoring.replacing(out) as replaced:
        evaluation = many.score(sources, out, **_chosen(how), workers=how["workers"], **opening)
        scoring.check_met(evaluation, how)
        replaced(evaluation)
        yield evaluation


@contextmanager
def _home(out: Path | None) -> Iterator[Path]:
    """The folder of an evaluation: `out`, or one for as long as it is needed."""
    if out:
        yield out
    else:
        with TemporaryDirectory(prefix="formlab-") as name:
            yield Path(name)
