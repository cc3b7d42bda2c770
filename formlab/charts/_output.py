"""What every display object shares: text fit to travel, numbers fit to read, the mime bundle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from formlab.charts import theme
from formlab.charts.harmless import clean

__all__ = ["MISSING", "bundle", "clean", "known", "number"]

MISSING = "–"


def number(value: float | None, digits: int = 3) -> str:
    """A number as a table shows it: fixed digits, ``–`` for null and NaN, thousands apart.

    Examples
    --------
    >>> number(0.5), number(None), number(float("nan")), number(12345, 0), number(-1.5)
    ('0.500', '–', '–', '12,345', '−1.500')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:,.{digits}f}".replace("-", "−")


def known(frame: pl.DataFrame) -> pl.DataFrame:
    """`frame` with NaN as null, which JSON has and charts leave out."""
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def bundle(kind: str, payload: Mapping[str, Any], plain: str, page: str) -> dict[str, Any]:
    """The mime bundle of a display object: data and plain text, and outside reports HTML."""
    outputs: dict[str, Any] = {theme.MIME.format(kind): dict(payload), "text/plain": plain}
    if not theme.in_report():
        outputs["text/html"] = page
    return outputs
