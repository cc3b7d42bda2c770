"""A benchmark and a finished run, read shard by shard by those who score the shards."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from formlab import benchmarks, readers
from formlab.folders import Corpus, Predictions
from formlab.saving import MANIFEST
from formlab.scoring import part


def sources(
    benchmark: str, predictions: Path, *, root: Path | None, split: str | None,
    strict: bool = False,
) -> list[dict[str, Any]]:  # fmt: skip
    """The shards of a split with the run for it, as plain data for `opened`.

    None where they cannot be read apart: to read a row, formats other than a finished run may look
    at the whole corpus.
    """
    if not readers.is_run(predictions) or not (Predictions.home(predictions) / MANIFEST).is_file():
        return []
    shards = benchmarks.shards_of(
        benchmark, root=root, split=split, records=part.SHARD, strict=strict
    )
    return [{**shard, "predictions": str(predictions.absolute())} for shard in shards]


def opened(source: Mapping[str, Any]) -> tuple[Corpus, Predictions]:
    """The corpus of a shard, and the predictions for its documents."""
    corpus = benchmarks.open_shard(source)
    documents = corpus.documents["doc_id"].to_list()
    answers = readers.read_predictions(source["predictions"], corpus, documents=documents)
    answers = dataclasses.replace(answers, system=source.get("name") or answers.system)
    if source["start"]:
        # What is noted of the whole run stands in the first shard.
        answers = dataclasses.replace(answers, notes={}, sources={})
    return corpus, answers
