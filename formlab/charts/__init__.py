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
    comparison_table,
    difference_caption,
    difference_dots,
    left_out_table,
    power_dots,
    systems_table,
)
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
from formlab.charts.curves import curve_caption, curve_lines
from formlab.charts.entities import entity_dots, gap_dots
from formlab.charts.entity_words import (
    entity_caption,
    entity_cards,
    few_shot_caption,
    gap_caption,
    published_curves_caption,
    published_scores_table,
)
from formlab.charts.facts import (
    accuracy_caption,
    accuracy_dots,
    accuracy_table,
    fact_cards,
    page_dots,
    pages_table,
    structure_bars,
)
from formlab.charts.few_shot import few_shot_chart, published_curves
from formlab.charts.flips import compare_cards, flip_bars, flip_caption, flip_table
from formlab.charts.following import answer_bars, answer_counts, answer_figures, answer_table
from formlab.charts.form_faults import click_value_figures, fault_figures, miss_figures
from formlab.charts.form_filling import (
    filling_caption,
    filling_cards,
    filling_dots,
    filling_table,
    table_2,
)
from formlab.charts.judges import judge_figures, judge_tables
from formlab.charts.layout import edit_bars, edit_table, size_caption, size_dots, structure_cards
from formlab.charts.levels import levels_table
from formlab.charts.modality import modality_panels
from formlab.charts.modes import change_bars, changes_caption, changes_table, modes_table
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
from formlab.charts.published import published, published_caption, published_dots
from formlab.charts.ranks import (
    cited,
    compared_table,
    general_and_facts,
    rank_slopes,
    text_and_facts,
)
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
from formlab.charts.ruler import difficulty_caption, difficulty_dots, ruler_note
from formlab.charts.scores import cause_bars, cause_table, ladder_lines, slice_dots
from formlab.charts.show import Caption, Card, Cards, Sources, Table
from formlab.charts.slices import slice_caption, slice_figures, slice_ranks, slice_table
from formlab.charts.surfaces import surface_2d, surface_3d, surface_caption
from formlab.charts.trees import edit_trees
from formlab.charts.verdicts import each_with_and_without, with_and_without
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
    "accuracy_caption",
    "accuracy_dots",
    "accuracy_table",
    "answer_bars",
    "answer_counts",
    "answer_figures",
    "answer_table",
    "bars",
    "can_say_table",
    "caption",
    "cards",
    "cause_bars",
    "cause_table",
    "change_bars",
    "changes_caption",
    "changes_table",
    "cited",
    "click_value_figures",
    "compare_cards",
    "compared_table",
    "comparison_table",
    "curve_caption",
    "curve_lines",
    "difference_caption",
    "difference_dots",
    "difficulty_caption",
    "difficulty_dots",
    "dots",
    "each_page_figures",
    "each_with_and_without",
    "edit_bars",
    "edit_table",
    "edit_trees",
    "entity_caption",
    "entity_cards",
    "entity_dots",
    "fact_cards",
    "fault_figures",
    "few_shot_caption",
    "few_shot_chart",
    "filling_caption",
    "filling_cards",
    "filling_dots",
    "filling_table",
    "findings_table",
    "flip_bars",
    "flip_caption",
    "flip_table",
    "gap_caption",
    "gap_dots",
    "general_and_facts",
    "headline_table",
    "heatmap",
    "judge_figures",
    "judge_tables",
    "ladder_lines",
    "leaderboard",
    "left_out_table",
    "level_cards",
    "level_figures",
    "level_points",
    "levels_table",
    "lines",
    "metric_agreement",
    "miss_figures",
    "modality_panels",
    "modes_table",
    "not_scored",
    "note",
    "notes_table",
    "overview_cards",
    "p_words",
    "page_caption",
    "page_dots",
    "page_error_bars",
    "page_figures",
    "page_table",
    "pages_table",
    "pairing_table",
    "power_dots",
    "published",
    "published_caption",
    "published_curves",
    "published_curves_caption",
    "published_dots",
    "published_levels",
    "published_scores_table",
    "rank_slopes",
    "reading_cards",
    "relation_caption",
    "relation_cards",
    "relation_dots",
    "relation_figures",
    "relation_heatmap",
    "relation_pairs",
    "ruler_note",
    "rung_lines",
    "runs_table",
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
    "structure_bars",
    "structure_cards",
    "surface",
    "surface_2d",
    "surface_3d",
    "surface_caption",
    "systems_table",
    "table",
    "table_2",
    "text_and_facts",
    "theme",
    "with_and_without",
    "worst_caption",
    "wrong_table",
]  # fmt: skip


def caption(*parts, **named):
    """The old caption of a summary or the new one, until every notebook has the new one."""
    made = _before.caption if parts and not isinstance(parts[0], str) else _caption
    return made(*parts, **named)


theme.enable()
