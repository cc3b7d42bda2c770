from fractions import Fraction

import pytest

from formlab.benchmarks.formcraft import NoFormulaError, is_written_as, number_in, value_of

VALUES = {"a": Fraction(6), "b": Fraction(4)}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("a + b", 10),
        ("-a * (b - 1)", -18),
        ("a / b", Fraction(3, 2)),
        ("0.1 + 0.2", Fraction(3, 10)),
    ],
)
def test_formulas_are_worked_out_in_exact_fractions(formula, value):
    assert value_of(formula, VALUES) == value


@pytest.mark.parametrize(
    "formula",
    ["", "a +", "c + 1", "a / (b - 4)", "a ** 9999999", "__import__('os')", "a.real",
     "(lambda: 1)()", "True + 1", "'a' * 9", "a if b else 1", "\0", "(" * 150],
)  # fmt: skip
def test_anything_else_is_no_formula_and_runs_nothing(formula):
    with pytest.raises(NoFormulaError):
        value_of(formula, VALUES)


def test_numbers_are_compared_to_the_decimals_they_show():
    assert number_in("$1,110.00") == 1110
    assert number_in("tea") is None
    # 2/3 is 0.666…: right as 0.67 and 0.7, and as 1 without decimals, not as 0.66.
    exact = Fraction(2, 3)
    said = ["0.67", "0.7", "1", "0.66", "tea"]
    assert [is_written_as(exact, text) for text in said] == [True, True, True, False, False]
    assert is_written_as(Fraction(25), "25 %")
