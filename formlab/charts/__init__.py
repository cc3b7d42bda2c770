"""Charts and display objects: each is made from a frame and shown in JupyterLab and in reports.

A notebook filters and groups a frame and gives it to one of the generic charts: `dots`, `bars`,
`lines`, `heatmap`, `surface`, `table`, with a `caption` above. The others are short
calls of these that several notebooks share.
"""

import sys
from typing import Any

from formlab import tables
from formlab.charts import theme
from formlab.registry import Registry

# What the room offers, by module: each is imported when it is first asked for.
HOMES = {
    "charts._shared": (
        "cause_table comparison_table difference_dots edit_trees findings_table flip_table "
        "label_corrections ladder_lines notes_table page_error_bars runs_table scores_table "
        "show_answered show_causes show_scores show_surface status_table"
    ),
    "charts.header": "Card Cards first_screen right_of score_cards",
    "charts.marks": "bars dots heatmap lines surface",
    "charts.words": (
        "Caption OWN PUBLISHED Table beside caption cited defined note paper_table "
        "published sentences show table"
    ),
}
__all__ = sorted(["CHARTS", "theme", *" ".join(HOMES.values()).split()])


class _Room(tables.Room):
    def __getattr__(self, name: str) -> Any:
        # A chart that a plug-in registers is used as one of formlab's own.
        is_own = name.startswith("_") or name in __all__
        return super().__getattr__(name) if is_own or name not in CHARTS else CHARTS[name]


CHARTS = Registry("charts", {})
theme.enable()
sys.modules[__name__].__class__ = _Room
