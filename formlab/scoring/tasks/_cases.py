"""What scorers of matched fields and of items share: statuses of cases, rows of scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from formlab import files, tables
from formlab.metrics import Metric
from formlab.tables import USABLE, Corpus


def with_status(joined: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """The status of each case: its prediction's, else what became of its document."""
    whole = records.filter(pl.col("path").is_null(), ~pl.col("status").is_in(USABLE))
    whole = whole.select("doc_id", doc_status="status").unique("doc_id", keep="first")
    joined = joined.join(whole, on="doc_id", how="left", maintain_order="left")
    status = pl.coalesce("pred_status", "doc_status", pl.lit("missing"))
    return joined.with_columns(status.alias("status")).drop("doc_status")


def any_for(records: pl.DataFrame, answers: pl.DataFrame) -> bool:
    """Whether a system that gave `records` took part in a task where it gave `answers`.

    One that answered other tasks and left this one out did not; one whose every answer was
    unusable did, and found nothing.
    """
    return answers.height > 0 or not records.filter(pl.col("status").is_in(USABLE)).height


def used(part: pl.DataFrame) -> list[str]:
    """What counts as predicted in each case: nothing unless its status is usable."""
    kept = pl.when(pl.col("status").is_in(USABLE)).then("pred").fill_null("")
    return part.select(kept).to_series().to_list()


def settings(corpus: Corpus, metric: str, *rules: str, mode: str) -> str:
    """The string that tells how a score came about."""
    head = [f"{corpus.benchmark}:{corpus.split}", metric, *rules]
    return "|".join([*head, f"mode={mode}", f"formlab={files.version()}"])


def score_rows(
    part: pl.DataFrame,
    metric: Metric,
    tallies: np.ndarray,
    *,
    unit: str,
    settings: str,
    slices: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Rows of *scores* for the cases of `part` by one metric.

    Parameters
    ----------
    part
        Cases.
    metric
        From the registry.
    tallies
        Shape (n, k), a row a case. A case without what the metric needs of its gold is
        undefined, and adds nothing to a sum.
    unit, settings
        As in *scores*.
    slices
        The name of each row's ready slice; None where the cases' columns tell the slice.
    """
    pair = tallies.shape[1] == 2
    if need := metric.needs(unit):
        tallies = np.where(need.holds(tallies)[:, None], tallies, 0.0)
    values = metric.values(tallies)
    one = slices is None or isinstance(slices, str)
    names = [slices] * part.height if one else list(slices)
    columns = part.select("benchmark", "split", "doc_id", "system", "path", "status")
    return columns.with_columns(
        pl.lit(unit).alias("unit"),
        pl.Series("slice", names, dtype=pl.String),
        pl.lit(metric.name).alias("metric"),
        pl.Series("hits", tallies[:, 0] if pair else [None] * part.height, dtype=pl.Float64),
        pl.Series("total", tallies[:, 1] if pair else [None] * part.height, dtype=pl.Float64),
        pl.Series(
            "stats", [None] * part.height if pair else tallies.tolist(), dtype=pl.List(pl.Float64)
        ),
        pl.Series("value", values, dtype=pl.Float64),
        pl.lit(settings).alias("settings"),
    ).select(list(tables.SCORES))
