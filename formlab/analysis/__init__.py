"""From gold and predictions to findings: evaluate, summarise, causes."""

from formlab.analysis.both_modes import both_modes, changed_entities
from formlab.analysis.causes import CAUSES
from formlab.analysis.evaluate import evaluate
from formlab.analysis.factpages import fact_pages, open_audit, whole_pages, wrong_facts
from formlab.analysis.few_shot import few_shot, few_shot_only, transfer_gaps
from formlab.analysis.pooling import by_entity, losses, pooled
from formlab.analysis.samples import open_evaluation, open_evaluations
from formlab.analysis.structure import growth, tree_sizes
from formlab.analysis.summarise import summarise
from formlab.analysis.worst import worst

__all__ = [
    "CAUSES", "both_modes", "by_entity", "changed_entities", "evaluate", "fact_pages",
    "few_shot", "few_shot_only", "growth", "losses", "open_audit", "open_evaluation",
    "open_evaluations", "pooled", "summarise", "transfer_gaps", "tree_sizes", "whole_pages",
    "worst", "wrong_facts",
]  # fmt: skip
