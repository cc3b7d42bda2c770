"""Charts and display objects: a table in, a value out that shows itself live and in reports."""

from __future__ import annotations

from formlab.charts import theme
from formlab.charts.scores import cause_bars, ladder_lines, slice_dots
from formlab.charts.show import Caption, Card, Cards, Sources, Table
from formlab.charts.words import caption, notes_table, reading_cards, scores_table, status_table

__all__ = [
    "Caption", "Card", "Cards", "Sources", "Table", "caption", "cause_bars", "ladder_lines",
    "notes_table", "reading_cards", "scores_table", "slice_dots", "status_table", "theme",
]  # fmt: skip

theme.enable()
