"""Exact arithmetic for the formulas of questions and consistency checks."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from formlab import text

_OPERATORS: dict[type, Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add, ast.Sub: operator.sub,
    ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
_LONGEST = 200


class NoFormulaError(ValueError):
    """A text that is no arithmetic of the names given; the message says why."""


def value_of(formula: str, values: Mapping[str, Fraction]) -> Fraction:
    """What a formula of +, -, *, /, brackets, numbers and the names of `values` comes to.

    `NoFormulaError` if it is anything else, names what is not there, or divides by zero.

    >>> value_of("(a + 1) * b", {"a": Fraction(2), "b": Fraction("0.5")})
    Fraction(3, 2)
    """
    try:
        return _value(ast.parse(formula[:_LONGEST].strip(), mode="eval").body, values)
    except (SyntaxError, ValueError, MemoryError, RecursionError, ZeroDivisionError) as error:
        raise NoFormulaError(str(error).splitlines()[0]) from error


def _value(node: ast.expr, values: Mapping[str, Fraction]) -> Fraction:
    match node:
        case ast.BinOp(left, kind, right) if type(kind) in _OPERATORS:
            return _OPERATORS[type(kind)](_value(left, values), _value(right, values))
        case ast.UnaryOp(ast.USub(), inner):
            return -_value(inner, values)
        case ast.Name(name) if name in values:
            return values[name]
        case ast.Constant(int() | float() as number) if not isinstance(number, bool):
            return Fraction(str(number))
    raise ValueError(f"{ast.unparse(node)!r} is no arithmetic of what is given")


def number_in(written: str) -> Fraction | None:
    """The number or amount of money that a text is; a percent sign does not count.

    >>> number_in("$1,200.50"), number_in("25 %"), number_in("two")
    (Fraction(2401, 2), Fraction(25, 1), None)
    """
    plain = written.strip().removesuffix("%").strip()
    amount = text.money(plain)
    number: Any = amount.amount if amount else text.number(plain)
    return None if number is None else Fraction(number)


def is_written_as(exact: Fraction, written: str) -> bool:
    """Whether `written` is the number `exact`, to as many decimals as it shows.

    >>> is_written_as(Fraction(11, 3), "3.67"), is_written_as(Fraction(11, 3), "3.66")
    (True, False)
    """
    shown = number_in(written)
    if shown is None:
        return False
    digits = written.rpartition(".")[2] if "." in written else ""
    decimals = sum(character.isdecimal() for character in digits)
    return abs(exact - shown) <= Fraction(1, 2 * 10**decimals)
