"""A user's own forms: gold and answers in any table, types, images and PDFs."""

from formlab import frames
from formlab.own._cells import as_text
from formlab.own._rows import read_rows
from formlab.own.answers import FORMAT, pair, predictions
from formlab.own.corpus import BENCHMARK, INFERRED, corpus, read, splits
from formlab.own.types import FieldType, FieldTypes, Rule, rule_of
from formlab.own.values import read_values

__all__ = [
    "BENCHMARK", "FORMAT", "INFERRED", "FieldType", "FieldTypes", "Rule", "as_text", "corpus",
    "pair", "predictions", "read", "read_rows", "read_values", "rule_of", "splits",
]  # fmt: skip

frames.door(globals(), __all__)
