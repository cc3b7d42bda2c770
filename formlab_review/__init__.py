"""Review by people: values, items and labels, one decision each, saved as it is made."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formlab_review.acceptance import Accepted, accepted
    from formlab_review.agreement import disagreements, fact_agreement, reviewer_agreement
    from formlab_review.charts import (
        agreement_tables,
        annotation_tables,
        form_tables,
        proposals_table,
        review_cards,
    )
    from formlab_review.editor import FormReview
    from formlab_review.form_differences import adjudicate, form_agreement, form_queue, gold
    from formlab_review.forms import FormNodes
    from formlab_review.items import Item, of_corpus, of_proposals, of_records
    from formlab_review.label_audit import by_majority, proposals
    from formlab_review.pages import Pages
    from formlab_review.session import Review

__all__ = [
    "Accepted", "FormNodes", "FormReview", "Item", "Pages", "Review", "accepted", "adjudicate",
    "agreement_tables", "annotation_tables", "by_majority", "disagreements", "fact_agreement",
    "form_agreement", "form_queue", "form_tables", "gold", "of_corpus", "of_proposals",
    "of_records", "proposals", "proposals_table", "review_cards", "reviewer_agreement",
]  # fmt: skip

_HOME = {
    "Accepted": "acceptance", "accepted": "acceptance", "Pages": "pages", "Review": "session",
    "disagreements": "agreement", "fact_agreement": "agreement", "reviewer_agreement": "agreement",
    "proposals": "label_audit", "by_majority": "label_audit", "agreement_tables": "charts",
    "annotation_tables": "charts", "proposals_table": "charts", "review_cards": "charts",
    "form_tables": "charts", "FormReview": "editor", "FormNodes": "forms",
    "adjudicate": "form_differences", "form_agreement": "form_differences",
    "form_queue": "form_differences", "gold": "form_differences",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'formlab_review' has no attribute {name!r}")
    home = import_module(f"formlab_review.{_HOME.get(name, 'items')}")
    return import_module("formlab.tables").either(getattr(home, name))
