"""Time of the search for weak slices, of paired tests and of a whole comparison.

Run: python performance/compare.py [--json]

The search is measured beside pandas' group-by over the same conjunctions with a test of scipy for
each, without intervals, adjustment or pruning; the paired test beside scipy's permutation test;
`formlab.compare` of two systems beside a limit in seconds.
"""

from __future__ import annotations

from measure import Row, beside, fastest, report  # isort: skip

import itertools
import sys

import numpy as np
import pandas as pd
import polars as pl
from scipy import stats

import formlab
from formlab import tables
from formlab.analysis.slices import find_slices
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.stats.tests import Pair, paired_differences

DOCUMENTS, FIELDS, PERMUTATIONS = 500, 40, 9_999
COLUMNS = {"kind": 6, "modality": 3, "subtype": 8, "page": 4, "scope": 3, "modal": 4}
TIMES_FASTER = 1.0
# Of the whole comparison.
MANY, LIMIT = 2_000, 3.0
METRICS = ("exact_accuracy", "normalised_accuracy", "fuzzy_accuracy", "match_recall", "cer")


def evaluation() -> Evaluation:
    """20,000 fields of 500 documents with six columns of labels, right at random."""
    generator = np.random.default_rng(0)
    count = DOCUMENTS * FIELDS
    ids = [f"{i:04}" for i in range(DOCUMENTS)]
    base = {"benchmark": "b", "split": "s"}
    labels = {name: generator.integers(0, size, count) for name, size in COLUMNS.items()}
    right = generator.uniform(size=count) > 0.2 + 0.3 * (labels["kind"] == 1)
    frame = pl.DataFrame(labels).with_columns(
        pl.lit("b").alias("benchmark"), pl.lit("s").alias("split"), pl.lit("m").alias("system"),
        pl.lit("text").alias("task"), pl.lit("x").alias("gold"), pl.lit("ok").alias("status"),
        pl.Series("doc_id", np.repeat(ids, FIELDS)),
        pl.Series("path", [f"/{i % FIELDS}" for i in range(count)]),
        pl.Series("outcome", np.where(right, "match", "mismatch")),
    )  # fmt: skip
    columns = [
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in tables.CASES.items()
    ]
    documents = tables.table("documents", [base | {"doc_id": doc} for doc in ids])
    return Evaluation(
        documents, frame.select(columns), tables.table("scores", []),
        benchmark="b", split="s", system="m",
    )  # fmt: skip


def by_hand(cases: pd.DataFrame) -> int:
    """Group by every conjunction and compare the documents' shares inside and outside."""
    tried = 0
    for size in (1, 2):
        for names in itertools.combinations(COLUMNS, size):
            for _, rows in cases.groupby(list(names)):
                if len(rows) < 20 or rows["doc_id"].nunique() < 5:
                    continue
                rest = cases.drop(rows.index)
                inside = rows.groupby("doc_id")["right"].mean()
                outside = rest.groupby("doc_id")["right"].mean()
                stats.ttest_ind(inside, outside, equal_var=False)
                tried += 1
    return tried


def search() -> Row:
    """Weak slices of 20,000 fields."""
    data = evaluation()
    found = find_slices(data, columns=list(COLUMNS))
    chosen = data.cases.select("doc_id", "outcome", *COLUMNS)
    cases = pd.DataFrame(chosen.to_dict(as_series=False))
    cases["right"] = cases["outcome"] == "match"
    ours = fastest(lambda: find_slices(data, columns=list(COLUMNS)))
    plain = fastest(lambda: by_hand(cases), rounds=1)
    what = f"weak slices of {len(cases):,} fields, {found['n_tested'][0]:,} conjunctions"
    return beside(what, ours, "pandas group-by and scipy", plain, TIMES_FASTER)


def tests() -> Row:
    """Paired permutation tests of 20 metrics over 500 documents."""
    generator = np.random.default_rng(1)
    ones = np.ones(DOCUMENTS)
    sides = generator.uniform(size=(20, 2, DOCUMENTS))
    pairs = [Pair(*(np.stack([x, ones], axis=1) for x in side), ratio) for side in sides]
    ours = fastest(lambda: paired_differences(pairs, resamples=0, permutations=PERMUTATIONS))

    def scipys() -> None:
        for first, second in sides:
            stats.permutation_test(
                (first, second), lambda x, y, axis: np.mean(x - y, axis=axis), vectorized=True,
                permutation_type="samples", n_resamples=PERMUTATIONS,
            )  # fmt: skip

    plain = fastest(scipys, rounds=1)
    what = f"{len(pairs)} paired tests of {DOCUMENTS} documents, {PERMUTATIONS:,} swaps"
    return beside(what, ours, "scipy.stats.permutation_test", plain, TIMES_FASTER)


def whole() -> Row:
    """Every metric of two systems on 2,000 documents, with draws and swaps."""
    systems = [scored(seed) for seed in (0, 1)]
    seconds = fastest(lambda: formlab.compare(systems), rounds=1)
    return {
        "what": f"comparison of two systems on {MANY:,} documents, {len(METRICS)} metrics",
        "formlab_seconds": seconds, "limit_seconds": LIMIT, "holds": seconds < LIMIT,
    }  # fmt: skip


def scored(seed: int) -> Evaluation:
    """Scores of 20 fields of each of many documents, right at random."""
    generator, count = np.random.default_rng(seed), MANY * 20
    documents = [{"benchmark": "b", "split": "s", "doc_id": f"{n:05}"} for n in range(MANY)]
    right = generator.uniform(size=count) < 0.9
    labels = {"benchmark": "b", "split": "s", "system": f"m{seed}", "task": "text"}
    labels |= {"level": "field", "status": "ok"}
    rows = pl.DataFrame({
        "doc_id": np.repeat([each["doc_id"] for each in documents], 20),
        "path": [f"/{n % 20}" for n in range(count)],
        "hits": right.astype(float), "total": np.ones(count), "value": right.astype(float),
        "outcome": np.where(right, "match", "mismatch"),
    }).with_columns(pl.lit(value).alias(name) for name, value in labels.items())  # fmt: skip
    rows = rows.with_columns(tables.settings_of(), gold=pl.lit("x"))
    scores = [rows.with_columns(metric=pl.lit(name)) for name in METRICS]
    both = {"cases": rows, "scores": pl.concat(scores)}
    made = {
        name: rows.select(
            (pl.col(column) if column in rows.columns else pl.lit(None)).cast(kind).alias(column)
            for column, kind in tables.SCHEMAS[name].items()
        )
        for name, rows in both.items()
    }
    facts = {"benchmark": "b", "split": "s", "system": f"m{seed}"}
    return Evaluation(documents=tables.table("documents", documents), **made, **facts)


if __name__ == "__main__":
    sys.exit(report([search(), tests(), whole()]))
