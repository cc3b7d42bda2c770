"""What a judge and its audit read of financial pages: the facts and the predicted page of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import polars as pl

from formlab.benchmarks import fincriticaled
from formlab.folders import Corpus, Predictions
from formlab.tables import USABLE


def texts_of(predictions: Predictions) -> dict[str, str]:
    """The page that was predicted for each document."""
    pages = predictions.records.filter(pl.col("path").is_null(), pl.col("task") != "layout")
    return dict(pages.select("doc_id", pl.col("value").fill_null("")).iter_rows())


def facts_of(corpus: Corpus) -> dict[str, list[dict[str, Any]]]:
    """The facts of each document: path, kind and value, and what `fact_meta` says of them."""
    facts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in corpus.records.iter_rows(named=True):
        page = facts[row["doc_id"]]
        if row["path"] is not None:
            page.append(
                {"path": row["path"], "kind": row["kind"], "value": row["value"]}
                | fincriticaled.fact_meta(row)._asdict()
            )
    return dict(facts)


def usable(
    raw: Mapping[str, Mapping[str, Any]], notes: Counter[str] | None = None
) -> dict[str, Mapping[str, Any]]:
    """The answers with verdicts; the others are counted in `notes` by their status."""
    kept = {}
    for page, answer in raw.items():
        status = answer.get("status", "ok")
        if status in USABLE:
            kept[page] = answer
        elif notes is not None:
            notes[f"judge: pages without verdicts, {status}"] += 1
    return kept
