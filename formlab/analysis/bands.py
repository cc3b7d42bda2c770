"""Columns to slice by that follow from a case: how long, how tall, how sure, how big a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl


@dataclass(frozen=True)
class Band:
    """A number of a case, cut into ranges: `edges` are the lower ends of all but the first."""

    title: str
    expr: pl.Expr
    edges: tuple[float, ...]
    labels: tuple[str, ...]


def _band(title: str, expr: pl.Expr, edges: Sequence[float], *, whole: bool) -> Band:
    step = 1 if whole else 0
    inner = [
        f"{low:g}" if low == high - step else f"{low:g}–{high - step:g}"
        for low, high in pairwise(edges)
    ]
    labels = (f"under {edges[0]:g}", *inner, f"{edges[-1]:g} and more")
    return Band(title, expr, tuple(edges), labels)


BANDS: dict[str, Band] = {
    "length": _band(
        "characters in the gold value",
        pl.col("gold").fill_null("").str.strip_chars().str.len_chars(),
        (1, 5, 10, 20, 40, 80),
        whole=True,
    ),
    "box_height": _band(
        "height of the gold box, pixels", pl.col("y1") - pl.col("y0"), (12, 16, 20, 30), whole=False
    ),
    "box_width": _band(
        "width of the gold box, pixels",
        pl.col("x1") - pl.col("x0"),
        (40, 80, 160, 320),
        whole=False,
    ),
    "certainty": _band(
        "the system's confidence", pl.col("confidence"), (0.6, 0.8, 0.9, 0.95, 0.99), whole=False
    ),
}


def banded(cases: pl.DataFrame, name: str) -> pl.Series:
    """The band of each case, as ordered categories; null where the number is not known.

    Examples
    --------
    >>> banded(pl.DataFrame({"gold": ["abc", "", None]}), "length").to_list()
    ['1–4', 'under 1', 'under 1']
    """
    band = BANDS[name]
    place = pl.sum_horizontal((band.expr >= edge).cast(pl.Int32) for edge in band.edges)
    place = pl.when(band.expr.is_not_null() & ~band.expr.cast(pl.Float64).is_nan()).then(place)
    label = place.replace_strict(
        dict(enumerate(band.labels)), default=None, return_dtype=pl.Enum(band.labels)
    )
    return cases.select(label.alias(name)).to_series()
