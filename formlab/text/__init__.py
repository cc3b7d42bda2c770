"""Pure text functions: normalisers, typed parsers, and the strictness ladder."""

from formlab.text.ladder import (
    DATE_RULE,
    date_order,
    date_orders,
    keys,
    ladder,
    ladders,
    orders_shown,
)
from formlab.text.normalise import LADDER_STEPS, address, as_text, normalise
from formlab.text.values import Money, checked, choices, date, is_null_word, money, number

__all__ = [
    "DATE_RULE", "LADDER_STEPS", "Money", "address", "as_text", "checked", "choices", "date",
    "date_order", "date_orders", "is_null_word", "keys", "ladder", "ladders", "money", "normalise",
    "number", "orders_shown",
]  # fmt: skip
