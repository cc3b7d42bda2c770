"""Pure text functions: normalisers, typed parsers, and the strictness ladder."""

from formlab.text.ladder import (
    DATE_RULE,
    Ladder,
    date_order,
    date_orders,
    keys,
    ladder,
    ladders,
    orders_shown,
)
from formlab.text.normalise import LADDER_STEPS, address, as_text, as_texts, normalise
from formlab.text.values import (
    NULL_WORDS,
    VALUE_RULE,
    Money,
    checked,
    choices,
    date,
    is_null_word,
    money,
    number,
)

__all__ = [
    "DATE_RULE", "LADDER_STEPS", "NULL_WORDS", "VALUE_RULE", "Ladder", "Money", "address",
    "as_text", "as_texts", "checked", "choices", "date", "date_order", "date_orders",
    "is_null_word", "keys", "ladder", "ladders", "money", "normalise", "number", "orders_shown",
]  # fmt: skip
