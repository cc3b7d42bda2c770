"""From gold and predictions to findings: evaluate, summarise, causes."""

from formlab.analysis.causes import CAUSES
from formlab.analysis.evaluate import evaluate
from formlab.analysis.samples import open_evaluation
from formlab.analysis.summarise import summarise
from formlab.analysis.worst import worst

__all__ = ["CAUSES", "evaluate", "open_evaluation", "summarise", "worst"]
