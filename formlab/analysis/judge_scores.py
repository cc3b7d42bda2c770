"""What a judge says of pages as rows of scores, which are summarised like any others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis._fact_pages import facts_of, texts_of, usable
from formlab.folders import Corpus, Predictions
from formlab.metrics._places import Places
from formlab.metrics.judge_scores import METRICS, page_scores
from formlab.scoring.tasks._kit import made_by, score_rows
from formlab.text.flow import read

MODES = ("fixed", "official")


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
    notes = Counter() if notes is None else notes
    texts, facts, asked = texts_of(predictions), facts_of(corpus), usable(raw)
    notes["judge: pages cut for their length"] += sum("cut_at" in a for a in asked.values())
    pages = [page for page in corpus.documents["doc_id"] if page in texts and facts.get(page)]
    base = pl.DataFrame({"doc_id": pages}, schema={"doc_id": pl.String}).with_columns(
        benchmark=pl.lit(corpus.benchmark), split=pl.lit(corpus.split),
        system=pl.lit(predictions.system), task=pl.lit("fact"), status=pl.lit("ok"),
        path=pl.lit(None, pl.String),
    )  # fmt: skip
    rules = {
        f"{key}={answer[key]}"
        for answer in asked.values() for key in ("judge", "prompt", "view") if key in answer
    }  # fmt: skip
    how: dict[str, Any] = {"settings": made_by("judge", *sorted(rules)), "level": "page"}
    shares = metrics.get("judge_entity_accuracy")
    rows = [tables.table("scores", [])]
    for mode in MODES if pages else ():
        scored = [
            page_scores(
                asked.get(page, {}), facts[page], Places(read(texts[page])), mode=mode, notes=notes
            )
            for page in pages
        ]
        for name in METRICS:
            tallies = np.array([by_metric[name] for by_metric, _ in scored])
            rows.append(score_rows(base, metrics.get(name), tallies, mode=mode, **how))
        for kind in sorted({kind for _, by_kind in scored for kind in by_kind}):
            having = [index for index, (_, by_kind) in enumerate(scored) if kind in by_kind]
            tallies = np.array([scored[index][1][kind] for index in having])
            slices = {"slice_by": "kind", "slice_value": kind}
            rows.append(score_rows(base[having], shares, tallies, mode=mode, **how, **slices))
    return pl.concat(rows)
