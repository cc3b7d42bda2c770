"""Pure text functions: normalisers, typed parsers, and the strictness ladder."""

from formlab.text.dates import RULE as DATE_RULE
from formlab.text.dates import date_order, date_orders, orders_shown
from formlab.text.ladder import Ladder, ambiguous, keys, ladder, ladders, rungs
from formlab.text.normalise import LADDER_STEPS, STEPS, normalise
from formlab.text.typed import Money, address, checked, choices, date, money, number

__all__ = [
    "DATE_RULE", "LADDER_STEPS", "STEPS", "Ladder", "Money", "address", "ambiguous", "checked",
    "choices", "date", "date_order", "date_orders", "keys", "ladder", "ladders", "money",
    "normalise", "number", "orders_shown", "rungs",
]  # fmt: skip
