"""Pure text functions: normalisers, typed parsers, and the strictness ladder."""

from formlab.text.dates import RULE as DATE_RULE
from formlab.text.dates import date_order, date_orders, orders_shown
from formlab.text.ladder import Ladder, ambiguous, keys, ladder, ladders, rungs
from formlab.text.normalise import LADDER_STEPS, STEPS, normalise
from formlab.text.values import VALUE_RULE, Money, address, checked, choices, date, money, number

__all__ = [
    "DATE_RULE", "LADDER_STEPS", "STEPS", "VALUE_RULE", "Ladder", "Money", "address", "ambiguous",
    "checked", "choices", "date", "date_order", "date_orders", "keys", "ladder", "ladders", "money",
    "normalise", "number", "orders_shown", "rungs",
]  # fmt: skip
