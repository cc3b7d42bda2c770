"""Pure text functions: normalisers, typed parsers, and the strictness ladder."""

from formlab.text.ladder import Ladder, ladder, ladders, rungs
from formlab.text.normalise import LADDER_STEPS, STEPS, normalise, settings
from formlab.text.typed import Money, address, checked, choices, date, money, number

__all__ = [
    "LADDER_STEPS", "STEPS", "Ladder", "Money", "address", "checked", "choices", "date",
    "ladder", "ladders", "money", "normalise", "number", "rungs", "settings",
]  # fmt: skip
