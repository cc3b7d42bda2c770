"""A user's own forms: gold and answers in any table, types, images and PDFs."""

from formlab import frames
from formlab.own.corpus import BENCHMARK, INFERRED, corpus, pair, read, splits
from formlab.own.types import FieldType, FieldTypes, Rule, rule_of
from formlab.readers import predictions
from formlab.readers.content import as_text
from formlab.readers.values import read_values

__all__ = [
    "BENCHMARK", "INFERRED", "FieldType", "FieldTypes", "Rule", "as_text", "corpus", "pair",
    "predictions", "read", "read_values", "rule_of", "splits",
]  # fmt: skip

frames.door(globals(), __all__)
