"""A user's own forms: gold and answers in any table, types, images and PDFs."""

from formlab.own.corpus import BENCHMARK, FORMAT, INFERRED, corpus, pair, predictions, read, splits
from formlab.own.types import FieldType, FieldTypes, Rule, rule_of
from formlab.own.values import read_values

__all__ = [
    "BENCHMARK", "FORMAT", "INFERRED", "FieldType", "FieldTypes", "Rule", "corpus", "pair",
    "predictions", "read", "read_values", "rule_of", "splits",
]  # fmt: skip
