"""The registry of metrics.

A metric turns gold and prediction into tallies; summed tallies give the score of many units. Each
module has a family of them in its `METRICS`.

>>> METRICS["cer"]("abc", "abd").parts
(1.0, 3.0)
>>> METRICS["cer"].tallies(["abc", "x"], ["abd", ""]).tolist()
[[1.0, 3.0], [1.0, 1.0]]
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from formlab.errors import UnknownName
from formlab.metrics.metric import Metric, Tally, ratio
from formlab.registry import Registry

# Metrics by module, listed by level of the task, L1 to L3.
_FAMILIES = (
    ("text", "cer wer edit_distance bleu bleu_of_fields rouge1 rougeL rouge1_stem rougeL_stem"),
    ("text", "spurious_rate rouge1_html rougeL_html edit_distance_html"),
    ("page", "words_omitted words_inserted words_substituted words_order"),
    ("counts", "exact_accuracy normalised_accuracy typed_accuracy fuzzy_accuracy"),
    ("marking", "mark_precision mark_recall mark_f1 cross_accuracy"),
    ("counts", "field_precision field_recall field_f1"),
    ("counts", "match_precision match_recall match_f1 match_accuracy match_weighted"),
    ("tree", "tree_edit_distance tree_similarity"),
    ("counts", "vqa_accuracy consistency_accuracy consistency_dependent_accuracy"),
    ("counts", "contradictions_found"),
    ("jsonacc", "json_accuracy"),
    ("actions", "click_accuracy unwanted_clicks value_found_accuracy value_placed_accuracy"),
    ("actions", "value_submitted_accuracy description_bleu action_match_rate click_distance"),
    ("actions", "episodic_click episodic_value form_completed task_score"),
    ("entities", "precision recall f1 micro_precision micro_recall micro_f1"),
    ("entities", "macro_precision macro_recall macro_f1"),
    ("facts", "fact_accuracy fact_accuracy_of_found fact_missing_rate fact_misplaced_rate"),
    ("facts", "number_date_accuracy"),
    ("counts", "usable_answers valid_answers repaired_answers bad_json_answers refused_answers"),
    ("counts", "truncated_answers failed_calls"),
    ("structure", "structure_score"),
    ("judge", "judge_structure judge_entity_accuracy judge_entity_score judge_overall"),
    ("judge", "judge_overall_stated"),
)
METRICS = Registry(
    "metrics",
    {
        name: f"formlab.metrics.{module}:METRICS"
        for module, names in _FAMILIES
        for name in names.split()
    },
)
# The column `average`: the score of the sums over all documents, or the mean of documents' scores.
POOLED, MACRO = "pooled", "macro"
_FUNCTIONS = ("edit_script", "tree_edit_distance", "tree_edit_tallies", "tree_similarity")
__all__ = ["METRICS", "Metric", "Tally", "get", "ratio", "title", *_FUNCTIONS]


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(import_module("formlab.metrics.tree"), name)
    if name in METRICS.builtin:
        return METRICS[name]
    raise AttributeError(f"module 'formlab.metrics' has no attribute {name!r}")


def get(name: str) -> Metric:
    """The metric registered as `name`; else `UnknownName`.

    >>> get("cer").direction
    'down'
    """
    refuse_mean(name)
    return METRICS.find(name)


def refuse_mean(name: str) -> None:
    """Refuse a mean over documents by the name it had in 0.2, and say how it is asked for now."""
    plain = name.removeprefix("macro_").removeprefix("mean_")
    if name not in METRICS and plain in METRICS:
        remedy = f"{plain} with --average macro, in Python {plain!r} with average='macro'"
        raise UnknownName(f"{name!r} is no metric but a mean over documents", remedy=remedy)


def of(task: str, unit: str, *views: str) -> list[Metric]:
    """The metrics that declare a task, are taken of such units and read one of `views`.

    >>> [metric.name for metric in of("fact", "page", "text")]
    ['edit_distance', 'rouge1_stem', 'rougeL_stem']
    """
    return [
        metric
        for metric in METRICS.values()
        if task in metric.tasks and unit in metric.units and metric.view in views
    ]


def title(name: str, average: str = POOLED) -> str:
    """What to call a metric, or its mean over documents.

    >>> title("bleu", MACRO)
    'BLEU, mean over documents'
    """
    return get(name).title + (", mean over documents" if average == MACRO else "")
