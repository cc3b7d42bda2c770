"""Review by people: values, items and labels, one decision each, saved as it is made."""

from formlab_review.acceptance import Accepted, accepted
from formlab_review.agreement import disagreements, reviewer_agreement
from formlab_review.charts import agreement_tables, proposals_table, review_cards
from formlab_review.items import Item, of_corpus, of_proposals, of_records
from formlab_review.label_audit import by_majority, proposals
from formlab_review.pages import Pages
from formlab_review.session import Review

__all__ = [
    "Accepted", "Item", "Pages", "Review", "accepted", "agreement_tables", "by_majority",
    "disagreements", "of_corpus", "of_proposals", "of_records", "proposals", "proposals_table",
    "review_cards", "reviewer_agreement",
]  # fmt: skip
