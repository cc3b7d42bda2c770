"""From gold and predictions to findings: evaluate, summarise, compare."""

import sys

from formlab import frames

# What the room offers, by module: each is imported when it is first asked for.
HOMES = {
    "analysis.agreement": "item_difficulty shared_failures",
    "analysis.audit": "open_audit",
    "analysis.both_modes": "both_modes changed_entities",
    "analysis.comparability": "common",
    "analysis.compare": "compare evaluation_pairs",
    "analysis.confidence": "calibration_error judged reliability straight_through whole_documents",
    "analysis.finding": "OUTCOME Finding finding_table has_pages",
    "analysis.findings": "findings",
    "analysis.flips": "flips side",
    "analysis.history": "corpora history last_sentence one_corpus open_history",
    "analysis.label_corrections": "corrected_scores with_label_corrections",
    "analysis.levels": "LEVELS headlines rungs tasks_by_level",
    "analysis.overview": "answers cause_counts runs top_errors tree_sizes worst_pages",
    "analysis.samples": (
        "BASELINES of_system open_all open_compared open_evaluation open_evaluations"
    ),
    "analysis.select": "select",
    "analysis.side_by_side": "side_by_side",
    "analysis.slices": "find_slices kinds slice_cases",
    "analysis.splits": "by_entity errors_by_cause few_shot few_shot_systems merge_splits",
    "analysis.summarise": "summaries summarise",
    "analysis.sum_checks": "check_sums",
    "analysis.surface": "curve surface",
    "analysis.verdicts": "comparison_sentence identical ranks tell_apart verdict_sentence verdicts",
    "analysis.what_if": "what_if",
    "scoring.evaluate": "evaluate",
}
__all__ = sorted(" ".join(HOMES.values()).split())

sys.modules[__name__].__class__ = frames.Room
