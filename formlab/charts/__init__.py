"""Charts and display objects: a table in, a value out that shows itself live and in reports."""

from __future__ import annotations

from formlab.charts import theme
from formlab.charts import words as _before
from formlab.charts._bars import bars, stacked
from formlab.charts._dots import dots
from formlab.charts._heatmap import heatmap
from formlab.charts._lines import lines, slope
from formlab.charts._parts import ELSEWHERE, OWN, PUBLISHED, note
from formlab.charts._surface import surface
from formlab.charts._words import caption as _caption
from formlab.charts._words import cards, p_words, sentences, signed, span, table
from formlab.charts.agreement import metric_agreement
from formlab.charts.compare import (
    compare_cards,
    comparison_table,
    difference_caption,
    difference_dots,
    flip_bars,
    power_dots,
)
from formlab.charts.corrections import label_corrections
from formlab.charts.cross import (
    can_say_table,
    headline_table,
    leaderboard,
    level_cards,
    level_figures,
    level_points,
    not_scored,
    published_levels,
    rung_lines,
)
from formlab.charts.few_shot import few_shot_caption, few_shot_chart
from formlab.charts.following import answer_bars, answer_counts, answer_figures, answer_table
from formlab.charts.judges import audit_figures
from formlab.charts.layout import edit_bars, edit_table, size_caption, size_dots, structure_cards
from formlab.charts.levels import levels_table
from formlab.charts.modality import modality_panels
from formlab.charts.overview import (
    findings_table,
    overview_cards,
    runs_table,
    status_bars,
    wrong_table,
)
from formlab.charts.pages import (
    each_page_figures,
    page_caption,
    page_error_bars,
    page_figures,
    page_table,
)
from formlab.charts.pairings import pairing_table
from formlab.charts.published import cited, published, published_caption, published_dots
from formlab.charts.reading import slice_figure, worst_caption
from formlab.charts.relations import (
    relation_caption,
    relation_cards,
    relation_dots,
    relation_figures,
    relation_heatmap,
    relation_pairs,
    strictness_figures,
)
from formlab.charts.scores import cause_bars, cause_table, ladder_lines, slice_dots
from formlab.charts.short import score_cards
from formlab.charts.show import Caption, Card, Cards, Sources, Table
from formlab.charts.slices import slice_caption, slice_figures, slice_ranks, slice_table
from formlab.charts.surfaces import surface_2d, surface_3d, surface_caption
from formlab.charts.trees import edit_trees
from formlab.charts.words import (
    notes_table,
    reading_cards,
    scores_by,
    scores_table,
    slice_cards,
    status_table,
)

__all__ = [
    "ELSEWHERE",
    "OWN",
    "PUBLISHED",
    "Caption",
    "Card",
    "Cards",
    "Sources",
    "Table",
    "answer_bars",
    "answer_counts",
    "answer_figures",
    "answer_table",
    "audit_figures",
    "bars",
    "can_say_table",
    "caption",
    "cards",
    "cause_bars",
    "cause_table",
    "cited",
    "compare_cards",
    "comparison_table",
    "difference_caption",
    "difference_dots",
    "dots",
    "each_page_figures",
    "edit_bars",
    "edit_table",
    "edit_trees",
    "few_shot_caption",
    "few_shot_chart",
    "findings_table",
    "flip_bars",
    "headline_table",
    "heatmap",
    "label_corrections",
    "ladder_lines",
    "leaderboard",
    "level_cards",
    "level_figures",
    "level_points",
    "levels_table",
    "lines",
    "metric_agreement",
    "modality_panels",
    "not_scored",
    "note",
    "notes_table",
    "overview_cards",
    "p_words",
    "page_caption",
    "page_error_bars",
    "page_figures",
    "page_table",
    "pairing_table",
    "power_dots",
    "published",
    "published_caption",
    "published_dots",
    "published_levels",
    "reading_cards",
    "relation_caption",
    "relation_cards",
    "relation_dots",
    "relation_figures",
    "relation_heatmap",
    "relation_pairs",
    "rung_lines",
    "runs_table",
    "score_cards",
    "scores_by",
    "scores_table",
    "sentences",
    "signed",
    "size_caption",
    "size_dots",
    "slice_caption",
    "slice_cards",
    "slice_dots",
    "slice_figure",
    "slice_figures",
    "slice_ranks",
    "slice_table",
    "slope",
    "span",
    "stacked",
    "status_bars",
    "status_table",
    "strictness_figures",
    "structure_cards",
    "surface",
    "surface_2d",
    "surface_3d",
    "surface_caption",
    "table",
    "theme",
    "worst_caption",
    "wrong_table",
]  # fmt: skip


def caption(*parts, **named):
    """The old caption of a summary or the new one, until every notebook has the new one."""
    made = _before.caption if parts and not isinstance(parts[0], str) else _caption
    return made(*parts, **named)


theme.enable()
