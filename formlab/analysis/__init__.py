"""From gold and predictions to findings: evaluate, summarise, compare."""

from formlab import frames
from formlab.analysis.audit import open_audit
from formlab.analysis.both_modes import both_modes, changed_entities
from formlab.analysis.clicks import click_and_value, misses
from formlab.analysis.comparability import common
from formlab.analysis.compare import compare, evaluation_pairs, over_metrics
from formlab.analysis.cross import (
    metric_rank_correlation,
    summaries,
    system_rank_correlation,
)
from formlab.analysis.difficulty import by_difficulty, difficulty, ruler_runs
from formlab.analysis.few_shot import few_shot, few_shot_only
from formlab.analysis.few_shot_systems import few_shot_side_by_side, few_shot_systems
from formlab.analysis.finding import OUTCOME, Finding, finding_table
from formlab.analysis.finding_kinds import kinds
from formlab.analysis.finding_list import findings
from formlab.analysis.finding_systems import tell_apart
from formlab.analysis.flips import flip_matrices, flip_matrix, flips, side
from formlab.analysis.footing import check_sums, material_errors
from formlab.analysis.history import history, last_findings, last_sentence
from formlab.analysis.history_folders import corpora, one_corpus, open_history
from formlab.analysis.label_corrections import corrected_scores, with_label_corrections
from formlab.analysis.levels import LEVELS, headlines, rungs, tasks_by_level
from formlab.analysis.overview import answers, runs
from formlab.analysis.pages import worst_pages
from formlab.analysis.pairings import pairings
from formlab.analysis.pooling import by_entity, errors_by_cause, merge_splits
from formlab.analysis.propagation import propagation
from formlab.analysis.samples import (
    BASELINES,
    of_system,
    open_all,
    open_compared,
    open_evaluation,
    open_evaluations,
)
from formlab.analysis.screens import by_screen
from formlab.analysis.select import select
from formlab.analysis.side_by_side import side_by_side
from formlab.analysis.slices import find_slices, slice_cases
from formlab.analysis.stages import loss_stages
from formlab.analysis.structure import growth, tree_sizes
from formlab.analysis.summarise import summarise
from formlab.analysis.surface import curve, surface
from formlab.analysis.top_errors import cause_counts, top_errors
from formlab.analysis.verdicts import every_difference, identical, ranks, verdict_sentence, verdicts
from formlab.scoring.evaluate import evaluate

__all__ = [
    "BASELINES", "LEVELS", "OUTCOME", "Finding", "answers", "both_modes", "by_difficulty",
    "by_entity", "by_screen", "cause_counts", "changed_entities", "check_sums", "click_and_value",
    "common", "compare", "corpora", "corrected_scores", "curve", "difficulty", "errors_by_cause",
    "evaluate", "evaluation_pairs", "every_difference", "few_shot", "few_shot_only",
    "few_shot_side_by_side", "few_shot_systems", "find_slices", "finding_table", "findings",
    "flip_matrices", "flip_matrix", "flips", "growth", "headlines", "history", "identical", "kinds",
    "last_findings", "last_sentence", "loss_stages", "material_errors", "merge_splits",
    "metric_rank_correlation", "misses", "of_system", "one_corpus", "open_all", "open_audit",
    "open_compared", "open_evaluation", "open_evaluations", "open_history", "over_metrics",
    "pairings", "propagation", "ranks", "ruler_runs", "rungs", "runs", "select", "side",
    "side_by_side", "slice_cases", "summaries", "summarise", "surface", "system_rank_correlation",
    "tasks_by_level", "tell_apart", "top_errors", "tree_sizes", "verdict_sentence", "verdicts",
    "with_label_corrections", "worst_pages",
]  # fmt: skip

frames.door(globals(), __all__)
