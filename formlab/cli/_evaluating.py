"""The evaluations of predictions, one for each split that they are for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab import benchmarks, readers
from formlab.cli import scoring
from formlab.show import plain

if TYPE_CHECKING:
    from formlab.folders import Corpus, Evaluation, Predictions

How = dict[str, Any]


def evaluations(gold: str | Path, answers: Path, how: How) -> Iterator[Evaluation]:
    """The evaluation of answers to gold for each split that they are for, saved in `out`."""
    if isinstance(gold, Path):
        yield from _scored(
            gold, answers, how, **{n: how[n] for n in ("images", "types", "columns")}
        )
    else:
        yield from _of_benchmark(gold, answers, how)


def of_pair(corpus: Corpus, predictions: Predictions, how: How) -> Iterator[Evaluation]:
    """The evaluation of what is read already."""
    yield from _scored(corpus, predictions, how)


def _of_benchmark(name: str, answers: Path, how: How) -> Iterator[Evaluation]:
    from formlab.scoring import choice

    names = [how["split"]] if how["split"] else readers.splits(answers) or [None]
    several, known = len(names) > 1, None
    if several and isinstance(how["documents"], Path):
        # A list for several splits is of all of them together.
        corpora = (benchmarks.load(name, root=how["root"], split=split) for split in names)
        known = {corpus.split: corpus.documents["doc_id"].to_list() for corpus in corpora}
        listed = choice.listed(how["documents"])
        every = [document for documents in known.values() for document in documents]
        choice.check_listed(listed, every, file=how["documents"])
    for split in names:
        corpora = benchmarks.corpora(name, root=how["root"], split=split)
        changed = dict(how)
        if several:
            first = next(corpora)
            corpora = chain([first], corpora)
            changed["out"] = how["out"] and how["out"] / first.split
        if known:
            changed["documents"] = [each for each in known[first.split] if each in listed]
            if not changed["documents"]:
                note = f"note: none of the documents listed is in {plain(first.split)}"
                click.echo(note, err=True)
                continue
        yield from _scored(corpora, answers, changed)


def _scored(gold: Any, answers: Any, how: How, **more: Any) -> Iterator[Evaluation]:
    from formlab import analysis
    from formlab.scoring.fields import READER

    documents, out = how["documents"], how["out"]
    limit = documents if isinstance(documents, int) else None
    with scoring.replacing(out) if out else nullcontext() as replaced:
        evaluation = analysis.evaluate(
            gold,
            answers,
            documents="all" if limit else documents,
            limit=limit,
            mode=how["mode"],
            reader=how["reader"] or READER,
            workers=how["workers"],
            out=out,
            name=how.get("name"),
            fallback=out and out.name,
            **more,
        )
        scoring.check_met(evaluation, how)
        if replaced:
            replaced(evaluation)
    yield evaluation
