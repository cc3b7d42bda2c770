"""What every display object shares: text fit to travel, numbers fit to read, the mime bundle."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from formlab.charts import theme

MISSING = "–"
_CUT = 20_000
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: object, *, limit: int | None = _CUT) -> str:
    """Text that can travel as JSON and UTF-8: lone surrogates spelt out, the rest past `limit` cut.

    Examples
    --------
    >>> clean("a" + chr(0xD800)), clean("abcdef", limit=4)
    ('a\\\\ud800', 'abcd… (2 more characters)')
    """
    text = str(text)
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]}… ({len(text) - limit} more characters)"
    return _SURROGATES.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


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
