"""Time of the document bootstrap: 10,000 documents × 10 metrics, beside a plain numpy loop.

Run: python performance/summarise.py [--json]
"""

from __future__ import annotations

from measure import report  # isort: skip

import sys
import time

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis import summarise
from formlab.folders import Evaluation

DOCUMENTS, RESAMPLES, LOOP, LIMIT = 10_000, 1_000, 20, 2.0
METRICS = [name for name, metric in metrics.METRICS.items() if "page" in metric.units][:10]


def evaluation() -> Evaluation:
    """10,000 documents with a score of each metric, tallies drawn at random."""
    generator = np.random.default_rng(0)
    ids = [str(number) for number in range(DOCUMENTS)]
    base = {"benchmark": "b", "split": "s"}
    documents = tables.table("documents", [base | {"doc_id": doc} for doc in ids])
    frames = []
    # A registry of fewer than ten page metrics is cycled through: the work is the same.
    for turn in range(10):
        metric = metrics.get(METRICS[turn % len(METRICS)])
        total = generator.integers(1, 500, DOCUMENTS).astype(float)
        hits = np.floor(total * generator.uniform(0, 1, DOCUMENTS))
        parts = [[h] * 4 + [t] * 4 + [t, t] for h, t in zip(hits, total, strict=True)]
        ratio = metric.name != "bleu"
        frame = documents.select("benchmark", "split", "doc_id").with_columns(
            system=pl.lit("m"), task=pl.lit("text"), level=pl.lit("page"),
            path=pl.lit(None, pl.String),
            slice_by=pl.lit("turn"), slice_value=pl.lit(str(turn)),
            metric=pl.lit(metric.name),
            hits=pl.Series(hits) if ratio else pl.lit(None, pl.Float64),
            total=pl.Series(total) if ratio else pl.lit(None, pl.Float64),
            stats=pl.lit(None, pl.List(pl.Float64)) if ratio else pl.Series(parts),
            value=pl.Series(hits / total), status=pl.lit("ok"),
            mode=pl.lit("fixed"), settings=tables.settings_of(),
        )  # fmt: skip
        frames.append(frame.select(pl.col(n).cast(t) for n, t in tables.SCORES.items()))
    cases = tables.table("cases", [])
    return Evaluation(documents, cases, pl.concat(frames), benchmark="b", split="s", system="m")


def loop(hits: np.ndarray, total: np.ndarray) -> None:
    """What one writes without tallies in mind: draw, index, divide, once per draw and metric."""
    generator = np.random.default_rng(0)
    for _ in range(LOOP):
        drawn = generator.integers(0, len(hits), len(hits))
        _ = hits[drawn].sum() / total[drawn].sum(), (hits[drawn] / total[drawn]).mean()


def main() -> int:
    """Measure, print, and say by the exit code whether the limit holds."""
    data = evaluation()
    summarise(data, resamples=10)
    start = time.perf_counter()
    summarise(data, resamples=RESAMPLES)
    ours = time.perf_counter() - start
    score = data.scores.filter(pl.col("slice_value") == "0")
    hits, total = score["hits"].to_numpy(), score["total"].to_numpy()
    start = time.perf_counter()
    loop(hits, total)
    plain = (time.perf_counter() - start) * RESAMPLES / LOOP * 10
    return report([{
        "what": f"bootstrap of {DOCUMENTS:,} documents x 10 metrics (pooled and mean)",
        "formlab_seconds": ours, "limit_seconds": LIMIT, "numpy_loop_seconds": plain,
        "ratio": plain / ours, "holds": ours < LIMIT,
    }])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
