"""Experiments: what makes a system fail, by forms and pages that are changed by known amounts."""

from importlib import import_module
from typing import Any

_HOME = {
    "degrade": "degradations",
    "growing_causes": "responses",
    "half_level": "responses",
    "harm": "responses",
    "harm_sentence": "responses",
    "judged_fields": "effects",
    "open_stress": "samples",
    "print_sizes": "responses",
    "read_and_score": "reading",
    "response": "responses",
    "stress_corpus": "stress",
    "design": "designs", "design_plan": "designs", "designed": "designs",
    "correlations": "design_analysis", "design_effects": "design_analysis",
    "design_findings": "design_analysis", "designed_fields": "design_analysis",
    "document_traits": "design_analysis", "open_design": "samples",
    "changed_fields": "sweep_effects", "open_sweep": "sweeps", "setting_effects": "sweep_effects",
    "settings_findings": "sweep_effects", "settings_plan": "sweeps", "sweep": "sweeps",
    "swept_fields": "sweep_effects", "swept_settings": "sweep_effects",
    "counterfactual_corpus": "counterfactual", "follows": "followed", "leaning": "followed",
    "shares": "followed", "leaning_findings": "followed", "Templates": "redrawn",
    "relations_of": "relations", "Scans": "scans", "accepted": "scans", "review_page": "scans",
    "open_counterfactual": "samples",
}  # fmt: skip
__all__ = [
    "Scans", "Templates", "accepted", "changed_fields", "correlations", "counterfactual_corpus",
    "degrade", "design", "design_effects", "design_findings", "design_plan", "designed",
    "designed_fields", "document_traits", "follows", "growing_causes", "half_level", "harm",
    "harm_sentence", "judged_fields", "leaning", "leaning_findings", "open_counterfactual",
    "open_design", "open_stress", "open_sweep", "print_sizes", "read_and_score", "relations_of",
    "response", "review_page", "setting_effects", "settings_findings", "settings_plan",
    "shares", "stress_corpus", "sweep", "swept_fields", "swept_settings",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'formlab_experiments' has no attribute {name!r}")
    return getattr(import_module(f"formlab_experiments.{_HOME[name]}"), name)
