"""An evaluation scored again, shard by shard: under another reading rule, or with other gold."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import polars as pl

from formlab import benchmarks, tables
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.scoring import part
from formlab.scoring.evaluate import marks_of, score_shard, with_strange
from formlab.scoring.fields import READER, others
from formlab.scoring.kinds import Kinds


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
    readings = list(others(reader))
    if reader == evaluation.settings.get("reader", READER):
        return evaluation
    settings = evaluation.settings | {"reader": reader, "readings": readings}
    if not any(shard.cases["readings"].count() for shard in evaluation.parts()):
        return evaluation.changed(settings=settings)
    return score_again(evaluation, settings=settings)


def score_again(
    evaluation: Evaluation,
    *,
    gold: Callable[[Corpus], Corpus] | None = None,
    labels: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Evaluation | None:
    """The evaluation scored again, shard by shard, when its shards are asked for.

    Parameters
    ----------
    evaluation
        As from `evaluate`.
    gold
        Makes the gold of a shard of the gold that it has.
    labels
        The version of the gold, for the settings of scores.
    settings
        In place of those of the evaluation.

    Returns
    -------
    Evaluation or None
        None where the gold or the predictions were not kept.
    """
    if any(None in (shard.corpus, shard.predictions) for shard in evaluation.parts()):
        return None
    settings = dict(settings or evaluation.settings)
    marks = marks_of(benchmarks.get(evaluation.benchmark))
    how: dict[str, Any] = {
        "mode": evaluation.mode, "threshold": settings["threshold"],
        "reader": settings.get("reader", READER),
        "kinds": Kinds.together(
            Kinds.of(gold(shard.corpus) if gold else shard.corpus, _sorted_out(shard)[0], marks)
            for shard in evaluation.parts()
        ),
    }  # fmt: skip
    chosen = settings.get("documents", part.ALL)
    again = partial(
        _again, system=evaluation.system, gold=gold, labels=labels, chosen=chosen, how=how
    )
    # All that is known already, so that no shard is scored to learn it.
    whole = ("benchmark", "split", "system", "mode", "root", "notes", "sources", "made")
    known = {name: getattr(evaluation, name) for name in whole}
    return evaluation.mapped(again, settings=settings, **known)


def _sorted_out(shard: Evaluation) -> tuple[Predictions, pl.DataFrame]:
    """The predictions for the documents of a shard, and the records for any other."""
    known = pl.col("doc_id").is_in(shard.corpus.documents["doc_id"].to_list())
    known &= pl.col("split") == shard.corpus.split
    records = shard.predictions.records
    answers = dataclasses.replace(shard.predictions, records=records.filter(known))
    return answers, records.filter(~known)


def _again(
    shard: Evaluation, *, system: str, gold: Callable[[Corpus], Corpus] | None, labels: str | None,
    chosen: str, how: Mapping[str, Any],
) -> Evaluation:  # fmt: skip
    answers, strange = _sorted_out(shard)
    corpus = gold(shard.corpus) if gold else shard.corpus
    scored = score_shard(corpus, dataclasses.replace(answers, system=system), **how)
    scored = part.with_selection(scored, chosen)
    if labels:
        again = tables.with_settings(scored.scores, labels=labels)
        scored = dataclasses.replace(scored, scores=again)
    return with_strange(scored, strange) if strange.height else scored
