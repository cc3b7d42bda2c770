"""The registry of metrics.

A metric turns gold and prediction into tallies; summed tallies give the score of many units.

>>> METRICS["cer"]("abc", "abd").parts
(1.0, 3.0)
>>> METRICS["cer"].tallies(["abc", "x"], ["abd", ""]).tolist()
[[1.0, 3.0], [1.0, 1.0]]
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from formlab.errors import UnknownName
from formlab.metrics._spec import Metric, Tally, ratio
from formlab.registry import Registry

# Each family of metrics with the mapping, or the module, that has its metrics by name.
_FAMILIES = {
    "text": """cer wer edit_distance bleu bleu_of_fields rouge1 rougeL rouge1_stem rougeL_stem
        spurious_rate
        rouge1_html rougeL_html edit_distance_html""",
    "page:PAGE_METRICS": "words_omitted words_inserted words_substituted words_order",
    "ladder": "exact_accuracy normalised_accuracy typed_accuracy fuzzy_accuracy",
    "marking": "mark_precision mark_recall mark_f1 cross_accuracy",
    "fields:FIELD_METRICS": "field_precision field_recall field_f1",
    "matching:METRICS": "match_precision match_recall match_f1 match_accuracy match_weighted",
    "tree:TREE_METRICS": "tree_edit_distance tree_similarity",
    # Metrics are listed by level of the task, L1 to L3.
    "ladder:": """vqa_accuracy consistency_accuracy consistency_dependent_accuracy
        contradictions_found""",
    "jsonacc": "json_accuracy",
    "actions:METRICS": """click_accuracy unwanted_clicks value_found_accuracy
        value_placed_accuracy value_submitted_accuracy description_bleu action_match_rate
        click_distance episodic_click episodic_value form_completed task_score""",
    "entities:METRICS": """precision recall f1 micro_precision micro_recall micro_f1 macro_precision
        macro_recall macro_f1""",
    "facts:METRICS": """fact_accuracy fact_accuracy_of_found fact_missing_rate
        fact_misplaced_rate number_date_accuracy""",
    "response_validity:VALIDITY_METRICS": """usable_answers valid_answers repaired_answers
        bad_json_answers refused_answers truncated_answers failed_calls""",
    "structure": "structure_score",
    "judge_scores:METRICS": """judge_structure judge_entity_accuracy judge_entity_score
        judge_overall judge_overall_stated""",
}


def _targets() -> dict[str, str]:
    targets = {}
    for family, names in _FAMILIES.items():
        module, _, mapping = family.partition(":")
        for name in names.split():
            targets[name] = f"formlab.metrics.{module}:{mapping or name}"
    return targets


METRICS = Registry("metrics", _targets())
# The column `average`: the score of the sums over all documents, or the mean of documents' scores.
POOLED, MACRO = "pooled", "macro"
# Functions that are offered here beside the metrics themselves.
_HOME = {
    "edit_script": "tree_edits", "tree_edit_distance": "tree", "tree_edit_tallies": "tree",
    "tree_similarity": "tree",
}  # fmt: skip

__all__ = [
    "METRICS", "Metric", "Tally", "bleu", "cer", "edit_distance", "edit_script",
    "exact_accuracy", "fuzzy_accuracy", "get", "normalised_accuracy", "ratio", "rouge1",
    "rouge1_stem", "rougeL", "rougeL_stem", "spurious_rate", "title", "tree_edit_distance",
    "tree_edit_tallies", "tree_similarity", "typed_accuracy", "wer",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"formlab.metrics.{_HOME[name]}"), name)
    if name in __all__:
        return METRICS[name]
    raise AttributeError(f"module 'formlab.metrics' has no attribute {name!r}")


def get(name: str) -> Metric:
    """The metric registered as `name`; else `UnknownName`.

    Examples
    --------
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

    Examples
    --------
    >>> [metric.name for metric in of("fact", "page", "text")]
    ['edit_distance', 'rouge1_stem', 'rougeL_stem']
    """
    return [
        metric for metric in METRICS.values()
        if task in metric.tasks and unit in metric.units and metric.view in views
    ]  # fmt: skip


def title(name: str, average: str = POOLED) -> str:
    """What to call a metric, or its mean over documents.

    Examples
    --------
    >>> title("bleu", MACRO)
    'BLEU, mean over documents'
    """
    return get(name).title + (", mean over documents" if average == MACRO else "")
