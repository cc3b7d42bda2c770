"""Charts and display objects: a table in, a value out that shows itself live and in reports."""

from __future__ import annotations

from formlab.charts import theme
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
from formlab.charts.judges import judge_figures, judge_tables
from formlab.charts.layout import edit_bars, edit_table, size_caption, size_dots, structure_cards
from formlab.charts.levels import levels_table
from formlab.charts.modality import modality_panels
from formlab.charts.modes import change_bars, changes_caption, changes_table, modes_table
from formlab.charts.published import published, published_caption, published_dots
from formlab.charts.ranks import (
    cited,
    compared_table,
    general_and_facts,
    rank_slopes,
    text_and_facts,
)
from formlab.charts.relations import (
    relation_caption,
    relation_cards,
    relation_dots,
    relation_heatmap,
    relation_pairs,
)
from formlab.charts.scores import cause_bars, ladder_lines, slice_dots
from formlab.charts.show import Caption, Card, Cards, Sources, Table
from formlab.charts.trees import edit_trees
from formlab.charts.words import caption, notes_table, reading_cards, scores_table, status_table

__all__ = [
    "Caption", "Card", "Cards", "Sources", "Table", "accuracy_caption", "accuracy_dots",
    "accuracy_table", "caption", "cause_bars", "change_bars", "changes_caption",
    "changes_table", "cited", "compared_table", "edit_bars", "edit_table", "edit_trees",
    "entity_caption", "entity_cards", "entity_dots", "fact_cards", "few_shot_caption",
    "few_shot_chart",
    "gap_caption", "gap_dots", "general_and_facts", "judge_figures", "judge_tables",
    "ladder_lines", "levels_table", "modality_panels", "modes_table", "notes_table",
    "page_dots", "pages_table", "published", "published_caption", "published_curves",
    "published_curves_caption", "published_dots", "published_scores_table", "rank_slopes",
    "reading_cards", "relation_caption", "relation_cards", "relation_dots", "relation_heatmap",
    "relation_pairs",
    "scores_table", "size_caption", "size_dots", "slice_dots", "status_table", "structure_bars",
    "structure_cards", "text_and_facts", "theme",
]  # fmt: skip

theme.enable()
