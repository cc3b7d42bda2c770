"""Figures that do not add up, and what wrong figures cost."""

import random
from decimal import Decimal

import pytest

from formlab.analysis.sum_checks import check_sums, figure, sums
from formlab.benchmarks.ixbrl import gold_pages
from formlab.text.flow import Flow, read
from formlab.text.markup import written_events

# 40 + 30 = 70 and 45 + 20 = 65; 70 - 12 = 58 and 65 - 25 = 40.
STATEMENT = """
| | 2025 | 2024 |
|---|---|---|
| Products | $ 40 | $ 45 |
| Services | 30 | 20 |
| Total sales | {total} | 65 |
| Costs | 12 | 25 |
| Profit | 58 | {profit} |
"""


def found(page):
    return [(each.label, each.total.text, each.difference) for each in sums(read(page))]


def test_totals_and_differences_are_found_and_hold():
    page = STATEMENT.format(total=70, profit=40)
    assert found(page) == [
        ("Total sales", "70", 0), ("Total sales", "65", 0), ("Profit", "58", 0), ("Profit", "40", 0)
    ]  # fmt: skip


def test_a_wrong_total_is_found_with_what_it_should_be():
    page = read(STATEMENT.format(total=10, profit=40))
    (broken,) = (each for each in sums(page) if each.difference)
    assert (broken.label, broken.difference) == ("Total sales", -60)
    # Only 70 is a digit away; 40 and 30 would have to be -20 and -30.
    assert [(cell.text, value) for cell, value in broken.suspects] == [
        ("10", 70), ("30", -30)
    ]  # fmt: skip


def test_shares_years_and_single_columns_without_a_total_are_no_sums():
    assert found("A  40 %  45 %\nB  30 %  20 %\nTotal  71 %  66 %") == []
    assert found("2024  2025\nA  1\nB  2\nC  4") == []
    assert found("") == found("words alone") == []
    # Numbers of rows are no amounts.
    rows = "| 1 | Cash | 20 | 31 |\n| 2 | Bonds | 15 | 16 |\n| 9 | Total | 35 | 47 |"
    assert found(rows) == [("Total", "35", 0), ("Total", "47", 0)]
    # By chance in one column only.
    assert found("A  12  5\nB  30  9\nC  42  77") == []


def test_columns_that_sum_across_are_checked_in_every_row():
    rows = ["North  10  20  30", "South  11  25  36", "East  40  12  52", "West  14  15  92"]
    wrong = [each for each in sums(read("\n".join(rows))) if each.difference]
    assert [(each.label, each.total.text, each.difference) for each in wrong] == [
        ("West", "92", Decimal(63))
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [("(1,204.5)", "-1204.5"), ("−3", "-3"), ("$ 12", "12"), ("—", "0"), ("$(7)", "-7"),
     ("12 %", None), ("4a", None), ("9" * 50, None), ("(Note 3)", None)],
)  # fmt: skip
def test_figures(text, value):
    assert figure(text) == (None if value is None else Decimal(value))


def test_pages_without_sums_keep_their_row():
    table = check_sums({"a": STATEMENT.format(total=10, profit=40), "b": "no figures"})
    assert table.select("doc_id", "label", "holds", "effect").rows() == [
        ("a", "Total sales", False, 6.0), ("a", "Total sales", True, 0.0),
        ("b", None, None, None),
    ]  # fmt: skip


def test_a_long_hostile_page_ends():
    page = "\n".join(f"Total row {n}  {n % 97}  {n % 89}  {n % 83}" for n in range(20_000))
    assert isinstance(sums(read(page)), list)


def test_real_filings_add_up_and_planted_digits_are_found(shared):
    """Two filings: every sum holds; a digit changed at random breaks sums of that figure alone."""
    rng, pages, planted, seen = random.Random(0), 0, 0, 0
    for filing in sorted((shared / "data" / "sec").glob("ixbrl-*.htm")):
        for text in gold_pages(filing)[0]:
            flow = Flow(written_events(text))
            all_sums = sums(flow)
            assert [each for each in all_sums if each.difference] == []
            pages += bool(all_sums)
            units = {c.unit for each in all_sums for c in (each.total, *(p for p, _ in each.parts))}
            for unit in rng.sample(sorted(units), k=min(4, len(units))):
                seen += 1
                planted += _found(flow, unit, rng)
    assert pages >= 25
    assert planted / seen >= 0.6


def _found(flow, unit, rng):
    """Whether a digit changed in a unit breaks a sum with it, and no sum without it."""
    text = flow.units[unit].text
    place = rng.choice([n for n, char in enumerate(text) if char.isdigit()] or [0])
    other = rng.choice([digit for digit in "123456789" if digit != text[place]])
    flow.units[unit].text = text[:place] + other + text[place + 1 :]
    broken = [each for each in sums(flow) if each.difference]
    flow.units[unit].text = text
    for each in broken:
        assert unit in {each.total.unit, *(part.unit for part, _ in each.parts)}
    return bool(broken)
