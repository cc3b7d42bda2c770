"""The size of each form's tree beside how far the predicted tree is from it."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.stats import rankdata

from formlab.analysis.intervals import draws, percentiles
from formlab.folders import Evaluation

SIZES = ("nodes", "groups", "levels")
_OF = ("benchmark", "split", "metric", "level", "mode")


def tree_sizes(evaluation: Evaluation) -> pl.DataFrame:
    """A row per document whose trees were compared, the largest distance first.

    Returns
    -------
    polars.DataFrame
        doc_id, system, the columns that say how `distance` was made; of the gold tree `nodes`,
        `groups` (nodes with others below) and `levels`, the root not counted; `given`, the nodes of
        the predicted tree; `distance` and `similarity`, NaN where undefined. Empty where the
        evaluation compares no trees.
    """
    scores = evaluation.scores.filter(pl.col("level") == "document")
    documents, similar = (
        scores.filter(pl.col("metric") == name).rename({"value": short})
        for name, short in (("tree_edit_distance", "distance"), ("tree_similarity", "similarity"))
    )
    documents = documents.join(similar.select("doc_id", "similarity"), on="doc_id")
    cases = evaluation.cases.filter(pl.col("task") == "layout")
    gold = cases.filter(pl.col("path").is_not_null())
    # Nodes come in reading order: one that has others below stands right before the first of them.
    below = pl.col("depth").shift(-1) > pl.col("depth")
    sizes = gold.group_by("doc_id").agg(
        nodes=pl.len(), groups=below.sum(), levels=pl.col("depth").max()
    )
    given = cases.filter(pl.col("pred_path").is_not_null()).group_by("doc_id").agg(given=pl.len())
    table = documents.join(sizes, on="doc_id", how="left").join(given, on="doc_id", how="left")
    table = table.with_columns(pl.col(*SIZES, "given").fill_null(0).cast(pl.Int64))
    columns = ["doc_id", "system", *SIZES, "given", "distance", "similarity", *_OF, "settings"]
    return table.select(columns).sort(-pl.col("distance"), "doc_id")


def growth(sizes: pl.DataFrame, *, resamples: int = 1000, seed: int = 0) -> pl.DataFrame:
    """How the distance grows with each size of the gold tree: Spearman's rank correlation.

    Parameters
    ----------
    sizes
        As from `tree_sizes`.
    resamples, seed
        Draws of documents for the 95 % percentile interval.

    Returns
    -------
    polars.DataFrame
        size, value in [-1, 1], ci_low, ci_high, n_docs, settings; NaN where all forms are alike.

    Examples
    --------
    >>> forms = {"nodes": [1, 2, 3], "groups": [0, 0, 0], "levels": [3, 2, 1]}
    >>> growth(pl.DataFrame(forms | {"distance": [1.0, 4.0, 9.0]}))["value"].to_list()
    [1.0, nan, -1.0]
    """
    known = sizes.filter(pl.col("distance").is_finite())
    distance = known["distance"].to_numpy()
    weights = list(draws(known.height, resamples=resamples, seed=seed)) if known.height else []
    counts = np.concatenate(weights).astype(int) if weights else np.zeros((0, 0), int)
    # One row of places of documents per draw.
    places = np.array([np.repeat(np.arange(known.height), row) for row in counts])
    rows = []
    for size in SIZES:
        values = known[size].to_numpy()
        found = _spearman(distance[None, :], values[None, :])
        drawn = _spearman(distance[places], values[places]) if len(places) else found
        drawn = drawn[~np.isnan(drawn)]
        ends = percentiles(drawn, 0.95) if drawn.size > 1 else (np.nan, np.nan)
        rows.append((size, float(found[0]), *ends))
    names = ["size", "value", "ci_low", "ci_high"]
    settings = f"spearman|ci=bootstrap,documents,n={resamples},level=0.95,seed={seed}"
    table = pl.DataFrame(rows, schema=names, orient="row")
    return table.with_columns(n_docs=pl.lit(known.height), settings=pl.lit(settings))


def _spearman(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """The correlation of ranks, row by row: shape (n, k) to (n,)."""
    if not one.shape[1]:
        return np.full(len(one), np.nan)
    a, b = (rankdata(values, axis=1) for values in (one, two))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    size = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return np.divide((a * b).sum(axis=1), size, out=np.full(len(a), np.nan), where=size > 0)
