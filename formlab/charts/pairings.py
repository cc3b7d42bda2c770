"""Scores of fields under several pairings, as a table."""

from __future__ import annotations

import polars as pl

from formlab import metrics
from formlab.charts._table import Table

_NAMES = {
    "default": "labels and boxes, then equal values",
    "label": "labels",
    "box": "boxes",
    "value": "values",
    "oracle": "least error (oracle)",
}


def pairing_table(rows: pl.DataFrame) -> Table | None:
    """Each metric under each pairing, with the share of its error that is only naming.

    Parameters
    ----------
    rows
        As from `formlab.analysis.pairings`; without rows there is no table.

    Examples
    --------
    >>> pairing_table(pl.DataFrame())
    """
    if not rows.height:
        return None
    spans = [
        f"{metrics.title(str(name))} lies between {low:.3f} and {high:.3f} over the pairings."
        for name, low, high in rows.select("metric", "lowest", "highest").unique(
            maintain_order=True
        ).rows()
    ]  # fmt: skip
    shown = rows.select(
        pl.col("metric").map_elements(metrics.title, return_dtype=pl.String),
        pl.col("pairing").replace(_NAMES),
        "value", "ci_low", "ci_high", "n_paired", "n_cases", "only_naming",
    )  # fmt: skip
    titles = {
        "pairing": "fields paired by", "ci_low": "from", "ci_high": "to",
        "n_paired": "paired", "n_cases": "n", "only_naming": "share of the error only naming",
    }  # fmt: skip
    note = (
        "Of the fields that the system named. Only naming is the error that vanishes where the "
        "oracle, who knows the values, pairs; values that changed places are in it."
    )
    return Table(shown, titles=titles, note=" ".join([note, *spans]))
