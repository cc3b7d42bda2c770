"""FORMCRAFT's pipeline with a model: annotations to forms, forms to questions and checks.

What comes out are drafts: each item is held against the schema and the annotation, and people
decide on those that pass. Nothing that a model answered is thrown away.
"""

from formlab_review.drafting._asking import counts
from formlab_review.drafting._forms import forms
from formlab_review.drafting._items import examples_of, items

__all__ = ["counts", "examples_of", "forms", "items"]
