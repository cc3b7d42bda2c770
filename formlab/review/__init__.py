"""Review by people: values, items and labels, one decision each, saved as it is made."""

from formlab.review.acceptance import Accepted, accepted
from formlab.review.items import Item, of_corpus, of_proposals, of_records
from formlab.review.pages import Pages
from formlab.review.session import Review

__all__ = [
    "Accepted", "Item", "Pages", "Review", "accepted", "of_corpus", "of_proposals", "of_records",
]  # fmt: skip
