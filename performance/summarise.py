"""Time of the document bootstrap: 10,000 documents × 10 metrics, beside two loops of numpy.

Run: python performance/summarise.py [--json]

Both loops begin with arrays of hits and totals, one row a document; `summarise` begins with the
table of scores, checks, sums and counts them, and ends with the table of the summary. One loop is
what one writes first: draw documents, index each metric's arrays, add up, divide. The other draws
how often each document is in each draw once for all metrics and multiplies; beside it stand the
draws of formlab from the same arrays, and the whole of `summarise`. The metrics are hits over
totals, as in the loops: BLEU has ten parts. `many` shows that the memory for a million documents
with 300 columns of tallies is that of the tallies.
"""

from __future__ import annotations

from measure import Row, apart, beside, fastest, peak, report  # isort: skip

import sys

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis import summarise
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.stats.draws import drawn_parts, percentiles

DOCUMENTS, RESAMPLES, LOOP = 10_000, 1_000, 20
MANY, COLUMNS, MEMORY = 1_000_000, 300, 1_024
METRICS = [
    name for name, metric in metrics.METRICS.items() if "page" in metric.units and name != "bleu"
][:10]  # fmt: skip


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
        frame = documents.select("benchmark", "split", "doc_id").with_columns(
            system=pl.lit("m"), task=pl.lit("text"), level=pl.lit("page"),
            path=pl.lit(None, pl.String),
            slice_by=pl.lit("turn"), slice_value=pl.lit(str(turn)),
            metric=pl.lit(metric.name),
            hits=pl.Series(hits), total=pl.Series(total), stats=pl.lit(None, pl.List(pl.Float64)),
            value=pl.Series(hits / total), status=pl.lit("ok"),
            mode=pl.lit("fixed"), settings=tables.settings_of(),
        )  # fmt: skip
        frames.append(frame.select(pl.col(n).cast(t) for n, t in tables.SCORES.items()))
    cases = tables.table("cases", [])
    return Evaluation(documents, cases, pl.concat(frames), benchmark="b", split="s", system="m")


def naive(tallies: np.ndarray) -> None:
    """Draw, index, divide, once a draw and metric: some of the draws, the rest takes as long."""
    generator = np.random.default_rng(0)
    for hits, total in tallies:
        for _ in range(LOOP):
            drawn = generator.integers(0, len(hits), len(hits))
            _ = hits[drawn].sum() / total[drawn].sum(), (hits[drawn] / total[drawn]).mean()


def fair(tallies: np.ndarray) -> None:
    """How often each document is in each draw, once for all metrics, times their tallies."""
    generator = np.random.default_rng(0)
    metrics_of, _, count = tallies.shape
    values = tallies[:, 0] / tallies[:, 1]
    columns = np.concatenate([tallies[:, 0], tallies[:, 1], values]).T
    sums = np.empty((RESAMPLES, columns.shape[1]))
    for number in range(RESAMPLES):
        weights = np.bincount(generator.integers(0, count, count), minlength=count)
        sums[number] = weights @ columns
    hits, total, means = np.split(sums, 3, axis=1)
    for drawn in (hits / total, means / count):
        assert np.quantile(drawn, [0.025, 0.975], axis=0).shape == (2, metrics_of)


def draws(tallies: np.ndarray) -> None:
    """The same with the draws of formlab."""
    values = tallies[:, 0] / tallies[:, 1]
    ones = np.ones_like(values[0])
    parts = [np.stack(pair, axis=1) for pair in tallies]
    parts += [np.stack([value, ones], axis=1) for value in values]
    for drawn in drawn_parts(parts, resamples=RESAMPLES, seed=0):
        assert len(percentiles(ratio(drawn), 0.95)) == 2


def many() -> tuple[float, float]:
    """Peak memory in MiB before and after the draws of a million documents, 300 columns."""
    table = np.random.default_rng(0).integers(0, 99, (COLUMNS, MANY), dtype=np.uint8)
    parts = [table[at : at + 2].T for at in range(0, COLUMNS, 2)]
    before = peak()
    drawn = list(drawn_parts(parts, resamples=50, seed=0))
    assert abs(float(ratio(drawn[0]).mean()) - 1) < 0.01
    return before, peak()


def main() -> int:
    """Measure, print, and say by the exit code whether the targets hold."""
    data = evaluation()
    ours = fastest(lambda: summarise(data, resamples=RESAMPLES))
    generator = np.random.default_rng(0)
    total = generator.integers(1, 500, (10, DOCUMENTS)).astype(float)
    tallies = np.stack([np.floor(total * generator.uniform(size=total.shape)), total], axis=1)
    what = f"bootstrap of {DOCUMENTS:,} documents x 10 metrics (pooled and mean)"
    slow = fastest(lambda: naive(tallies), rounds=1) * RESAMPLES / LOOP
    once, other = fastest(lambda: fair(tallies)), "numpy: weights once, times tallies"
    drawn = fastest(lambda: draws(tallies))
    rows: list[Row] = [
        beside(what, ours, "numpy: index by draw", slow, 5.0),
        beside(f"{what}, from arrays", drawn, other, once, 1.0),
        beside(what, ours, other, once, 1.0),
    ]
    before, after = apart(many)
    rows.append({
        "what": f"draws of {MANY:,} documents x {COLUMNS} columns", "peak_mib": after,
        "of_draws_mib": after - before, "limit_mib": MEMORY, "holds": after < MEMORY,
    })  # fmt: skip
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
