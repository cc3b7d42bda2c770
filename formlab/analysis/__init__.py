"""From gold and predictions to findings: evaluate, summarise, compare."""

import sys

from formlab import tables

# What the room offers, by module: each is imported when it is first asked for.
HOMES = {
    "analysis.agreement": "item_difficulty shared_failures",
    "analysis.audit": "open_audit",
    "analysis.comparability": "common named",
    "analysis.compare": "compare evaluation_pairs flips side",
    "analysis.finding": "OUTCOME Finding finding_table has_pages",
    "analysis.findings": "findings tell_apart",
    "analysis.history": "corpora history open_history",
    "analysis.label_corrections": "corrected_scores with_label_corrections",
    "analysis.overview": (
        "LEVELS answers cause_counts headlines rungs runs select what_if worst_pages"
    ),
    "analysis.samples": "of_system open_all open_compared open_evaluation open_evaluations",
    "analysis.slices": "find_slices slice_cases",
    "analysis.splits": "by_entity changed_entities few_shot merge_splits",
    "analysis.summarise": "summarise surface",
    "analysis.verdicts": "comparison_sentence ranks side_by_side verdict_sentence verdicts",
    "scoring.evaluate": "evaluate",
}
__all__ = sorted(" ".join(HOMES.values()).split())

sys.modules[__name__].__class__ = tables.Room
