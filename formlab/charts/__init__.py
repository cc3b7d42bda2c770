"""Charts and display objects: each is made from a frame and shown in JupyterLab and in reports.

A notebook filters and groups a frame and gives it to one of the generic charts: `dots`, `bars`,
`stacked`, `lines`, `slope`, `heatmap`, `surface`, `table`, `cards`, with a `caption` above. The
others are short calls of these that several notebooks share.
"""

from __future__ import annotations

from typing import Any

from formlab import frames
from formlab.charts import theme
from formlab.charts._bars import bars, stacked
from formlab.charts._dots import dots
from formlab.charts._heatmap import heatmap
from formlab.charts._lines import lines, slope
from formlab.charts._parts import ELSEWHERE, OWN, PUBLISHED, note
from formlab.charts._shared import (
    cause_bars,
    cause_table,
    each_page_figures,
    findings_table,
    headline_table,
    ladder_lines,
    level_dots,
    notes_table,
    page_error_bars,
    scores_table,
    slice_caption,
    slice_figures,
    status_table,
    worst_caption,
)
from formlab.charts._surface import surface
from formlab.charts._words import (
    caption,
    cards,
    figure,
    p_words,
    score_cards,
    sentences,
    signed,
    span,
    table,
)
from formlab.charts.compare import (
    comparison_table,
    difference_dots,
    flip_table,
    not_shown,
    rank_dots,
)
from formlab.charts.corrections import label_corrections
from formlab.charts.first_screen import FirstScreen, first_screen
from formlab.charts.judges import audit_figures
from formlab.charts.published import (
    beside,
    cited,
    defined,
    paper_table,
    published,
    published_levels,
)
from formlab.charts.show import Caption, Card, Cards, Sources, Table
from formlab.charts.trees import edit_trees
from formlab.registry import Registry

__all__ = [
    "CHARTS", "ELSEWHERE", "OWN", "PUBLISHED", "Caption", "Card", "Cards", "FirstScreen", "Sources",
    "Table", "audit_figures", "bars", "beside", "caption", "cards", "cause_bars", "cause_table",
    "cited", "comparison_table", "defined", "difference_dots", "dots",
    "each_page_figures", "edit_trees", "figure",
    "findings_table", "first_screen", "flip_table", "headline_table", "heatmap",
    "label_corrections", "ladder_lines", "level_dots", "lines", "not_shown", "note",
    "notes_table", "p_words", "page_error_bars", "paper_table", "published", "published_levels",
    "rank_dots", "score_cards", "scores_table", "sentences", "signed", "slice_caption",
    "slice_figures", "slope", "span", "stacked", "status_table", "surface", "table", "theme",
    "worst_caption",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A chart that a plug-in registers is used as one of formlab's own."""
    if name in CHARTS:
        return CHARTS[name]
    raise AttributeError(f"module 'formlab.charts' has no attribute {name!r}")


frames.door(globals(), __all__)
CHARTS = Registry("charts", {})
theme.enable()
