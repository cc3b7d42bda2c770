"""Normalisers, typed parsers and the strictness ladder."""

import datetime
import random
import sys
import unicodedata
from decimal import Decimal

import polars as pl
import pytest

from formlab import text
from formlab.errors import UnknownName
from formlab.text.normalise import _LONG_RUN

ODD = "aAbZz019 .,-–—−()$€%'’“”\"/\n\t[]{};|&<>"
ODD += "\u00a0\u2028\u200béE\u0301\u0331Hßİשלום日本😀\ud800\x00\x1b"


def odd_strings(count, longest=40, seed=0):
    rng = random.Random(seed)
    return ["".join(rng.choices(ODD, k=rng.randrange(longest))) for _ in range(count)]


def test_steps_are_applied_in_the_order_given():
    # "quotes" first makes both backticks an apostrophe; after "lower" nothing changes.
    assert text.normalise("` A", ["quotes", "lower"]) == "' a"
    assert text.normalise(" A\u0301  B ", ["nfc"]) == " \u00c1  B "
    assert text.normalise(" A\u0301  B ") == "\u00e1 b"
    with pytest.raises(UnknownName, match="Try: 'lower'"):
        text.normalise("x", ["lowr"])


@pytest.mark.parametrize("char", "‐‑‒–—―−﹘﹣－")
def test_every_dash_becomes_a_hyphen(char):
    assert text.normalise(f"1{char}2", ["dashes"]) == "1-2"


def test_normalising_twice_changes_nothing():
    for value in odd_strings(3000):
        once = text.normalise(value, text.LADDER_STEPS)
        assert text.normalise(once, text.LADDER_STEPS) == once


def test_long_runs_of_marks_are_normalised_as_unicode_says():
    rng = random.Random(3)
    chars = map(chr, range(sys.maxunicode + 1))
    marks = [c for c in chars if unicodedata.combining(c) or c in "\u0344\u0f73\u0f75\u0f81"]
    for _ in range(300):
        value = "e" + "".join(rng.choices(marks, k=rng.randrange(28, 120))) + rng.choice("ea\u00e9")
        assert text.normalise(value, ["nfc"]) == unicodedata.normalize("NFC", value)


def test_every_combining_mark_is_found_by_the_guard_against_quadratic_time():
    for char in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.combining(unicodedata.normalize("NFD", char)[0]):
            assert _LONG_RUN.fullmatch(char * 32), hex(ord(char))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", "0"), ("12", "12"), ("007", "7"), ("+5", "5"), ("-5", "-5"), ("− 5", "-5"),
        ("5-", "-5"), ("5 -", "-5"), ("(5)", "-5"), ("( 1,234.50 )", "-1234.5"), (".5", "0.5"),
        ("1,234", "1234"), ("1,234,567.8", "1234567.8"), ("1.234.567", "1234567"),
        ("1.234,5", "1234.5"), ("1.234", "1.234"), ("12,5", "12.5"), ("0,125", "0.125"),
        ("1 234,56", "1234.56"), ("1\u00a0234", "1234"), ("1'234.50", "1234.5"),
        ("12,5 %", "0.125"), ("(3%)", "-0.03"), ("-0", "0"),
        ("1.0000000000000000000000000000000001%", "0.010000000000000000000000000000000001"),
    ],
)  # fmt: skip
def test_number_is_read(written, value):
    assert text.number(written) == Decimal(value)


@pytest.mark.parametrize(
    ("written", "amount", "currency"),
    [
        ("$1,200.50", "1200.50", "USD"), ("US$ 5", "5", "USD"), ("5 USD", "5", "USD"),
        ("-$5", "-5", "USD"), ("$-5", "-5", "USD"), ("($5.00)", "-5", "USD"),
        ("(5.00 USD)", "-5", "USD"), ("$5-", "-5", "USD"), ("9,90 €", "9.9", "EUR"),
        ("RM 12.30", "12.3", "MYR"), ("Rs. 500", "500", "INR"), ("3.5", "3.5", None),
        ("$5 USD", "5", "USD"),
    ],
)  # fmt: skip
def test_money_is_read(written, amount, currency):
    assert text.money(written) == (Decimal(amount), currency)


DATES = {
    "2022-07-01": [
        "2022-07-01", "2022/7/1", "2022.07.01", "20220701", "Jul 1, 2022", "july 1st 2022",
        "1 July 2022", "Jul. 1,2022", "01-JUL-22", "1. July 2022", "the 1st of July, 2022",
        "Friday, July 1, 2022", "1.7.2022", "01.07.22", "July 1, '22",
    ],
    # Numbers between slashes may be two dates; there is no month 31, and 7/7 is the same both ways.
    "2022-07-01 2022-01-07": ["7/1/2022"], "2022-07-31": ["31-7-2022", "7/31/2022"],
    "2022-07-07": ["7/7/2022"],
    # A year of two digits turns at the pivot.
    "2000-01-01": ["1/1/00"], "2068-01-01": ["1/1/68"], "1969-01-01": ["1/1/69"],
    "1999-01-01": ["1/1/99"],
}  # fmt: skip


@pytest.mark.parametrize("days", DATES)
def test_date_is_read(days):
    known = set(map(datetime.date.fromisoformat, days.split()))
    assert {written: text.date(written) for written in DATES[days]} == dict.fromkeys(
        DATES[days], known
    )


NO_VALUE = {
    "number": ["", " ", "12 apples", "1,23,4", "1,2345,678", "(5", "5)", "(-5)", "-5-", "--5",
               "1 23", "$5", "5%%", "1e5", "NaN", "Infinity", "1_000", "1..2", "7/1", "9" * 65,
               "\x005"],
    "money": ["", "$", "USD", "5%", "$5 EUR", "$5 each", "-$5-", "5$5"],
    "date": ["", "July 2022", "2022-13-01", "2022-02-30", "2/30/2022", "0/1/2022", "1/2/0000",
             "1/2/202", "1/2-2022", "due 1/2/2022", "1/2/2022 noon", "20221301", "12345678",
             "2022-0701"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "written"), [(kind, text) for kind, texts in NO_VALUE.items() for text in texts]
)
def test_what_is_no_value_of_a_kind_is_none(kind, written):
    assert getattr(text, kind)(written) is None


@pytest.mark.parametrize(
    "written",
    ["Tea, Milk", "milk; tea", "milk | TEA", "tea\nmilk", '["Milk", "Tea"]', "['tea', 'milk']",
     "- Tea\n- Milk", "• tea; • milk;", "☑ Tea\n☑ Milk", "(tea, milk)", "tea,,milk,tea"],
)  # fmt: skip
def test_choices_do_not_depend_on_order_or_notation(written):
    assert text.choices(written) == {"tea", "milk"}


def test_choices_keep_commas_and_apostrophes_of_options():
    assert text.choices('"Yes, always", no') == {"yes, always", "no"}
    assert text.choices("Don't know, can't say") == {"don't know", "can't say"}
    # No choice and no answer are two things.
    assert text.choices("[]") == frozenset()
    assert text.choices(" \n") is None


def test_address_ignores_case_punctuation_and_street_words():
    one = text.address("P.O. Box 5, 12 North O'Hara Street\nSuite 4")
    assert one == text.address("po box 5 12 n. ohara st., ste 4")
    assert one == ("po", "box", "5", "12", "n", "ohara", "st", "ste", "4")
    assert text.address("12 Main St") != text.address("21 Main St")
    assert text.address("--") is None


def test_parsers_survive_anything():
    parsers = (text.number, text.money, text.date, text.choices, text.checked, text.address)
    for value in [*odd_strings(3000), "9" * 5_000_000, "'" * 10_000, '"' * 9_999, "(" * 64]:
        for parse in parsers:
            parse(value)


@pytest.mark.parametrize(
    ("gold", "pred", "kind", "rungs"),
    [
        ("7", "7", None, "yyyy"),
        ("Caf\u00e9 – “X”", 'cafe\u0301  - "x"', None, "nyyy"),
        ("1,200.00", "1200", "number", "nnyy"),
        ("1,200.00", "1200", "answer", "nnyy"),
        ("$1,200.00", "1200", "money", "nnyy"),
        ("$1,200.00", "€1200", "money", "nnnn"),
        ("Jul 1, 2022", "2022-07-01", "date", "nnyy"),
        ("Jul 1, 2022", "7/1/22", None, "nnnn"),
        ("Jul 1, 2022", "7/31/22", None, "nnnn"),
        ("Jul 31, 2022", "7/31/22", None, "nnyy"),
        ("a; b", "b, a", "choice", "nnyy"),
        ("a; b", "b, a", "answer", "nnnn"),
        ("yes", "☑", "checkbox", "nnyy"),
        ("12 Main Street", "12 Main St.", "address", "nnyy"),
        # One of ten letters is wrong: similarity 0.9.
        ("Washington", "Washingtan", None, "nnny"),
        ("", "", None, "yyyy"),
        ("a", "", None, "nnnn"),
        # Codes: the same number, but not the same code unless they are said to be numbers.
        ("007", "7", "answer", "nnnn"),
        ("007", "7", "number", "nnyy"),
    ],
)
def test_ladder_by_hand(gold, pred, kind, rungs):
    found = text.ladder(gold, pred, kind=kind)
    assert "".join("y" if rung else "n" for rung in found[:4]) == rungs


@pytest.mark.parametrize(
    ("gold", "pred", "unknown", "day", "month", "swapped"),
    [
        # Equal under an order, and "may be equal under the other" where it is not.
        ("2020-05-07", "07/05/2020", False, True, False, True),
        ("12/06/2018", "2018-06-12", False, True, False, True),
        ("12/06/2018", "Dec 6, 2018", False, False, True, True),
        ("12/06/2018", "06/12/2018", False, False, False, True),
        ("12/06/2018", "12/06/2018", True, True, True, False),
        ("12/06/2018", "12-6-18", True, True, True, False),
        ("31/12/2018", "2018-12-31", True, True, True, False),
        ("12/31/2018", "Dec 31, 2018", True, True, True, False),
        ("5 June 2018", "2018-06-05", True, True, True, False),
        ("5 June 2018", "May 6, 2018", False, False, False, False),
        ("05.06.2018", "5 June 2018", True, True, True, False),
        ("12/06/2018", "2018-06-13", False, False, False, False),
    ],
)
def test_day_and_month_are_swapped_only_where_the_document_says_which_comes_first(
    gold, pred, unknown, day, month, swapped
):
    for kind in ("date", None):
        for ours, theirs in ((gold, pred), (pred, gold)):
            orders = {None: unknown, "day": day, "month": month}
            for order, same in orders.items():
                assert text.ladder(ours, theirs, kind=kind, order=order).typed == same
            assert text.ladders([ours], [theirs], [kind])["ambiguous"].to_list() == [swapped]


def test_a_document_shows_its_order_by_dates_that_leave_no_choice():
    docs = pl.Series(["a", "a", "b", "b", "c", "d", "e", "f"])
    values = pl.Series(
        ["31/12/2020", "1/2/20", "1/13/20", "13-1-20", "Made on 12/31/2020.", "No 5-31-12-20", None,
         "31.12.2020"]
    )  # fmt: skip
    # b shows both; the number of d is a code; dots are day first whatever the document.
    shown = text.orders_shown(docs, values)
    assert shown == {"a": "day", "b": "both", "c": "month"}
    assert text.date_orders("abcdef", shown) == {"a": "day", "c": "month"}
    # One that is otherwise, or shows both, is kept as it is, and outvotes nobody among twenty.
    many = ["day"] * 39 + ["month"]
    orders = text.date_orders(range(41), dict(enumerate(many)))
    assert (orders[39], orders[40], len(orders)) == ("month", "day", 41)
    assert 40 not in text.date_orders(range(41), dict(enumerate(many[32:], start=32)))
    # Three documents that agree speak for those that show none.
    agreed = dict.fromkeys("abc", "day")
    assert text.date_orders("abcde", agreed) == dict.fromkeys("abcde", "day")
    assert text.date_orders("abc", {"a": "day", "b": "day"}) == {"a": "day", "b": "day"}


def test_similarity_is_one_less_edits_over_the_longer_length_and_the_best_accepted_counts():
    # kitten, sitting: three edits, seven letters; case does not count.
    assert text.ladder("KITTEN", "sitting").similarity == pytest.approx(1 - 3 / 7)
    assert text.ladder("KITTEN", "sitting", threshold=0.57).fuzzy
    assert not text.ladder("KITTEN", "sitting", threshold=0.58).fuzzy
    assert text.ladder("soda", "Pop", accepted=["pop", "Cola"]).normalised
    assert not text.ladder("soda", "Pop", accepted=["pop", "Cola"]).exact
    assert text.ladder("soda", "Pop", accepted=["pop"]).similarity == 1.0


def test_rungs_imply_the_next_are_symmetric_and_the_same_in_a_batch():
    count = 2000
    golds = odd_strings(count, longest=14, seed=1)
    rng = random.Random(2)
    preds = [g if rng.random() < 0.2 else g.upper()[: rng.randrange(15)] for g in golds]
    kinds = rng.choices([None, "number", "date", "money", "choice", "address", "answer"], k=count)
    accepted = [rng.sample(golds, rng.randrange(3)) or None for _ in range(count)]
    found = text.ladders(golds, preds, kinds, accepted, threshold=0.5)
    rungs = found.select("exact", "normalised", "typed", "fuzzy").to_numpy().astype(int)
    assert (rungs[:, 1:] >= rungs[:, :-1]).all()
    assert found["similarity"].is_between(0, 1).all()
    assert 0 < rungs[:, 0].sum() < rungs[:, 1].sum() < len(rungs)
    alone = [
        text.ladder(gold, pred, kind=kind, accepted=more or (), threshold=0.5)
        for gold, pred, kind, more in zip(golds, preds, kinds, accepted, strict=True)
    ]
    assert found.drop("ambiguous").rows() == [tuple(one) for one in alone]
    assert text.ladders(golds, golds, kinds)["exact"].all()
    assert text.ladders(golds, preds, kinds).equals(text.ladders(preds, golds, kinds))


def test_missing_side_holds_no_rung():
    found = text.ladders(["a", None, "b"], [None, "a", "b"])
    assert found["fuzzy"].to_list() == [False, False, True]
    assert found["similarity"].to_list() == [0.0, 0.0, 1.0]
    assert text.ladders([], []).columns == [*text.ladder("", "")._fields, "ambiguous"]
