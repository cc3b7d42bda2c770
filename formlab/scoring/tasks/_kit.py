"""What all scorers share: the status of each case, settings, and rows of scores."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken
from formlab.metrics import Metric
from formlab.tables import USABLE, Settings


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


def made_by(*rules: str | None, read: str | None = None) -> Settings:
    """The settings of a score: by which rules values are compared and fields are read."""
    said = "|".join(rule for rule in rules if rule)
    return Settings(rules=said or None, read=read, formlab=files.version())


def score_rows(
    part: pl.DataFrame,
    metric: Metric,
    tallies: np.ndarray,
    settings: Settings,
    *,
    level: str,
    mode: str | None,
    task: str | None = None,
    slice_by: str | None = None,
    slice_value: str | pl.Series | None = None,
) -> pl.DataFrame:
    """Rows of *scores* for the rows of `part` by one metric.

    Parameters
    ----------
    part
        Cases, or what has their ``benchmark split doc_id system task path status``.
    metric
        From the registry.
    tallies
        Shape (n, k), a row a case. A case without what the metric needs of its gold is
        undefined, and adds nothing to a sum; the settings say what it needs.
    settings
        As from `made_by`.
    level, mode
        As in *scores*.
    task
        Of all rows; that of each case if left out.
    slice_by, slice_value
        The slice that rows are of, where the cases' columns do not tell it.
    """
    tallies = np.asarray(tallies, dtype=float)
    if tallies.ndim != 2 or len(tallies) != part.height:
        what = f"tallies of {metric.name} have shape {tallies.shape} for {part.height} cases"
        raise DataBroken(what, remedy="an array of shape (cases, 2): numerator and denominator")
    pair = tallies.shape[1] == 2
    if need := metric.needs(level):
        tallies = np.where(need.holds(tallies)[:, None], tallies, 0.0)
        rules = "|".join(filter(None, (settings.rules, need.said)))
        settings = dataclasses.replace(settings, rules=rules)
    values = metric.values(tallies, mode)
    none = [None] * part.height
    columns = part.select(
        "benchmark", "split", "doc_id", "system", "path", "status",
        task=pl.lit(task) if task else "task",
    )  # fmt: skip
    if not isinstance(slice_value, pl.Series):
        slice_value = pl.lit(slice_value, pl.String)
    return columns.with_columns(
        slice_value.alias("slice_value"),
        pl.Series("hits", tallies[:, 0] if pair else none, dtype=pl.Float64),
        pl.Series("total", tallies[:, 1] if pair else none, dtype=pl.Float64),
        pl.Series("stats", none if pair else tallies.tolist(), dtype=pl.List(pl.Float64)),
        pl.Series("value", values, dtype=pl.Float64),
        tables.settings_of(**dataclasses.asdict(settings)),
        level=pl.lit(level),
        metric=pl.lit(metric.name),
        mode=pl.lit(mode),
        slice_by=pl.lit(slice_by, pl.String),
    ).select(list(tables.SCORES))
