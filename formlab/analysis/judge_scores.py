"""What a judge says of pages as rows of scores, which are summarised like any others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis._fact_pages import facts_of, texts_of, usable
from formlab.folders import Corpus, Predictions
from formlab.metrics._places import Places
from formlab.metrics.judge_scores import METRICS, page_counts, page_tallies
from formlab.scoring.tasks._kit import made_by, score_rows
from formlab.text.flow import read

MODES = ("fixed", "official")
_NONE = (np.nan, np.nan)


def judge_scores(
    corpus: Corpus,
    predictions: Predictions,
    raw: Mapping[str, Mapping[str, Any]],
    notes: Counter[str] | None = None,
) -> pl.DataFrame:
    """The scores of every predicted page by a judge, in both modes, and its facts right by kind.

    `raw` has the judge's answers by `doc_id`. In mode `official` its own counts stand, in mode
    `fixed` its verdicts after they are verified (`formlab.metrics.judge.settled`). A page without
    a usable answer is undefined.

    Returns
    -------
    polars.DataFrame
        The schema SCORES, level ``page``; the slices are by ``kind``. Summarise the rows of
        one mode at a time.
    """
    texts, facts, asked = texts_of(predictions), facts_of(corpus), usable(raw)
    pages = [page for page in corpus.documents["doc_id"] if page in texts and facts.get(page)]
    base = pl.DataFrame({"doc_id": pages}, schema={"doc_id": pl.String}).with_columns(
        benchmark=pl.lit(corpus.benchmark), split=pl.lit(corpus.split),
        system=pl.lit(predictions.system), task=pl.lit("fact"), status=pl.lit("ok"),
        path=pl.lit(None, pl.String),
    )  # fmt: skip
    how_asked = {
        f"{key}={answer[key]}"
        for answer in asked.values() for key in ("judge", "prompt", "view") if key in answer
    }  # fmt: skip
    if notes is not None:
        notes["judge: pages cut for their length"] += sum("cut_at" in a for a in asked.values())
    settings = made_by("judge", *sorted(how_asked))

    def rows() -> Iterator[pl.DataFrame]:
        for mode in MODES:
            how: dict[str, Any] = {"settings": settings, "level": "page", "mode": mode}
            counts = [
                page_counts(
                    asked[page], facts[page], Places(read(texts[page])), mode=mode, notes=notes
                ) if page in asked else {}
                for page in pages
            ]  # fmt: skip
            tallies = [
                page_tallies(asked.get(page, {}), by_kind.get("", _NONE), mode=mode, notes=notes)
                for page, by_kind in zip(pages, counts, strict=True)
            ]
            for name in METRICS:
                parts = np.array([tally[name] for tally in tallies]).reshape(-1, 2)
                yield score_rows(base, metrics.get(name), parts, **how)
            shares = metrics.get("judge_entity_accuracy")
            for kind in sorted({kind for by_kind in counts for kind in by_kind if kind}):
                having = [index for index, by_kind in enumerate(counts) if kind in by_kind]
                parts = np.array([counts[index][kind] for index in having])
                slices = {"slice_by": "kind", "slice_value": kind}
                yield score_rows(base[having], shares, parts, **how, **slices)

    return pl.concat([tables.table("scores", []), *(rows() if pages else ())])
