"""Review by people: values, items and labels, one decision each, saved as it is made."""

from formlab_review.acceptance import Accepted, accepted
from formlab_review.items import Item, of_corpus, of_proposals, of_records
from formlab_review.pages import Pages
from formlab_review.session import Review

__all__ = [
    "Accepted", "Item", "Pages", "Review", "accepted", "of_corpus", "of_proposals", "of_records",
]  # fmt: skip
