"""The size of each form's tree beside how far the predicted tree is from it."""

from __future__ import annotations

import numpy as np
import polars as pl
import scipy

from formlab.analysis.intervals import draws, percentiles
from formlab.folders import Evaluation
from formlab.tables import settings_text

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
    return evaluation.gathered(_sizes).sort(-pl.col("distance"), "doc_id")


def _sizes(evaluation: Evaluation) -> pl.DataFrame:
    scores = evaluation.scan("scores").filter(pl.col("level") == "document").collect()
    documents, similar = (
        scores.filter(pl.col("metric") == name).rename({"value": short})
        for name, short in (("tree_edit_distance", "distance"), ("tree_similarity", "similarity"))
    )
    documents = documents.join(similar.select("doc_id", "similarity"), on="doc_id")
    columns = ["doc_id", "path", "pred_path", "depth"]
    cases = evaluation.scan("cases").filter(pl.col("task") == "layout").select(columns).collect()
    gold = cases.filter(pl.col("path").is_not_null())
    # Nodes come in reading order: one that has others below stands right before the first of them.
    below = pl.col("depth").shift(-1) > pl.col("depth")
    sizes = gold.group_by("doc_id").agg(
        nodes=pl.len(), groups=below.sum(), levels=pl.col("depth").max()
    )
    predicted = (
        cases.filter(pl.col("pred_path").is_not_null()).group_by("doc_id").agg(given=pl.len())
    )
    table = documents.join(sizes, on="doc_id", how="left").join(predicted, on="doc_id", how="left")
    table = table.with_columns(pl.col(*SIZES, "given").fill_null(0).cast(pl.Int64))
    columns = ["doc_id", "system", *SIZES, "given", "distance", "similarity", *_OF, "settings"]
    return table.select(columns)


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
    distance, count = known["distance"].to_numpy(), known.height
    blocks = draws(count, resamples=resamples, seed=seed) if count else []
    # One row of documents for each draw.
    drawn = [np.repeat(np.arange(count), row.astype(int)) for block in blocks for row in block]
    rows = []
    for size in SIZES:
        values = known[size].to_numpy()
        value = _spearman(distance[None, :], values[None, :])
        several = _spearman(distance[drawn], values[drawn]) if drawn else value
        ends = percentiles(several, 0.95) if (~np.isnan(several)).sum() > 1 else (np.nan, np.nan)
        rows.append((size, float(value[0]), *ends))
    settings = [f"spearman|ci=bootstrap,documents,n={resamples},level=0.95,seed={seed}"]
    if "settings" in known.columns and count:
        # How the distances were scored.
        settings.insert(0, settings_text(known.row(0, named=True)))
    table = pl.DataFrame(rows, schema=["size", "value", "ci_low", "ci_high"], orient="row")
    return table.with_columns(n_docs=pl.lit(count), settings=pl.lit("|".join(settings)))


def _spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The correlation of ranks, row by row: shape (n, k) to (n,)."""
    if not first.shape[1]:
        return np.full(len(first), np.nan)
    a, b = (scipy.stats.rankdata(values, axis=1) for values in (first, second))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    size = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return np.divide((a * b).sum(axis=1), size, out=np.full(len(a), np.nan), where=size > 0)
